"""The operation of reviews, as the OpenAPI document tells it."""

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
from alama.service import errors
from alama.service.keys import Scope


def _review(description: str) -> Success:
    return Success(
        description,
        reference("ScoreReview"),
        headers=RATE,
        examples=("review",),
        links=("getScore",),
    )


REVIEW_OPERATIONS: Final = (
    Operation(
        path="/v1/scores/{request_id}/review",
        method="POST",
        id="reviewScore",
        tag="Scores",
        summary="Say what a person decided on a score",
        description="Where the decision is REVIEW a person decides, and says so here. Any other "
        "score may be reviewed too: an applicant may contest what was decided without a person, "
        "and the officer confirms or overrides it. The first review of a score stands; the same "
        "sent again gets the same reply, so no `Idempotency-Key` is needed, and anything else is "
        "refused. The score itself stays as it was given. Overrides are counted, and held against "
        "what becomes of the loans.",
        scope=Scope.REVIEWS_WRITE,
        parameters=("request_id",),
        body="NewReview",
        body_told="The fields. At most 64 KiB of UTF-8, not compressed.",
        requests=("new_review",),
        replies={
            201: _review("It is kept."),
            200: _review("The same was said before, and is kept."),
        },
        refusals=(
            MalformedDocument,
            BadParameter,
            errors.UnknownScore,
            errors.AlreadyReviewed,
            errors.Erased,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidRequest,
        ),
    ),
)
