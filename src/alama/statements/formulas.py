"""`fields/1`: the published formula of every field that is derived from a ledger.

What is counted is counted in whole numbers, and divided last: neither the order of the rows nor
the zone in which a time is written changes a bit.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from datetime import date, timedelta
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.statements.ledger import INFLOW, OUTFLOW, Declared, Direction, Entry, Kind, Status
from alama.statements.published import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alama.statements.places import Place

VERSION: Final = "fields/1"
WINDOW_MONTHS: Final = 6
TREND_MONTHS_MIN: Final = 3
TOP_UP_DAYS_MIN: Final = 3

NO_TRANSACTIONS: Final = "no_transactions"
NO_FULL_MONTH: Final = "no_full_month"
NO_BALANCES: Final = "no_balances"
TOO_FEW_MONTHS: Final = "too_few_months"
BELOW_ZERO: Final = "below_zero"

_TOP_UP: Final = frozenset({Kind.AIRTIME_OUT, Kind.DATA_OUT})
_LENT: Final = frozenset({Kind.LOAN_IN, Kind.LOAN_OUT})
_MONEY_MOVED: Final = frozenset({Status.COMPLETED, Status.REVERSED})
_SHARE_DECIMALS: Final = 9
_NEAR_ZERO_SHARE: Final = 100


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What the figures stand on: the window, and what of the wallet is in the ledger.

    `months` is 0 where there is no full month, and then there is no window. `may_be_older`: money
    was there before the first transaction, so the wallet is older than `mm_months` can tell.
    """

    as_of: date
    first_day: date | None
    last_day: date | None
    months: int
    transactions: int
    first_transaction: date | None
    last_transaction: date | None
    may_be_older: bool


class Derived(msgspec.Struct, frozen=True):
    """The fields of one ledger on one day; what is missing says why."""

    fields: dict[str, float]
    missing: dict[str, str]
    coverage: Coverage


class _Leg(NamedTuple):
    """An entry that counts, on its local day, without what was taken back of it."""

    day: int
    amount: int
    entry: Entry


def derive(
    entries: Iterable[Entry],
    declared: Declared,
    as_of: date,
    place: Place,
    opened_on: date | None = None,
) -> Derived:
    """Give the fields of an application of the day `as_of`; nothing of that day or later counts.

    `opened_on` is when the wallet was opened, where the lender knows better than the statement.
    """
    known = sorted(
        (
            (day, entry)
            for entry in entries
            if (day := entry.at.astimezone(place.zone).toordinal()) < as_of.toordinal()
        ),
        key=lambda one: one[1].at,
    )
    moved = [one for one in known if one[1].status in _MONEY_MOVED]
    legs = _effective(known)
    opened = opened_on or declared.opened_on
    began = _began(legs, opened)
    balances = _Balances(moved, declared.opening)
    first, last = _window(_starts(began, declared, balances.before), declared, as_of)
    months = 0 if first is None or last is None else _index(last) - _index(first) + 1
    coverage = Coverage(
        as_of=as_of,
        first_day=first if months else None,
        last_day=last if months else None,
        months=months,
        transactions=len({leg.entry.group for leg in legs}),
        first_transaction=date.fromordinal(legs[0].day) if legs else None,
        last_transaction=date.fromordinal(legs[-1].day) if legs else None,
        may_be_older=opened is None and bool(balances.before),
    )
    fields: dict[str, float] = {}
    missing: dict[str, str] = {}
    if began is None:
        return Derived(fields, dict.fromkeys(NAMES, NO_TRANSACTIONS), coverage)
    fields["mm_months"] = _whole_months(began, as_of)
    if first is None or last is None or not months:
        missing = {name: NO_FULL_MONTH for name in NAMES if name not in fields}
        return Derived(fields, missing, coverage)
    window = _Window(first.toordinal(), last.toordinal(), months, legs, known)
    _flows(window, place, fields)
    _habits(window, fields, missing)
    _of_balances(window, balances, fields, missing)
    return Derived({name: fields[name] for name in NAMES if name in fields}, missing, coverage)


# ------------------------------------------------------------------------------- what counts


def _effective(known: Sequence[tuple[int, Entry]]) -> list[_Leg]:
    """Give what was completed and stayed so: without reversals, and what they took back."""
    returned: Counter[str] = Counter()
    for _, entry in known:
        if entry.reverses is not None and entry.status is Status.COMPLETED:
            returned[entry.reverses] += entry.amount
    return [
        _Leg(day, left, entry)
        for day, entry in known
        if entry.status is Status.COMPLETED
        and entry.kind is not Kind.REVERSAL
        and entry.reverses is None
        and (left := entry.amount - returned[entry.id]) > 0
    ]


def _began(legs: Sequence[_Leg], opened: date | None) -> date | None:
    first = date.fromordinal(legs[0].day) if legs else None
    days = [day for day in (first, opened) if day is not None]
    return min(days, default=None)


