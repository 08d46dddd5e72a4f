"""The price of one loan: what it must earn, and of what that is made.

The loan of amount A is owed in full for t = term / 365 years; a default loses the share q = default
probability x loss given default of all that is due. It earns its margin at the rate r where what
comes back on average pays for everything:

    (1 - q) x A x (1 + r t)  =  A x (1 + (funding + margin) x t + cost share) + cost per loan

Solved for r, and written as the sum that it is:

    r  =  q (1 + r t) / t  +  (cost share + cost per loan / A) / t  +  funding  +  margin

Only + - x / and `round`, which every machine does alike: the same loan has the same price anywhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.units import Apr

if TYPE_CHECKING:
    from alama.core.policy import Pricing
    from alama.core.units import Probability

YEAR_DAYS: Final = 365
MONTH_DAYS: Final = 30
_DECIMALS: Final = 2
_PERCENT: Final = 100.0
_A_HAIR_MORE: Final = 1.0 + 1e-12


class Price(msgspec.Struct, frozen=True, gc=False):
    """The parts of an APR, in percent per year; they add up to it.

    `margin` is what is left: what the policy asks for, or less where its cap cuts the price, below
    zero where the loan would not pay for itself.
    """

    expected_loss: Apr
    running_cost: Apr
    funding: Apr
    margin: Apr


class Tariff:
    """The pricing of one term, with all that does not depend on the loan worked out."""

    __slots__ = (
        "_cost_per_loan",
        "_due_share_max",
        "_loss_given_default",
        "_pricing",
        "_reach",
        "_spent_share",
        "_years",
        "months",
        "term_days",
    )

    def __init__(self, pricing: Pricing, term_days: int) -> None:
        """Lay the arithmetic of the module out for a term."""
        self.term_days = term_days
        # A loan shorter than a month falls due within it, once and as a whole.
        self.months = max(term_days, MONTH_DAYS) / MONTH_DAYS
        self._pricing = pricing
        self._years = term_days / YEAR_DAYS
        self._loss_given_default = pricing.loss_given_default
        self._cost_per_loan = pricing.cost_per_loan
        earned = (pricing.funding + pricing.margin) / _PERCENT * self._years
        self._spent_share = 1.0 + earned + pricing.cost_share
        self._due_share_max = 1.0 + pricing.apr_max / _PERCENT * self._years
        self._reach = self.months / min(self._spent_share, self._due_share_max)

    def amount_max(self, room_monthly: float) -> float:
        """Give the amount that `room_monthly` would repay if nobody ever defaulted: a bound."""
        return room_monthly * self._reach

    def due_monthly(self, probability: Probability, amount: float) -> float:
        """Give what must be set aside per 30 days to repay amount and price when they are due.

        It never falls as the probability or the amount grows.
        """
        spent = amount * self._spent_share + self._cost_per_loan
        due = spent / (1.0 - probability * self._loss_given_default)
        due_max = amount * self._due_share_max
        least = due if due < due_max else due_max  # noqa: FURB136  `min` takes as long as the rest
        return least / self.months

    def largest(self, probability: Probability, room_monthly: float, cap: int, step: int) -> int:
        """Give the largest whole step up to the cap, itself a whole step, that can be repaid.

        It is not above 0 where there is none.
        """
        # Solved for the amount. A hair more room makes up for rounding: `due_monthly` decides.
        due = room_monthly * self.months * _A_HAIR_MORE
        earned = due * (1.0 - probability * self._loss_given_default) - self._cost_per_loan
        repaid = max(earned / self._spent_share, due / self._due_share_max)
        amount = cap if repaid >= cap else int(repaid // step) * step
        while amount > 0 and self.due_monthly(probability, amount) > room_monthly:
            amount -= step
        return amount

    def apr(self, probability: Probability, amount: float) -> Apr:
        """Give the APR at which the loan earns its margin, within the cap.

        It never falls as the probability grows, and is rounded down to two decimals: so the
        payments that it stands for are never more than those that were found to be affordable.
        """
        spent = self._spent_share + self._cost_per_loan / amount
        due = spent / (1.0 - probability * self._loss_given_default)
        percent = (due - 1.0) / self._years * _PERCENT
        return Apr(min(math.floor(percent * 100.0) / 100.0, self._pricing.apr_max))

    def price(self, probability: Probability, amount: float, apr: Apr) -> Price:
        """Take the APR of a loan apart."""
        pricing, years = self._pricing, self._years
        spent = (pricing.cost_share + pricing.cost_per_loan / amount) / years * _PERCENT
        running_cost = round(spent, _DECIMALS)
        left = apr - running_cost - pricing.funding
        if apr < pricing.apr_max:
            # What two decimals leave over goes to the part that is an estimate anyway.
            lost = left - pricing.margin
        else:
            lost = probability * self._loss_given_default * (_PERCENT + apr * years) / years
        expected_loss = max(round(lost, _DECIMALS), 0.0)
        margin = round(left - expected_loss, _DECIMALS)
        return Price(Apr(expected_loss), Apr(running_cost), pricing.funding, Apr(margin))
