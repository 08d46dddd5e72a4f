"""How far each field of a card, and its scores, stand from the rows that it was trained on."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.calibration import SCORE_MIN
from alama.core.monitoring.stability import bands_in_use, limit, psi, rows_behind
from alama.core.tally import SCORE_STEP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.model import Model, Reference
    from alama.core.tables import Card
    from alama.core.tally import CardTally

SCORE: Final = "score"
"""What the figure of the scores is called, beside the fields: no field of ours has the name."""

SCORES_MIN: Final = 1_000
"""Scores to compare with training: fewer say more about chance than about applicants."""

IN_A_ROW: Final = 2
"""Windows over its limit that make what is in them drift."""


class Figure(NamedTuple):
    """A stability index, and what it is not over by chance."""

    psi: float
    limit: float

    @property
    def is_over(self) -> bool:
        """Whether it has moved: by more than chance, and by enough to matter."""
        return self.psi > self.limit


class Yardstick:
    """One card of a model, and what its fields and scores were in training.

    A card other than the smallest is held against the rows that it serves. The smallest was trained
    on all rows, also on those that a larger card reads: where those who say little are unlike those
    who say more, it starts with that difference.
    """

    def __init__(self, model: Model, card: Card) -> None:
        """Take from a model what is needed, and none of its points: this may be kept for long."""
        self._shares = {feature.field: feature.shares for feature in card.features}
        self._scores = next((r for r in model.references if r.card == card.name), None)
        self._model_rows = model.lineage.rows
        self._tests = len(self._shares) + (self._scores is not None)

    @cached_property
    def _rows(self) -> int:
        every = (share for shares in self._shares.values() for share in shares)
        return max(1, rows_behind(every, max(1, self._model_rows)))

    def fits(self, tally: CardTally) -> bool:
        """Say whether a tally can be one of this card."""
        if not tally.bands:
            return True
        return len(tally.bands) == len(self._shares) and all(
            len(counts) <= len(shares)
            for counts, shares in zip(tally.bands, self._shares.values(), strict=True)
        )

    def figures(self, tally: CardTally) -> Mapping[str, Figure]:
        """Measure what a card has met, by field, with its scores under `SCORE`.

        Fields of which nothing is counted, a tally may have lost its bands, are left out.
        """
        found = {}
        if self._scores is not None and tally.count:
            counts = by_edges(tally.steps, self._scores)
            found[SCORE] = self._figure(counts, self._scores.score_shares)
        for (name, shares), bands in zip(self._shares.items(), tally.bands, strict=False):
            if sum(bands):
                found[name] = self._figure(bands, shares)
        return found

    def _figure(self, counts: Sequence[int], shares: Sequence[float]) -> Figure:
        bands = max(1, bands_in_use(shares))
        return Figure(psi(counts, shares), limit(bands, sum(counts), self._rows, self._tests))


def banded(tally: CardTally) -> int:
    """Say of how many scores a tally knows the bands: each field has one for each of them."""
    return sum(tally.bands[0]) if tally.bands else 0


def newly_drifted(
    earlier: Sequence[Mapping[str, Figure]], latest: Sequence[Mapping[str, Figure]]
) -> Mapping[str, Figure]:
    """Give what has drifted by now: over its limit in the last window, and in the one before it.

    `earlier` are the figures of windows that were looked at before, two or more where there are,
    and `latest` of those that were not, newest last. One window may be a holiday, or a campaign.
    What has been over its limit ever since the two before the latest was given then. So drift is
    given once for as long as it lasts, and again after a window without it; what began and ended
    before anybody looked is not given at all.
    """
    before = [_over(figures) for figures in earlier[-IN_A_ROW:]]
    every = before + [_over(figures) for figures in latest]
    if len(every) < IN_A_ROW:
        return {}
    drifted = every[-1].intersection(*every[-IN_A_ROW:])
    if len(before) == IN_A_ROW:
        drifted -= before[0].intersection(*every)
    return {name: figure for name, figure in latest[-1].items() if name in drifted}


def _over(figures: Mapping[str, Figure]) -> frozenset[str]:
    return frozenset(name for name, figure in figures.items() if figure.is_over)


def by_edges(steps: Sequence[int], reference: Reference) -> list[int]:
    """Put the scores of a tally into the bands of a reference, whose edges lie between steps."""
    counts = [0] * len(reference.score_shares)
    for step, count in enumerate(steps):
        counts[bisect_right(reference.score_edges, SCORE_MIN + step * SCORE_STEP)] += count
    return counts
