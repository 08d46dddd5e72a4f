"""The training run on one page: rows in, a sealed model out.

rows -> canonical order -> hold-out apart -> for each card: masked copies -> boosted bags
     -> tables -> bands -> monotone projection -> calibration -> points -> one sealed model
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import kernel
from alama.core.model import SCHEMA, Lineage, Model, Money, Outcome, Reference, seal
from alama.core.money import REFERENCE_INFLOW_MONTHLY, REFERENCE_INFLOWS_AS_OF
from alama.training import portable
from alama.training.bands import band
from alama.training.calibrate import Calibration, calibrate, intercept_for
from alama.training.card import card_of
from alama.training.compile import check_equal, compile_terms, left_out_margins
from alama.training.draft import Draft, shares_of
from alama.training.fit import fit
from alama.training.masking import rows_for, with_masked_copies
from alama.training.metrics import auc, log_loss
from alama.training.monotone import Projection
from alama.training.notes import CardNotes, ConstraintPrice, Stage
from alama.training.validate import metrics_for_model, validate
from alama.training.withheld import withheld_gains

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.tables import Card
    from alama.training.dataset import Dataset
    from alama.training.draft import Slots
    from alama.training.recipe import Recipe
    from alama.training.validate import Validation

    Floats = NDArray[np.float64]

Watch = Callable[[str, float, str], None]
"""Called with the stage, the share of the run that is done, and a figure worth showing."""

TABLE_ROWS_MAX: Final = 300_000
"""Rows that bands and projection weigh; more would not move them."""

SCORE_EDGES: Final = tuple(range(325, 850, 25))
_STEPS_GUESSED: Final = 1_800
"""Boosting steps a bag usually takes, for the progress bar alone."""


@dataclass(frozen=True, slots=True)
class Trained:
    """The model, what was noticed on the way, and the rows that judge it."""

    model: Model
    notes: tuple[CardNotes, ...]
    train: Dataset
    holdout: Dataset | None


@dataclass(frozen=True, slots=True)
class Judged:
    """The model sealed with its figures, and the evidence; none where no row was set apart."""

    model: Model
    notes: tuple[CardNotes, ...]
    validation: Validation | None


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for: who predicts what, from which money, judged on how much."""

    name: str
    label: str
    recipe: Recipe
    currency: str | None = None
    currencies: tuple[str, ...] = ()
    days_past_due: int = 30
    holdout: float = 0.2
    jobs: int = 1


def train(data: Dataset, order: Order, watch: Watch) -> Trained:
    """Train every card that the catalogue calls for; the same rows and order, the same bits."""
    recipe = order.recipe.for_data(len(data), data.defaults)
    ordered = data.in_canonical_order()
    fingerprint = ordered.fingerprint()
    learning, holdout = _split(ordered, order.holdout, recipe.seed)
    names = card_fields(data)
    cards, notes = [], []
    for number, (name, fields) in enumerate(names):
        part = _Part(watch, number / len(names), 1.0 / len(names))
        made = _make(name, learning.only(fields), holdout, recipe, order.jobs, part)
        cards.append(made[0])
        notes.append(made[1])
    model = Model(
        schema=SCHEMA,
        id="",
        name=order.name,
        outcome=_outcome(data, order.days_past_due),
        money=_money(order),
        catalogue=data.catalogue,
        cards=tuple(cards),
        references=tuple(_reference(card, learning) for card in cards),
        lineage=Lineage(
            label=order.label,
            rows=len(learning),
            defaults=learning.defaults,
            fingerprint=fingerprint,
            recipe=recipe.settings(),
            versions={n: metadata.version(n) for n in ("clarabel", "interpret-core", "numpy")},
            metrics={},
        ),
    )
    return Trained(seal(model), tuple(notes), learning, holdout)


def judge(trained: Trained, seed: int, watch: Watch) -> Judged:
    """Measure the model on what was set apart, and seal it with its figures."""
    if trained.holdout is None:
        return Judged(trained.model, trained.notes, None)
    validation = validate(
        trained.model,
        trained.train,
        trained.holdout,
        trained.notes,
        seed=seed,
        progress=lambda share, step: watch(step, share, ""),
    )
    lineage = msgspec.structs.replace(trained.model.lineage, metrics=metrics_for_model(validation))
    model = seal(msgspec.structs.replace(trained.model, lineage=lineage))
    return Judged(model, trained.notes, validation)


