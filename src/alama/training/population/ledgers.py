"""Wallets of people who do not exist: what happened in them, and the figures that this comes to.

A wallet is drawn towards the fields of its applicant. `figures` then counts what was drawn, by
plain sums over months and days: it shares no line with the formulas of `statements`, which can so
be held against a truth. docs/population.md has the recipe.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.training.population.printed import party_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MONTHS_MIN: Final = 2
"""No wallet is younger, so that every statement has a full month."""

_WINDOW_MONTHS: Final = 6
_ACTS_A_MONTH_MAX: Final = 70
_EARLIER_MAX: Final = 8
"""Acts before the window, so that a statement begins when its wallet was opened."""
_SECONDS_OF_DAY: Final = (6 * 3600, 22 * 3600)
_IN_SHARE: Final = 0.34
_COST_SHARE: Final = 0.6
_FAILED_SHARE: Final = 0.03
_TAKEN_BACK_SHARE: Final = 0.04
_OVERDRAWN_SHARE: Final = 0.6
_COSTS: Final = (6_00, 13_00, 27_00, 33_05)
_COSTLY: Final = frozenset({"person_out", "agent_out", "bill_out", "bank_out"})
_FROM: Final = {"person": "person", "merchant": "shop", "agent": "agent"}

_NONE_IS_NAMED: Final = frozenset(
    {"airtime_out", "data_out", "savings_in", "savings_out", "overdraft_in", "overdraft_out"}
)


class Leg(NamedTuple):
    """One leg of an act; money in hundredths, `at` by the clock of the wallet's country."""

    id: str
    at: datetime
    amount: int
    direction: str
    balance_after: int
    kind: str
    counterparty: str | None
    status: str
    group: str
    reverses: str | None = None

    @property
    def signed(self) -> int:
        """The amount as it moves the balance."""
        return self.amount if self.direction == "in" else -self.amount


class Ledger(NamedTuple):
    """A wallet from the day on which it was opened to the day before an application.

    `opening` is what was in it before the first leg, and `number` that of its row: what is printed
    of the wallet is drawn from it.
    """

    legs: tuple[Leg, ...]
    opened_on: date
    applied_on: date
    currency: str
    number: int
    opening: int = 0

    @property
    def last_day(self) -> date:
        return self.applied_on - timedelta(days=1)

    @property
    def closing(self) -> int:
        return self.legs[-1].balance_after


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a wallet is drawn towards; money a month in the currency's unit."""

    mm_months: int
    avg_inflow: float
    avg_outflow: float
    balance_stability: float
    counterparties: int
    tx_frequency: float
    weekend_activity: float
    airtime_avg: float
    airtime_freq: float
    airtime_regularity: float


def draw_ledger(wanted: Wanted, applied_on: date, currency: str, seed: int, number: int) -> Ledger:
    """Draw a wallet; seed and number alone decide, so a row is the same in a longer file."""
    return _Drawing(wanted, applied_on, currency, seed, number).ledger()


