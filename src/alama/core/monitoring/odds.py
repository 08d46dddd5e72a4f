"""Probabilities as log-odds and back: where they can be added to, and never leave 0 and 1."""

from __future__ import annotations

import math
from typing import Final

from alama.core.calibration import PROBABILITY_STEPS

PROBABILITY_MIN: Final = 0.5 / PROBABILITY_STEPS
"""What is shown as no chance at all may be up to this."""

_FAR: Final = -700.0
"""Below this a double has no exponential to speak of."""


def log_odds(probability: float) -> float:
    """Give the log-odds of a probability as it is shown: 0 may be half of the last decimal."""
    inside = min(max(probability, PROBABILITY_MIN), 1.0 - PROBABILITY_MIN)
    return math.log(inside / (1.0 - inside))


def probability(log_odds: float) -> float:
    """Give the probability of log-odds, however far from nought; it is never nought itself."""
    if log_odds < 0.0:
        odds = math.exp(max(log_odds, _FAR))
        return odds / (1.0 + odds)
    return 1.0 / (1.0 + math.exp(-log_odds))
