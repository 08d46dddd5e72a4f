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
from alama.core.memory import (
    ASKED_HOURS,
    DAY_HOURS,
    PROMISED_HOURS,
    Amount,
    Asked,
    Loan,
    Promise,
    Settled,
)
from alama.core.monitoring.news import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.core.memory import LoanFacts, Remembered


HOUR_US: Final = 3_600 * 1_000_000

EVENTS_MAX: Final = 5_000
"""Of one borrower: more is no borrower, but a reference that many share."""

PROMISED_DAYS: Final = PROMISED_HOURS // DAY_HOURS
"""A loan is told to be of a score of its day, or of so many days before."""

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
        # No id ends with a space: none is ever the day and amount of another payment.
        name = event.name or f"{event.day} {event.amount!r} "
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


def loans_of(borrower: Borrower, day: int) -> Iterator[Loan]:
    """Give the loans that were paid out, with what outcomes say of them.

    One that a clock ahead of ours has dated tomorrow is owed since it was told.
    """
    outcomes = dict(borrower.outcomes)
    for kept, lent, request_id in _given_on(borrower):
        if _is_cancelled(kept):
            continue
        outcome = None if request_id is None else outcomes.pop(request_id, None)
        is_tomorrow = lent.day == day + 1
        since = msgspec.structs.replace(lent, day=day) if is_tomorrow else lent
        yield _whole(kept, since, outcome)
    for outcome in outcomes.values():
        due = (Amount(outcome.due_on, outcome.amount),)
        lent = Disbursed(outcome.lent_on, outcome.amount, due, None)
        yield _whole(KeptLoan(), lent, outcome)


def _given_on(borrower: Borrower) -> Iterator[tuple[KeptLoan, Disbursed, str | None]]:
    """Give the loans that were disbursed, each with the score that it was given on, if known.

    One that names none was given on the oldest score of its day or the few days before whose
    outcome was told, and which no other names: else it would be owed twice.
    """
    lent = [(one, one.disbursed) for one in borrower.loans.values() if one.disbursed is not None]
    named = {one.request_id for _, one in lent}
    left = sorted(
        (outcome.lent_on, request_id)
        for request_id, outcome in borrower.outcomes.items()
        if request_id not in named
    )
    for kept, one in sorted(lent, key=lambda both: both[1].day):
        score = one.request_id
        if score is None and left and not _is_cancelled(kept):
            found = next((at for at in left if 0 <= one.day - at[0] <= PROMISED_DAYS), None)
            if found is not None:
                left.remove(found)
                score = found[1]
        yield kept, one, score


def _is_cancelled(kept: KeptLoan) -> bool:
    return kept.closed is not None and kept.closed.ending is Ending.CANCELLED


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


def settled_of(borrower: Borrower) -> Settled:
    """Say which promises were kept, or will not be."""
    named, unnamed = set(borrower.outcomes), []
    for _, lent, request_id in _given_on(borrower):
        if request_id is None:
            unnamed.append(lent.day)
        else:
            named.add(request_id)
    for kept in borrower.loans.values():
        if kept.closed is not None and kept.closed.request_id is not None:
            named.add(kept.closed.request_id)
    return Settled(named, unnamed)


class Standing(NamedTuple):
    """What was told of loans, as it stands on a day: applications leave it as it is."""

    day: int
    facts: LoanFacts
    settled: Settled


def standing_of(borrower: Borrower, day: int) -> Standing:
    """Work out how the loans of a borrower stand on a day."""
    if not borrower.loans and not borrower.outcomes:
        return Standing(day, memory.NO_LOANS, NOTHING_SETTLED)
    facts = memory.loan_facts(loans_of(borrower, day), day)
    return Standing(day, facts, settled_of(borrower))


def remembered(borrower: Borrower, hour: int, known: Standing | None = None) -> Remembered:
    """Give the fields of the memory as they stand in an hour; `known` is of its day."""
    standing = standing_of(borrower, hour // DAY_HOURS) if known is None else known
    promised: Sequence[Promise] = borrower.promises
    if promised:
        promised = memory.standing(promised, standing.settled, hour)
    return memory.remembered(standing.facts, borrower.asked, promised, hour)
