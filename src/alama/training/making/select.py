"""Choice of pairs: boost more than a reader can take, keep those that carry the most."""

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


def strongest_pairs(pure: Draft, slots: Sequence[Slots], weights: Floats, keep: int) -> list[int]:
    """Give the places of the pairs whose loss would be missed most, in their order.

    `pure` is purified, so that a pair counts for what its mains do not say already; `weights` is
    p (1 - p) of each row, so that the strength is log-loss to second order. The trainer's own
    ranking, made before it boosts any pair, is a poorer guide.
    """
    strengths = []
    for pair in pure.pairs:
        effect = pair.table.ravel()[pair.cells(slots)]
        # Rounded, so that equal strengths are not told apart by their last bits.
        strengths.append(round(0.5 * total(weights * effect * effect) / len(weights), 12))
    by_strength = sorted(range(len(strengths)), key=lambda place: (-strengths[place], place))
    return sorted(by_strength[:keep])


def with_pairs(draft: Draft, places: Sequence[int]) -> Draft:
    """Give the draft with these pairs alone."""
    return replace(draft, pairs=tuple(draft.pairs[place] for place in places))
