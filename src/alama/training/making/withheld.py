"""Who would gain by keeping a field back, though no missing value beats the average."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.kernel import BatchScorecard, present
from alama.training.making.masking import masked, optional_fields
from alama.training.notes import WithheldGain

if TYPE_CHECKING:
    from alama.core.tables import Card
    from alama.training.dataset import Dataset

_ROWS_MAX: Final = 50_000
_NOTICEABLE_POINTS: Final = 1.0


def withheld_gains(card: Card, data: Dataset) -> tuple[WithheldGain, ...]:
    """For each optional field: the share of givers who lose more than a point by giving it."""
    sample = data.take(np.arange(min(len(data), _ROWS_MAX)))
    scorecard = BatchScorecard(card, data.catalogue)
    given = scorecard.score(sample.columns).points
    gains = []
    for name in optional_fields(sample):
        there = present(sample.columns[name])
        without = {**sample.columns, name: masked(sample.columns[name], there)}
        gain = (scorecard.score(without).points - given)[there]
        gainers = gain[gain > _NOTICEABLE_POINTS]
        gains.append(
            WithheldGain(
                field=name,
                share=len(gainers) / max(len(gain), 1),
                mean_points=float(gainers.mean()) if len(gainers) else 0.0,
            )
        )
    return tuple(sorted(gains, key=lambda gain: -gain.share))