class _Drawing:
    """One wallet while it is drawn."""

    def __init__(
        self, wanted: Wanted, applied_on: date, currency: str, seed: int, number: int
    ) -> None:
        # Its `random` alone is promised to stay the same from one Python to the next.
        self._draw = random.Random(f"{seed}/{number}").random  # noqa: S311 - repeatable
        self._wanted, self._applied_on = wanted, applied_on
        self._currency, self._number = currency, number
        self._legs = list[Leg]()
        self._balance = 0
        self._owed = 0
        self._borrows = self._draw() < 0.3  # noqa: PLR2004 - as the table of the page says
        self._overdraws = self._draw() < 0.2  # noqa: PLR2004
        self._bets = self._draw() < 0.25  # noqa: PLR2004
        self._earns = self._draw() < 0.35  # noqa: PLR2004
        self._known = self._parties()

    def ledger(self) -> Ledger:
        """Draw when something happens, then what, in the order of time."""
        opened = self._opened()
        begins = max(opened, _first_of(_index(self._applied_on) - _WINDOW_MONTHS))
        moments = [(datetime.combine(opened, time(8), UTC), "agent_in"), *self._earlier(opened)]
        moments += self._top_ups(begins)
        for index in range(_index(begins), _index(self._applied_on) + 1):
            moments += self._month(max(_first_of(index), begins), index)
        last = datetime.min.replace(tzinfo=UTC)
        for at, kind in sorted(moments):
            at = max(at, last + timedelta(seconds=1))  # noqa: PLW2901 - no two at one time
            self._act(at, kind)
            last = self._legs[-1].at
        return Ledger(tuple(self._legs), opened, self._applied_on, self._currency, self._number)

    # ------------------------------------------------------------------------------- moments

    def _opened(self) -> date:
        months = max(self._wanted.mm_months, MONTHS_MIN)
        first = _first_of(_index(self._applied_on) - months)
        return first.replace(day=1 + self._below(min(self._applied_on.day, 28)))

    def _earlier(self, opened: date) -> list[tuple[datetime, str]]:
        """Draw some acts between the opening and the window."""
        days = (_first_of(_index(self._applied_on) - _WINDOW_MONTHS) - opened).days
        many = min(_EARLIER_MAX, max(days, 0) // 40)
        return [
            (self._moment(opened + timedelta(days=1 + self._below(days))), self._kind())
            for _ in range(many)
        ]

    def _month(self, first: date, index: int) -> list[tuple[datetime, str]]:
        """Draw the acts of a month from a day on, without its top-ups."""
        days = [
            day
            for day in (first + timedelta(days=n) for n in range(31))
            if _index(day) == index and day < self._applied_on
        ]
        if not days or not self._wanted.avg_inflow:
            return []
        many = max(2, min(round(self._wanted.tx_frequency), _ACTS_A_MONTH_MAX))
        found = []
        if self._earns and days[0].day == 1:
            found.append((self._moment(days[min(2, len(days) - 1)]), "salary_in"))
        acts = range(math.ceil(many * len(days) / 30))
        return found + [(self._moment(self._day(days)), self._kind()) for _ in acts]

    def _top_ups(self, begins: date) -> list[tuple[datetime, str]]:
        """Draw top-ups whose gaps are the more even the more regular they should be."""
        if not self._wanted.airtime_freq or not self._wanted.avg_inflow:
            return []
        mean = 30.4 / self._wanted.airtime_freq
        uneven = min(1.0 / max(self._wanted.airtime_regularity, 0.05) - 1.0, 1.7)
        at, found = mean * self._draw(), []
        days = (self._applied_on - begins).days
        while at < days:
            day = begins + timedelta(days=int(at))
            kind = "data_out" if self._draw() < 0.2 else "airtime_out"  # noqa: PLR2004
            found.append((self._moment(day), kind))
            at += max(0.05, mean * (1.0 + uneven * (2.0 * self._draw() - 1.0)))
        return found

    def _day(self, days: Sequence[date]) -> date:
        weekend = [day for day in days if day.weekday() >= 5]  # noqa: PLR2004 - Saturday, Sunday
        others = [day for day in days if day.weekday() < 5]  # noqa: PLR2004
        chosen = weekend if self._draw() < self._wanted.weekend_activity else others
        return (chosen or days)[self._below(len(chosen or days))]

    def _moment(self, day: date) -> datetime:
        begin, end = _SECONDS_OF_DAY
        seconds = begin + self._below(end - begin)
        return datetime.combine(day, time(), UTC) + timedelta(seconds=seconds)

    def _kind(self) -> str:
        """Draw what an act is, by the habits of this person."""
        incoming = ["person_in", "person_in", "merchant_in", "agent_in", "bank_in"]
        outgoing = ["person_out", "person_out", "merchant_out", "merchant_out", "bill_out"]
        outgoing += ["agent_out", "bank_out", "savings_out"]
        if self._bets:
            incoming, outgoing = [*incoming, "betting_in"], [*outgoing, "betting_out"]
        if self._borrows:
            incoming, outgoing = [*incoming, "loan_in"], [*outgoing, "loan_out"]
        incoming.append("savings_in")
        kinds = incoming if self._draw() < _IN_SHARE else outgoing
        return kinds[self._below(len(kinds))]

    # ---------------------------------------------------------------------------------- acts

    def _act(self, at: datetime, kind: str) -> None:
        """Add what happens at a moment: an act with its costs, a payment that fails, ..."""
        if kind.endswith("_in"):
            self._add(at, kind, self._received(kind))
            if self._owed:
                self._repay_overdraft(at + timedelta(seconds=1))
            return
        amount = self._spent(kind)
        cost = 0
        if kind in _COSTLY and self._draw() < _COST_SHARE:
            cost = _COSTS[self._below(len(_COSTS))]
        lacking = amount + cost - self._balance
        if lacking > 0 and self._overdraws and self._draw() < _OVERDRAWN_SHARE:
            group = f"act-{len(self._legs)}"
            self._add(at, "overdraft_in", lacking, group)
            self._owed += lacking
        elif lacking > 0 or self._draw() < _FAILED_SHARE:
            self._add(at, kind, amount, status="failed")
            return
        else:
            group = f"act-{len(self._legs)}"
        paid = self._add(at, kind, amount, group)
        if cost:
            self._add(at, "charge", cost, group)
        elif kind == "person_out" and self._draw() < _TAKEN_BACK_SHARE:
            later = at + timedelta(seconds=40)
            self._add(later, "reversal", amount, reverses=paid)

    def _repay_overdraft(self, at: datetime) -> None:
        amount = min(self._owed, self._balance)
        if amount:
            self._owed -= amount
            self._add(at, "overdraft_out", amount)

    def _add(
        self,
        at: datetime,
        kind: str,
        amount: int,
        group: str | None = None,
        *,
        status: str = "completed",
        reverses: Leg | None = None,
    ) -> Leg:
        came = kind.endswith("_in") or kind == "reversal"
        if status == "completed":
            self._balance += amount if came else -amount
        name = f"act-{len(self._legs)}"
        leg = Leg(
            id=name,
            at=at,
            amount=amount,
            direction="in" if came else "out",
            balance_after=self._balance,
            kind=kind,
            counterparty=self._party(kind),
            status=status,
            group=group or name,
            reverses=None if reverses is None else reverses.id,
        )
        self._legs.append(leg)
        return leg

    def _received(self, kind: str) -> int:
        """Draw an amount that comes; a salary is the greater part of what an employee earns."""
        month = self._wanted.avg_inflow * 100
        if kind == "salary_in":
            return max(100_00, round(month * (0.55 + 0.03 * self._draw())))
        share = 0.35 if self._earns else 1.0
        often = max(1.0, _IN_SHARE * max(2.0, self._wanted.tx_frequency))
        spread = 0.3 + 1.4 * self._draw() * (1.0 + (1.0 - self._wanted.balance_stability))
        return max(10_00, round(share * month / often * spread))

    def _spent(self, kind: str) -> int:
        """Draw an amount that goes; who is steady spends little of what is there at once."""
        if kind in {"airtime_out", "data_out"}:
            each = self._wanted.airtime_avg / max(self._wanted.airtime_freq, 0.5)
            return max(5_00, round(each * 100 * (0.6 + 0.8 * self._draw())))
        often = max(1.0, (1.0 - _IN_SHARE) * max(2.0, self._wanted.tx_frequency))
        usual = self._wanted.avg_outflow * 100 / often * (0.3 + 1.5 * self._draw())
        at_once = self._balance * (1.0 - self._wanted.balance_stability) * self._draw()
        return max(10_00, round(0.75 * usual + 0.25 * at_once))

    # ------------------------------------------------------------------------------- parties

    def _parties(self) -> dict[str, list[str]]:
        """Draw whom this person knows; no two of them are printed alike."""
        found: dict[str, list[str]] = {}
        many = max(3, self._wanted.counterparties)
        counts = {"person": many, "shop": many // 2 + 1, "agent": 3, "bill": 3, "bank": 2}
        counts |= {"salary": 1, "loan": 3, "betting": 2}
        kinds = {"person": "person_out", "shop": "merchant_out", "agent": "agent_out"}
        seen = set[tuple[str, ...]]()
        for what, wanted in counts.items():
            kind = kinds.get(what, "salary_in" if what == "salary" else f"{what}_out")
            names = found[what] = []
            while len(names) < min(wanted, 60):
                name = f"{what}-{self._below(10**9)}"
                party = party_of(_PARTY._replace(kind=kind, counterparty=name))
                assert party is not None
                if party not in seen:
                    seen.add(party)
                    names.append(name)
        return found

    def _party(self, kind: str) -> str | None:
        what = kind.split("_", maxsplit=1)[0]
        if kind in _NONE_IS_NAMED or what in {"charge", "reversal"}:
            return None
        names = self._known[_FROM.get(what, what)]
        # The first are met most often, as it is with people.
        return names[int(len(names) * self._draw() * self._draw())]

    def _below(self, end: int) -> int:
        return int(self._draw() * end)


_PARTY: Final = Leg("", datetime.min.replace(tzinfo=UTC), 1, "out", 0, "person_out", "", "", "")


def _index(day: date) -> int:
    return day.year * 12 + day.month - 1


def _first_of(index: int) -> date:
    return date(index // 12, index % 12 + 1, 1)


# --------------------------------------------------------------------------------- the truth

_NO_INFLOW: Final = frozenset(
    {"loan_in", "overdraft_in", "savings_in", "own_transfer", "reversal", "betting_in"}
)
_NO_OUTFLOW: Final = frozenset({"savings_out", "loan_out", "overdraft_out", "own_transfer"})


def figures(ledger: Ledger) -> dict[str, float]:
    """Count what `fields/1` should come to, for a wallet whose statement tells all of it."""
    applied = ledger.applied_on
    months = [
        index
        for index in range(_index(applied) - _WINDOW_MONTHS, _index(applied))
        if _first_of(index) >= ledger.opened_on
    ]
    days = [
        day
        for day in _days(_first_of(months[0]), applied)
        if _index(day) in months  # not those of the month of application
    ]
    back = {leg.reverses for leg in ledger.legs} - {None}
    window = [leg for leg in ledger.legs if leg.at.date() in set(days)]
    done = [
        leg
        for leg in window
        if leg.status == "completed" and leg.kind != "reversal" and leg.id not in back
    ]
    found = {"mm_months": float(_months_between(ledger.opened_on, applied))}
    found |= _counted(done, window, len(months))
    found |= _of_money(done, months)
    found |= _of_days(ledger, done, days, len(months))
    return found


def _counted(done: Sequence[Leg], window: Sequence[Leg], months: int) -> dict[str, float]:
    acts = {leg.group: leg.at.date() for leg in done}
    top_ups = {leg.group for leg in done if leg.kind in {"airtime_out", "data_out"}}
    met = {
        (_index(leg.at.date()), leg.counterparty)
        for leg in done
        if leg.counterparty is not None and (_is_inflow(leg) or _is_outflow(leg))
    }
    lenders = {leg.counterparty for leg in done if leg.kind in {"loan_in", "loan_out"}}
    failed = {leg.group for leg in window if leg.status == "failed"}
    weekend = sum(day.strftime("%a") in {"Sat", "Sun"} for day in acts.values())
    return {
        "counterparties": math.floor(Fraction(len(met), months) + Fraction(1, 2)),
        "tx_frequency": len(acts) / months,
        "weekend_activity": weekend / len(acts) if acts else 0.0,
        "airtime_freq": len(top_ups) / months,
        "lenders_seen": len(lenders - {None}),
        "failed_payments": len(failed) / months,
    }


def _of_money(done: Sequence[Leg], months: Sequence[int]) -> dict[str, float]:
    came = [leg for leg in done if _is_inflow(leg)]
    went = [leg for leg in done if _is_outflow(leg)]
    received, spent = _sum(came), _sum(went)
    payers: defaultdict[str | None, int] = defaultdict(int)
    for leg in came:
        payers[leg.counterparty] += leg.amount
    payers.pop(None, None)
    kinds: defaultdict[str, int] = defaultdict(int)
    for leg in done:
        kinds[leg.kind] += leg.amount
    air = kinds["airtime_out"] + kinds["data_out"]
    found = {
        "avg_inflow": _cents(Fraction(received, len(months))),
        "avg_outflow": _cents(Fraction(spent, len(months))),
        "airtime_avg": _cents(Fraction(air, len(months))),
        "largest_payer_share": _part(max(payers.values(), default=0), received),
        "salary_share": _part(kinds["salary_in"], received),
        "cash_out_share": _part(kinds["agent_out"], spent),
        "loan_inflow_share": _part(kinds["loan_in"], kinds["loan_in"] + received),
        "overdraft_share": min(1.0, _part(kinds["overdraft_in"], spent)),
        "betting_share": _part(kinds["betting_out"], spent),
    }
    if len(months) > 2:  # noqa: PLR2004 - two months make no trend
        by_month = [_sum(leg for leg in came if _index(leg.at.date()) == one) for one in months]
        middle, mean = Fraction(sum(months), len(months)), Fraction(received, len(months))
        slope = sum((x - middle) * (y - mean) for x, y in zip(months, by_month, strict=True)) / sum(
            (x - middle) ** 2 for x in months
        )
        found["inflow_trend"] = float(slope / mean) if mean else 0.0
        found["inflow_regularity"] = _evenness(by_month)
    return found


def _of_days(
    ledger: Ledger, done: Sequence[Leg], days: Sequence[date], months: int
) -> dict[str, float]:
    ends, balance, place = list[int](), ledger.opening, 0
    for day in days:
        while place < len(ledger.legs) and ledger.legs[place].at.date() <= day:
            balance = ledger.legs[place].balance_after
            place += 1
        ends.append(balance)
    top_ups = sorted({leg.at.date() for leg in done if leg.kind in {"airtime_out", "data_out"}})
    gaps = [(later - earlier).days for earlier, later in pairwise(top_ups)]
    # The day of an act is that of its first leg; here all legs of one are of one moment.
    active = {leg.at.date() for leg in done}
    overdrawn = {leg.at.date() for leg in done if leg.kind == "overdraft_in"}
    little = Fraction(_sum(leg for leg in done if _is_inflow(leg)), 100 * months)
    return {
        "avg_balance": _cents(Fraction(sum(ends), len(ends))),
        "balance_stability": _evenness(ends),
        "airtime_regularity": _evenness(gaps) if len(top_ups) > 2 else 0.0,  # noqa: PLR2004
        "days_inactive": (len(days) - len(active)) / months,
        "days_near_zero": sum(end <= little for end in ends) / months,
        "overdraft_days": len(overdrawn) / months,
    }


def _is_inflow(leg: Leg) -> bool:
    return leg.direction == "in" and leg.kind not in _NO_INFLOW


def _is_outflow(leg: Leg) -> bool:
    return leg.direction == "out" and leg.kind not in _NO_OUTFLOW


def _sum(legs: Iterable[Leg]) -> int:
    return sum(leg.amount for leg in legs)


def _cents(hundredths: Fraction) -> float:
    """Give money in units, to the cent, halves up."""
    return math.floor(hundredths + Fraction(1, 2)) / 100


def _part(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _evenness(values: Sequence[int]) -> float:
    mean = Fraction(sum(values), len(values))
    if mean <= 0:
        return 0.0
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return 1.0 / (1.0 + math.sqrt(variance / (mean * mean)))


def _days(first: date, end: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((end - first).days)]


def _months_between(first: date, last: date) -> int:
    """Count whole months as one counts them on a calendar, one after the other."""
    months, year, month = 0, first.year, first.month
    while True:
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)  # noqa: PLR2004
        if (year, month, first.day) > (last.year, last.month, last.day):
            return months
        months += 1
