"""Outcomes over HTTP: /v1/outcomes, where a lender says what became of its loans."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.core.errors import FieldProblem
from alama.core.monitoring.news import News, State
from alama.monitoring.outcomes import BATCH_MAX, Heard, Outcomes, Result, Sent, judge
from alama.platform import ids
from alama.platform.book import Scope
from alama.platform.days import DAY_US, date_of, day_number, day_of
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import Call, Reply, encode_json, private_json
from alama.platform.http.fields import Rule
from alama.platform.http.operation import (
    AT_US,
    BODY,
    REQUEST_ID,
    Json,
    Operation,
    Success,
    reference,
)
from alama.platform.timeouts import run_with_timeout
from alama.scoring.api import RequestId
from alama.scoring.sequels import Answer, Said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.scoring.admission import Admission
    from alama.scoring.directory import Caller


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


def in_our_time(given: date | None) -> None:
    if given is not None and given.year not in YEARS:
        raise ValueError


def is_id(given: str | None) -> None:
    if given is not None and not ids.is_request_id(given):  # a pattern lets a line end after it
        raise ValueError


_CHECKS: Final[Mapping[str, fields.Check]] = {
    "request_id": is_id,
    "date": in_our_time,
    "defaulted_on": in_our_time,
}


def read(body: bytes) -> list[News]:
    """Read one piece of news or a batch of them, or raise what `fields.read` does."""
    found = fields.read_one_or_many(
        NewOutcome, body, BATCH, RULES, _CHECKS, _faults_of, length_max=BATCH_MAX
    )
    return [_news(one) for one in found]


def read_one(sent: Sequence[tuple[str, object]]) -> News:
    """Read one piece of news from names and values as JSON has them, or raise `InvalidRequest`."""
    return _news(fields.read_sound(NewOutcome, sent, RULES, _CHECKS, _faults_of))


def _faults_of(sent: NewOutcome) -> Iterator[FieldProblem]:
    if sent.defaulted_on is not None and sent.defaulted_on > sent.date:
        yield FieldProblem("defaulted_on", "out_of_range", RULES["defaulted_on"].told)


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


BODY_MAX: Final = 512 * 1024
"""A thousand pieces of news, each with all its fields, and room to spare."""


class OutcomeEndpoints:
    """What callers can say of the loans of their book."""

    def __init__(self, admission: Admission, outcomes: Outcomes) -> None:
        self._admission = admission
        self._outcomes = outcomes

    @Operation(
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
        "1,000 of them. At most 512 KiB of UTF-8, plain or gzip.",
        requests=("outcome", "outcomes"),
        replies={
            200: Success(
                "What became of each piece of news.",
                reference("OutcomeResults"),
                examples=("outcome_results",),
            )
        },
        refusals=BODY,
    )
    async def record(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.OUTCOMES_WRITE)
        parameters.read(call, ())
        body = await json_body(call, BODY_MAX)
        # A thousand are read for longer than a score may wait: on another thread.
        results = await run_with_timeout(lambda: self._recorded(caller, body))
        return private_json(rendered(results), headers)

    def _recorded(self, caller: Caller, body: bytes) -> Sequence[Result]:
        news = read(body)
        sent = Sent(hashlib.sha256(body).hexdigest(), caller.key.id, caller.key.id)
        return self._outcomes.record(caller.book, news, sent)


def rendered(results: Sequence[Result]) -> bytes:
    """Give what became of news as the contract says it."""
    counted = Counter(one.answer.value for one in results)
    return encode_json(OutcomeResults([_told(one) for one in results], dict(counted)))


def _told(result: Result) -> OutcomeResult:
    return OutcomeResult(
        result.request_id,
        result.answer.value,
        UNSET if result.is_default is None else result.is_default,
        UNSET if result.message is None else result.message,
    )


_OTHER_ID: Final = ids.request_id(AT_US + 1_000_000, bytes.fromhex("0c44e1b7a2905f"))
_UNKNOWN_ID: Final = ids.request_id(AT_US + 2_000_000, bytes.fromhex("77aa01c39d5be2"))
_SAID: Final = Said(AT_US, 202609, day_of(AT_US) + 60, "", 661, "B", 0.049, "APPROVED")
_LATER_US: Final = AT_US + 120 * DAY_US


def date_after(days_after: int) -> str:
    return date_of(day_of(AT_US) + days_after).isoformat()


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    repaid = {
        "request_id": REQUEST_ID,
        "outcome": State.REPAID.value,
        "date": date_after(58),
        "disbursed_amount": 12_500,
        "repaid_amount": 13_220,
    }
    defaulted = {
        "request_id": _OTHER_ID,
        "outcome": State.DEFAULTED.value,
        "date": date_after(90),
    }
    unknown = {"request_id": _UNKNOWN_ID, "outcome": State.REPAID.value, "date": date_after(60)}
    return {
        "outcome": {"summary": "One loan, repaid", "value": repaid},
        "outcomes": {
            "summary": "Three loans, of which one is not known",
            "value": {"outcomes": [repaid, defaulted, unknown]},
        },
    }


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    news = read(json.dumps(requests()["outcomes"]["value"]).encode())
    heard = Heard(_LATER_US, None)
    results = []
    for one in news:
        said = None if one.request_id == _UNKNOWN_ID else _SAID
        answer, outcome, *_ = judge(one, said, None, heard)
        results.append(Result(one.request_id, answer, outcome and outcome.is_default))
    told = json.loads(rendered(results))
    return {"outcome_results": {"summary": "Reply to the three loans", "value": told}}
