"""Calibration, linear in log-odds, so that points stay additive and monotone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.training import portable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GRAIN: Final = 2.0**-20
"""Slope and intercept are rounded to this, so that last bits do not reach the model."""

SLOPE_MIN: Final = 0.1
"""A slope below this says that the margins hold nothing; the order of the scores is kept."""

SLOPE_MAX: Final = 4.0
"""A slope above this says that the margins part the outcomes without error, which luck can do."""

_SLOPE_STEPS: Final = 12
_INTERCEPT_STEPS: Final = 24
_LOG_ODDS_MAX: Final = 60.0
_RIDGE: Final = 1e-9
_BALANCE: Final = 1e-11
"""Near enough, far below the grain; sums have a fixed order, so every processor stops alike."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibrated log-odds = intercept + slope x margin."""

    slope: float
    intercept: float


def calibrate(margins: Floats, labels: NDArray[np.int8]) -> Calibration:
    """Fit slope and intercept to margins that the trainer did not see (Platt)."""
    slope, intercept = 1.0, 0.0
    for _ in range(_SLOPE_STEPS):
        # The best intercept for a slope is found safely, so only the slope needs care of its own.
        intercept = _balanced(margins, labels, slope, intercept)
        p = portable.logistic(intercept + slope * margins)
        weight = p * (1.0 - p)
        mean = portable.total(weight * margins) / (portable.total(weight) + _RIDGE)
        spread = portable.total(weight * (margins - mean) * (margins - mean)) + _RIDGE
        step = portable.total((labels - p) * margins) / spread
        if abs(step) <= _BALANCE:
            break
        # At most a doubling or a halving at a time: far from the optimum a full step overshoots.
        slope = min(max(slope + step, slope / 2.0, SLOPE_MIN), slope * 2.0, SLOPE_MAX)
    slope = _grained(slope)
    return Calibration(slope, _grained(_balanced(margins, labels, slope, intercept)))


def intercept_for(margins: Floats, labels: NDArray[np.int8], slope: float) -> float:
    """Give the intercept at which the mean probability is the observed default rate."""
    return _grained(_balanced(margins, labels, slope, 0.0))


def _balanced(margins: Floats, labels: NDArray[np.int8], slope: float, start: float) -> float:
    """Find the intercept that balances the mean probability, which rises with it.

    Newton's steps inside an interval that is known to hold it: they are halved when they leave it.
    """
    defaults = portable.total(labels.astype(np.float64))
    scaled = slope * margins
    low = -_LOG_ODDS_MAX - float(np.max(scaled))
    high = _LOG_ODDS_MAX - float(np.min(scaled))
    intercept = min(max(start, low), high)
    for _ in range(_INTERCEPT_STEPS):
        p = portable.logistic(intercept + scaled)
        short = defaults - portable.total(p)
        if abs(short) <= _BALANCE * defaults:
            break
        low, high = (intercept, high) if short > 0.0 else (low, intercept)
        stepped = intercept + short / (portable.total(p * (1.0 - p)) + _RIDGE)
        intercept = stepped if low <= stepped <= high else 0.5 * (low + high)
    return intercept


def _grained(value: float) -> float:
    return round(value / GRAIN) * GRAIN
