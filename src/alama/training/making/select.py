"""Choice of pairs: boost many, keep those that carry something."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from alama.training.portable import total

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from alama.training.making.draft import Draft, Slots

    Floats = NDArray[np.float64]


def pairs_that_carry(
    pure: Draft, slots: Sequence[Slots], weights: Floats, loss_min: float
) -> list[int]:
    """Give the places of the pairs without which the log-loss would rise by `loss_min` a row.

    `pure` is purified, so that a pair counts for what its mains do not say already; `weights` is
    p (1 - p) of each row, so that half the weighted square is the loss to second order.
    """
    kept = []
    for place, pair in enumerate(pure.pairs):
        effect = pair.table.ravel()[pair.cells(slots)]
        if 0.5 * total(weights * effect * effect) / len(weights) >= loss_min:
            kept.append(place)
    return kept


def with_pairs(draft: Draft, places: Sequence[int]) -> Draft:
    """Give the draft with these pairs alone."""
    return replace(draft, pairs=tuple(draft.pairs[place] for place in places))
