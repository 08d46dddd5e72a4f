"""The training run on one page: rows in, a sealed model out.

rows -> canonical order -> one card for each set of fields -> a sealed model
     -> judged out of fold: each row by cards that were made without it;
        or on a hold-out, where one is asked for
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # ships no types

from alama.core import kernel
from alama.core.errors import TrainingProblem
from alama.core.model import (
    REFERENCE_INFLOW_MONTHLY,
    REFERENCE_INFLOWS_AS_OF,
    SCHEMA,
    Lineage,
    Model,
    Money,
    OutcomeDefinition,
    Reference,
    seal,
)
from alama.training.making.booking import learn_booking
from alama.training.making.likeness import learn_likeness
from alama.training.making.make import Part, Watch, deal, make_card
from alama.training.making.masking import rows_for
from alama.training.validation.unseen import Unseen
from alama.training.validation.validate import DRAWS, Validation, metrics_for_model, validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.booking import Booking
    from alama.core.tables import Card
    from alama.training.dataset import Dataset
    from alama.training.recipe import CardNotes, Recipe

    Floats = NDArray[np.float64]

    Folds = NDArray[np.int8]


HELD_OUT_MIN: Final = 4

SCORE_EDGES: Final = tuple(range(325, 850, 25))


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to learn from and rows to judge by; `fingerprint` is of all the rows behind them.

    `applications` are all that were made in the time of those to learn from, with a label of 1 for
    whatever was booked, where that is known: the rows to learn from are among the booked.
    """

    learning: Dataset
    holdout: Dataset | None
    fingerprint: str
    applications: Dataset | None = None


@dataclass(frozen=True, slots=True)
class Trained:
    """The model, what was noticed on the way, and the rows that judge it.

    `folds` has the fold of each row of `train`, `without` for each fold the model made without it.
    Those judge and are never served: no id of their own, no references, no booking, and a likeness
    only where no hold-out judges.
    """

    model: Model
    notes: tuple[CardNotes, ...]
    train: Dataset
    holdout: Dataset | None
    folds: Folds
    without: tuple[Model, ...]

    @property
    def unseen(self) -> Unseen:
        """Give the rows that judge, each beside a model that has not seen it."""
        if self.holdout is not None:
            return Unseen.set_apart(self.model, self.train, self.holdout)
        return Unseen.out_of_fold(self.model, self.without, self.train, self.folds)


