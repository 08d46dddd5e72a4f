"""Numbers that must not be confused, each with a type of its own.

The types are for whoever checks the code. While it runs they are `float`: to call a NewType runs a
line of Python, and a request would run a dozen of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NewType

Money = NewType("Money", float)
"""An amount in the lender's currency."""

if TYPE_CHECKING:
    Points = NewType("Points", float)
    """Score points before rounding and clamping: 40 of them double the odds of repayment."""

    Probability = NewType("Probability", float)
    """The chance of default of one loan, 0 to 1."""

    LogOdds = NewType("LogOdds", float)
    """Natural log of the odds of default, what the trainer adds up."""

    Apr = NewType("Apr", float)
    """A nominal rate in percent per year of 365 days: 36.5 takes 0.1 % of the loan a day."""
else:
    Points = Probability = LogOdds = Apr = float
