"""What defaults cost: the part of what was paid out that did not come back, and its interval."""

from __future__ import annotations

import math
from typing import NamedTuple

from alama.core.monitoring.figures import COUNT_MIN, Loss
from alama.core.monitoring.rates import LEVEL, deviations


class Amounts(NamedTuple):
    """Sums over defaults of which both amounts are known; `crossed` is of their products."""

    defaults: int
    disbursed: float
    repaid: float
    disbursed_squared: float
    repaid_squared: float
    crossed: float


def lost(amounts: Amounts) -> Loss:
    """Give the share that was lost, and between which bounds that of all such loans may lie.

    A large loan weighs more, and its loss is no coin: the interval is that of a ratio of two means,
    by how far each loan is from the common ratio. Of fewer than `COUNT_MIN` defaults none is given.
    """
    count, disbursed, repaid, *squares = amounts
    if not disbursed:
        return Loss(count, disbursed, repaid)
    back = repaid / disbursed
    if count < COUNT_MIN:
        return Loss(count, disbursed, repaid, 1.0 - back)
    disbursed_squared, repaid_squared, crossed = squares
    apart = repaid_squared - 2.0 * back * crossed + back * back * disbursed_squared
    # Nought where all lost alike, but for the last bits.
    variance = max(apart, 0.0) * count / (count - 1) / (disbursed * disbursed)
    reach = deviations(LEVEL) * math.sqrt(variance)
    return Loss(count, disbursed, repaid, 1.0 - back, 1.0 - back - reach, 1.0 - back + reach)