@dataclass(frozen=True, slots=True)
class Judged:
    """The model sealed with its figures, and the evidence; `without` is as in `Trained`."""

    model: Model
    notes: tuple[CardNotes, ...]
    validation: Validation
    without: tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for: who predicts what, from which money, and how it is judged.

    `holdout` is the share of rows set apart to judge by; with none all rows learn, and judge out of
    fold. `restructured`: a loan that was restructured in distress counts as a default too.
    `refit_of` names the model that was judged where this is its refit.
    """

    name: str
    label: str
    recipe: Recipe
    currency: str | None = None
    currencies: tuple[str, ...] = ()
    days_past_due: int = 30
    restructured: bool = False
    holdout: float = 0.0
    jobs: int = 1
    refit_of: str | None = None


def train(data: Dataset, order: Order, watch: Watch) -> Trained:
    """Train every card that the catalogue calls for; the same rows and order, the same bits."""
    ordered = data.in_canonical_order()
    shuffled = ordered.take(shuffle(len(data), order.recipe.seed))
    learning, holdout = _set_apart(shuffled, order.holdout)
    return train_on(Split(learning, holdout, ordered.fingerprint()), order, watch)


def train_on(split: Split, order: Order, watch: Watch) -> Trained:
    """Train on rows that somebody else has split; `order.holdout` says nothing here."""
    learning, holdout = split.learning, split.holdout
    recipe = order.recipe.for_data(len(learning), learning.defaults)
    names = card_fields(learning)
    folds = deal(learning.labels, learning.people, recipe)
    # The matrices are small: threads of linear algebra would only wait for each other, spinning.
    with threadpool_limits(limits=1):
        made = [
            make_card(
                name,
                learning.only(fields),
                folds,
                recipe,
                order.jobs,
                Part(watch, number / len(names), 1.0 / len(names)),
            )
            for number, (name, fields) in enumerate(names)
        ]
    cards = [one.card for one in made]
    model = Model(
        schema=SCHEMA,
        id="",
        name=order.name,
        outcome=_outcome(split, order),
        money=_money(order),
        catalogue=learning.catalogue,
        cards=tuple(cards),
        references=tuple(_reference(card, learning) for card in cards),
        lineage=Lineage(
            label=order.label,
            rows=len(learning),
            defaults=learning.defaults,
            fingerprint=split.fingerprint,
            recipe=recipe.settings(),
            versions={n: metadata.version(n) for n in ("clarabel", "interpret-core", "numpy")},
            metrics={},
            refit_of=order.refit_of,
        ),
        booking=_booking(cards, split.applications),
    )
    model = _with_likeness(model, learning, recipe)
    by_fold = zip(*(one.without for one in made), strict=True)
    judges = [
        msgspec.structs.replace(model, cards=of_fold, references=(), likeness=(), booking=())
        for of_fold in by_fold
    ]
    if holdout is None:
        judges = [
            _with_likeness(one, learning.take(np.flatnonzero(folds != fold)), recipe)
            for fold, one in enumerate(judges)
        ]
    notes = tuple(one.notes for one in made)
    return Trained(seal(model), notes, learning, holdout, folds, tuple(judges))


def judge(trained: Trained, seed: int, watch: Watch, *, draws: int = DRAWS) -> Judged:
    """Measure the model on what it has not seen, and seal it with its figures.

    `draws` are the bootstrap draws behind each interval.
    """
    validation = validate(
        trained.unseen,
        trained.notes,
        seed=seed,
        draws=draws,
        progress=lambda share, step: watch(step, share, ""),
    )
    lineage = msgspec.structs.replace(trained.model.lineage, metrics=metrics_for_model(validation))
    model = seal(msgspec.structs.replace(trained.model, lineage=lineage))
    return Judged(model, trained.notes, validation, trained.without)


def card_fields(data: Dataset) -> list[tuple[str, list[str]]]:
    """Name the cards: one for the core fields where the catalogue has such, one for all."""
    everything = list(data.columns)
    core = [name for name in data.catalogue.core_names if name in data.columns]
    if core and len(core) < len(everything):
        return [("compact", core), ("full", everything)]
    return [("full", everything)]


def shuffle(rows: int, seed: int) -> NDArray[np.intp]:
    """Deal rows in canonical order out anew: that order has all defaults at its end."""
    return np.random.default_rng([seed, 4]).permutation(rows)


def _set_apart(shuffled: Dataset, share: float) -> tuple[Dataset, Dataset | None]:
    """Set a stratified share apart."""
    if share == 0.0:
        return shuffled, None
    held = np.zeros(len(shuffled), dtype=np.bool_)
    for outcome in (0, 1):
        members = np.flatnonzero(shuffled.labels == outcome)
        held[members[: round(share * len(members))]] = True
    apart = shuffled.take(np.flatnonzero(held))
    if min(apart.defaults, len(apart) - apart.defaults) < HELD_OUT_MIN:
        raise TrainingProblem(
            f"the hold-out would have {apart.defaults:,} defaults among {len(apart):,} loans: "
            f"too few to judge a model by (at least {HELD_OUT_MIN} of each outcome)",
            hint="set a larger share apart, or none: all rows then learn, and judge out of fold",
        )
    return shuffled.take(np.flatnonzero(~held)), apart


def _outcome(split: Split, order: Order) -> OutcomeDefinition:
    known = np.concatenate([_terms(part) for part in (split.learning, split.holdout) if part])
    days = order.days_past_due
    also = ", or restructured in distress" if order.restructured else ""
    return OutcomeDefinition(
        definition=f"ever {days} days past due by the due date + {days} days{also}",
        days_past_due=days,
        shortest_term_days=int(known.min()) if len(known) else None,
        longest_term_days=int(known.max()) if len(known) else None,
    )


def _terms(data: Dataset) -> Floats:
    """Give the terms of the loans, in days, where they are known."""
    terms = data.columns.get("requested_term_days")
    if terms is None or isinstance(terms, kernel.Words):
        return np.array([])
    return terms[~np.isnan(terms)]


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


def _booking(cards: Sequence[Card], applications: Dataset | None) -> tuple[Booking, ...]:
    if applications is None:
        return ()
    learned = (learn_booking(card, applications) for card in cards)
    return tuple(known for known in learned if known is not None)


def _with_likeness(model: Model, data: Dataset, recipe: Recipe) -> Model:
    """Let a model know what the rows look like that its cards were made of.

    The models of folds have one each, for their bands differ; for ten folds of 10,000 rows that
    takes 0.4 seconds in all.
    """
    learned = (learn_likeness(card, data, recipe.word_share_min) for card in model.cards)
    return msgspec.structs.replace(model, likeness=tuple(learned))


def _reference(card: Card, data: Dataset) -> Reference:
    """Keep the distribution of scores that later ones are held against."""
    rows = data.take(rows_for(data, [feature.field for feature in card.features]))
    points = kernel.BatchScorecard(card, data.catalogue).score(rows.columns).points
    counts = np.bincount(
        np.searchsorted(SCORE_EDGES, kernel.shown_scores(points), side="right"),
        minlength=len(SCORE_EDGES) + 1,
    )
    return Reference(card.name, SCORE_EDGES, tuple((counts / len(rows)).tolist()))
