"""One scorecard, from rows to points, on one page.

masked copies -> without each fold: smooth fit and boosted fit -> what is chosen of them by the rows
              that they have not seen -> bands -> monotone projection -> calibration -> points

What is made without a fold goes through every step, and what it says of the rows left out chooses
the settings, calibrates the card and judges it. The card itself is then made of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # ships no types

from alama.core.kernel import Words
from alama.training import portable
from alama.training.making.bands import Bander, Fineness
from alama.training.making.boost import Note, boost, progress, word_axis
from alama.training.making.card import calibrate, card_of, intercept_for
from alama.training.making.choose import (
    PAIR_COUNTS,
    Choice,
    Said,
    by_what_they_carry,
    choose,
    with_pairs,
)
from alama.training.making.draft import Draft, shares_of, weighed
from alama.training.making.masking import rows_for, with_masked_copies, withheld_gains
from alama.training.making.monotone import Projection
from alama.training.making.smooth import ROWS_MAX, STRENGTHS, Curves, floor, smooth, smooth_path
from alama.training.recipe import CardNotes, ConstraintPrice, Recipe, Stage
from alama.training.validation.metrics import auc, log_loss

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from alama.core.tables import Card
    from alama.training.dataset import Dataset
    from alama.training.making.draft import Axis

    Floats = NDArray[np.float64]

    Folds = NDArray[np.int8]


Watch = Callable[[str, float, str], None]
"""Called with the stage, the share of the run that is done, and a figure worth showing."""

TABLE_ROWS_MAX: Final = 300_000
"""Rows that bands and projection weigh; more would not move them."""

FOLD_ROWS_MAX: Final = 30_000
"""The same of what is made without a fold, which only judges."""

CHOOSING_ROWS_MAX: Final = 30_000
"""Rows that choose; more would choose the same."""

_JUDGING_STEPS: Final = 10
"""Steps of a projection that is only measured."""

_WEIGHT_MIN: Final = 1e-3

SLOPE_GRAIN: Final = 2.0**-10
"""The slope is rounded to this, so that last bits do not reach the model."""

_COMPARED_ROWS: Final = 2_000
CALMER_MAX: Final = 1.5
"""The most by which a slope is made steeper for what luck has flattened."""

_STEPS_GUESSED: Final = 1_200
"""Boosting steps a bag usually takes, for the progress bar alone."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the progress bar."""

    watch: Watch
    start: float
    length: float

    def at(self, stage: str, share: float, note: str = "") -> None:
        self.watch(stage, self.start + self.length * min(share, 1.0), note)


@dataclass(frozen=True, slots=True)
class Made:
    """A card made of all rows, and for each fold the one that was made without it, to judge by."""

    card: Card
    without: tuple[Card, ...]
    notes: CardNotes


@dataclass(frozen=True, slots=True)
class Rows:
    """What a card learns from: rows and their masked copies, dealt into folds."""

    data: Dataset
    folds: Folds
    word_axes: Mapping[str, Axis]
    curves: Curves

    @classmethod
    def of(cls, data: Dataset, folds: Folds, recipe: Recipe) -> Rows:
        word_axes = {
            name: word_axis(name, column, recipe)
            for name, column in data.columns.items()
            if isinstance(column, Words)
        }
        curves = Curves.over(data.columns, word_axes)
        return cls(data, folds, word_axes, curves)

    def some(self, most: int, without: int | None = None) -> Dataset:
        """Give rows evenly through all, for the masked copies stand at the end."""
        kept = (
            np.arange(len(self.folds)) if without is None else np.flatnonzero(self.folds != without)
        )
        return self.data.take(kept[:: math.ceil(len(kept) / most)])


@dataclass(frozen=True, slots=True)
class Learned:
    """Drafts made without a fold, and what they say of it. Pairs come strongest first."""

    floor: Draft
    smooth: tuple[Draft, ...]
    boosted: Draft
    said: Said


@dataclass(frozen=True, slots=True)
class Finished:
    """A draft made without a fold, on bands and projected, and what it says of the fold."""

    draft: Draft
    banded: Floats
    finished: Floats


