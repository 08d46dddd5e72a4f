"""The price of one loan: what it must earn, and of what that is made.

The loan of amount A is paid back in n payments over t years; B of it reaches the borrower, which is
less than A by a fee that is deducted. On average the share w = (n + 1) / 2n of it is owed, and a
default, which may be any payment's, loses the share q = default probability x loss given default x
w of all that is due. The total D earns the margin where what comes back on average pays for
everything:

    (1 - q) x D  =  B x (1 + (funding + margin) x w t) + A x cost share + cost per loan + tax

A loan that is repaid at once has n = 1 and w = 1. The price is D - B, fees included: a fee is a
part of it that is fixed in advance, and interest is the rest. It is never less than the fee, and
never more than the caps: what they cut off is taken from the margin. Where nothing is left of that
the loan is *below break-even*.

Only + - x / and `round`, which every machine does alike: the same loan has the same price anywhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.lending.cash_flow import (
    YEAR_DAYS,
    AprKind,
    Aprs,
    Periods,
    Schedule,
    Terms,
    schedule,
    units_of,
)
from alama.core.lending.earnings import Worth
from alama.core.lending.policy import UNSAID, Fees, Kind, Repayment
from alama.core.units import Apr, Money, Probability

if TYPE_CHECKING:
    from alama.core.lending.policy import Caps, Policy, Pricing

MONTH_DAYS: Final = 30
_PERCENT: Final = 100.0
_A_HAIR_MORE: Final = 1.0 + 1e-12


class Price(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The parts of an APR, in percent per year; they add up to it.

    `margin` is what is left: what the policy asks for, more where the fee alone earns more, less
    where a cap cuts the price, below zero where the loan would not pay for itself.
    """

    expected_loss: Apr
    running_cost: Apr
    funding: Apr
    margin: Apr
    tax: Apr = Apr(0.0)


class Quote(msgspec.Struct, frozen=True, gc=False):
    """What a loan is offered at: its yearly rate and the parts of it, its fee, what it may lose.

    A policy that does not speak of repayment knows one definition of a rate.
    """

    apr: Apr
    price: Price
    fee: Money
    expected_loss: Money
    aprs: Aprs | None = None


