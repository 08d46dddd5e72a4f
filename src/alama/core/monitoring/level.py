"""Whether only the level of a model is off: its slope, its loss, and its rates band by band.

A sample has, for each probability of default that was given, the count of loans and how many of
these defaulted. A million loans are some hundred of such rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.monitoring import odds
from alama.core.monitoring.rates import wilson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ROUNDS_MAX: Final = 60
_CLOSE_ENOUGH: Final = 1e-10
_STEP_MAX: Final = 2.0


class Given(NamedTuple):
    """The loans that were given one probability of default, or nearly one."""

    probability: float
    loans: int
    defaults: int


Sample = list[Given]


class Slope(NamedTuple):
    """How steeply the true log-odds rise with the stated ones: 1 where the model is right.

    Below 1 high risks are stated too high and low ones too low, whatever the level.
    """

    value: float
    standard_error: float


class Band(NamedTuple):
    """Neighbouring loans: what was predicted of them, what came of it, and its 95 % interval."""

    predicted: float
    observed: float
    low: float
    high: float
    loans: int


def moved(probability: float, shift: float) -> float:
    """Give a probability with its log-odds moved."""
    return odds.probability(odds.log_odds(probability) + shift)


def predicted_rate(sample: Sequence[Given], shift: float = 0.0) -> float:
    """Give the mean probability of some loans, each moved by a shift."""
    total = math.fsum(one.loans * moved(one.probability, shift) for one in sample)
    return total / sum(one.loans for one in sample)


def slope(sample: Sequence[Given]) -> Slope | None:
    """Fit outcomes by the stated log-odds, level and slope both free.

    None where the sample cannot tell: too few different probabilities, or outcomes that they part.
    """
    level, steep = 0.0, 1.0
    for _ in range(_ROUNDS_MAX):
        gradient, curve = _steps(sample, level, steep)
        determinant = curve[0] * curve[2] - curve[1] * curve[1]
        if not determinant > _CLOSE_ENOUGH * curve[0] * curve[2]:
            return None
        by_level = (curve[2] * gradient[0] - curve[1] * gradient[1]) / determinant
        by_slope = (curve[0] * gradient[1] - curve[1] * gradient[0]) / determinant
        longest = max(abs(by_level), abs(by_slope))
        # Far from the end Newton's step may be too long; its direction is right all the same.
        shrink = min(1.0, _STEP_MAX / longest) if longest else 1.0
        level, steep = level + shrink * by_level, steep + shrink * by_slope
        if longest <= _CLOSE_ENOUGH:
            return Slope(steep, math.sqrt(curve[0] / determinant))
    return None


def loss(sample: Sequence[Given], shift: float = 0.0) -> float:
    """Give the mean log loss of the probabilities, each moved by a shift; less is better."""
    total = 0.0
    for one in sample:
        chance = moved(one.probability, shift)
        total -= one.defaults * math.log(chance)
        total -= (one.loans - one.defaults) * math.log1p(-chance)
    return total / sum(one.loans for one in sample)


def bands(sample: Sequence[Given], many: int, shift: float = 0.0) -> list[Band]:
    """Put neighbours together into at most so many bands of about as many loans each."""
    return [_band(some, shift) for some in _parted(sample, many)]


def without(whole: Sequence[Given], part: Sequence[Given]) -> Sample:
    """Give a sample without a part of it, row by row where probabilities are the same."""
    gone = {one.probability: one for one in part}
    nothing = Given(0.0, 0, 0)
    left = []
    for one in whole:
        taken = gone.get(one.probability, nothing)
        left.append(Given(one.probability, one.loans - taken.loans, one.defaults - taken.defaults))
    assert all(0 <= one.defaults <= one.loans for one in left)
    return [one for one in left if one.loans]


def _band(some: Sequence[Given], shift: float) -> Band:
    count = sum(one.loans for one in some)
    defaults = sum(one.defaults for one in some)
    low, high = wilson(defaults, count)
    return Band(predicted_rate(some, shift), defaults / count, low, high, count)


def _parted(sample: Sequence[Given], many: int) -> Iterator[Sequence[Given]]:
    ordered = sorted(one for one in sample if one.loans)
    total = sum(one.loans for one in ordered)
    some: list[Given] = []
    reached = given = 0
    for one in ordered:
        some.append(one)
        reached += one.loans
        if reached * many >= total * (given + 1):
            yield some
            some = []
            given = reached * many // total
    assert not some


def _steps(
    sample: Sequence[Given], level: float, steep: float
) -> tuple[tuple[float, float], tuple[float, float, float]]:
    """Give the gradient of the log-likelihood, and its curvature as three of four numbers."""
    by_level = by_slope = flat = mixed = square = 0.0
    for one in sample:
        stated = odds.log_odds(one.probability)
        chance = odds.probability(level + steep * stated)
        missed = one.defaults - one.loans * chance
        weight = one.loans * chance * (1.0 - chance)
        by_level += missed
        by_slope += missed * stated
        flat += weight
        mixed += weight * stated
        square += weight * stated * stated
    return (by_level, by_slope), (flat, mixed, square)