def make_card(
    name: str,
    data: Dataset,
    folds: Folds,
    recipe: Recipe,
    jobs: int,
    part: Part,
) -> Made:
    """Make the card that reads these columns; `folds` says which one each row is left out with."""
    mine = rows_for(data, list(data.columns))
    served, folds = data.take(mine), folds[mine]
    grown, originals = with_masked_copies(served, recipe)
    rows = Rows.of(grown, folds[originals], recipe)
    labels = rows.data.labels
    steps = _STEPS_GUESSED * recipe.folds * recipe.bags * (2 if recipe.pairs else 1)
    with (
        progress(
            lambda done, loss: part.at(
                f"boosting {name}", 0.7 * min(done / steps, 1.0), f"log-loss {loss:.5f}"
            )
        ) as folder,
        # Arrays go by pipe: files in shared memory, joblib's way for large ones, are at times
        # cleaned up twice, and the second time prints a traceback.
        parallel_config(max_nbytes=None, n_jobs=jobs),
        # Equations of a few hundred unknowns: threads would wait for each other far longer.
        threadpool_limits(limits=1, user_api="blas"),
    ):
        learned = Parallel()(
            delayed(_without)(rows, fold, recipe, Note(folder, fold))
            for fold in range(recipe.folds)
        )
        part.at(f"choosing for {name}", 0.72)
        said = _gathered([one.said for one in learned], rows.folds)
        choice, *nested = _choices(said, labels, rows.folds, recipe)
        judging = [
            chosen.draft(one.floor, one.smooth[chosen.strength], one.boosted)
            for chosen, one in zip(nested, learned, strict=True)
        ]
        part.at(f"bands of {name}", 0.75)
        whole = _whole(rows, learned, choice)
        sample = rows.some(TABLE_ROWS_MAX)
        fineness = _bander(whole, sample).within(recipe.band_cost)
        part.at(f"directions of {name}", 0.8)
        projection = _projection(whole, sample, served, recipe, fineness)
        capped = _is_capped(projection, sample, recipe.cap_cost)
        projected, prices = _priced(projection, sample, capped=capped)
        part.at(f"judging {name}", 0.9)
        tried = Parallel()(
            delayed(_finished_without)(rows, draft, fold, recipe, fineness, capped=capped)
            for fold, draft in enumerate(judging)
        )
    finished = _gather([one.finished for one in tried], rows.folds)
    calmer = _calmer([one.draft for one in tried], finished, served, folds)
    slope = round(calibrate(finished, labels).slope * calmer / SLOPE_GRAIN) * SLOPE_GRAIN
    card = card_of(name, projected, slope, served, capped=capped)
    without = []
    for fold, one in enumerate(tried):
        others = rows.folds != fold
        steepness = calibrate(finished[others], labels[others]).slope
        seen = served.take(np.flatnonzero(folds != fold))
        without.append(card_of(name, one.draft, steepness, seen, capped=capped))
    part.at(f"checks of {name}", 0.98)
    mixed = _gather([_unseen(rows, draft, fold) for fold, draft in enumerate(judging)], rows.folds)
    notes = CardNotes(
        card=name,
        stages=(
            _stage("floor", said.floor, labels),
            _stage("smooth", said.smooth[choice.strength], labels),
            _stage("boosted", said.boosted[choice.pairs], labels),
            _stage("chosen", mixed, labels),
            _stage("banded", _gather([one.banded for one in tried], rows.folds), labels),
            _stage("projected", finished, labels),
        ),
        prices=prices,
        withheld=withheld_gains(card, served),
        slope=slope,
    )
    return Made(card, tuple(without), notes)


def deal(labels: NDArray[np.int8], people: NDArray[np.intp] | None, recipe: Recipe) -> Folds:
    """Deal rows into folds of about as many defaults each; those of one person stay together."""
    of_row = np.arange(len(labels)) if people is None else np.unique(people, return_inverse=True)[1]
    of_row = of_row.ravel()
    defaulted = np.bincount(of_row, labels) > 0
    rng = np.random.default_rng([recipe.seed, 1])
    of_person = np.empty(len(defaulted), dtype=np.int8)
    for outcome in (False, True):
        members = np.flatnonzero(defaulted == outcome)
        dealt = np.arange(len(members)) % recipe.folds
        of_person[members[rng.permutation(len(members))]] = dealt
    return of_person[of_row]


