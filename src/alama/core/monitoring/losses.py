"""What defaults cost: the part of what was paid out that did not come back, and its interval."""

from __future__ import annotations

import math
from typing import NamedTuple

from alama.core.monitoring.figures import COUNT_MIN, Loss
from alama.core.monitoring.rates import LEVEL, Interval, deviations


class Amounts(NamedTuple):
    """Sums over defaults of which both amounts are known; `crossed` is of their products."""

    defaults: int = 0
    disbursed: float = 0.0
    repaid: float = 0.0
    disbursed_squared: float = 0.0
    repaid_squared: float = 0.0
    crossed: float = 0.0


def lost(amounts: Amounts) -> Loss:
    """Give the share that was lost, and between which bounds that of all such loans may lie.

    A large loan weighs more, and its loss is no coin: the interval is that of a ratio of two means,
    by how far each loan is from the common ratio. Of fewer than `COUNT_MIN` defaults none is given.
    """
    share = 1.0 - amounts.repaid / amounts.disbursed if amounts.disbursed else None
    interval = None
    if share is not None and amounts.defaults >= COUNT_MIN:
        interval = _interval(amounts, share)
    return Loss(
        defaults=amounts.defaults,
        disbursed=amounts.disbursed,
        repaid=amounts.repaid,
        share=share,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        assumed=None,
    )


def _interval(amounts: Amounts, share: float) -> Interval:
    back = 1.0 - share
    apart = (
        amounts.repaid_squared
        - 2.0 * back * amounts.crossed
        + back * back * amounts.disbursed_squared
    )
    # Nought where all lost alike, but for the last bits.
    of_one = max(apart, 0.0) / (amounts.defaults - 1)
    reach = deviations(LEVEL) * math.sqrt(of_one * amounts.defaults) / amounts.disbursed
    # No share is below nought or above one, but that of loans that paid more than they were.
    return Interval(min(max(share - reach, 0.0), share), min(share + reach, 1.0))