class Tariff:
    """The pricing of one term, with all that does not depend on the loan worked out.

    A *share* here is one of the amount lent, over the whole term; what is beside it, in money,
    depends on no amount.
    """

    __slots__ = (
        "_cap_beside",
        "_cap_share",
        "_even_beside",
        "_even_share",
        "_fee_beside",
        "_fee_share",
        "_is_deducted",
        "_is_said",
        "_least_beside",
        "_least_share",
        "_loss_given_default",
        "_payment_reach",
        "_pricing",
        "_reach",
        "_reach_beside",
        "_received_share",
        "_rounding",
        "_spent_beside",
        "_spent_share",
        "_tax_of_fee",
        "_units",
        "_years",
        "apr_kind",
        "apr_max",
        "months",
        "periods",
        "term_days",
    )

    def __init__(
        self,
        pricing: Pricing,
        caps: Caps,
        term_days: int,
        repayment: Repayment | msgspec.UnsetType = msgspec.UNSET,
        units: int = 100,
    ) -> None:
        """Take the days of the term, and how many smallest units make one of the currency."""
        said = UNSAID if isinstance(repayment, msgspec.UnsetType) else repayment
        self._is_said = said is repayment
        is_bullet = said.kind is Kind.BULLET
        self.term_days = term_days
        self.periods = periods = Periods(term_days, None if is_bullet else said.every_days)
        self._units = units
        # The last of several payments takes what rounding leaves of the others.
        self._rounding = periods.count * (periods.count - 1) / units
        self.months = _months(term_days, said)
        self._payment_reach = (
            math.inf
            if said.payment_share_max is None
            else said.payment_share_max * periods.count / self.months
        )
        self._pricing = pricing
        self._years = term_days / YEAR_DAYS
        self._loss_given_default = pricing.loss_given_default * periods.weight
        self.apr_kind = said.shown_apr
        # What is taken of the amount and not paid out, and what the state takes.
        taxed = 1.0 + said.fee_tax
        self._tax_of_fee = said.fee_tax / taxed
        self._fee_share, self._fee_beside = pricing.fee_share * taxed, pricing.fee_per_loan * taxed
        self._is_deducted = is_deducted = said.fees is Fees.DEDUCTED
        self._received_share = 1.0 - self._fee_share if is_deducted else 1.0
        received_beside = -self._fee_beside if is_deducted else 0.0
        # What has to come back, without the margin and with it.
        funding = pricing.funding / _PERCENT * self._years * periods.weight
        margin = pricing.margin / _PERCENT * self._years * periods.weight
        tax_share, tax_beside = (
            pricing.fee_share * said.fee_tax,
            pricing.fee_per_loan * said.fee_tax,
        )
        self._even_share = (1.0 + funding) * self._received_share + pricing.cost_share + tax_share
        self._even_beside = (1.0 + funding) * received_beside + pricing.cost_per_loan + tax_beside
        self._spent_share = self._even_share + margin * self._received_share
        self._spent_beside = self._even_beside + margin * received_beside
        # The least that is due: amount and fee. The most: what the caps allow.
        self._least_share = 1.0 if is_deducted else 1.0 + self._fee_share
        self._least_beside = 0.0 if is_deducted else self._fee_beside
        if self._is_said:
            self.apr_max = caps.apr_max if said.shown_apr is said.capped_apr else Apr(math.inf)
            times = periods.total_share(said.capped_apr, caps.apr_max)
            self._cap_share, self._cap_beside = self._most_due(times, said, caps, received_beside)
        else:
            self.apr_max = _apr_max(caps, self._years)
            self._cap_share = 1.0 + self.apr_max / _PERCENT * self._years
            self._cap_beside = 0.0
        cheapest = min(max(self._spent_share, self._least_share), self._cap_share)
        self._reach = self.months / cheapest
        self._reach_beside = max(0.0, -self._spent_beside, -self._cap_beside) / cheapest

    def _most_due(
        self, times: float, said: Repayment, caps: Caps, received_beside: float
    ) -> tuple[float, float]:
        """Give the most that may be due: by the cap on the rate, and by that on all charges."""
        share, beside = times * self._received_share, times * received_beside
        if said.capped_apr is AprKind.SIMPLE:  # which is of the amount, not of what arrives
            share, beside = self._received_share + times - 1.0, received_beside
        if caps.charges_max is not None:
            share = min(share, self._received_share + caps.charges_max)
            beside = min(beside, received_beside)
        return share, beside

    @classmethod
    def of(cls, policy: Policy, term_days: int) -> Tariff:
        """Give the pricing of one term of a policy."""
        units = units_of(policy.currency)
        return cls(policy.pricing, policy.caps, term_days, policy.repayment, units)

    def room(self, room_monthly: float, inflow: float) -> float:
        """Give the room per 30 days that may be used: less where one payment would be too large."""
        most = inflow * self._payment_reach
        return min(room_monthly, most)

    def inflow_min(self, due_monthly: float) -> float:
        """Give the inflow of which no payment takes too much where this is due per 30 days."""
        return due_monthly / self._payment_reach

    def amount_max(self, room_monthly: float) -> float:
        """Give the amount that `room_monthly` would repay if nobody ever defaulted: a bound."""
        return room_monthly * self._reach + self._reach_beside

    def amount_min(self, probability: Probability) -> float:
        """Give the amount from which on a loan at the cap pays for itself; infinite if none does.

        It never falls as the probability grows.
        """
        kept = 1.0 - probability * self._loss_given_default
        left = kept * self._cap_share - self._even_share
        beside = self._even_beside - kept * self._cap_beside
        if left > 0.0:
            return max(beside / left, 0.0)
        return math.inf if left < 0.0 or beside > 0.0 else 0.0

    def due_monthly(self, probability: Probability, amount: float) -> float:
        """Give what must be set aside per 30 days to repay amount and price when they are due.

        It never falls as the probability or the amount grows.
        """
        return (self._due(probability, amount) + self._rounding) / self.months

    def _due(self, probability: Probability, amount: float) -> float:
        """Give what is due in all: no cap makes it less than what was lent."""
        spent = amount * self._spent_share + self._spent_beside
        due = spent / (1.0 - probability * self._loss_given_default)
        # `min` and `max` would take as long as all the rest.
        due_min = amount * self._least_share + self._least_beside
        if due < due_min:  # noqa: PLR1730
            due = due_min
        due_max = amount * self._cap_share + self._cap_beside
        if due > due_max:  # noqa: PLR1730
            due = due_max if due_max > amount else amount
        return due

    def is_capped(self, probability: Probability, amount: float) -> bool:
        """Say whether a loan is priced at a cap, so that something is cut from its margin."""
        return self._due(probability, amount) >= amount * self._cap_share + self._cap_beside

    def largest(self, probability: Probability, room_monthly: float, cap: int, step: int) -> int:
        """Give the largest whole step up to the cap, itself a whole step, that can be repaid.

        It is not above 0 where there is none.
        """
        # Solved for the amount. A hair more room makes up for rounding: `due_monthly` decides.
        due = room_monthly * self.months * _A_HAIR_MORE - self._rounding
        earned = due * (1.0 - probability * self._loss_given_default) - self._spent_beside
        priced = min(earned / self._spent_share, (due - self._least_beside) / self._least_share)
        repaid = max(priced, (due - self._cap_beside) / self._cap_share)
        amount = cap if repaid >= cap else int(repaid // step) * step
        while amount > 0 and self.due_monthly(probability, amount) > room_monthly:
            amount -= step
        return amount

    def apr(self, probability: Probability, amount: float) -> Apr:
        """Give the yearly rate at which the loan earns its margin, by the definition that is shown.

        It is no less than its fee, within the caps, never falls as the probability grows, and is
        rounded down to two decimals.
        """
        if self._is_said:
            aprs = self.periods.aprs(self.terms(probability, amount))
            return min(aprs.by(self.apr_kind), self.apr_max)
        spent = self._spent_share + self._spent_beside / amount
        due = spent / (1.0 - probability * self._loss_given_default)
        due = max(due, self._least_share + self._least_beside / amount)
        percent = (due - 1.0) / self._years * _PERCENT
        return Apr(min(math.floor(percent * 100.0) / 100.0, self.apr_max))

    def terms(self, probability: Probability, amount: float) -> Terms:
        """Give a loan in whole units of the currency, each rounded down."""
        units, lent = self._units, round(amount * self._units)
        if not self._is_said:
            apr = self.apr(probability, amount)
            fee = round(self._fee_within(amount, apr) * units)
            total = _whole(amount * (1.0 + apr / _PERCENT * self._years) * units)
            return Terms(lent, lent, fee, 0, total)
        total = _whole(self._due(probability, amount) * units)
        fee = _whole((amount * self._fee_share + self._fee_beside) * units)
        received = lent
        if self._is_deducted:
            received -= fee
            total = max(total, lent)
        elif total < lent + fee:  # at a cap that leaves no room for all of it
            fee = max(total - lent, 0)
        return Terms(lent, received, fee, _whole(fee * self._tax_of_fee), max(total, received))

    def instalment(self, probability: Probability, amount: float) -> tuple[Money, Money]:
        """Give each payment of a loan, of which the last takes what rounding leaves, and all."""
        total = self.terms(probability, amount).total
        return Money(self.periods.payments(total)[0] / self._units), Money(total / self._units)

    def schedule(self, probability: Probability, amount: float) -> Schedule:
        """Lay out the payments of a loan."""
        return schedule(self.periods, self.terms(probability, amount), self._units)

    def quote(self, probability: Probability, amount: float) -> Quote:
        """Price a loan, and take the price apart."""
        if self._is_said:
            return self._quote(probability, amount)
        apr = self.apr(probability, amount)
        due = amount * (1.0 + apr / _PERCENT * self._years)
        loss = Money(_to_hundredths(probability * self._loss_given_default * due))
        fee = self._fee_within(amount, apr)
        return Quote(apr, self._price_of_old(probability, amount, apr), fee, loss)

    def _quote(self, probability: Probability, amount: float) -> Quote:
        terms, pricing = self.terms(probability, amount), self._pricing
        aprs = self.periods.aprs(terms)
        apr = min(aprs.by(self.apr_kind), self.apr_max)
        charges, units = terms.total - terms.received, self._units
        times = apr / charges if charges else 0.0
        lost = probability * self._loss_given_default * terms.total
        run = pricing.cost_share * terms.amount + pricing.cost_per_loan * units
        owed_years = self._years * self.periods.weight
        funded = terms.received * pricing.funding / _PERCENT * owed_years
        loss, cost = _to_hundredths(lost * times), _to_hundredths(run * times)
        funding, tax = _to_hundredths(funded * times), _to_hundredths(terms.tax * times)
        margin = _to_hundredths(apr - loss - cost - funding - tax)
        price = Price(Apr(loss), Apr(cost), Apr(funding), Apr(margin), Apr(tax))
        loss_in_money = Money(_to_hundredths(lost / units))
        return Quote(apr, price, Money(terms.fee / units), loss_in_money, aprs)

    def worth(self, probability: Probability, amount: float) -> Worth:
        """Give the money of a loan: what it brings, what it costs, what a default of it loses."""
        terms, pricing, units = self.terms(probability, amount), self._pricing, self._units
        total, received = terms.total / units, terms.received / units
        owed_years = self._years * self.periods.weight
        return Worth(
            probability,
            amount,
            total,
            total - received,
            received * pricing.funding / _PERCENT * owed_years,
            pricing.cost_share * amount + pricing.cost_per_loan,
            terms.tax / units,
            self._loss_given_default * total,
        )

    # What a policy says that does not speak of repayment; stored scores are priced so again.

    def _fee_within(self, amount: float, apr: Apr) -> Money:
        """Give the part of the price that is taken as a fee; the rest of it is interest."""
        asked = amount * self._fee_share + self._fee_beside
        if asked == 0.0:
            return Money(0.0)
        whole = amount * apr / _PERCENT * self._years
        return Money(math.floor(min(asked, whole) * 100.0) / 100.0)

    def _price_of_old(self, probability: Probability, amount: float, apr: Apr) -> Price:
        pricing, years = self._pricing, self._years
        spent = (pricing.cost_share + pricing.cost_per_loan / amount) / years * _PERCENT
        running_cost = _to_hundredths(spent)
        lost = probability * self._loss_given_default * (_PERCENT + apr * years) / years
        expected_loss = _to_hundredths(lost)
        margin = _to_hundredths(apr - running_cost - pricing.funding - expected_loss)
        # What two decimals leave over goes to the part that is an estimate anyway.
        rest = margin - pricing.margin
        if abs(rest) <= _ROUNDING and expected_loss + rest >= 0.0 and apr < self.apr_max:
            expected_loss, margin = _to_hundredths(expected_loss + rest), pricing.margin
        return Price(Apr(expected_loss), Apr(running_cost), pricing.funding, Apr(margin))


def _months(term_days: int, said: Repayment) -> float:
    """Give of how many months the room counts for all payments together.

    A loan shorter than a month falls due within it, once and as a whole.
    """
    if said.kind is Kind.INSTALMENTS:
        return term_days / MONTH_DAYS
    months = max(term_days, MONTH_DAYS) / MONTH_DAYS
    return months if said.saving == 1.0 else 1.0 + said.saving * (months - 1.0)


def _whole(units: float) -> int:
    """Round down to a whole unit; what lacks a millionth of one is whole."""
    return math.floor(units + 1e-6)


def _to_hundredths(figure: float) -> float:
    """Round to two decimals, half up: a fifth of what `round` costs, and there are many."""
    return math.floor(figure * 100.0 + 0.5) / 100.0


_ROUNDING: Final = 0.025
"""How far two decimals in each of the other parts can move the one that is left, in percent."""


def _apr_max(caps: Caps, years: float) -> Apr:
    """Give the lower of the two caps; that on all charges is rounded down, lest it be exceeded."""
    if caps.charges_max is None:
        return caps.apr_max
    in_all = math.floor(caps.charges_max / years * _PERCENT * 100.0) / 100.0
    return Apr(min(caps.apr_max, in_all))