def card_fields(data: Dataset) -> list[tuple[str, list[str]]]:
    """Name the cards: one for the core fields where the catalogue has such, one for all."""
    everything = list(data.columns)
    core = [name for name in data.catalogue.core_names if name in data.columns]
    if core and len(core) < len(everything):
        return [("compact", core), ("full", everything)]
    return [("full", everything)]


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of the progress bar."""

    watch: Watch
    start: float
    length: float

    def at(self, stage: str, share: float, note: str = "") -> None:
        self.watch(stage, self.start + self.length * min(share, 1.0), note)


def _make(
    name: str,
    data: Dataset,
    holdout: Dataset | None,
    recipe: Recipe,
    jobs: int,
    part: _Part,
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
            f"boosting {name}", 0.8 * done / steps, f"log-loss {loss:.5f}"
        ),
    )
    part.at(f"tables of {name}", 0.82)
    averaged, bags = compile_terms(fitted)
    slots = averaged.slots(grown.columns)
    check_equal(averaged, slots, fitted, grown)
    unseen = left_out_margins(bags, slots, fitted.left_out)
    calibration = calibrate(unseen, grown.labels)

    sample = grown.take(np.arange(len(grown))[-TABLE_ROWS_MAX:])
    sample_slots = [slot[-TABLE_ROWS_MAX:] for slot in slots]
    weights = _weights(averaged, sample_slots, calibration)
    part.at(f"bands of {name}", 0.85)
    banded = band(averaged, sample, sample_slots, weights, recipe)

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
            for label, draft in (("fitted", averaged), ("banded", banded), ("projected", projected))
        ),
        prices=prices,
        withheld=withheld_gains(card, served),
        slope=final.slope,
        intercept=final.intercept,
    )
    return card, notes


def _weights(draft: Draft, slots: Sequence[Slots], calibration: Calibration) -> Floats:
    p = portable.logistic(calibration.intercept + calibration.slope * draft.margins(slots))
    weights: Floats = p * (1.0 - p)
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


def _split(data: Dataset, share: float, seed: int) -> tuple[Dataset, Dataset | None]:
    """Shuffle by the seed, set a stratified share apart."""
    rng = np.random.default_rng([seed, 4])
    shuffled = data.take(rng.permutation(len(data)))
    if share == 0.0:
        return shuffled, None
    held = np.zeros(len(data), dtype=np.bool_)
    for outcome in (0, 1):
        members = np.flatnonzero(shuffled.labels == outcome)
        held[members[: round(share * len(members))]] = True
    return shuffled.take(np.flatnonzero(~held)), shuffled.take(np.flatnonzero(held))


def _outcome(data: Dataset, days_past_due: int) -> Outcome:
    terms = data.columns.get("requested_term_days")
    known = np.array([]) if terms is None or isinstance(terms, kernel.Words) else terms
    known = known[~np.isnan(known)]
    return Outcome(
        definition=f"ever {days_past_due} days past due by the due date + {days_past_due} days",
        days_past_due=days_past_due,
        shortest_term_days=int(known.min()) if len(known) else None,
        longest_term_days=int(known.max()) if len(known) else None,
    )


def _money(order: Order) -> Money | None:
    if order.currency is None:
        return None
    served = {order.currency, *order.currencies}
    return Money(
        currency=order.currency,
        dated=REFERENCE_INFLOWS_AS_OF.isoformat(),
        reference_inflows={
            name: float(inflow)
            for name, inflow in REFERENCE_INFLOW_MONTHLY.items()
            if name in served
        },
    )


def _reference(card: Card, data: Dataset) -> Reference:
    """Keep the distribution of scores that later ones are held against."""
    rows = data.take(rows_for(data, [feature.field for feature in card.features]))
    points = kernel.BatchScorecard(card, data.catalogue).score(rows.columns).points
    counts = np.bincount(
        np.searchsorted(SCORE_EDGES, kernel.shown_scores(points), side="right"),
        minlength=len(SCORE_EDGES) + 1,
    )
    return Reference(card.name, SCORE_EDGES, tuple((counts / len(rows)).tolist()))
