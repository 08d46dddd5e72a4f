"""Loans over HTTP: /v1/loans, where a lender tells what it lent, and what came back."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.core.application import looks_personal, may_be_word
from alama.core.catalogue import WORD_LENGTH_MAX
from alama.core.errors import FieldProblem
from alama.core.memory import Amount as Due
from alama.memory.borrower import Answer, Ending, LoanEvent, LoanEventKind
from alama.memory.loans import BATCH_MAX, Loans, Result, Sent, Told
from alama.monitoring.outcomes_api import AMOUNT_MAX, YEARS, date_after, in_our_time, is_id
from alama.platform.book import Scope
from alama.platform.days import day_number
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import Call, Reply, encode_json, private_json
from alama.platform.http.fields import Rule
from alama.platform.http.operation import (
    BODY,
    REQUEST_ID,
    Json,
    Operation,
    Success,
    reference,
)
from alama.platform.timeouts import run_with_timeout
from alama.scoring.api import REFERENCE, RequestId

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.scoring.admission import Admission
    from alama.scoring.directory import Caller


BATCH: Final = "loans"
INSTALMENTS_MAX: Final = 120

_WORD: Final = f"must be a string of 1 to {WORD_LENGTH_MAX} printable characters"
_DATE: Final = f"must be a date from {YEARS.start}-01-01 on, such as 2026-11-16"
_MONEY: Final = "must be a number from 0 to 1,000,000,000,000"

RULES: Final = {
    "applicant_ref": Rule(
        str, f"{_WORD}, and no phone number, e-mail address or national id: what you score by"
    ),
    "loan": Rule(str, _WORD),
    "kind": Rule(str, f"must be one of {', '.join(LoanEventKind)}"),
    "date": Rule(str, _DATE),
    "amount": Rule(float, _MONEY),
    "id": Rule(str, _WORD),
    "request_id": Rule(str, "must be the request_id of a score: req_ and 28 hexadecimal digits"),
    "due_date": Rule(str, f"{_DATE}, and not before date"),
    "due_amount": Rule(float, _MONEY),
    "instalments": Rule(int, f"must be a whole number from 1 to {INSTALMENTS_MAX}"),
    "first_due_date": Rule(str, f"{_DATE}, between date and due_date"),
    "closed_as": Rule(str, f"must be one of {', '.join(Ending)}"),
    "corrects": Rule(bool, "must be true or false"),
}
"""What the fields of bodies must be, by their names."""

Word = Annotated[str, Meta(min_length=1, max_length=WORD_LENGTH_MAX)]
Money = Annotated[float, Meta(ge=0, le=AMOUNT_MAX)]
Date = Annotated[date, Meta(examples=["2026-11-16"], extra_json_schema={"pattern": "^2[0-9]{3}-"})]


# ------------------------------------------------------------------------------- requests


class NewLoanEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that happened to a loan."""

    applicant_ref: Annotated[
        str,
        Meta(
            description="Whose loan it is: the reference that its application had.",
            extra_json_schema={name: rule for name, rule in REFERENCE.items() if name != "type"},
        ),
    ]
    loan: Annotated[Word, Meta(description="Your own name for the loan, the same in each event.")]
    kind: Annotated[
        LoanEventKind,
        Meta(
            description="`disbursed`: it was paid out. `payment`: something came back. `closed`: "
            "nothing is waited for any more."
        ),
    ]
    date: Annotated[Date, Meta(description="When it happened. Not in the future.")]
    amount: Annotated[
        Money | None,
        Meta(
            description="Paid out, or back, in the lender's currency; not for `closed`.",
            examples=[12500],
        ),
    ] = None
    id: Annotated[
        Word | None,
        Meta(
            description="Your own name for a payment. Without one, payments of one day and one "
            "amount are the same payment."
        ),
    ] = None
    request_id: Annotated[
        RequestId | None,
        Meta(
            description="Of the score that the loan was given on. Without it a disbursement keeps "
            "the oldest approval of the three days before."
        ),
    ] = None
    due_date: Annotated[
        Date | None,
        Meta(
            description="Of `disbursed`: when the last payment falls due. Without it the loan is "
            "never late, unless it is written off."
        ),
    ] = None
    due_amount: Annotated[
        Money | None,
        Meta(description="Of `disbursed`: what is to come back in all; `amount` where not said."),
    ] = None
    instalments: Annotated[
        Annotated[int, Meta(ge=1, le=INSTALMENTS_MAX)] | None,
        Meta(description="Of `disbursed`: how many equal payments; one where not said."),
    ] = None
    first_due_date: Annotated[
        Date | None,
        Meta(
            description="Of `disbursed`: when the first of them falls due; evenly where not said."
        ),
    ] = None
    closed_as: Annotated[
        Ending | None,
        Meta(
            description="Of `closed`: `repaid` where not said; `written_off`: given up; "
            "`cancelled`: never paid out, so that its approval counts no more."
        ),
    ] = None
    corrects: Annotated[
        bool, Meta(description="true: it stands in the place of what was said of the same before.")
    ] = False


class LoanBatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happened to many loans."""

    loans: Annotated[
        tuple[NewLoanEvent, ...],
        Meta(
            min_length=1,
            max_length=BATCH_MAX,
            description="One for each event, of any loans, in any order.",
        ),
    ]


REQUESTS: Final = (NewLoanEvent, LoanBatch)


def _is_word(given: str | None) -> None:
    if given is not None and not may_be_word(given.strip()):
        raise ValueError


def _is_reference(given: str) -> None:
    _is_word(given)
    if looks_personal(given.strip()):
        raise ValueError


_CHECKS: Final[Mapping[str, fields.Check]] = {
    "applicant_ref": _is_reference,
    "loan": _is_word,
    "id": _is_word,
    "request_id": is_id,
    "date": in_our_time,
    "due_date": in_our_time,
    "first_due_date": in_our_time,
}


def read(body: bytes) -> list[Told]:
    """Read one event or a batch of them, or raise what `fields.read` does."""
    found = fields.read_one_or_many(
        NewLoanEvent, body, BATCH, RULES, _CHECKS, _faults_of, length_max=BATCH_MAX
    )
    return [_told(one) for one in found]


def read_one(sent: Sequence[tuple[str, object]]) -> Told:
    """Read one event from names and values as JSON has them, or raise `InvalidRequest`."""
    return _told(fields.read_sound(NewLoanEvent, sent, RULES, _CHECKS, _faults_of))


_OF_KIND: Final[Mapping[LoanEventKind, frozenset[str]]] = {
    LoanEventKind.DISBURSED: frozenset(
        {"amount", "request_id", "due_date", "due_amount", "instalments", "first_due_date"}
    ),
    LoanEventKind.PAYMENT: frozenset({"amount", "id"}),
    LoanEventKind.CLOSED: frozenset({"request_id", "closed_as"}),
}
"""What an event may say beside whose loan it is and when."""


def _faults_of(sent: NewLoanEvent) -> Iterator[FieldProblem]:
    """Yield what does not go together."""
    allowed = _OF_KIND[sent.kind]
    for name in sorted(frozenset().union(*_OF_KIND.values()) - allowed):
        if getattr(sent, name) is not None:
            yield FieldProblem(name, "unknown_field", f"is no field of {sent.kind}")
    if "amount" in allowed and sent.amount is None:
        yield FieldProblem("amount", "missing_field", f"is required of {sent.kind}")
    if sent.kind is not LoanEventKind.DISBURSED:
        return
    for name in ("due_amount", "instalments", "first_due_date"):
        if getattr(sent, name) is not None and sent.due_date is None:
            yield FieldProblem("due_date", "missing_field", f"is required beside {name}")
            return
    due, first = sent.due_date, sent.first_due_date
    if due is not None and due < sent.date:
        yield FieldProblem("due_date", "out_of_range", RULES["due_date"].told)
    elif due is not None and first is not None and not sent.date <= first <= due:
        yield FieldProblem("first_due_date", "out_of_range", RULES["first_due_date"].told)


def _told(sent: NewLoanEvent) -> Told:
    event = LoanEvent(
        loan=sent.loan.strip(),
        kind=sent.kind,
        day=day_number(sent.date),
        amount=sent.amount,
        name=None if sent.id is None else sent.id.strip(),
        request_id=sent.request_id,
        dues=_dues(sent),
        ending=sent.closed_as or Ending.REPAID,
        corrects=sent.corrects,
    )
    return Told(sent.applicant_ref.strip(), event)


_CENTS: Final = 100


def _dues(sent: NewLoanEvent) -> tuple[Due, ...]:
    """Give the payments agreed on: equal ones, evenly spaced, the last takes the rounding."""
    if sent.due_date is None or sent.amount is None:
        return ()
    count, last = sent.instalments or 1, day_number(sent.due_date)
    total = sent.amount if sent.due_amount is None else sent.due_amount
    lent_on = day_number(sent.date)
    if sent.first_due_date is None:
        first = lent_on + round((last - lent_on) / count)
    else:
        first = day_number(sent.first_due_date)
    # Down, or the last of many small ones would be less than nothing.
    each = math.floor(total / count * _CENTS + 1e-6) / _CENTS
    days = [first + round((last - first) * n / (count - 1)) for n in range(count - 1)]
    return (*(Due(day, each) for day in days), Due(last, total - each * (count - 1)))


# -------------------------------------------------------------------------------- replies


class LoanResult(msgspec.Struct, frozen=True):
    """What became of one event."""

    loan: Annotated[str, Meta(description="Your own name for the loan.")]
    result: Annotated[
        str,
        Meta(
            description="Kept: `recorded`; `corrected`, in the place of what was said before. Fine "
            "as it is: `unchanged`, the same was said before. Refused, and `message` says what to "
            "do: `conflict`, `in_the_future`, `too_many`. An open set: expect more."
        ),
    ]
    message: Annotated[
        str | UnsetType, Meta(description="What to do about it; only where it was refused.")
    ] = UNSET


class LoanResults(msgspec.Struct, frozen=True):
    """What became of the events of one request."""

    results: Annotated[list[LoanResult], Meta(description="One for each event, in the order sent.")]
    counts: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]],
        Meta(
            description="How many there were of each result.",
            examples=[{Answer.RECORDED.value: 2}],
        ),
    ]


REPLIES: Final = (LoanResults,)

BODY_MAX: Final = 1024 * 1024
"""A thousand events, each with all its fields, and room to spare."""


class LoanEndpoints:
    """What callers can tell of the loans of their book."""

    def __init__(self, admission: Admission, loans: Loans) -> None:
        self._admission = admission
        self._loans = loans

    @Operation(
        path="/v1/loans",
        method="POST",
        id="recordLoans",
        tag="Loans",
        summary="Tell what was lent and what came back",
        description="Takes one event of a loan, or up to 1,000 of any loans. What they say is "
        "remembered of the borrower, by a pseudonym alone, and policies can read it: see "
        "`open_balance` and the other fields of the memory. Each event gets an answer of its own. "
        "Only a body that breaks a rule is refused as a whole, and then nothing of it is recorded. "
        "To send the same again does no harm, in whole or in part, in any order, so no "
        "`Idempotency-Key` is needed.",
        scope=Scope.LOANS_WRITE,
        body="NewLoanEvent",
        other_body="LoanBatch",
        body_told="One event; or an object whose only field, `loans`, is a list of 1 to 1,000 of "
        "them. At most 1 MiB of UTF-8, plain or gzip.",
        requests=("loan_event", "loan_events"),
        replies={
            200: Success(
                "What became of each event.", reference("LoanResults"), examples=("loan_results",)
            )
        },
        refusals=BODY,
    )
    async def record(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.LOANS_WRITE)
        parameters.read(call, ())
        body = await json_body(call, BODY_MAX)
        # A thousand are read for longer than a score may wait: on another thread.
        results = await run_with_timeout(lambda: self._recorded(caller, body))
        return private_json(rendered(results), headers)

    def _recorded(self, caller: Caller, body: bytes) -> Sequence[Result]:
        told = read(body)
        sent = Sent(hashlib.sha256(body).hexdigest(), caller.key.id)
        return self._loans.record(caller.book, told, sent)


def rendered(results: Sequence[Result]) -> bytes:
    """Give what became of events as the contract says it."""
    counted = Counter(one.answer.value for one in results)
    return encode_json(LoanResults([_result(one) for one in results], dict(counted)))


def _result(result: Result) -> LoanResult:
    message = UNSET if result.message is None else result.message
    return LoanResult(result.loan, result.answer.value, message)


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    loan = {"applicant_ref": "cust-20391", "loan": "L-7741"}
    disbursed = {
        **loan,
        "kind": LoanEventKind.DISBURSED.value,
        "date": date_after(0),
        "amount": 12_500,
        "request_id": REQUEST_ID,
        "due_date": date_after(60),
        "due_amount": 13_220,
        "instalments": 2,
    }
    payment = {
        **loan,
        "kind": LoanEventKind.PAYMENT.value,
        "date": date_after(29),
        "amount": 6_610,
        "id": "P-1",
    }
    closed = {**loan, "kind": LoanEventKind.CLOSED.value, "date": date_after(58)}
    return {
        "loan_event": {"summary": "A loan was paid out", "value": disbursed},
        "loan_events": {
            "summary": "A loan from its beginning to its end",
            "value": {"loans": [disbursed, payment, closed]},
        },
    }


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    results = LoanResults(
        [LoanResult("L-7741", Answer.RECORDED.value)] * 3, {Answer.RECORDED.value: 3}
    )
    told = msgspec.to_builtins(results)
    return {"loan_results": {"summary": "Reply to the three events", "value": told}}
