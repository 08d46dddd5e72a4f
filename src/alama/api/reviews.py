"""Reviews: POST /v1/scores/{request_id}/review, the end of REVIEW."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from alama.api import fields, parameters, render
from alama.api.bodies import json_body
from alama.api.exchange import private_json
from alama.api.wire_reviews import REASONS, RULES, NewReview
from alama.service.keys import Scope
from alama.service.onboarding.words import is_line
from alama.service.outcomes.records import RULINGS, Judgement, ReviewReason
from alama.service.outcomes.reviewing import is_note
from alama.service.patience import in_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from alama.api.admission import Admission
    from alama.api.exchange import Call, Reply
    from alama.api.fields import Check
    from alama.service.outcomes.reviewing import Reviews


class ReviewEndpoints:
    """What an officer can do with scores."""

    def __init__(self, admission: Admission, reviews: Reviews) -> None:
        """Use the use case."""
        self._admission = admission
        self._reviews = reviews

    async def review(self, call: Call) -> Reply:
        """POST /v1/scores/{request_id}/review: what a person decided."""
        caller, headers = await self._admission.admit(call, Scope.REVIEWS_WRITE)
        parameters.read(call, ())
        request_id = parameters.request_id(call)
        sent = fields.read(NewReview, await json_body(call), RULES, _CHECKS)
        said = Judgement(sent.decision, ReviewReason(sent.reason), sent.name, sent.note)
        book, key_id = caller.book, caller.key.id
        reviewed = await in_time(lambda: self._reviews.review(book, request_id, said, key_id))
        status = HTTPStatus.CREATED if reviewed.is_new else HTTPStatus.OK
        return private_json(render.review(reviewed.review), headers, status)


def _must(holds: Callable[[str], bool]) -> Check:
    def check(text: str) -> None:
        if not holds(text):
            raise ValueError

    return check


_CHECKS: Final[Mapping[str, Check]] = {
    "decision": _must(RULINGS.__contains__),
    "reason": _must(REASONS.__contains__),
    "name": _must(is_line),
    "note": _must(is_note),
}
