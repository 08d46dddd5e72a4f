"""One scorecard, from rows to points, on one page.

masked copies -> boosted bags -> tables -> pairs chosen -> bands -> monotone projection
              -> calibration -> points
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.training import portable
from alama.training.making.bands import band
from alama.training.making.card import Calibration, calibrate, card_of, intercept_for
from alama.training.making.fit import (
    Draft,
    Fitted,
    check_equal,
    compile_terms,
    fit,
    left_out_margins,
    shares_of,
)
from alama.training.making.masking import (
    pairs_that_carry,
    rows_for,
    with_masked_copies,
    with_pairs,
    withheld_gains,
)
from alama.training.making.monotone import Projection
from alama.training.recipe import CardNotes, ConstraintPrice, Recipe, Stage
from alama.training.validation.metrics import auc, log_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.tables import Card
    from alama.training.dataset import Dataset
    from alama.training.making.fit import Slots

    Floats = NDArray[np.float64]


Watch = Callable[[str, float, str], None]
"""Called with the stage, the share of the run that is done, and a figure worth showing."""

TABLE_ROWS_MAX: Final = 300_000
"""Rows that bands and projection weigh; more would not move them."""

_WEIGHT_MIN: Final = 1e-3

_STEPS_GUESSED: Final = 1_800
"""Boosting steps a bag usually takes, for the progress bar alone."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the progress bar."""

    watch: Watch
    start: float
    length: float

    def at(self, stage: str, share: float, note: str = "") -> None:
        self.watch(stage, self.start + self.length * min(share, 1.0), note)


def make_card(
    name: str,
    data: Dataset,
    holdout: Dataset | None,
    recipe: Recipe,
    jobs: int,
    part: Part,
) -> tuple[Card, CardNotes]:
    served = data.take(rows_for(data, list(data.columns)))
    grown, groups = with_masked_copies(served, recipe)
    steps = _STEPS_GUESSED * recipe.bags * (2 if recipe.pairs else 1)
    fitted = fit(
        grown,
        groups,
        recipe,
        jobs=jobs,
        watch=lambda done, loss: part.at(
            f"boosting {name}", 0.8 * min(done / steps, 1.0), f"log-loss {loss:.5f}"
        ),
    )
    part.at(f"tables of {name}", 0.82)
    averaged, bags = compile_terms(fitted)
    slots = averaged.slots(grown.columns)
    check_equal(averaged, slots, fitted, grown)
    chosen, calibration = _choose(averaged, bags, slots, grown, fitted, recipe)

    # Evenly through the rows, because the masked copies stand at the end.
    some = np.arange(0, len(grown), math.ceil(len(grown) / TABLE_ROWS_MAX))
    sample, sample_slots = grown.take(some), [slot[some] for slot in slots]
    weights = _weights(chosen, sample_slots, calibration)
    part.at(f"bands of {name}", 0.85)
    banded = band(chosen, sample, sample_slots, weights, recipe)

    part.at(f"directions of {name}", 0.88)
    projected, prices = _project(banded, sample, weights, served, recipe)
    margins = projected.margins(projected.slots(served.columns))
    final = replace(calibration, intercept=intercept_for(margins, served.labels, calibration.slope))
    card = card_of(name, projected, final, served)
    part.at(f"checks of {name}", 0.98)
    judged = served if holdout is None else holdout
    notes = CardNotes(
        card=name,
        stages=tuple(
            _stage(label, draft, judged, final)
            for label, draft in (
                ("fitted", averaged),
                ("pairs chosen", chosen),
                ("banded", banded),
                ("projected", projected),
            )
        ),
        prices=prices,
        withheld=withheld_gains(card, served),
        slope=final.slope,
        intercept=final.intercept,
    )
    return card, notes


def _choose(
    averaged: Draft,
    bags: Sequence[Draft],
    slots: Sequence[Slots],
    data: Dataset,
    fitted: Fitted,
    recipe: Recipe,
) -> tuple[Draft, Calibration]:
    """Keep the pairs that carry something; calibrate on what bags without a row say of it."""
    shares = shares_of(slots, averaged.axes)
    pure = averaged.purified(shares)
    everything = calibrate(left_out_margins(bags, slots, fitted.left_out), data.labels)
    weights = _weights(pure, slots, everything)
    places = pairs_that_carry(pure, slots, weights, recipe.pair_loss)
    kept = [with_pairs(bag.purified(shares), places) for bag in bags]
    return with_pairs(pure, places), calibrate(
        left_out_margins(kept, slots, fitted.left_out), data.labels
    )


def _weights(draft: Draft, slots: Sequence[Slots], calibration: Calibration) -> Floats:
    p = portable.logistic(calibration.intercept + calibration.slope * draft.margins(slots))
    # A row that the model is sure of still counts a little: a fit without doubt, as on a column
    # that gives the outcome away, must not look as if nothing mattered.
    weights: Floats = np.maximum(p * (1.0 - p), _WEIGHT_MIN)
    return weights


def _project(
    draft: Draft, sample: Dataset, weights: Floats, served: Dataset, recipe: Recipe
) -> tuple[Draft, tuple[ConstraintPrice, ...]]:
    """Project, and price each direction by what the loss would gain without it."""
    shares = shares_of(draft.slots(served.columns), draft.axes)
    projection = Projection(draft, draft.slots(sample.columns), weights, shares, recipe.ridge)
    # Points rise where risk falls, so the sign of the log-odds is the other one.
    directions = {a.field: -sample.catalogue.field(a.field).direction.sign for a in draft.axes}
    signs = {field: sign for field, sign in directions.items() if sign}
    projected, cost = projection.solve(signs)
    prices = []
    for field in signs:
        others = {name: sign for name, sign in signs.items() if name != field}
        prices.append(ConstraintPrice(field, max(cost - projection.solve(others)[1], 0.0)))
    return projected, tuple(sorted(prices, key=lambda price: -price.log_loss))


def _stage(name: str, draft: Draft, data: Dataset, calibration: Calibration) -> Stage:
    margins = draft.margins(draft.slots(data.columns))
    p = portable.logistic(calibration.intercept + calibration.slope * margins)
    return Stage(name, auc(data.labels, margins), log_loss(data.labels, p))
