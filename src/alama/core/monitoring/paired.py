"""Which of two models ranks the same loans better, and whether chance explains it.

Two areas under the ROC curve whose intervals overlap may still differ beyond doubt: both models
were asked about the same loans, and what is odd about these is odd for both. DeLong's test for
paired scores takes that out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from alama.core.monitoring.rates import LEVEL, deviations

if TYPE_CHECKING:
    from collections.abc import Mapping


class Difference(NamedTuple):
    """By how much the second area is larger, and the 95 % interval of that.

    Both ends are the value itself where the two put every one of the loans into the same order.
    """

    value: float
    low: float
    high: float


class _Place(NamedTuple):
    """Of a score: the share of bads whom it beats, and the share of goods who beat it."""

    beats: float
    loses: float


def difference(cells: Mapping[tuple[int, int], tuple[int, int]]) -> Difference | None:
    """Give how much better the second of two models ranks loans than the first.

    `cells` has the count of loans that were repaid, and of those that were not, by the score of the
    first and the score of the second; a higher score is safer. It is exactly what a sum over single
    loans gives. None where there are no loans of either kind.
    """
    goods = sum(good for good, _ in cells.values())
    bads = sum(bad for _, bad in cells.values())
    if not (goods and bads):
        return None
    first, second = _places(cells, 0), _places(cells, 1)
    # Of each cell: how many there are, and by how much the second model is better for one of them.
    of_goods = [
        (good, second[b].beats - first[a].beats) for (a, b), (good, _) in cells.items() if good
    ]
    of_bads = [(bad, second[b].loses - first[a].loses) for (a, b), (_, bad) in cells.items() if bad]
    value = math.fsum(count * better for count, better in of_goods) / goods
    if min(goods, bads) == 1:
        return Difference(value, -1.0, 1.0)  # one loan tells nothing of how they spread
    variance = _spread(of_goods, value, goods) + _spread(of_bads, value, bads)
    reach = deviations(LEVEL) * math.sqrt(variance)
    return Difference(value, max(-1.0, value - reach), min(1.0, value + reach))


def _places(cells: Mapping[tuple[int, int], tuple[int, int]], which: int) -> dict[int, _Place]:
    """Give the place of each score of one of the two models."""
    by_score: dict[int, tuple[int, int]] = {}
    for scores, (good, bad) in cells.items():
        goods, bads = by_score.get(scores[which], (0, 0))
        by_score[scores[which]] = (goods + good, bads + bad)
    goods = sum(good for good, _ in by_score.values())
    bads = sum(bad for _, bad in by_score.values())
    places = {}
    bads_below, goods_above = 0, goods
    for score in sorted(by_score):
        good, bad = by_score[score]
        goods_above -= good
        beats, loses = (bads_below + bad / 2.0) / bads, (goods_above + good / 2.0) / goods
        bads_below += bad
        places[score] = _Place(beats, loses)
    return places


def _spread(parts: list[tuple[int, float]], mean: float, count: int) -> float:
    """Give the variance of a mean over loans."""
    squares = math.fsum(times * (better - mean) ** 2 for times, better in parts)
    return squares / (count - 1) / count
