"""By how much all predictions are off together: the one number that recalibration moves.

The order of applicants is what a model learns from many thousand loans, and it lasts. How many of
them default goes up and down with harvests, prices and the lender's own collecting. To move the
intercept puts that right on a few hundred loans, and changes nobody's place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.monitoring.odds import log_odds, probability
from alama.core.units import LogOdds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_REACH: Final = 64.0
"""More log-odds than any shift: with the probabilities above it takes e**35 loans to need 50."""

_ROUNDS_MAX: Final = 200
_CLOSE_ENOUGH: Final = 1e-12


class Shift(NamedTuple):
    """What to add to the log-odds of default of every loan, and how sure that is.

    Above nought more have defaulted than was predicted. `standard_error` is of the shift alone: it
    takes the order of the loans as given.
    """

    log_odds: LogOdds
    standard_error: float
    loans: int
    defaults: int


class _Group(NamedTuple):
    log_odds: float
    loans: int


def shift(predicted: Iterable[tuple[float, int, int]]) -> Shift | None:
    """Give the shift with which as many defaults are predicted as there were.

    `predicted` has, for each probability of default that was given, the count of loans and how many
    of these defaulted. None where no loan defaulted, or none did not: no shift is far enough.
    """
    groups = []
    loans = defaults = 0
    for stated, count, defaulted in predicted:
        assert 0 <= defaulted <= count
        loans += count
        defaults += defaulted
        if count:
            groups.append(_Group(log_odds(stated), count))
    if not 0 < defaults < loans:
        return None
    found = _solved(groups, defaults)
    _, slope = _expected(groups, found)
    return Shift(LogOdds(found), 1.0 / math.sqrt(slope), loans, defaults)


def _solved(groups: Sequence[_Group], defaults: int) -> float:
    """Find where as many are expected: Newton's steps, halving where one would lead astray."""
    low, high = -_REACH, _REACH
    here = 0.0
    for _ in range(_ROUNDS_MAX):
        expected, slope = _expected(groups, here)
        if expected < defaults:
            low = here
        else:
            high = here
        step = (defaults - expected) / slope if slope > 0.0 else math.inf
        there = here + step if low < here + step < high else (low + high) / 2.0
        if abs(there - here) <= _CLOSE_ENOUGH:
            return there
        here = there
    return here


def _expected(groups: Sequence[_Group], moved: float) -> tuple[float, float]:
    """Give the defaults that are expected with a shift, and how fast they grow with it."""
    chances = [(group.loans, probability(group.log_odds + moved)) for group in groups]
    expected = math.fsum(count * chance for count, chance in chances)
    slope = math.fsum(count * chance * (1.0 - chance) for count, chance in chances)
    return expected, slope
