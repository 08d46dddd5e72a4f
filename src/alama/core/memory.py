"""What a lender's book remembers of a borrower: ten fields, and how each is worked out.

They are read by rules and by models, and never sent. All of it is a question about one moment: what
is dated later is not looked at, so the same lists give what was known on any day of the past. What
is dated that very day counts: whoever repays in the morning may borrow at noon.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.catalogue import Catalogue, Direction, Field, Kind, Labels, Use

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


DAY_HOURS: Final = 24
ASKED_HOURS: Final = 30 * DAY_HOURS
"""For how long an application is remembered."""

PROMISED_HOURS: Final = 3 * DAY_HOURS
"""For how long what was approved counts as lent, unless somebody says what became of it."""

_MONEY_MAX: Final = 1e12
_COUNT_MAX: Final = 1e6


class Remembered(msgspec.Struct, frozen=True, gc=False):
    """The fields of the memory as they were read, in the order of `FIELDS`."""

    open_loans: int = 0
    open_balance: float = 0.0
    loans_repaid: int = 0
    worst_days_past_due: int = 0
    days_since_last_loan: int | None = None
    applications_1d: int = 0
    applications_30d: int = 0
    declined_7d: int = 0
    largest_repaid: float = 0.0
    days_past_due: int = 0


def _count(
    name: str, unit: str, meaning: str, labels: Labels, direction: Direction = Direction.RISKIER
) -> Field:
    return Field(
        name=name,
        kind=Kind.INTEGER,
        minimum=0,
        maximum=_COUNT_MAX,
        unit=unit,
        meaning=meaning,
        direction=direction,
        use=Use.MEMORY,
        labels=labels,
    )


def _money(name: str, meaning: str, labels: Labels, direction: Direction) -> Field:
    return Field(
        name=name,
        kind=Kind.NUMBER,
        minimum=0,
        maximum=_MONEY_MAX,
        money=True,
        unit="money",
        meaning=meaning,
        direction=direction,
        use=Use.MEMORY,
        labels=labels,
    )


FIELDS: Final = (
    _count(
        "open_loans",
        "loans",
        "loans not paid back yet, with those approved within 3 days",
        Labels(
            en="how many of your loans are not paid back yet",
            sw="idadi ya mikopo yako ambayo haijalipwa bado",
            fr="le nombre de vos prêts qui ne sont pas encore remboursés",
        ),
    ),
    _money(
        "open_balance",
        "what is still owed on them, with what was approved within 3 days",
        Labels(
            en="what you still owe on earlier loans",
            sw="kiasi ambacho bado unadaiwa kwenye mikopo ya awali",
            fr="ce que vous devez encore sur des prêts antérieurs",
        ),
        Direction.RISKIER,
    ),
    _count(
        "loans_repaid",
        "loans",
        "loans paid back in full",
        Labels(
            en="how many loans you have paid back",
            sw="idadi ya mikopo ambayo umelipa yote",
            fr="le nombre de prêts que vous avez remboursés",
        ),
        Direction.SAFER,
    ),
    _count(
        "worst_days_past_due",
        "days",
        "the latest that any payment of any loan ever was",
        Labels(
            en="the latest that you ever paid",
            sw="muda mrefu zaidi ambao umewahi kuchelewa kulipa",
            fr="votre plus long retard de paiement",
        ),
    ),
    _count(
        "days_since_last_loan",
        "days",
        "days since the last loan was paid out",
        Labels(
            en="the time since your last loan",
            sw="muda tangu mkopo wako wa mwisho",
            fr="le temps écoulé depuis votre dernier prêt",
        ),
        Direction.FREE,
    ),
    _count(
        "applications_1d",
        "applications",
        "applications in the 24 hours before this one",
        Labels(
            en="how often you asked within a day",
            sw="mara ambazo umeomba ndani ya siku moja",
            fr="le nombre de vos demandes en un jour",
        ),
    ),
    _count(
        "applications_30d",
        "applications",
        "applications in the 30 days before this one",
        Labels(
            en="how often you asked within 30 days",
            sw="mara ambazo umeomba ndani ya siku 30",
            fr="le nombre de vos demandes en 30 jours",
        ),
    ),
    _count(
        "declined_7d",
        "applications",
        "those of the 7 days before this one that were declined",
        Labels(
            en="how often you were declined within 7 days",
            sw="mara ambazo ombi lako lilikataliwa ndani ya siku 7",
            fr="le nombre de vos demandes refusées en 7 jours",
        ),
    ),
    _money(
        "largest_repaid",
        "the largest loan that was paid back in full",
        Labels(
            en="the largest loan that you have paid back",
            sw="mkopo mkubwa zaidi ambao umelipa wote",
            fr="le plus grand prêt que vous avez remboursé",
        ),
        Direction.SAFER,
    ),
    _count(
        "days_past_due",
        "days",
        "how late the latest unpaid payment is now",
        Labels(
            en="how late your payments are now",
            sw="muda ambao malipo yako yamechelewa sasa",
            fr="votre retard de paiement actuel",
        ),
    ),
)
"""In the order of `Remembered`."""

NAMES: Final = frozenset(field.name for field in FIELDS)

NOTHING: Final[tuple[None, ...]] = (None,) * len(FIELDS)
"""What is known of whoever is not named."""


# ------------------------------------------------------------------------------------------ reading


def with_memory(catalogue: Catalogue) -> Catalogue:
    """Give a catalogue with the fields of the memory behind its own, but for those that it has."""
    more = tuple(field for field in FIELDS if field.name not in catalogue.position)
    return msgspec.structs.replace(catalogue, fields=(*catalogue.fields, *more))


# ------------------------------------------------------------------------------------------- loans


class Amount(NamedTuple):
    """Money on a day since 1970: what falls due by then, or was paid."""

    day: int
    money: float


class Loan(NamedTuple):
    """A loan as its events tell it; days are since 1970.

    `dues` are the payments agreed on, in the order of their days; without them the loan is late
    only once it is written off. `closed_on`: nothing is owed any more, because it was repaid, or it
    was written off, and stays unpaid for ever.
    """

    disbursed_on: int
    amount: float
    dues: Sequence[Amount] = ()
    payments: Sequence[Amount] = ()
    closed_on: int | None = None
    is_repaid: bool = True


class LoanFacts(NamedTuple):
    """What the loans of a borrower come to, on a day."""

    open_loans: int
    open_balance: float
    loans_repaid: int
    worst_days_past_due: int
    last_loan_on: int | None
    largest_repaid: float
    days_past_due: int


NO_LOANS: Final = LoanFacts(0, 0.0, 0, 0, None, 0.0, 0)


def loan_facts(loans: Iterable[Loan], day: int) -> LoanFacts:
    """Work out what loans come to on a day; what comes later does not count, in any order."""
    known = [_facts_of(loan, day) for loan in loans if loan.disbursed_on <= day]
    if not known:
        return NO_LOANS
    return LoanFacts(
        sum(one.open_loans for one in known),
        math.fsum(one.open_balance for one in known),
        sum(one.loans_repaid for one in known),
        max(one.worst_days_past_due for one in known),
        max(one.last_loan_on or 0 for one in known),
        max(one.largest_repaid for one in known),
        max(one.days_past_due for one in known),
    )


def _facts_of(loan: Loan, day: int) -> LoanFacts:
    paid = sorted(one for one in loan.payments if one.day <= day)
    owed = math.fsum(due.money for due in loan.dues) or loan.amount
    balance = max(owed - math.fsum(one.money for one in paid), 0.0)
    is_closed = loan.closed_on is not None and loan.closed_on <= day
    # Without an agreed payment nobody knows whether interest is still to come.
    is_repaid = (is_closed and loan.is_repaid) or (bool(loan.dues) and balance < _CENT)
    worst, now = _lateness(loan, paid, day, is_repaid=is_repaid)
    is_open = not (is_closed or is_repaid)
    return LoanFacts(
        int(is_open),
        balance if is_open else 0.0,
        int(is_repaid),
        worst,
        loan.disbursed_on,
        loan.amount if is_repaid else 0.0,
        now,
    )


_CENT: Final = 0.005
"""What is less than this is nothing in any currency, and sums of floats may leave it over."""


def _lateness(loan: Loan, paid: Sequence[Amount], day: int, *, is_repaid: bool) -> tuple[int, int]:
    """Give how late the worst payment was, and how late the oldest is that is unpaid now."""
    dues = loan.dues
    if not dues and loan.closed_on is not None and not loan.is_repaid:
        dues = (Amount(loan.closed_on, loan.amount),)
    worst = now = 0
    agreed = sofar = 0.0
    at = 0
    for due in dues:
        if due.day >= day:
            break
        agreed += due.money
        while at < len(paid) and sofar < agreed - _CENT:
            sofar += paid[at].money
            at += 1
        if sofar >= agreed - _CENT:
            late = max(paid[at - 1].day - due.day, 0) if at else 0
        elif is_repaid:  # what was missing is taken to have come with the end
            late = max((loan.closed_on or day) - due.day, 0)
        else:
            late = day - due.day
            now = max(now, late)
        worst = max(worst, late)
    return worst, now


# ------------------------------------------------------------------------------------ applications


class Asked(NamedTuple):
    """Applications within an hour since 1970, and how many of them were declined."""

    hour: int
    applications: int
    declined: int


class Promise(NamedTuple):
    """What was approved in an hour since 1970, and by which decision: nothing is paid out yet."""

    hour: int
    amount: float
    request_id: str


class Settled(NamedTuple):
    """Which promises are kept or void: by the ids of decisions, or by loans that name none.

    `unnamed` are the days on which those were paid out.
    """

    request_ids: Collection[str] = ()
    unnamed: Sequence[int] = ()


def standing(promises: Iterable[Promise], settled: Settled, hour: int) -> list[Promise]:
    """Give the promises that count as lent, in their order.

    A loan that names no decision keeps the oldest promise of its day or before.
    """
    left = [
        one
        for one in sorted(promises)
        if one.request_id not in settled.request_ids and one.hour <= hour
    ]
    for day in sorted(settled.unnamed):
        # Of its day or of the few before: an older one was void when the loan was paid out.
        first, last = day * DAY_HOURS - PROMISED_HOURS, (day + 1) * DAY_HOURS
        kept = next((one for one in left if first < one.hour < last), None)
        if kept is not None:
            left.remove(kept)
    return [one for one in left if hour - one.hour < PROMISED_HOURS]


def remembered(
    loans: LoanFacts, asked: Iterable[Asked], promised: Sequence[Promise], hour: int
) -> Remembered:
    """Put together what is known in an hour since 1970; loans are those of its day."""
    last_day = last_week = last_month = 0
    for at, applications, declined in asked:
        age = hour - at
        if 0 <= age < ASKED_HOURS:
            last_month += applications
            if age < DAY_HOURS:
                last_day += applications
            if age < 7 * DAY_HOURS:
                last_week += declined
    last_loan = loans.last_loan_on
    return Remembered(
        open_loans=loans.open_loans + len(promised),
        open_balance=loans.open_balance + math.fsum(one.amount for one in promised),
        loans_repaid=loans.loans_repaid,
        worst_days_past_due=loans.worst_days_past_due,
        days_since_last_loan=None if last_loan is None else hour // DAY_HOURS - last_loan,
        applications_1d=last_day,
        applications_30d=last_month,
        declined_7d=last_week,
        largest_repaid=loans.largest_repaid,
        days_past_due=loans.days_past_due,
    )
