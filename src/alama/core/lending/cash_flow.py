"""One cash flow of a loan: what reaches the borrower, what is paid back when, and what that costs.

A loan is repaid at once (*bullet*) or in equal payments (*instalments*), each a whole number of the
currency's smallest units; the last one takes what rounding leaves. Everything that is said of its
price follows from these payments. There are three definitions of a yearly rate:

    simple     what is paid beyond what was received, a year, over the amount
    nominal    the internal rate of a period times the periods of a year
    effective  the internal rate compounded over a year

Whatever decides is made of + - x / and powers of decimals, which every machine does alike; rates
that are only shown may use logarithms.
"""

from __future__ import annotations

import math
from decimal import Decimal
from enum import StrEnum
from itertools import repeat
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.units import Apr, Money

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


YEAR_DAYS: Final = 365
_PERCENT: Final = 100.0
_ROUNDS_MAX: Final = 100
_NO_CENTS: Final = frozenset({"UGX", "RWF", "XOF", "XAF", "BIF", "GNF", "VND", "CLP", "PYG"})
"""Currencies whose smallest unit is the unit itself."""

_CENTS: Final = 100


class AprKind(StrEnum):
    """What a yearly rate means."""

    SIMPLE = "simple"
    NOMINAL = "nominal"
    EFFECTIVE = "effective"


_SIMPLE: Final = AprKind.SIMPLE
_NOMINAL: Final = AprKind.NOMINAL


class Payment(msgspec.Struct, frozen=True, gc=False):
    """One payment: so many days after the loan began, and what of it repays, earns and is fee."""

    day: int
    amount: Money
    principal: Money
    interest: Money
    fee: Money


class Schedule(msgspec.Struct, frozen=True, gc=False):
    """A loan from its first day to its last; all sums agree to the smallest unit.

    `received` and the charges (`fee`, of which `tax` is the state's, and `interest`) add up to
    `total`, which is the sum of the payments. A fee that is deducted is in no payment.
    """

    amount: Money
    received: Money
    fee: Money
    tax: Money
    interest: Money
    total: Money
    payments: tuple[Payment, ...]


class Aprs(msgspec.Struct, frozen=True, gc=False):
    """The price of one cash flow by each definition, percent a year, rounded down to hundredths."""

    simple: Apr
    nominal: Apr
    effective: Apr

    def by(self, kind: AprKind) -> Apr:
        """Give the one of a definition."""
        # A value of an enum takes long to look up on Python 3.11.
        if kind is _NOMINAL:
            return self.nominal
        return self.simple if kind is _SIMPLE else self.effective


class Terms(msgspec.Struct, frozen=True, gc=False):
    """A loan in whole units: what is lent, what of it arrives, the fee with its tax, the total."""

    amount: int
    received: int
    fee: int
    tax: int
    total: int


def units_of(currency: str) -> int:
    """Give how many smallest units make one of a currency."""
    return 1 if currency in _NO_CENTS else _CENTS


class Periods:
    """When a loan of one term is paid back: `count` times, every `days`."""

    __slots__ = ("_a_year", "_years", "count", "days", "weight")

    def __init__(self, term_days: int, every_days: int | None) -> None:
        """Take the days between payments; None for a loan that is repaid at once."""
        self.days = every_days or term_days
        self.count = term_days // self.days
        self.weight = (self.count + 1) / (2 * self.count)
        """The share of a loan that is owed on average, and when a default may be any payment's."""
        self._a_year = YEAR_DAYS / self.days
        self._years = term_days / YEAR_DAYS

    def total_share(self, kind: AprKind, apr: float) -> float:
        """Give what is paid in all at a rate, as a share of what was received."""
        if kind is AprKind.SIMPLE:
            return 1.0 + apr / _PERCENT * self._years
        rate = apr / _PERCENT / self._a_year
        if kind is AprKind.EFFECTIVE:
            # As a decimal, which every machine raises to a power alike.
            yearly = 1 + Decimal(apr) / 100
            rate = float(yearly ** (Decimal(self.days) / YEAR_DAYS) - 1)
        return self.count / _worth(1.0 / (1.0 + rate), repeat(1.0, self.count))

    def payments(self, total: int) -> list[int]:
        """Share a total of whole units out; the last payment takes what is left."""
        level, rest = divmod(total, self.count)
        return [*repeat(level, self.count - 1), level + rest]

    def aprs(self, terms: Terms) -> Aprs:
        """Give the yearly rate of a loan by each definition, percent rounded down to hundredths."""
        if self.count == 1:
            rate = (terms.total - terms.received) / terms.received
        else:
            rate = internal_rate(terms.received, self.payments(terms.total))
        charged = (terms.total - terms.received) / terms.amount
        return Aprs(
            _to_hundredths(charged / self._years * _PERCENT),
            _to_hundredths(rate * self._a_year * _PERCENT),
            _to_hundredths(math.expm1(math.log1p(rate) * self._a_year) * _PERCENT),
        )


def internal_rate(received: float, payments: Sequence[float]) -> float:
    """Give the rate at which payments, one at the end of each period, are worth what was received.

    Newton's steps on v = 1 / (1 + rate): what payments are worth rises with it and bends upwards,
    so after the first of them they fall until there is nothing left to fall.
    """
    # As if all were paid half-way.
    v = 1.0 / (1.0 + max(sum(payments) / received - 1.0, 0.0) * 2.0 / (len(payments) + 1))
    for number in range(_ROUNDS_MAX):
        worth = slope = 0.0
        for payment in reversed(payments):
            slope = slope * v + worth
            worth = worth * v + payment
        # Both are still to be discounted by the first period.
        slope = slope * v + worth
        nearer = v - (worth * v - received) / slope
        if number and nearer >= v:
            break
        v = nearer
    return (1.0 - v) / v


def _worth(v: float, payments: Iterable[float]) -> float:
    """Give what payments are worth at a discount of v a period; they are read from the last."""
    worth = 0.0
    for payment in payments:
        worth = (worth + payment) * v
    return worth


def _to_hundredths(percent: float) -> Apr:
    # A hair more: what is 36.5 to all its digits must not be shown as 36.49.
    return Apr(math.floor(percent * 100.0 + 1e-6) / 100.0)


def schedule(periods: Periods, terms: Terms, units: int) -> Schedule:
    """Lay out the payments of a loan; `units` make one of the currency."""
    owed = terms.received + terms.fee
    payments = periods.payments(terms.total)
    interest_left = terms.total - owed
    rate = internal_rate(owed, payments) if interest_left > 0 else 0.0
    fee = terms.fee if owed > terms.amount else 0  # or it was deducted
    balance, fee_paid, lines = owed, 0, []
    for number, payment in enumerate(payments, start=1):
        interest = min(math.floor(balance * rate + 0.5), interest_left)
        if number == len(payments):
            interest = interest_left
        balance -= payment - interest
        interest_left -= interest
        fee_until_now = fee * (owed - balance) // owed
        of_fee, fee_paid = fee_until_now - fee_paid, fee_until_now
        parts = (payment, payment - interest - of_fee, interest, of_fee)
        lines.append(Payment(number * periods.days, *(_money(part, units) for part in parts)))
    interest = terms.total - owed
    return Schedule(
        _money(terms.amount, units),
        _money(terms.received, units),
        _money(terms.fee, units),
        _money(terms.tax, units),
        _money(interest, units),
        _money(terms.total, units),
        tuple(lines),
    )


def _money(whole: int, units: int) -> Money:
    return Money(whole / units)
