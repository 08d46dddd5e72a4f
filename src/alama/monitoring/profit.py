"""What mature loans brought, in money: what came back less what it took to lend it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.lending.cash_flow import YEAR_DAYS, Periods
from alama.core.lending.earnings import Sum
from alama.core.lending.policy import UNSAID, Kind, policy_of, products_of
from alama.core.monitoring.figures import COUNT_MIN, Explored, MonthProfit, ProductFigures, Profit
from alama.core.monitoring.rates import Interval, Loans, Weighed, rate
from alama.monitoring.records import GrantedRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alama.core.lending.policy import Policy
    from alama.monitoring.records import AmountRow, LotRow, ProductRow


MONTHS_MAX: Final = 24
_PERCENT: Final = 100.0


class _Spent(NamedTuple):
    """What the loans of a row took, and the sum and the squares of what they brought."""

    funding: float
    cost: float
    tax: float
    brought: Sum


def profit_of(rows: Sequence[AmountRow], policy: Policy) -> Profit | None:
    """Give what the loans brought by the month; None where no amounts are known.

    Loans of a product are reckoned by it, and by the policy itself once it has it no more.
    """
    reckons = _Reckons(policy)
    valued = [row for row in rows if row.count]
    if not valued:
        return None
    months = tuple(
        _month(month, list(some), reckons)
        for month, some in groupby(sorted(valued, key=_month_of), key=_month_of)
    )
    whole = _added(reckons.spent(row).brought for row in valued)
    ends = _ends(whole)
    return Profit(
        loans=whole.count,
        unvalued=sum(row.unvalued for row in rows),
        without_price=sum(row.without_price for row in rows),
        profit=whole.value,
        low=None if ends is None else ends.low,
        high=None if ends is None else ends.high,
        months=months[-MONTHS_MAX:],
    )


def products_told(
    rates: Sequence[ProductRow],
    granted: Sequence[GrantedRow],
    amounts: Sequence[AmountRow],
    policy: Policy | None,
) -> tuple[ProductFigures, ...]:
    """Tell of each product what was approved of it, how its loans went, and what they brought.

    Those of the policy come first, in its order.
    """
    of_rates = {row.product: Loans(row.count, row.defaults, row.predicted) for row in rates}
    of_granted = {row.product: row for row in granted}
    offered = [one.name for one in products_of(policy)] if policy else []
    told = []
    for name in dict.fromkeys([*offered, *sorted({*of_rates, *of_granted})]):
        given = of_granted.get(name, GrantedRow(name, 0, 0.0))
        own = [row for row in amounts if row.product == name]
        found = profit_of(own, policy) if policy else None
        told.append(
            ProductFigures(
                product=name,
                offered=name in offered,
                approved=given.number,
                volume=given.volume,
                rate=rate(of_rates.get(name, Loans())),
                valued=found.loans if found else 0,
                profit=found.profit if found else None,
                low=found.low if found else None,
                high=found.high if found else None,
            )
        )
    return tuple(told)


def explored_of(row: LotRow) -> Explored | None:
    """Weigh the loans that were approved by lot; None where there are none."""
    if not row.count:
        return None
    weighed = Weighed(row.weight, row.weight_squared, row.defaults_weight, row.defaults_squared)
    low, high = weighed.interval
    return Explored(
        count=row.count,
        defaults=row.defaults,
        stand_for=row.weight,
        realised=weighed.rate,
        low=low,
        high=high,
        predicted=row.predicted_weight / row.weight,
    )


def _month_of(row: AmountRow) -> int:
    return row.month


def _month(month: int, rows: Sequence[AmountRow], reckons: _Reckons) -> MonthProfit:
    spent = [reckons.spent(row) for row in rows]
    brought = _added(one.brought for one in spent)
    ends = _ends(brought)
    return MonthProfit(
        month=f"{month // 100:04d}-{month % 100:02d}",
        loans=brought.count,
        disbursed=sum(row.disbursed for row in rows),
        repaid=sum(row.repaid for row in rows),
        funding=sum(one.funding for one in spent),
        cost=sum(one.cost for one in spent),
        tax=sum(one.tax for one in spent),
        profit=brought.value,
        low=None if ends is None else ends.low,
        high=None if ends is None else ends.high,
    )


class _Reckons:
    """A policy, and each of its products as a policy of its own."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._own = {one.name: policy_of(policy, one) for one in products_of(policy)}

    def spent(self, row: AmountRow) -> _Spent:
        """Work out what loans took by the product that they are of."""
        return _spent(row, self._own.get(row.product or "", self._policy))


def _spent(row: AmountRow, policy: Policy) -> _Spent:
    """Work out what loans of one length took: a share of each amount, and as much for each loan."""
    pricing = policy.pricing
    said = UNSAID if isinstance(policy.repayment, msgspec.UnsetType) else policy.repayment
    days = max(row.days, 1)
    every = None if said.kind is Kind.BULLET else min(said.every_days, days)
    owed_years = days / YEAR_DAYS * Periods(days, every).weight
    funding = pricing.funding / _PERCENT * owed_years * row.disbursed
    cost = pricing.cost_share * row.disbursed + pricing.cost_per_loan * row.count
    tax = said.fee_tax * (pricing.fee_share * row.disbursed + pricing.fee_per_loan * row.count)
    each = pricing.cost_per_loan + said.fee_tax * pricing.fee_per_loan
    out = (
        1.0
        + pricing.funding / _PERCENT * owed_years
        + pricing.cost_share
        + said.fee_tax * pricing.fee_share
    )
    squares = (
        row.repaid_squared
        + out * out * row.disbursed_squared
        + each * each * row.count
        - 2.0 * out * row.crossed
        - 2.0 * each * row.repaid
        + 2.0 * each * out * row.disbursed
    )
    value = row.repaid - out * row.disbursed - each * row.count
    return _Spent(funding, cost, tax, Sum(value, squares, row.count))


def _added(sums: Iterable[Sum]) -> Sum:
    value = squares = 0.0
    count = 0
    for one in sums:
        value, squares, count = value + one.value, squares + one.squares, count + one.count
    return Sum(value, squares, count)


def _ends(found: Sum) -> Interval | None:
    return found.interval if found.count >= COUNT_MIN else None