def _starts(began: date | None, declared: Declared, before: int | None) -> date | None:
    """Give the first day that the ledger covers.

    Where money was there before the first transaction the wallet is older, and the statement
    covers all of the period that it names.
    """
    if began is None or declared.first_day is None:
        return began
    return declared.first_day if before else max(began, declared.first_day)


def _window(
    starts: date | None, declared: Declared, as_of: date
) -> tuple[date | None, date | None]:
    """Give first and last day of the full months that wallet and statement cover."""
    if starts is None:
        return None, None
    ends = declared.last_day or as_of
    month = _index(as_of)
    covered = [
        index
        for index in range(month - WINDOW_MONTHS, month)
        if starts <= _first_of(index) and _first_of(index + 1) - timedelta(days=1) <= ends
    ]
    if not covered:
        return None, None
    return _first_of(covered[0]), _first_of(covered[-1] + 1) - timedelta(days=1)


def _index(day: date) -> int:
    return day.year * 12 + day.month - 1


def _first_of(index: int) -> date:
    return date(index // 12, index % 12 + 1, 1)


def _whole_months(first: date, as_of: date) -> int:
    return max(0, _index(as_of) - _index(first) - (as_of.day < first.day))


class _Window:
    """The legs of the window, and its failed ones; days are ordinals."""

    def __init__(
        self,
        first: int,
        last: int,
        months: int,
        legs: Sequence[_Leg],
        known: Sequence[tuple[int, Entry]],
    ) -> None:
        self.first, self.last, self.months = first, last, months
        self.legs = [leg for leg in legs if first <= leg.day <= last]
        self.inflow = [leg for leg in self.legs if _counts(leg, INFLOW, Direction.IN)]
        self.outflow = [leg for leg in self.legs if _counts(leg, OUTFLOW, Direction.OUT)]
        self.received = sum(leg.amount for leg in self.inflow)
        self.spent = sum(leg.amount for leg in self.outflow)
        begun: dict[str, int] = {}
        for leg in legs:  # in the order of time, so the first leg of an act is met first
            begun.setdefault(leg.entry.group, leg.day)
        self.acts = [day for day in begun.values() if first <= day <= last]
        self.failed = len(
            {
                entry.group
                for day, entry in known
                if first <= day <= last
                and entry.status is Status.FAILED
                and entry.direction is Direction.OUT
            }
        )

    @property
    def days(self) -> int:
        return self.last - self.first + 1

    def of(self, *kinds: Kind) -> int:
        """Sum what was moved by these kinds."""
        return sum(leg.amount for leg in self.legs if leg.entry.kind in kinds)

    def monthly(self, count: int) -> float:
        return round(count / self.months, _SHARE_DECIMALS)

    def money(self, hundredths: int) -> float:
        """Give a monthly mean to the cent, halves up."""
        return (2 * hundredths + self.months) // (2 * self.months) / 100


def _counts(leg: _Leg, kinds: frozenset[Kind], direction: Direction) -> bool:
    return leg.entry.kind in kinds and leg.entry.direction is direction


# ---------------------------------------------------------------------------------- figures


def _flows(window: _Window, place: Place, fields: dict[str, float]) -> None:
    months = window.months
    fields["avg_inflow"] = window.money(window.received)
    fields["avg_outflow"] = window.money(window.spent)
    seen: defaultdict[int, set[str]] = defaultdict(set)
    for leg in (*window.inflow, *window.outflow):
        if leg.entry.counterparty is not None:
            seen[_index(date.fromordinal(leg.day))].add(leg.entry.counterparty)
    distinct = sum(len(each) for each in seen.values())
    fields["counterparties"] = (2 * distinct + months) // (2 * months)
    fields["tx_frequency"] = window.monthly(len(window.acts))
    weekend = sum((day + 6) % 7 in place.weekend for day in window.acts)
    fields["weekend_activity"] = _share(weekend, len(window.acts))
    fields["days_inactive"] = window.monthly(window.days - len(set(window.acts)))
    fields["failed_payments"] = window.monthly(window.failed)
    payers: Counter[str] = Counter()
    for leg in window.inflow:
        if leg.entry.counterparty is not None:
            payers[leg.entry.counterparty] += leg.amount
    fields["largest_payer_share"] = _share(max(payers.values(), default=0), window.received)
    salary = sum(leg.amount for leg in window.inflow if leg.entry.kind is Kind.SALARY_IN)
    fields["salary_share"] = _share(salary, window.received)
    fields["cash_out_share"] = _share(window.of(Kind.AGENT_OUT), window.spent)
    borrowed = window.of(Kind.LOAN_IN)
    fields["loan_inflow_share"] = _share(borrowed, borrowed + window.received)
    overdrawn = window.of(Kind.OVERDRAFT_IN)
    fields["overdraft_share"] = min(1.0, _share(overdrawn, window.spent))
    fields["betting_share"] = _share(window.of(Kind.BETTING_OUT), window.spent)


def _habits(window: _Window, fields: dict[str, float], missing: dict[str, str]) -> None:
    top_ups = [leg for leg in window.legs if leg.entry.kind in _TOP_UP]
    fields["airtime_avg"] = window.money(sum(leg.amount for leg in top_ups))
    fields["airtime_freq"] = window.monthly(len({leg.entry.group for leg in top_ups}))
    days = sorted({leg.day for leg in top_ups})
    gaps = [later - earlier for earlier, later in pairwise(days)]
    regular = _evenness(gaps) if len(days) >= TOP_UP_DAYS_MIN else 0.0
    fields["airtime_regularity"] = regular
    fields["lenders_seen"] = len(
        {
            leg.entry.counterparty
            for leg in window.legs
            if leg.entry.kind in _LENT and leg.entry.counterparty is not None
        }
    )
    overdrawn = {leg.day for leg in window.legs if leg.entry.kind is Kind.OVERDRAFT_IN}
    fields["overdraft_days"] = window.monthly(len(overdrawn))
    if window.months < TREND_MONTHS_MIN:
        missing["inflow_trend"] = missing["inflow_regularity"] = TOO_FEW_MONTHS
        return
    by_month = [0] * window.months
    start = _index(date.fromordinal(window.first))
    for leg in window.inflow:
        by_month[_index(date.fromordinal(leg.day)) - start] += leg.amount
    fields["inflow_trend"] = _trend(by_month)
    fields["inflow_regularity"] = _evenness(by_month)


def _of_balances(
    window: _Window, balances: _Balances, fields: dict[str, float], missing: dict[str, str]
) -> None:
    ends = balances.ends(window.first, window.last)
    if ends is None:
        missing |= dict.fromkeys(
            ("avg_balance", "balance_stability", "days_near_zero"), NO_BALANCES
        )
        return
    days = len(ends)
    total = sum(ends)
    fields["balance_stability"] = _evenness(ends)
    # No more than a hundredth of what comes in a month; whole numbers on both sides.
    scale = _NEAR_ZERO_SHARE * window.months
    near = sum(end * scale <= window.received for end in ends)
    fields["days_near_zero"] = window.monthly(near)
    if total < 0:
        missing["avg_balance"] = BELOW_ZERO
    else:
        fields["avg_balance"] = (2 * total + days) // (2 * days) / 100


def _share(part: int, whole: int) -> float:
    return round(part / whole, _SHARE_DECIMALS) if whole else 0.0


def _evenness(values: Sequence[int]) -> float:
    """Give 1 / (1 + sd / mean), by the standard deviation of all of them; 0 for a mean of 0."""
    total, count = sum(values), len(values)
    if total <= 0:
        return 0.0
    spread = count * sum(value * value for value in values) - total * total
    return round(1.0 / (1.0 + math.sqrt(spread) / total), _SHARE_DECIMALS)


def _trend(by_month: Sequence[int]) -> float:
    """Give the slope of the straight line of least squares, as a share of the mean a month."""
    count, total = len(by_month), sum(by_month)
    if not total:
        return 0.0
    # Twice the distance from the middle month: whole numbers.
    distances = range(1 - count, count, 2)
    moved = sum(each * value for each, value in zip(distances, by_month, strict=True))
    spread = sum(each * each for each in distances)
    return round(2 * moved * count / (spread * total), _SHARE_DECIMALS)


# --------------------------------------------------------------------------------- balances


class _Balances:
    """The balance at the end of each day on which it is known, whatever order the rows came in."""

    def __init__(self, moved: Sequence[tuple[int, Entry]], opening: int | None) -> None:
        """Take what moved the balance, in the order of time."""
        self._ends: dict[int, int] = {}
        self.before = opening
        """What was there before the first of them, where that is known."""
        last: int | None = opening
        day_of = {id(entry): day for day, entry in moved}
        for _, together in groupby((entry for _, entry in moved), key=attrgetter("at")):
            legs = list(together)
            last = balance_after(legs, last)
            if last is None:
                continue
            if self.before is None and not self._ends:
                self.before = last - sum(leg.signed for leg in legs)
            self._ends[day_of[id(legs[0])]] = last

    def ends(self, first: int, last: int) -> list[int] | None:
        """Give the balance at the end of each day, the last known carried forward."""
        if self.before is None:
            return None
        earlier = [day for day in self._ends if day < first]
        balance = self._ends[max(earlier)] if earlier else self.before
        found = []
        for day in range(first, last + 1):
            balance = self._ends.get(day, balance)
            found.append(balance)
        return found


def balance_after(legs: Sequence[Entry], before: int | None) -> int | None:
    """Give the balance after all of what happened at one moment, in whatever order it is told.

    Rows of one second say in no order what came last. It is the balance that follows from the one
    before; or else the one from which none of the others goes on.
    """
    told = [leg.balance_after for leg in legs if leg.balance_after is not None]
    if not told:
        return before
    if len(told) == len(legs) == 1:
        return told[0]
    if before is not None:
        due = before + sum(leg.signed for leg in legs)
        if due in told:
            return due
    starts = Counter(
        leg.balance_after - leg.signed for leg in legs if leg.balance_after is not None
    )
    ends = Counter(told) - starts
    return min(ends) if ends else min(told)
