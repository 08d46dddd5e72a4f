"""Alama as a user gets it: a file read by the loader, trained by the pipeline, scored in batch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from alama.core import kernel
from alama.training.dataset import Dataset, take_column
from alama.training.history.load import load
from alama.training.pipeline import Order, Trained, train
from alama.training.recipe import Recipe
from bench.environment import cores

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.core.catalogue import Direction
    from alama.core.model import Model

    Floats = NDArray[np.float64]

CHUNK_ROWS = 16_384


def quiet(_stage: str, _share: float, _note: str) -> None:
    """Watch nothing."""


def read(path: Path, label: str) -> Dataset:
    """Read a file as `alama train` does, without any risk direction but the catalogue's."""
    return load(path, label=label, catalogue=None, monotone={}, exclude=()).dataset


def directed(data: Dataset, directions: Mapping[str, Direction]) -> Dataset:
    """Give the rows with these risk directions."""
    return replace(data, catalogue=data.catalogue.with_directions(directions))


def trained(
    data: Dataset,
    recipe: Recipe | None = None,
    *,
    currency: str | None = None,
    jobs: int | None = None,
) -> Trained:
    """Train on all rows given: the benchmark has its own to judge by."""
    order = Order(
        name="benchmark",
        label="default",
        recipe=recipe or Recipe(),
        currency=currency,
        holdout=0.0,
        jobs=jobs or cores(),
    )
    return train(data, order, quiet)


def points(model: Model, data: Dataset) -> Floats:
    """Score rows, each by the smallest card that reads all it holds."""
    cards = [kernel.BatchScorecard(card, model.catalogue) for card in model.cards]
    chosen = kernel.choose_card(model.cards, data.columns, len(data))
    result = np.empty(len(data))
    for place, card in enumerate(cards):
        mine = np.flatnonzero(chosen == place)
        for start in range(0, len(mine), CHUNK_ROWS):
            rows = mine[start : start + CHUNK_ROWS]
            columns = {name: take_column(data.columns[name], rows) for name in card.fields}
            result[rows] = card.score(columns).points
    return result


def probabilities(model: Model, data: Dataset) -> Floats:
    """Give default probabilities, not rounded."""
    return kernel.probabilities(points(model, data))
