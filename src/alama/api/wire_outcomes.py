"""The public contract of outcomes: what goes over the wire, field by field."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.api import fields
from alama.api.fields import Rule
from alama.api.problems import InvalidRequest
from alama.api.wire import RequestId
from alama.core.errors import FieldProblem
from alama.core.intake import members
from alama.service import ids
from alama.service.days import day_number
from alama.service.outcomes.recording import BATCH_MAX
from alama.service.outcomes.records import Answer, News, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AMOUNT_MAX: Final = 1e12
YEARS: Final = range(2000, 3000)
BATCH: Final = "outcomes"

Amount = Annotated[float, Meta(ge=0, le=AMOUNT_MAX)]
Date = Annotated[
    date,
    Meta(
        description="When it happened: a calendar date, such as 2026-11-16. Not in the future, and "
        "not before the score.",
        examples=["2026-11-16"],
        extra_json_schema={"pattern": "^2[0-9]{3}-"},
    ),
]

_AMOUNT: Final = "must be a number from 0 to 1,000,000,000,000; leave it out where it is not known"

RULES: Final = {
    "request_id": Rule(str, "must be the request_id of a score: req_ and 28 hexadecimal digits"),
    "outcome": Rule(str, f"must be one of {', '.join(State)}"),
    "date": Rule(str, f"must be a date from {YEARS.start}-01-01 on, such as 2026-11-16"),
    "disbursed_amount": Rule(float, _AMOUNT),
    "repaid_amount": Rule(float, _AMOUNT),
    "corrects": Rule(bool, "must be true or false"),
    "defaulted_on": Rule(
        str, f"must be a date from {YEARS.start}-01-01 on, such as 2026-11-16, and not after date"
    ),
}
"""What the fields of bodies must be, by their names."""


# ------------------------------------------------------------------------------- requests


class NewOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of one loan."""

    request_id: RequestId
    outcome: Annotated[
        State,
        Meta(
            description="`repaid`: in full. `defaulted`: late by as many days as your model calls "
            "a default. `written_off`: you have given it up. `restructured`: it could not be "
            "repaid as agreed, and was agreed anew. All but the first are defaults, for ever."
        ),
    ]
    date: Date
    disbursed_amount: Annotated[
        Amount | None,
        Meta(description="What was paid out, in the lender's currency; null where not known."),
    ] = None
    repaid_amount: Annotated[
        Amount | None,
        Meta(
            description="What has come back so far, in all, in the lender's currency; null where "
            "not known."
        ),
    ] = None
    corrects: Annotated[
        bool,
        Meta(
            description="true: this is how the loan stands, whatever else was said of it, its "
            "default included; where it was one before, say `defaulted_on`."
        ),
    ] = False
    defaulted_on: Annotated[
        Date | None,
        Meta(
            description="Since when the loan has been a default, where that is not `date`: of one "
            "that was `repaid` after all, or `written_off` later. Not after `date`."
        ),
    ] = None


class OutcomeBatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of many loans."""

    outcomes: Annotated[
        tuple[NewOutcome, ...],
        Meta(
            min_length=1,
            max_length=BATCH_MAX,
            description="One for each piece of news. Those of the same loan are judged one after "
            "the other.",
        ),
    ]


REQUESTS: Final = (NewOutcome, OutcomeBatch)


def _in_our_time(given: date | None) -> None:
    if given is not None and given.year not in YEARS:
        raise ValueError


def _is_id(given: str) -> None:
    if not ids.is_request_id(given):  # a pattern lets a line end after it
        raise ValueError


_CHECKS: Final[Mapping[str, fields.Check]] = {
    "request_id": _is_id,
    "date": _in_our_time,
    "defaulted_on": _in_our_time,
}


def read(body: bytes) -> list[News]:
    """Read one piece of news or a batch of them, or raise what `fields.read` does."""
    sent = members(body)
    if all(name != BATCH for name, _ in sent):
        return [read_one(sent)]
    found = fields.read_list(NewOutcome, sent, BATCH, RULES, _CHECKS, length_max=BATCH_MAX)
    faults = [
        _backwards().within(BATCH, place) for place, one in enumerate(found) if _is_backwards(one)
    ]
    if faults:
        raise InvalidRequest(faults)
    return [_news(one) for one in found]


def read_one(sent: Sequence[tuple[str, object]]) -> News:
    """Read one piece of news from names and values as JSON has them, or raise `InvalidRequest`."""
    found = fields.read_members(NewOutcome, sent, RULES, _CHECKS)
    if _is_backwards(found):
        raise InvalidRequest([_backwards()])
    return _news(found)


def _is_backwards(sent: NewOutcome) -> bool:
    return sent.defaulted_on is not None and sent.defaulted_on > sent.date


def _backwards() -> FieldProblem:
    return FieldProblem("defaulted_on", "out_of_range", RULES["defaulted_on"].told)


def _news(sent: NewOutcome) -> News:
    return News(
        request_id=sent.request_id,
        state=sent.outcome,
        happened_on=day_number(sent.date),
        disbursed_amount=sent.disbursed_amount,
        repaid_amount=sent.repaid_amount,
        corrects=sent.corrects,
        defaulted_on=None if sent.defaulted_on is None else day_number(sent.defaulted_on),
    )


# -------------------------------------------------------------------------------- replies


class OutcomeResult(msgspec.Struct, frozen=True):
    """What became of one piece of news."""

    request_id: RequestId
    result: Annotated[
        str,
        Meta(
            description="Kept: `recorded`, the first of this loan; `updated`, later than what was "
            "known, or more of the same; `corrected`, in the place of all that was known. Fine as "
            "it is: `unchanged`, the same was said before; `older`, something later is known, or a "
            "correction, and stands. Refused, and `message` says what to do: `conflict`, "
            "`unknown_score`, `in_the_future`, `before_the_loan`. That a loan was a default is "
            "kept with `older` and `conflict` too, unless corrected. An open set: expect more."
        ),
    ]
    is_default: Annotated[
        bool | UnsetType,
        Meta(description="Whether the loan counts as a default now; left out where unknown."),
    ] = UNSET
    message: Annotated[
        str | UnsetType, Meta(description="What to do about it; only where it was refused.")
    ] = UNSET


class OutcomeResults(msgspec.Struct, frozen=True):
    """What became of the news of one request."""

    results: Annotated[
        list[OutcomeResult], Meta(description="One for each piece of news, in the order sent.")
    ]
    counts: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]],
        Meta(
            description="How many there were of each result.",
            examples=[{Answer.RECORDED.value: 2}],
        ),
    ]


REPLIES: Final = (OutcomeResults,)