def _choices(said: Said, labels: NDArray[np.int8], folds: Folds, recipe: Recipe) -> list[Choice]:
    """Choose by all rows, and without each fold by those of the others."""
    some = np.zeros(len(labels), dtype=np.bool_)
    some[:: math.ceil(len(labels) / CHOOSING_ROWS_MAX)] = True
    without = (some & (folds != fold) for fold in range(recipe.folds))
    return [choose(said.of(rows), labels[rows], recipe.pair_gain) for rows in (some, *without)]


def _calmer(drafts: Sequence[Draft], unseen: Floats, served: Dataset, folds: Folds) -> float:
    """Give the factor by which the slope of one draft is too flat for the mean of them.

    What one says differs from the mean by luck, and luck flattens the line through its margins:
    by the share that it has of their spread. Only drafts that have seen a row are compared on it.
    """
    some = np.arange(0, len(served), math.ceil(len(served) / _COMPARED_ROWS))
    columns = served.take(some).columns
    margins = np.stack([draft.margins(draft.slots(columns)) for draft in drafts])
    saw = folds[some][None, :] != np.arange(len(drafts))[:, None]
    mean = np.sum(margins * saw, axis=0) / np.sum(saw, axis=0)
    luck = float(np.sum(saw * (margins - mean) ** 2) / np.sum(saw))
    spread = float(np.var(unseen))
    return spread / max(spread - luck, spread / CALMER_MAX) if spread > 0.0 else 1.0


def _without(rows: Rows, fold: int, recipe: Recipe, note: Note) -> Learned:
    """Learn from all folds but one, and say what that makes of the one."""
    seen = rows.some(ROWS_MAX, without=fold)
    calm_to_lively = tuple(smooth_path(rows.curves, rows.curves.cells(seen.columns), seen.labels))
    least = floor(seen.columns, rows.word_axes, seen.labels)
    # Where the outcome can be told without error the trainer's own base may end anywhere.
    boosted = replace(boost(rows.data, rows.word_axes, rows.folds, fold, recipe, note), base=0.0)
    slots = boosted.slots(rows.data.columns)
    pure = boosted.purified(shares_of(slots, boosted.axes))
    left = np.flatnonzero(rows.folds == fold)
    seen_slots = pure.slots(seen.columns)
    balance = intercept_for(pure.margins(seen_slots), seen.labels, 1.0)
    pure = replace(pure, base=pure.base + balance)
    ranked = by_what_they_carry(pure, seen_slots, _weights(pure.margins(seen_slots)))
    left_slots = [slot[left] for slot in slots]
    columns = rows.data.take(left).columns
    return Learned(
        least,
        calm_to_lively,
        ranked,
        Said(
            least.margins(least.slots(columns)),
            np.stack([draft.margins(draft.slots(columns)) for draft in calm_to_lively]),
            np.stack([with_pairs(ranked, count).margins(left_slots) for count in PAIR_COUNTS]),
        ),
    )


def _gathered(said: Sequence[Said], folds: Folds) -> Said:
    """Put what was said of each fold into the order of the rows."""
    return Said(
        _gather([one.floor for one in said], folds),
        _gather([one.smooth for one in said], folds),
        _gather([one.boosted for one in said], folds),
    )


def _gather(by_fold: Sequence[Floats], folds: Folds) -> Floats:
    together = np.concatenate(by_fold, axis=-1)
    order = np.argsort(folds, kind="stable")
    gathered = np.empty_like(together)
    gathered[..., order] = together
    return gathered


def _unseen(rows: Rows, draft: Draft, fold: int) -> Floats:
    left = rows.data.take(np.flatnonzero(rows.folds == fold))
    return draft.margins(draft.slots(left.columns))


