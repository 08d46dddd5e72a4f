"""The price of one loan: what it must earn, and of what that is made.

The loan of amount A is owed in full for t = term / 365 years; a default loses the share q = default
probability x loss given default of all that is due. It earns its margin at the rate r where what
comes back on average pays for everything:

    (1 - q) x A x (1 + r t)  =  A x (1 + (funding + margin) x t + cost share) + cost per loan

Solved for r, and written as the sum that it is:

    r  =  q (1 + r t) / t  +  (cost share + cost per loan / A) / t  +  funding  +  margin

So r is the whole price, fees included: a fee is a part of it that is fixed in advance, and interest
is the rest. It is never less than the fee, and never more than the caps: what they cut off is taken
from the margin. Where nothing is left of that the loan is *below break-even*.

Only + - x / and `round`, which every machine does alike: the same loan has the same price anywhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.units import Apr, Money, Probability

if TYPE_CHECKING:
    from alama.core.lending.policy import Caps, Pricing

YEAR_DAYS: Final = 365
MONTH_DAYS: Final = 30
_PERCENT: Final = 100.0
_A_HAIR_MORE: Final = 1.0 + 1e-12


class Price(msgspec.Struct, frozen=True, gc=False):
    """The parts of an APR, in percent per year; they add up to it.

    `margin` is what is left: what the policy asks for, more where the fee alone earns more, less
    where a cap cuts the price, below zero where the loan would not pay for itself.
    """

    expected_loss: Apr
    running_cost: Apr
    funding: Apr
    margin: Apr


class Tariff:
    """The pricing of one term, with all that does not depend on the loan worked out.

    A *share* here is one of the amount lent, over the whole term.
    """

    __slots__ = (
        "_cost_per_loan",
        "_due_share_max",
        "_even_share",
        "_fee_per_loan",
        "_fee_share",
        "_loss_given_default",
        "_pricing",
        "_reach",
        "_spent_share",
        "_years",
        "apr_max",
        "months",
        "term_days",
    )

    def __init__(self, pricing: Pricing, caps: Caps, term_days: int) -> None:
        self.term_days = term_days
        # A loan shorter than a month falls due within it, once and as a whole.
        self.months = max(term_days, MONTH_DAYS) / MONTH_DAYS
        self._pricing = pricing
        self._years = term_days / YEAR_DAYS
        self._loss_given_default = pricing.loss_given_default
        self._cost_per_loan = pricing.cost_per_loan
        self._fee_share = pricing.fee_share
        self._fee_per_loan = pricing.fee_per_loan
        self.apr_max = _apr_max(caps, self._years)
        self._due_share_max = 1.0 + self.apr_max / _PERCENT * self._years
        self._even_share = 1.0 + pricing.funding / _PERCENT * self._years + pricing.cost_share
        self._spent_share = self._even_share + pricing.margin / _PERCENT * self._years
        cheapest = max(self._spent_share, 1.0 + pricing.fee_share)
        self._reach = self.months / min(cheapest, self._due_share_max)

    def amount_max(self, room_monthly: float) -> float:
        """Give the amount that `room_monthly` would repay if nobody ever defaulted: a bound."""
        return room_monthly * self._reach

    def amount_min(self, probability: Probability) -> float:
        """Give the amount from which on a loan at the cap pays for itself; infinite if none does.

        It never falls as the probability grows.
        """
        earned = (1.0 - probability * self._loss_given_default) * self._due_share_max
        left = earned - self._even_share
        if left > 0.0:
            return self._cost_per_loan / left
        return math.inf if left < 0.0 or self._cost_per_loan > 0.0 else 0.0

    def due_monthly(self, probability: Probability, amount: float) -> float:
        """Give what must be set aside per 30 days to repay amount and price when they are due.

        It never falls as the probability or the amount grows.
        """
        spent = amount * self._spent_share + self._cost_per_loan
        due = spent / (1.0 - probability * self._loss_given_default)
        # `min` and `max` would take as long as all the rest.
        due_min = amount * (1.0 + self._fee_share) + self._fee_per_loan
        if due < due_min:  # noqa: PLR1730
            due = due_min
        due_max = amount * self._due_share_max
        if due > due_max:  # noqa: PLR1730
            due = due_max
        return due / self.months

    def largest(self, probability: Probability, room_monthly: float, cap: int, step: int) -> int:
        """Give the largest whole step up to the cap, itself a whole step, that can be repaid.

        It is not above 0 where there is none.
        """
        # Solved for the amount. A hair more room makes up for rounding: `due_monthly` decides.
        due = room_monthly * self.months * _A_HAIR_MORE
        earned = due * (1.0 - probability * self._loss_given_default) - self._cost_per_loan
        priced = min(
            earned / self._spent_share, (due - self._fee_per_loan) / (1.0 + self._fee_share)
        )
        repaid = max(priced, due / self._due_share_max)
        amount = cap if repaid >= cap else int(repaid // step) * step
        while amount > 0 and self.due_monthly(probability, amount) > room_monthly:
            amount -= step
        return amount

    def apr(self, probability: Probability, amount: float) -> Apr:
        """Give the APR at which the loan earns its margin, no less than its fee, within the caps.

        It never falls as the probability grows, and is rounded down to two decimals: so the
        payments that it stands for are never more than those that were found to be affordable.
        """
        spent = self._spent_share + self._cost_per_loan / amount
        due = spent / (1.0 - probability * self._loss_given_default)
        due = max(due, 1.0 + self._fee_share + self._fee_per_loan / amount)
        percent = (due - 1.0) / self._years * _PERCENT
        return Apr(min(math.floor(percent * 100.0) / 100.0, self.apr_max))

    def fee(self, amount: float, apr: Apr) -> Money:
        """Give the part of the price that is taken as a fee; the rest of it is interest."""
        asked = amount * self._fee_share + self._fee_per_loan
        if asked == 0.0:
            return Money(0.0)
        whole = amount * apr / _PERCENT * self._years
        return Money(math.floor(min(asked, whole) * 100.0) / 100.0)

    def expected_loss(self, probability: Probability, amount: float, apr: Apr) -> Money:
        """Give what a loan is expected to lose, in money."""
        due = amount * (1.0 + apr / _PERCENT * self._years)
        return Money(_to_hundredths(probability * self._loss_given_default * due))

    def price(self, probability: Probability, amount: float, apr: Apr) -> Price:
        """Take the APR of a loan apart."""
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
