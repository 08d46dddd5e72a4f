"""What a change costs: the share of the population it crosses, by its effort, and some trouble.

From 10 % of the wallets below oneself to 35 % below is a cost of 0.25 at an effort of 1. Those are
counted who gave the field in training; within a band they are taken to be spread evenly.

A field without a table (one that only the policy reads) has no population. There the change is
taken as a share of the larger of the two values: to halve or to double it costs 0.5, to be rid of
it 1.

Each change costs a little more than that, however small it is: one thing to see to is less trouble
than three. Costs are whole millionths, so that sums are exact and ties are ties on every machine.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.tables import Feature

MILLIONTHS: Final = 1_000_000

TROUBLE: Final = 20_000
"""Of each change, in millionths: as much as to pass one in fifty at an effort of 1."""


class Ladder:
    """Where a value stands among those of the training population."""

    __slots__ = ("_ends", "_shares", "_starts", "_up_to", "cuts")

    def __init__(self, feature: Feature, cuts: tuple[float, ...], factor: float) -> None:
        """Lay out a feature of numbers; `cuts` are in the caller's currency, as `factor` makes."""
        given = sum(feature.shares[1:]) or 1.0
        self.cuts = cuts
        self._shares = [share / given for share in feature.shares[1:]]
        self._up_to = [0.0, *accumulate(self._shares)]
        lowest, highest = feature.lowest, feature.highest
        first, last = (cuts[0], cuts[-1]) if cuts else (0.0, 0.0)
        self._starts = (first if lowest is None else lowest * factor, *cuts)
        self._ends = (*cuts, last if highest is None else highest * factor)

    def share_below(self, value: float) -> float:
        """Give the share of those who gave the field that stand below a value."""
        band = bisect_right(self.cuts, value)
        start, end = self._starts[band], self._ends[band]
        within = min(max((value - start) / (end - start), 0.0), 1.0) if end > start else 0.0
        return self._up_to[band] + self._shares[band] * within


def change_costs(
    ladder: Ladder | None, effort: float, old: float, new: Sequence[float]
) -> list[int]:
    """Give the cost of a change to each of some values in millionths."""
    if ladder is not None:
        shares = [ladder.share_below(value) for value in new]
        return costs_to(shares, ladder.share_below(old), effort)
    crossed = [min(abs(value - old) / max(abs(value), abs(old)), 1.0) for value in new]
    return costs_to(crossed, 0.0, effort)


def costs_to(shares: Sequence[float], here: float, effort: float) -> list[int]:
    """Give the cost of a change from where a share stands below to where these shares do."""
    return [round(abs(share - here) * effort * MILLIONTHS) + TROUBLE for share in shares]
