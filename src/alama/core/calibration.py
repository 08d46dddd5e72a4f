"""Points, probabilities and log-odds: one scale, three ways to say it.

The scale is anchored at 660 points for a default probability of 5 % (odds of repayment 19 to 1);
every 40 points double the odds of repayment.
"""

from __future__ import annotations

import math
from typing import Final

from alama.core.units import LogOdds, Points, Probability

ANCHOR_POINTS: Final = 660.0
ANCHOR_ODDS: Final = 19.0
POINTS_TO_DOUBLE_THE_ODDS: Final = 40.0
SCORE_MIN: Final = 300
SCORE_MAX: Final = 850
PROBABILITY_DECIMALS: Final = 6
PROBABILITY_STEPS: Final = 10.0**PROBABILITY_DECIMALS
"""How many steps of the last shown decimal make a probability of 1."""

TIE_WIDTH: Final = 1e-6
"""How near to the middle between two shown probabilities (in steps) multiplying is not exact enough
to say which of them is nearer."""

TO_WHOLE: Final = 1.5 * 2.0**52
"""Added to a number below 2**51 and taken away again, it leaves the nearest whole number, half to
even. That is what `round` gives, at a tenth of the price."""

_DOUBLINGS_MAX: Final = 1000.0
"""2.0 ** 1024 overflows; here the probability is zero to 300 decimals."""

POINTS_PER_LOG_ODDS: Final = POINTS_TO_DOUBLE_THE_ODDS / math.log(2.0)
"""How many points one unit of log-odds of default costs."""


def probability_of(points: Points) -> Probability:
    """Give the default probability that these points stand for."""
    doublings = (points - ANCHOR_POINTS) / POINTS_TO_DOUBLE_THE_ODDS
    if doublings > _DOUBLINGS_MAX:
        return Probability(0.0)
    return Probability(1.0 / (1.0 + ANCHOR_ODDS * 2.0**doublings))


def shown_probability(points: Points) -> Probability:
    """Give the default probability as every surface shows it: rounded to its decimals."""
    probability = probability_of(points)
    steps = probability * PROBABILITY_STEPS
    whole = steps + TO_WHOLE - TO_WHOLE
    if abs(steps - whole) > 0.5 - TIE_WIDTH:
        return Probability(round(probability, PROBABILITY_DECIMALS))
    return Probability(whole / PROBABILITY_STEPS)


def points_of_log_odds(log_odds: LogOdds) -> Points:
    """Give the points of log-odds of default."""
    return Points(ANCHOR_POINTS - POINTS_PER_LOG_ODDS * (log_odds + math.log(ANCHOR_ODDS)))


def shown_score(points: Points) -> int:
    """Round (half to even) and clamp: the score as every surface shows it."""
    if points <= SCORE_MIN:
        return SCORE_MIN
    if points >= SCORE_MAX:
        return SCORE_MAX
    return round(points)
