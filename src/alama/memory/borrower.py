"""A borrower as a book remembers them: what was asked for, promised, lent and paid back.

What is told of loans may come in any order, and more than once: it is kept by what it names, and
put together only when it is read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core import memory
from alama.core.lending.policy import Decision
from alama.core.memory import ASKED_HOURS, DAY_HOURS, Amount, Asked, Loan, Promise, Settled
from alama.core.monitoring.news import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.core.memory import LoanFacts, Remembered


HOUR_US: Final = 3_600 * 1_000_000

EVENTS_MAX: Final = 5_000
"""Of one borrower: more is no borrower, but a reference that many share."""

PROMISES_MAX: Final = 500
"""Of one borrower, for the same reason: each score writes all of them anew."""


def hour_of(at_us: int) -> int:
    return at_us // HOUR_US


class LoanEventKind(StrEnum):
    """What can be told of a loan."""

    DISBURSED = "disbursed"
    PAYMENT = "payment"
    CLOSED = "closed"


class Ending(StrEnum):
    """How a loan was closed. Cancelled: it was never paid out."""

    REPAID = "repaid"
    WRITTEN_OFF = "written_off"
    CANCELLED = "cancelled"


class LoanEvent(NamedTuple):
    """One thing that a lender tells of a loan, by the lender's own name for it.

    `name` tells payments of one day and amount apart. `dues` are the payments agreed on, in the
    order of their days. `corrects`: it stands in the place of what was said before.
    """

    loan: str
    kind: LoanEventKind
    day: int
    amount: float | None = None
    name: str | None = None
    request_id: str | None = None
    dues: tuple[Amount, ...] = ()
    ending: Ending = Ending.REPAID
    corrects: bool = False


class Answer(StrEnum):
    """What becomes of an event. The first two are kept."""

    RECORDED = "recorded"
    CORRECTED = "corrected"
    UNCHANGED = "unchanged"
    """The same was said before."""
    CONFLICT = "conflict"
    IN_THE_FUTURE = "in_the_future"
    TOO_MANY = "too_many"


class Disbursed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """That a loan was paid out, and what was agreed on."""

    day: int
    amount: float
    dues: tuple[Amount, ...]
    request_id: str | None


class Closed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """That nothing of a loan is waited for any more; `request_id`: of one never paid out."""

    day: int
    ending: Ending
    request_id: str | None = None


class KeptLoan(msgspec.Struct, frozen=True, array_like=True):
    """What was told of a loan; payments by what tells them apart."""

    disbursed: Disbursed | None = None
    closed: Closed | None = None
    payments: dict[str, Amount] = {}


class KeptOutcome(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How a loan went that is known by its score alone, from `POST /v1/outcomes`."""

    lent_on: int
    due_on: int
    amount: float
    state: State
    happened_on: int
    repaid: float | None


class Borrower(msgspec.Struct, frozen=True, array_like=True):
    """All that is remembered of one; loans by the lender's names, outcomes by those of scores."""

    asked: tuple[Asked, ...] = ()
    promises: tuple[Promise, ...] = ()
    loans: dict[str, KeptLoan] = {}
    outcomes: dict[str, KeptOutcome] = {}

    @property
    def events(self) -> int:
        """How many things were told of loans."""
        told = sum(len(loan.payments) + 2 for loan in self.loans.values())
        return told + len(self.outcomes)


NOTHING_SETTLED: Final = Settled()

NOBODY: Final = Borrower()
"""Of whom nothing is remembered."""

pack: Final = msgspec.msgpack.Encoder().encode
unpack: Final = msgspec.msgpack.Decoder(Borrower).decode


# ------------------------------------------------------------------------------------------ asking


def after_asking(
    borrower: Borrower, hour: int, decision: Decision, limit: float, request_id: str
) -> Borrower:
    """Remember that an application was decided on; what is too old to count is forgotten."""
    declined = int(decision is Decision.DECLINED)
    asked, promises = borrower.asked, borrower.promises
    if asked and hour - asked[0].hour >= ASKED_HOURS:
        asked = tuple(one for one in asked if hour - one.hour < ASKED_HOURS)
    if asked and asked[-1].hour == hour:
        last = asked[-1]
        added = Asked(hour, last.applications + 1, last.declined + declined)
        asked = (*asked[:-1], added)
    else:
        asked = (*asked, Asked(hour, 1, declined))
    if promises and hour - promises[0].hour >= ASKED_HOURS:
        promises = tuple(one for one in promises if hour - one.hour < ASKED_HOURS)
    if decision is Decision.APPROVED and limit:
        promises = _with_one_more(promises, Promise(hour, float(limit), request_id))
    return Borrower(asked, promises, borrower.loans, borrower.outcomes)


def _with_one_more(promises: tuple[Promise, ...], one: Promise) -> tuple[Promise, ...]:
    """Put the two oldest together where there are too many: what is owed stays the same."""
    if len(promises) >= PROMISES_MAX:
        first, second, *others = promises
        both = second._replace(amount=first.amount + second.amount)
        promises = (both, *others)
    return (*promises, one)


def after_review(
    borrower: Borrower, hour: int, limit: float, request_id: str, *, approved: bool
) -> Borrower:
    """Remember that a person approved a loan, or declined one that had been approved."""
    others = tuple(one for one in borrower.promises if one.request_id != request_id)
    if approved and limit:
        others = _with_one_more(others, Promise(hour, float(limit), request_id))
    if others == borrower.promises:
        return borrower
    return msgspec.structs.replace(borrower, promises=others)


