"""Calibration, linear in log-odds, so that points stay additive and monotone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from alama.training import portable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GRAIN: Final = 2.0**-20
"""Slope and intercept are rounded to this, so that last bits do not reach the model."""

_NEWTON_STEPS: Final = 25
_RIDGE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibrated log-odds = intercept + slope x margin."""

    slope: float
    intercept: float


def calibrate(margins: Floats, labels: NDArray[np.int8]) -> Calibration:
    """Fit slope and intercept to margins that the trainer did not see (Platt)."""
    slope, intercept = 1.0, 0.0
    for _ in range(_NEWTON_STEPS):
        p = portable.logistic(intercept + slope * margins)
        weight = p * (1.0 - p)
        error = labels - p
        a, b = portable.total(weight) + _RIDGE, portable.total(weight * margins)
        c = portable.total(weight * margins * margins) + _RIDGE
        u, v = portable.total(error), portable.total(error * margins)
        determinant = a * c - b * b
        intercept += (c * u - b * v) / determinant
        slope += (a * v - b * u) / determinant
    # A slope below a tenth says that the margins hold nothing; keep the order of the scores.
    return Calibration(max(_grained(slope), 0.1), _grained(intercept))


def intercept_for(margins: Floats, labels: NDArray[np.int8], slope: float) -> float:
    """Give the intercept at which the mean probability is the observed default rate."""
    intercept = 0.0
    for _ in range(_NEWTON_STEPS):
        p = portable.logistic(intercept + slope * margins)
        intercept += portable.total(labels - p) / (portable.total(p * (1.0 - p)) + _RIDGE)
    return _grained(intercept)


def _grained(value: float) -> float:
    return round(value / GRAIN) * GRAIN
