"""Masked copies: rows with fields taken away, so that the model learns what callers may omit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.kernel import BatchScorecard, Column, Words, present
from alama.training.recipe import Recipe, WithheldGain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.tables import Card
    from alama.training.dataset import Dataset

    Floats = NDArray[np.float64]


_ROWS_MAX: Final = 50_000
_NOTICEABLE_POINTS: Final = 1.0


def optional_fields(data: Dataset) -> list[str]:
    """Give the fields a caller may omit.

    A catalogue that requires nothing says nothing about what callers omit; its files show it.
    """
    required = set(data.catalogue.core_names)
    return [name for name in data.columns if name not in required] if required else []


def rows_for(data: Dataset, names: Sequence[str]) -> NDArray[np.intp]:
    """Give the rows that a card with these fields serves: those that no smaller card reads."""
    optional = [name for name in optional_fields(data) if name in names]
    if not optional:
        return np.arange(len(data))
    given = np.zeros(len(data), dtype=np.bool_)
    for name in optional:
        given |= present(data.columns[name])
    return np.flatnonzero(given)


def with_masked_copies(data: Dataset, recipe: Recipe) -> tuple[Dataset, NDArray[np.intp]]:
    """Append copies of a share of the rows, each without a random few of its optional fields.

    Also gives the group of each row: a copy belongs to its original, and must never be in
    another fold.
    """
    optional = optional_fields(data)
    rows = np.arange(len(data))
    if len(optional) <= 1 or recipe.masked_share == 0.0:
        return data, rows
    rng = np.random.default_rng([recipe.seed, 3])
    copied = rng.permutation(len(data))[: round(recipe.masked_share * len(data))]
    groups = np.concatenate([rows, copied])
    grown = data.take(groups)
    # At least one field goes and at least one stays, any number in between being as likely.
    masked_count = rng.integers(1, len(optional), len(copied))
    rank = np.argsort(rng.random((len(copied), len(optional))), axis=1)
    columns = dict(grown.columns)
    for place, name in enumerate(optional):
        gone = np.concatenate([np.zeros(len(data), np.bool_), rank[:, place] < masked_count])
        columns[name] = masked(columns[name], gone)
    return replace(grown, columns=columns), groups


def masked(column: Column, gone: NDArray[np.bool_]) -> Column:
    """Give a column with these rows missing."""
    if isinstance(column, Words):
        return Words(np.where(gone, np.int32(-1), column.codes), column.vocabulary)
    return np.where(gone, np.nan, column)


def withheld_gains(card: Card, data: Dataset) -> tuple[WithheldGain, ...]:
    """Give for each optional field the share of givers who lose more than a point by giving it."""
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
