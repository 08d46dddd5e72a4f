"""A rate that was seen, and between which bounds the true one is likely to lie."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, NamedTuple

LEVEL: Final = 0.95


class Interval(NamedTuple):
    """Both ends belong to it."""

    low: float
    high: float


def wilson(defaults: int, count: int, level: float = LEVEL) -> Interval:
    """Give Wilson's interval of a default rate.

    A tier may have a hundred loans and two defaults, and the best tier none. The interval that
    most spreadsheets have (the rate plus and minus 1.96 standard errors) is then far too narrow,
    goes below nought, and says of no defaults that there never are any. The exact one covers more
    than it says. Wilson's stays between 0 and 1, and covers on average what it says from a handful
    of loans on. Of no loans nothing is known: 0 to 1.
    """
    assert 0 <= defaults <= count
    if count == 0:
        return Interval(0.0, 1.0)
    z = deviations(level)
    rate = defaults / count
    shrink = 1.0 + z * z / count
    centre = (rate + z * z / (2.0 * count)) / shrink
    reach = z / shrink * math.sqrt(rate * (1.0 - rate) / count + z * z / (4.0 * count * count))
    # The bounds with the rate itself: at 0 and at 1 it is one of them but for the last bit.
    return Interval(max(0.0, min(rate, centre - reach)), min(1.0, max(rate, centre + reach)))


def deviations(level: float) -> float:
    """Give how many standard deviations on either side hold this share of a normal variable."""
    assert 0.0 < level < 1.0
    return NormalDist().inv_cdf((1.0 + level) / 2.0)
