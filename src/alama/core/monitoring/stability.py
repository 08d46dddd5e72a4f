"""How far a window of scores stands from the rows that a model was trained on.

The population stability index of two distributions over the same bands is the sum of
(observed - expected) x ln(observed / expected). Where nothing has moved it is still not nought:
times the size of the window it is, nearly, a chi-squared variable. What may be called drift hence
depends on how much was counted, and on how many such figures are looked at.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PSI_MIN: Final = 0.10
"""Below this the usual reading is "no change": what is smaller is let be, however sure it is."""

ALPHA: Final = 0.01
"""The chance that any of the figures of a window is over its limit where nothing has moved."""

_HALF_A_SCORE: Final = 0.5

_ROWS_MIN: Final = 100
"""No card is trained on fewer: shares that seem to be of fewer were not counted but made up."""


def psi(counts: Sequence[int], shares: Sequence[float]) -> float:
    """Give the population stability index of counts against the shares of the training rows.

    Half a score is added to each band on both sides, to what was counted and to what so many scores
    would have been in training. So a band that is empty on either side gives a finite figure,
    counts that are as expected give nought, and a band that nobody is in changes nothing. It is
    symmetric: had training been the window, and the window training, it would be the same. Counts
    may end before the shares do; a tally leaves out empty bands at the end. None at all: nought.
    """
    total = sum(counts)
    if not total:
        return 0.0
    assert len(counts) <= len(shares)
    whole = total + _HALF_A_SCORE * len(shares)
    found = [*counts, *(0 for _ in range(len(shares) - len(counts)))]
    parts = []
    for count, share in zip(found, shares, strict=True):
        observed = count + _HALF_A_SCORE
        expected = total * share + _HALF_A_SCORE
        parts.append((observed - expected) / whole * math.log(observed / expected))
    return max(0.0, math.fsum(parts))


def bands_in_use(shares: Sequence[float]) -> int:
    """Say how many bands count for `limit`: those that somebody in training was in.

    Nobody is expected in the others, so they can add nothing by chance, and what turns up in one of
    them is drift however it is counted.
    """
    return sum(share > 0.0 for share in shares)


def rows_behind(shares: Iterable[float], rows: int) -> int:
    """Give the number of training rows that the shares of a card are of, all of them together.

    A model says how many `rows` it was trained on. The shares of a card are of those that it
    serves, perhaps a small part of them, and a share is a count over that number: so it is the
    least common denominator. Where all counts happen to have a divisor in common it is too small by
    that; where shares are no such fractions it is `rows`.
    """
    common = 1
    for share in shares:
        common = math.lcm(common, Fraction(share).limit_denominator(rows).denominator)
        if common > rows:
            return rows
    return common if common >= _ROWS_MIN else rows


def limit(bands: int, count: int, reference: int, tests: int) -> float:
    """Give the index that a window of `count` scores is not over by chance.

    `bands` are those in use, `reference` the number of training rows that the shares are of, which
    are a sample as well, and `tests` the number of figures that are looked at together. Of such a
    window, where nothing has moved, at most one in a hundred has any figure over its limit.
    """
    assert bands > 0
    assert count > 0
    assert reference > 0
    assert tests > 0
    if bands == 1:
        return PSI_MIN
    by_chance = chi_squared_above(ALPHA / tests, bands - 1)
    return max(PSI_MIN, by_chance * (1.0 / count + 1.0 / reference))


def chi_squared_above(chance: float, freedom: int) -> float:
    """Give what a chi-squared variable is above with a small chance, after Wilson and Hilferty.

    The cube root of such a variable is nearly normal. For the chances that are asked for here this
    is right to a hundredth from eight degrees of freedom on; with fewer it is a little too high, by
    six hundredths at most, and no lower than one hundredth below.
    """
    spread = 2.0 / (9.0 * freedom)
    # Of the upper end, through the lower: 1 - chance loses digits where chance is small.
    normal = -NormalDist().inv_cdf(chance)
    return freedom * (1.0 - spread + normal * math.sqrt(spread)) ** 3
