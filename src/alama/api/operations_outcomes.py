"""The operation of outcomes, as the OpenAPI document tells it."""

from __future__ import annotations

from typing import Final

from alama.api.operation import RATE, Operation, Success
from alama.api.problems import (
    BadParameter,
    BodyTooLarge,
    InvalidRequest,
    UnsupportedMediaType,
)
from alama.api.schemas import reference
from alama.core.errors import MalformedDocument
from alama.service.keys import Scope

OUTCOME_OPERATIONS: Final = (
    Operation(
        path="/v1/outcomes",
        method="POST",
        id="recordOutcomes",
        tag="Outcomes",
        summary="Say what became of loans",
        description="Takes what became of one loan, or of up to 1,000. Each piece of news gets an "
        "answer of its own: one about a score that is not there keeps no other from being "
        "recorded. Only a body that breaks a rule is refused as a whole, and then nothing of it is "
        "recorded. To send the same again does no harm, in whole or in part, in any order, so no "
        "`Idempotency-Key` is needed: the latest date has the word, and a loan that was ever a "
        "default stays one, unless `corrects` says that this was never so.",
        scope=Scope.OUTCOMES_WRITE,
        body="NewOutcome",
        other_body="OutcomeBatch",
        body_told="One piece of news; or an object whose only field, `outcomes`, is a list of 1 to "
        "1,000 of them. At most 512 KiB of UTF-8, not compressed.",
        requests=("outcome", "outcomes"),
        replies={
            200: Success(
                "What became of each piece of news.",
                reference("OutcomeResults"),
                headers=RATE,
                examples=("outcome_results",),
            )
        },
        refusals=(
            MalformedDocument,
            BadParameter,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidRequest,
        ),
    ),
)