def _finished_without(
    rows: Rows, draft: Draft, fold: int, recipe: Recipe, fineness: Fineness, *, capped: bool
) -> Finished:
    """Put a draft on bands and project it, without the fold."""
    seen = rows.some(FOLD_ROWS_MAX, without=fold)
    projection = _projection(draft, seen, seen, recipe, fineness)
    signs = _signs(seen, projection.draft)
    projected, _ = projection.solve(signs, capped=capped, steps=_JUDGING_STEPS)
    return Finished(
        projected, _unseen(rows, projection.draft, fold), _unseen(rows, projected, fold)
    )


def _is_capped(projection: Projection, data: Dataset, cost: float) -> bool:
    """Say whether what is not told is held to the average at most.

    It is where callers may choose what they tell. In other tables what is missing was so when the
    loan was made, and may speak for somebody: there a cap must not cost more than it may.
    """
    if data.catalogue.core_names:
        return True
    signs = _signs(data, projection.draft)
    free, capped = (
        projection.solve(signs, capped=held, steps=_JUDGING_STEPS)[1] for held in (False, True)
    )
    return capped - free <= cost


def _calibrated_loss(margins: Floats, labels: NDArray[np.int8]) -> float:
    line = calibrate(margins, labels)
    return log_loss(labels, portable.logistic(line.intercept + line.slope * margins))


def _whole(rows: Rows, learned: Sequence[Learned], choice: Choice) -> Draft:
    """Put the card together of all rows: the mean of what was boosted, one smooth fit."""
    some = rows.some(ROWS_MAX)
    calm = smooth(
        rows.curves, rows.curves.cells(some.columns), some.labels, STRENGTHS[choice.strength]
    )
    least = floor(some.columns, rows.word_axes, some.labels)
    mean = weighed([(1.0 / len(learned), one.boosted) for one in learned], 0.0)
    slots = mean.slots(some.columns)
    ranked = by_what_they_carry(mean, slots, _weights(mean.margins(slots)))
    return choice.draft(least, calm, ranked)


def _weights(margins: Floats) -> Floats:
    p = portable.logistic(margins)
    # A row that the model is sure of still counts a little: a fit without doubt, as on a column
    # that gives the outcome away, must not look as if nothing mattered.
    weights: Floats = np.maximum(p * (1.0 - p), _WEIGHT_MIN)
    return weights


def _bander(draft: Draft, sample: Dataset) -> Bander:
    slots = draft.slots(sample.columns)
    return Bander(draft, sample, slots, _weights(draft.margins(slots)))


def _projection(
    draft: Draft, sample: Dataset, served: Dataset, recipe: Recipe, fineness: Fineness
) -> Projection:
    """Give the draft on bands, ready to be projected."""
    banded = _bander(draft, sample).at(fineness)
    slots = banded.slots(sample.columns)
    shares = shares_of(banded.slots(served.columns), banded.axes)
    return Projection(banded, slots, _weights(banded.margins(slots)), shares, recipe.ridge)


def _signs(data: Dataset, draft: Draft) -> dict[str, int]:
    # Points rise where risk falls, so the sign of the log-odds is the other one.
    directions = {a.field: -data.catalogue.field(a.field).direction.sign for a in draft.axes}
    return {field: sign for field, sign in directions.items() if sign}


def _priced(
    projection: Projection, data: Dataset, *, capped: bool
) -> tuple[Draft, tuple[ConstraintPrice, ...]]:
    """Project, and price each direction by what the loss would gain without it."""
    signs = _signs(data, projection.draft)
    projected, cost = projection.solve(signs, capped=capped)
    prices = []
    for field in signs:
        others = {name: sign for name, sign in signs.items() if name != field}
        without = projection.solve(others, capped=capped, steps=_JUDGING_STEPS)[1]
        prices.append(ConstraintPrice(field, max(cost - without, 0.0)))
    return projected, tuple(sorted(prices, key=lambda price: -price.log_loss))


def _stage(name: str, margins: Floats, labels: NDArray[np.int8]) -> Stage:
    return Stage(name, auc(labels, margins), _calibrated_loss(margins, labels))
