"""One scorecard, from rows to points, on one page.

masked copies -> without each fold: smooth fit and boosted fit -> what is chosen of them by the rows
              that they have not seen -> bands -> monotone projection -> calibration -> points

What is made without a fold goes through every step, and what it says of the rows left out chooses
the settings, calibrates the card and judges it. The card itself is then made of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from joblib import Parallel, delayed, parallel_config

from alama.training import portable
from alama.training.making.bands import Bander, Fineness
from alama.training.making.card import calibrate, card_of
from alama.training.making.choose import Choice, Said, choose
from alama.training.making.draft import Draft, shares_of
from alama.training.making.learn import Rows, gather, gathered, learn, put_together, second_order
from alama.training.making.masking import rows_for, with_masked_copies, withheld_gains
from alama.training.making.monotone import Projection
from alama.training.recipe import CardNotes, ConstraintPrice, Recipe, Stage
from alama.training.validation.metrics import auc, log_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.tables import Card
    from alama.training.dataset import Dataset

    Floats = NDArray[np.float64]

    Folds = NDArray[np.int8]

    Labels = NDArray[np.int8]


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

SLOPE_GRAIN: Final = 2.0**-10
"""The slope is rounded to this, so that last bits do not reach the model."""

_COMPARED_ROWS: Final = 2_000
CALMER_MAX: Final = 1.5
"""The most by which a slope is made steeper for what luck has flattened."""


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
class Shape:
    """How a card is put together, how fine its bands are, and whether what is missing is capped."""

    choice: Choice
    fineness: Fineness
    capped: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """A draft made without a fold, projected, and what it says of the fold by then and before."""

    draft: Draft
    mixed: Floats
    banded: Floats
    projected: Floats


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
    learned = learn(
        rows,
        recipe,
        jobs,
        lambda share, loss: part.at(f"boosting {name}", 0.7 * share, f"log-loss {loss:.5f}"),
    )
    part.at(f"choosing for {name}", 0.72)
    said = gathered([one.said for one in learned], rows.folds)
    choice, *nested = _choices(said, rows.data.labels, rows.folds, recipe)
    part.at(f"bands of {name}", 0.75)
    whole, sample = put_together(rows, learned, choice), rows.some(TABLE_ROWS_MAX)
    fineness = _bander(whole, sample).within(recipe.band_cost)
    part.at(f"directions of {name}", 0.8)
    projection = _projection(whole, sample, served, recipe, fineness)
    shape = Shape(choice, fineness, _is_capped(projection, sample, recipe.cap_cost))
    projected, prices = _priced(projection, sample, capped=shape.capped)
    part.at(f"judging {name}", 0.9)
    drafts = [
        chosen.draft(one.floor, one.smooth[chosen.strength], one.boosted)
        for chosen, one in zip(nested, learned, strict=True)
    ]
    with parallel_config(max_nbytes=None, n_jobs=jobs):
        tried: list[Finished] = Parallel()(
            delayed(_finished)(rows, draft, fold, recipe, shape)
            for fold, draft in enumerate(drafts)
        )
    part.at(f"points of {name}", 0.97)
    unseen = gather([one.projected for one in tried], rows.folds)
    slope = calibrate(unseen, rows.data.labels).slope * _calmer(tried, unseen, served, folds)
    slope = round(slope / SLOPE_GRAIN) * SLOPE_GRAIN
    card = card_of(name, projected, slope, served, capped=shape.capped)
    notes = CardNotes(
        card=name,
        stages=_stages(said, tried, rows, choice),
        prices=prices,
        withheld=withheld_gains(card, served),
        slope=slope,
    )
    return Made(card, _cards_of_folds(card, tried, rows, served, folds, shape), notes)


def deal(labels: Labels, people: NDArray[np.intp] | None, recipe: Recipe) -> Folds:
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


def _choices(said: Said, labels: Labels, folds: Folds, recipe: Recipe) -> list[Choice]:
    """Choose by all rows, and without each fold by those of the others."""
    some = np.zeros(len(labels), dtype=np.bool_)
    some[:: math.ceil(len(labels) / CHOOSING_ROWS_MAX)] = True
    without = (some & (folds != fold) for fold in range(recipe.folds))
    return [choose(said.of(rows), labels[rows], recipe.pair_gain) for rows in (some, *without)]


def _calmer(tried: Sequence[Finished], unseen: Floats, served: Dataset, folds: Folds) -> float:
    """Give the factor by which the slope of one draft is too flat for the mean of them.

    What one says differs from the mean by luck, and luck flattens the line through its margins:
    by the share that it has of their spread. Only drafts that have seen a row are compared on it.
    """
    some = np.arange(0, len(served), math.ceil(len(served) / _COMPARED_ROWS))
    columns = served.take(some).columns
    margins = np.stack([one.draft.margins(one.draft.slots(columns)) for one in tried])
    saw = folds[some][None, :] != np.arange(len(tried))[:, None]
    mean = np.sum(margins * saw, axis=0) / np.sum(saw, axis=0)
    luck = float(np.sum(saw * (margins - mean) ** 2) / np.sum(saw))
    spread = float(np.var(unseen))
    return spread / max(spread - luck, spread / CALMER_MAX) if spread > 0.0 else 1.0


def _cards_of_folds(
    card: Card,
    tried: Sequence[Finished],
    rows: Rows,
    served: Dataset,
    folds: Folds,
    shape: Shape,
) -> tuple[Card, ...]:
    """Give for each fold the card made without it, calibrated by the rows of the others."""
    unseen = gather([one.projected for one in tried], rows.folds)
    cards = []
    for fold, one in enumerate(tried):
        others = rows.folds != fold
        slope = calibrate(unseen[others], rows.data.labels[others]).slope
        seen = served.take(np.flatnonzero(folds != fold))
        cards.append(card_of(card.name, one.draft, slope, seen, capped=shape.capped))
    return tuple(cards)


def _unseen(rows: Rows, draft: Draft, fold: int) -> Floats:
    left = rows.data.take(np.flatnonzero(rows.folds == fold))
    return draft.margins(draft.slots(left.columns))


def _finished(rows: Rows, draft: Draft, fold: int, recipe: Recipe, shape: Shape) -> Finished:
    """Put a draft on bands and project it, without the fold."""
    seen = rows.some(FOLD_ROWS_MAX, without=fold)
    projection = _projection(draft, seen, seen, recipe, shape.fineness)
    signs = _signs(seen, projection.draft)
    projected, _ = projection.solve(signs, capped=shape.capped, steps=_JUDGING_STEPS)
    of_fold = [_unseen(rows, one, fold) for one in (draft, projection.draft, projected)]
    return Finished(projected, *of_fold)


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


def _bander(draft: Draft, sample: Dataset) -> Bander:
    slots = draft.slots(sample.columns)
    return Bander(draft, sample, slots, second_order(draft.margins(slots)))


def _projection(
    draft: Draft, sample: Dataset, served: Dataset, recipe: Recipe, fineness: Fineness
) -> Projection:
    """Give the draft on bands, ready to be projected."""
    banded = _bander(draft, sample).at(fineness)
    slots = banded.slots(sample.columns)
    shares = shares_of(banded.slots(served.columns), banded.axes)
    return Projection(banded, slots, second_order(banded.margins(slots)), shares, recipe.ridge)


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


def _stages(said: Said, tried: Sequence[Finished], rows: Rows, choice: Choice) -> tuple[Stage, ...]:
    """Measure each step of the making on the rows that it has not seen."""
    by_step = {
        "floor": said.floor,
        "smooth": said.smooth[choice.strength],
        "boosted": said.boosted[choice.pairs],
        "chosen": gather([one.mixed for one in tried], rows.folds),
        "banded": gather([one.banded for one in tried], rows.folds),
        "projected": gather([one.projected for one in tried], rows.folds),
    }
    return tuple(_stage(step, margins, rows.data.labels) for step, margins in by_step.items())


def _stage(step: str, margins: Floats, labels: Labels) -> Stage:
    line = calibrate(margins, labels)
    loss = log_loss(labels, portable.logistic(line.intercept + line.slope * margins))
    return Stage(step, auc(labels, margins), loss)
