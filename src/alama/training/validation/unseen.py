"""Rows, each beside a model that was made without it: all that judges, set apart or out of fold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from alama.core.kernel import BatchScorecard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from alama.core.model import Model
    from alama.training.dataset import Dataset
    from alama.training.validation.metrics import Floats

    Folds = NDArray[np.int8]

    Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that one model has not seen, and their places among all that judge."""

    model: Model
    places: Places
    rows: Dataset


@dataclass(frozen=True, slots=True)
class Unseen:
    """The rows that judge `model`; `folds` has for each the place of its judge among `judges`.

    Where rows were set apart the judge is the model itself, and `train` what it learned from. Out
    of fold `train` is None: each judge is made as the model is, of the rows of all other folds.
    Rows are taken when they are asked for, for there may be millions.
    """

    model: Model
    judges: tuple[Model, ...]
    rows: Dataset
    folds: Folds
    train: Dataset | None

    @classmethod
    def set_apart(cls, model: Model, train: Dataset, holdout: Dataset) -> Unseen:
        return cls(model, (model,), holdout, np.zeros(len(holdout), dtype=np.int8), train)

    @classmethod
    def out_of_fold(
        cls, model: Model, without: tuple[Model, ...], rows: Dataset, folds: Folds
    ) -> Unseen:
        """Let the rows judge that taught; `without` has for each fold the model made without it."""
        return cls(model, without, rows, folds, None)

    def parts(self) -> Iterator[Part]:
        for place, judge in enumerate(self.judges):
            places = np.flatnonzero(self.folds == place)
            if len(places) == len(self.rows):
                yield Part(judge, places, self.rows)
            elif len(places):
                yield Part(judge, places, self.rows.take(places))

    def learned(self, part: Part) -> Dataset:
        """Give what the model of a part learned from."""
        if self.train is not None:
            return self.train
        return self.rows.take(np.delete(np.arange(len(self.rows)), part.places))

    def some(self, most: int) -> Unseen:
        """Give rows evenly through all, about so many."""
        kept = np.arange(0, len(self.rows), max(math.ceil(len(self.rows) / most), 1))
        if len(kept) == len(self.rows):
            return self
        return replace(self, rows=self.rows.take(kept), folds=self.folds[kept])


def card_points(part: Part, card: int) -> Floats:
    """Give the points, before rounding, of a card that is given by its place in the model."""
    return (
        BatchScorecard(part.model.cards[card], part.model.catalogue).score(part.rows.columns).points
    )
