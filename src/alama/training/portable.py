"""Arithmetic that gives the same bits on every processor.

NumPy's `exp` and `log` are picked at run time for the processor and differ in the last bits; its
normal variates may change with its version. The published population must not, so this module uses
only operations that IEEE 754 rounds exactly (+, -, x, /, rint) and raw words of a bit generator.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

_LOG2_E: Final = 1.4426950408889634
# ln 2 in two parts: the first ends in zero bits, so that its product with an exponent is exact.
_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
_EXPONENT_MAX: Final = 700.0
_TAYLOR: Final = tuple(
    1.0 / factorial
    for factorial in (
        479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1,
    )
)  # fmt: skip

_EVEN_SIXTEENS: Final = np.uint64(0x0000FFFF0000FFFF)
_LOW_HALF: Final = np.uint64(0x00000000FFFFFFFF)
_BELL_MEAN: Final = 2.0 * 65535.0
# Standard deviation of the sum of four uniform 16-bit numbers: sqrt(4 (2^32 - 1) / 12).
_BELL_SD: Final = 37837.22752290564


def uniform(words: Words) -> Floats:
    """Raw 64-bit words -> [0, 1), from the top 53 bits of each."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def bell(words: Words) -> Floats:
    """Raw 64-bit words -> a bell curve of mean 0 and standard deviation 1, within +-3.47.

    The sum of a word's four 16-bit parts: near enough to the normal curve for people, exact in
    integers, and without the far tail that makes absurd incomes.
    """
    pairs = words & _EVEN_SIXTEENS
    pairs += (words >> np.uint64(16)) & _EVEN_SIXTEENS
    total = (pairs & _LOW_HALF) + (pairs >> np.uint64(32))
    centred = total.astype(np.float64)
    centred -= _BELL_MEAN
    centred /= _BELL_SD
    return centred


def exponential(x: Floats) -> Floats:
    """Powers of e, relative error under 1e-13; x is held within +-700."""
    bounded = np.clip(x, -_EXPONENT_MAX, _EXPONENT_MAX)
    power = np.rint(bounded * _LOG2_E)
    rest = bounded - power * _LN2_HIGH
    rest -= power * _LN2_LOW
    series = np.full_like(rest, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        series *= rest
        series += coefficient
    # A double whose exponent bits say `power` and whose mantissa is empty is exactly 2^power.
    two_to_power = ((power.astype(np.int64) + 1023) << 52).view(np.float64)
    series *= two_to_power
    return series


def logistic(x: Floats) -> Floats:
    """Log-odds -> probability."""
    return 1.0 / (1.0 + exponential(-x))


def saturating(x: Floats, half: float) -> Floats:
    """The curve x / (x + half), for x >= 0: rises from 0 towards 1 and is a half at `half`."""
    # Not x / (x + half), which rounding can let fall by a last bit where x rises.
    return 1.0 - half / (x + half)


def total(values: Floats) -> float:
    """The sum, added in order: NumPy's own sum groups terms by the width of the processor."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def line_totals(table: Floats, axis: int) -> Floats:
    """Sums along an axis, each added in order."""
    return np.asarray(np.cumsum(table, axis=axis).take(-1, axis=axis))


def totals_by(places: npt.NDArray[Any], values: Floats, count: int) -> Floats:
    """The sum of the values that stand at each of `count` places, added in order."""
    sums: Floats = np.bincount(places, values, count).astype(np.float64, copy=False)
    return sums