# ------------------------------------------------------------------------------------------ telling


def after_event(borrower: Borrower, event: LoanEvent) -> tuple[Borrower, Answer]:
    """Take in what was told of a loan, and say what became of it."""
    loan = borrower.loans.get(event.loan, KeptLoan())
    if event.kind is LoanEventKind.PAYMENT:
        name = event.name or f"{event.day} {event.amount!r}"
        paid = Amount(event.day, event.amount or 0.0)
        answer = _answer(loan.payments.get(name), paid, event)
        after = msgspec.structs.replace(loan, payments={**loan.payments, name: paid})
    elif event.kind is LoanEventKind.DISBURSED:
        lent = Disbursed(event.day, event.amount or 0.0, event.dues, event.request_id)
        answer = _answer(loan.disbursed, lent, event)
        after = msgspec.structs.replace(loan, disbursed=lent)
    else:
        closed = Closed(event.day, event.ending, event.request_id)
        answer = _answer(loan.closed, closed, event)
        after = msgspec.structs.replace(loan, closed=closed)
    if answer not in {Answer.RECORDED, Answer.CORRECTED}:
        return borrower, answer
    changed = msgspec.structs.replace(borrower, loans={**borrower.loans, event.loan: after})
    return (borrower, Answer.TOO_MANY) if changed.events > EVENTS_MAX else (changed, answer)


def _answer(known: object, told: object, event: LoanEvent) -> Answer:
    if known is None:
        return Answer.RECORDED
    if known == told:
        return Answer.UNCHANGED
    return Answer.CORRECTED if event.corrects else Answer.CONFLICT


def after_outcome(borrower: Borrower, request_id: str, outcome: KeptOutcome) -> Borrower:
    """Take in how the loan of a score went, in the place of what was known."""
    if request_id not in borrower.outcomes and borrower.events >= EVENTS_MAX:
        return borrower
    outcomes = {**borrower.outcomes, request_id: outcome}
    return msgspec.structs.replace(borrower, outcomes=outcomes)


# ------------------------------------------------------------------------------------------ reading


def loans_of(borrower: Borrower) -> Iterator[Loan]:
    """Give the loans that were paid out, with what outcomes say of them."""
    outcomes = dict(borrower.outcomes)
    for kept in borrower.loans.values():
        lent = kept.disbursed
        if lent is None or (kept.closed and kept.closed.ending is Ending.CANCELLED):
            continue
        outcome = None if lent.request_id is None else outcomes.pop(lent.request_id, None)
        yield _whole(kept, lent, outcome)
    for outcome in outcomes.values():
        due = (Amount(outcome.due_on, outcome.amount),)
        lent = Disbursed(outcome.lent_on, outcome.amount, due, None)
        yield _whole(KeptLoan(), lent, outcome)


def _whole(kept: KeptLoan, lent: Disbursed, outcome: KeptOutcome | None) -> Loan:
    payments = tuple(kept.payments.values())
    closed = kept.closed
    if outcome is not None:
        if closed is None and outcome.state in _ENDINGS:
            closed = Closed(outcome.happened_on, _ENDINGS[outcome.state])
        if not payments and closed is None and outcome.repaid:
            payments = (Amount(outcome.happened_on, outcome.repaid),)
    return Loan(
        lent.day,
        lent.amount,
        lent.dues,
        payments,
        None if closed is None else closed.day,
        closed is None or closed.ending is Ending.REPAID,
    )


_ENDINGS: Final[Mapping[State, Ending]] = {
    State.REPAID: Ending.REPAID,
    State.WRITTEN_OFF: Ending.WRITTEN_OFF,
}
"""The others leave a loan open: something of it may still come."""


def settled_of(borrower: Borrower, day: int) -> Settled:
    """Say which promises were kept by a day, or will not be.

    A loan that a clock ahead of ours has dated tomorrow is owed from then on: until then its
    promise counts.
    """
    named = set(borrower.outcomes)
    unnamed = []
    for kept in borrower.loans.values():
        if kept.closed is not None and kept.closed.request_id is not None:
            named.add(kept.closed.request_id)
        if kept.disbursed is None or kept.disbursed.day > day:
            continue
        if kept.disbursed.request_id is None:
            unnamed.append(kept.disbursed.day)
        else:
            named.add(kept.disbursed.request_id)
    return Settled(named, unnamed)


def facts_of(borrower: Borrower, hour: int) -> LoanFacts:
    """Work out what the loans of a borrower come to on the day of an hour."""
    if not borrower.loans and not borrower.outcomes:
        return memory.NO_LOANS
    return memory.loan_facts(loans_of(borrower), hour // DAY_HOURS)


def remembered(borrower: Borrower, hour: int, facts: LoanFacts | None = None) -> Remembered:
    """Give the fields of the memory as they stand in an hour; `facts` are those of its day."""
    promised: Sequence[Promise] = borrower.promises
    if promised:
        told = borrower.loans or borrower.outcomes
        settled = settled_of(borrower, hour // DAY_HOURS) if told else NOTHING_SETTLED
        promised = memory.standing(promised, settled, hour)
    known = facts_of(borrower, hour) if facts is None else facts
    return memory.remembered(known, borrower.asked, promised, hour)
