"""Examples of reviews for the OpenAPI document, made by the code that answers callers."""

from __future__ import annotations

import json
from typing import Any, Final

from alama.api import render
from alama.api.examples_webhooks import AT_US, REQUEST_ID
from alama.service.days import DAY_US
from alama.service.errors import AlreadyReviewed
from alama.service.outcomes.records import Outcome, Review, ReviewReason, Sequel, State

Json = dict[str, Any]

_HOUR_US: Final = 3_600 * 1_000_000
_KEY: Final = "key_4f1d2c7b9a035e68"

REVIEW: Final = Review(
    request_id=REQUEST_ID,
    decision="APPROVED",
    reason=ReviewReason.INCOME_VERIFIED,
    person="W. Mutua",
    note="payslips of three months seen",
    reviewed_us=AT_US + _HOUR_US,
    key_id=_KEY,
    given_decision="REVIEW",
)
_REPAID_US: Final = AT_US + 61 * DAY_US
_OUTCOME: Final = Outcome(
    request_id=REQUEST_ID,
    state=State.REPAID,
    happened_on=_REPAID_US // DAY_US,
    defaulted_on=None,
    disbursed_amount=12_000.0,
    repaid_amount=12_900.0,
    recorded_us=_REPAID_US + _HOUR_US,
    key_id=_KEY,
)

SEQUEL: Final = Sequel(None, _OUTCOME)
"""What became of a score that nobody had to look at."""


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    said = {
        "decision": REVIEW.decision,
        "reason": REVIEW.reason.value,
        "name": REVIEW.person,
        "note": REVIEW.note,
    }
    return {"new_review": {"summary": "An officer approves what was left to them", "value": said}}


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    return {"review": {"summary": "A review", "value": json.loads(render.review(REVIEW))}}


def already_reviewed() -> AlreadyReviewed:
    """Give what is said to the second who decides."""
    return AlreadyReviewed(REVIEW.reviewed_us)
