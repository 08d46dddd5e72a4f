"""Whether those who repaid had the higher scores: the area under the ROC curve, from counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from alama.core.monitoring.odds import probability
from alama.core.monitoring.rates import LEVEL, deviations, wilson

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ranked(NamedTuple):
    """The chance that of two loans, one repaid and one not, the one that was had the higher score.

    A tie counts half. `low` and `high` are its 95 % interval; `goods` and `bads` are how many loans
    of either kind it was worked out from.
    """

    auc: float
    low: float
    high: float
    goods: int
    bads: int


def ranked(by_score: Mapping[int, tuple[int, int]]) -> Ranked | None:
    """Rank loans by score, given how many of each were repaid and how many were not.

    A higher score is safer. The variance is DeLong's, summed by score instead of by loan, so that a
    million loans take as long as a thousand. The interval is made on the log-odds of the area and
    hence within 0 and 1. None where there are no loans of either kind: there is nothing to rank.
    """
    goods = sum(good for good, _ in by_score.values())
    bads = sum(bad for _, bad in by_score.values())
    if not (goods and bads):
        return None
    # Of each score: the share of bads whom it beats, and of goods by whom it is beaten.
    beaten = above = 0.0
    places = []
    bads_below, goods_above = 0, goods
    for score in sorted(by_score):
        good, bad = by_score[score]
        goods_above -= good
        beats = (bads_below + bad / 2.0) / bads
        loses = (goods_above + good / 2.0) / goods
        bads_below += bad
        beaten += good * beats
        above += bad * loses
        places.append((good, beats, bad, loses))
    auc = beaten / goods
    assert math.isclose(auc, above / bads, abs_tol=1e-9)
    error = _standard_error(places, auc, goods, bads)
    low, high = _interval(auc, error, min(goods, bads))
    return Ranked(auc, low, high, goods, bads)


def _standard_error(
    places: list[tuple[int, float, int, float]], auc: float, goods: int, bads: int
) -> float | None:
    """Give DeLong's; None where a single loan of its kind tells nothing of how they spread."""
    if min(goods, bads) == 1:
        return None
    of_goods = math.fsum(good * (beats - auc) ** 2 for good, beats, _, _ in places)
    of_bads = math.fsum(bad * (loses - auc) ** 2 for _, _, bad, loses in places)
    return math.sqrt(of_goods / (goods - 1) / goods + of_bads / (bads - 1) / bads)


def _interval(auc: float, error: float | None, fewer: int) -> tuple[float, float]:
    if error is None:
        return 0.0, 1.0
    if not 0.0 < auc < 1.0:
        # All in order, or none: the variance is nought, though few may have been seen. What is
        # known is a share that was seen in as many as there are on the smaller side.
        return wilson(round(auc) * fewer, fewer)
    centre = math.log(auc / (1.0 - auc))
    reach = deviations(LEVEL) * error / (auc * (1.0 - auc))
    return probability(centre - reach), probability(centre + reach)
