"""What is learned without each fold of the rows: the floor, the smooth fits, the boosted one.

What the drafts of a fold say of its rows, which they have not seen, is what all is chosen by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from joblib import Parallel, delayed, parallel_config

from alama.core.kernel import Words
from alama.training import portable
from alama.training.making.boost import Note, boost, progress, word_axis
from alama.training.making.card import intercept_for
from alama.training.making.choose import (
    PAIR_COUNTS,
    Choice,
    Said,
    by_what_they_carry,
    with_pairs,
)
from alama.training.making.draft import Axis, Draft, shares_of, weighed
from alama.training.making.smooth import (
    ROWS_MAX,
    STRENGTHS,
    Curves,
    floor,
    information,
    smooth,
    smooth_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.recipe import Recipe

    Floats = NDArray[np.float64]

    Folds = NDArray[np.int8]


FIELDS_MAX: Final = 60
"""Fields that curves and boosting read: in a wide table those which by themselves say most."""

_WEIGHT_MIN: Final = 1e-3

_ROUNDS_GUESSED: Final = 35
"""Boosting rounds a bag usually takes beside the first and the last, for the progress bar alone."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a card learns from: rows and their masked copies, dealt into folds."""

    data: Dataset
    folds: Folds
    word_axes: Mapping[str, Axis]

    @classmethod
    def of(cls, data: Dataset, folds: Folds, recipe: Recipe) -> Rows:
        word_axes = {
            name: word_axis(name, column, recipe)
            for name, column in data.columns.items()
            if isinstance(column, Words)
        }
        return cls(data, folds, word_axes)

    def some(self, most: int, without: int | None = None) -> Dataset:
        """Give rows evenly through all, for the masked copies stand at the end."""
        kept = (
            np.arange(len(self.folds)) if without is None else np.flatnonzero(self.folds != without)
        )
        return self.data.take(kept[:: math.ceil(len(kept) / most)])

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Give an axis for each field, without any cut."""
        return tuple(
            self.word_axes.get(name, Axis(name, cuts=np.array([]))) for name in self.data.columns
        )


@dataclass(frozen=True, slots=True)
class Learned:
    """Drafts made without a fold, and what they say of it. Pairs come strongest first."""

    floor: Draft
    smooth: tuple[Draft, ...]
    boosted: Draft
    said: Said


def learn(
    rows: Rows, recipe: Recipe, jobs: int, watch: Callable[[float, float], None]
) -> list[Learned]:
    """Learn without each fold; `watch` is called with the share that is done and the log-loss."""
    rounds = recipe.smoothing_rounds + _ROUNDS_GUESSED + recipe.patience
    terms = min(len(rows.data.columns), FIELDS_MAX) + recipe.pairs
    steps = rounds * terms * recipe.folds * recipe.bags
    with (
        progress(lambda done, loss: watch(min(done / steps, 1.0), loss)) as folder,
        # Arrays go by pipe: files in shared memory, joblib's way for large ones, are at times
        # cleaned up twice, and the second time prints a traceback.
        parallel_config(max_nbytes=None, n_jobs=jobs),
    ):
        learned: list[Learned] = Parallel()(
            delayed(_without)(rows, fold, recipe, Note(folder, fold))
            for fold in range(recipe.folds)
        )
    return learned


def _without(rows: Rows, fold: int, recipe: Recipe, note: Note) -> Learned:
    """Learn from all folds but one, and say what that makes of the one."""
    seen = rows.some(ROWS_MAX, without=fold)
    least = floor(seen.columns, rows.word_axes, seen.labels)
    fields = _telling(seen, rows.word_axes)
    known = seen.only(fields)
    curves = Curves.over(known.columns, rows.word_axes)
    path = smooth_path(curves, curves.cells(known.columns), known.labels)
    calm_to_lively = tuple(draft.among(rows.axes) for draft in path)
    boosted = _boosted(rows, fields, fold, seen, recipe, note)
    left = rows.data.take(np.flatnonzero(rows.folds == fold))
    slots = boosted.slots(left.columns)
    return Learned(
        least,
        calm_to_lively,
        boosted,
        Said(
            least.margins(least.slots(left.columns)),
            np.stack([draft.margins(draft.slots(left.columns)) for draft in calm_to_lively]),
            np.stack([with_pairs(boosted, count).margins(slots) for count in PAIR_COUNTS]),
        ),
    )


def _telling(data: Dataset, word_axes: Mapping[str, Axis]) -> list[str]:
    """Name the fields that say most by themselves, in the order of the table."""
    told = information(data.columns, word_axes, data.labels)
    first = sorted(told, key=lambda name: (-told[name], name))[:FIELDS_MAX]
    return [name for name in data.columns if name in set(first)]


def _boosted(
    rows: Rows, fields: Sequence[str], fold: int, seen: Dataset, recipe: Recipe, note: Note
) -> Draft:
    """Boost without a fold; the pairs come in the order of what they carry."""
    axes = {name: axis for name, axis in rows.word_axes.items() if name in fields}
    draft = boost(rows.data.only(fields), axes, rows.folds, fold, recipe, note).among(rows.axes)
    # Where the outcome can be told without error the trainer's own base may end anywhere.
    draft = replace(draft, base=0.0)
    pure = draft.purified(shares_of(draft.slots(rows.data.columns), draft.axes))
    slots = pure.slots(seen.columns)
    balance = intercept_for(pure.margins(slots), seen.labels, 1.0)
    pure = replace(pure, base=pure.base + balance)
    return by_what_they_carry(pure, slots, second_order(pure.margins(slots)))


def gathered(said: Sequence[Said], folds: Folds) -> Said:
    """Put what was said of each fold into the order of the rows."""
    return Said(
        gather([one.floor for one in said], folds),
        gather([one.smooth for one in said], folds),
        gather([one.boosted for one in said], folds),
    )


def gather(by_fold: Sequence[Floats], folds: Folds) -> Floats:
    together = np.concatenate(by_fold, axis=-1)
    order = np.argsort(folds, kind="stable")
    gathered = np.empty_like(together)
    gathered[..., order] = together
    return gathered


def put_together(rows: Rows, learned: Sequence[Learned], choice: Choice) -> Draft:
    """Put the card together of all rows: the mean of what was boosted, one smooth fit."""
    some = rows.some(ROWS_MAX)
    known = some.only(_telling(some, rows.word_axes))
    curves = Curves.over(known.columns, rows.word_axes)
    calm = smooth(curves, curves.cells(known.columns), some.labels, STRENGTHS[choice.strength])
    least = floor(some.columns, rows.word_axes, some.labels)
    mean = weighed([(1.0 / len(learned), one.boosted) for one in learned], 0.0)
    slots = mean.slots(some.columns)
    ranked = by_what_they_carry(mean, slots, second_order(mean.margins(slots)))
    return choice.draft(least, calm.among(rows.axes), ranked)


def second_order(margins: Floats) -> Floats:
    """Give p (1 - p) of each row: what a squared change of its margin costs, twice."""
    p = portable.logistic(margins)
    # A row that the model is sure of still counts a little: a fit without doubt, as on a column
    # that gives the outcome away, must not look as if nothing mattered.
    weights: Floats = np.maximum(p * (1.0 - p), _WEIGHT_MIN)
    return weights
