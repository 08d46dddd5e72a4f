"""Outcomes: /v1/outcomes, where a lender says what became of its loans."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET

from alama.api import parameters, wire_outcomes
from alama.api.bodies import json_body
from alama.api.exchange import private_json
from alama.api.wire_outcomes import OutcomeResult, OutcomeResults
from alama.service.keys import Scope
from alama.service.outcomes.recording import Sent
from alama.service.patience import in_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.api.admission import Admission
    from alama.api.exchange import Call, Reply
    from alama.service.directory import Caller
    from alama.service.outcomes.recording import Outcomes, Result

BODY_MAX: Final = 512 * 1024
"""A thousand pieces of news, each with all its fields, and room to spare."""

_encode: Final = msgspec.json.Encoder().encode


class OutcomeEndpoints:
    """What callers can say of the loans of their book."""

    def __init__(self, admission: Admission, outcomes: Outcomes) -> None:
        """Use the use case."""
        self._admission = admission
        self._outcomes = outcomes

    async def record(self, call: Call) -> Reply:
        """POST /v1/outcomes: what became of one loan, or of a thousand."""
        caller, headers = await self._admission.admit(call, Scope.OUTCOMES_WRITE)
        parameters.read(call, ())
        body = await json_body(call, BODY_MAX)
        # A thousand are read for longer than a score may wait: on another thread.
        results = await in_time(lambda: self._recorded(caller, body))
        return private_json(rendered(results), headers)

    def _recorded(self, caller: Caller, body: bytes) -> Sequence[Result]:
        news = wire_outcomes.read(body)
        sent = Sent(hashlib.sha256(body).hexdigest(), caller.key.id, caller.key.id)
        return self._outcomes.record(caller.book, news, sent)


def rendered(results: Sequence[Result]) -> bytes:
    """Give what became of news as the contract says it."""
    counted = Counter(one.answer.value for one in results)
    return _encode(OutcomeResults([_told(one) for one in results], dict(counted)))


def _told(result: Result) -> OutcomeResult:
    return OutcomeResult(
        result.request_id,
        result.answer.value,
        UNSET if result.is_default is None else result.is_default,
        UNSET if result.message is None else result.message,
    )
