"""The validation of a model on rows that no step of its making has seen.

Each card is measured on every hold-out row, and the model as it is served: each row by the
smallest card that reads all its given fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import kernel
from alama.core.errors import TrainingProblem
from alama.core.kernel import Column, Words
from alama.core.model import Metric, Model
from alama.training.recipe import CardNotes, ConstraintPrice
from alama.training.validation import metrics, peers
from alama.training.validation.figures import Performance, performance, served_points
from alama.training.validation.peers import PeerComparison
from alama.training.validation.stability import Stability, UnlikeShare, stability, unlike_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from alama.core.tables import Card
    from alama.training.dataset import Dataset
    from alama.training.validation.metrics import Floats, Labels


AS_SERVED: Final = "as served"

_COMMON_PATTERN_SHARE: Final = 0.03
_FIELDS_NAMED_MAX: Final = 6
_METRIC_DECIMALS: Final = 5
"""Figures enter the model's hash; beyond these digits they are noise of the machine."""


class MissingCost(msgspec.Struct, frozen=True):
    """What it costs on hold-out when nobody gives a field: AUC lost, log loss a row added."""

    field: str
    given_share: float
    auc: float
    log_loss: float


class Pattern(msgspec.Struct, frozen=True):
    """A common combination of missing fields, as served. `auc` is None where nobody defaulted."""

    missing: tuple[str, ...]
    given: tuple[str, ...]
    card: str
    rows: int
    predicted_rate: float
    default_rate: float
    auc: float | None
    calibration_error: float
    calibration_noise: float

    @property
    def described(self) -> str:
        """Say which fields were given, in the fewest words."""
        if not self.missing:
            return "every field"
        if len(self.given) <= len(self.missing):
            return "only " + _listed(self.given)
        return "all but " + _listed(self.missing)


class CardValidation(msgspec.Struct, frozen=True):
    """All about one card."""

    performance: Performance
    peers: tuple[PeerComparison, ...]
    missing_costs: tuple[MissingCost, ...]
    prices: tuple[ConstraintPrice, ...]
    stability: Stability

    @property
    def card(self) -> str:
        return self.performance.name


class Period(msgspec.Struct, frozen=True):
    """First and last day of some rows, as ISO dates."""

    first: str
    last: str


class Sample(msgspec.Struct, frozen=True):
    """What some rows amount to."""

    rows: int
    defaults: int
    period: Period | None


class Validation(msgspec.Struct, frozen=True):
    """Everything the report says about how the model did. Cards stand in the model's order."""

    train: Sample
    holdout: Sample
    served: Performance
    cards: tuple[CardValidation, ...]
    patterns: tuple[Pattern, ...]
    unlike: tuple[UnlikeShare, ...]
    draws: int


def validate(
    model: Model,
    train: Dataset,
    holdout: Dataset,
    notes: Sequence[CardNotes],
    *,
    seed: int,
    draws: int = 200,
    progress: Callable[[float, str], None] = lambda _share, _step: None,
) -> Validation:
    """Measure a model on hold-out rows; `progress` hears the share done and the step begun.

    Where it is known who stands behind the hold-out rows, intervals are those of drawing people.
    """
    if not 0 < holdout.defaults < len(holdout):
        message = "the hold-out rows do not hold both outcomes, so nothing can be measured on them"
        raise TrainingProblem(message, hint="give more rows, or another split")
    served, chosen = served_points(model, holdout.columns, len(holdout))
    progress(0.0, "measuring the model as served")
    whole = performance(
        AS_SERVED, holdout.labels, served, seed=seed, draws=draws, people=holdout.people
    )
    cards = []
    for place, card in enumerate(model.cards, start=1):
        progress(place / (len(model.cards) + 1), f"measuring the {card.name} card")
        cards.append(_validate_card(model, card, train, holdout, notes, seed=seed, draws=draws))
    progress(1.0, "measured")
    return Validation(
        train=_sample(train),
        holdout=_sample(holdout),
        served=whole,
        cards=tuple(cards),
        patterns=_patterns(model, holdout, served, chosen),
        unlike=unlike_shares(model, holdout, chosen, seed=seed),
        draws=draws,
    )


def metrics_for_model(validation: Validation) -> dict[str, tuple[Metric, ...]]:
    """Give the figures that a model carries, by card; "as served" where there are several."""
    measured = [card.performance for card in validation.cards]
    if len(measured) > 1:
        measured.append(validation.served)
    return {
        performed.name: tuple(
            Metric(
                figure.measure.value,
                _rounded(figure.value),
                _rounded(figure.interval.low),
                _rounded(figure.interval.high),
            )
            for figure in performed.figures
        )
        for performed in measured
    }


def _rounded(value: float) -> float:
    # Adding 0.0 turns a negative zero, which JSON would keep, into a plain one.
    return round(value, _METRIC_DECIMALS) + 0.0


def _sample(data: Dataset) -> Sample:
    period = None
    if data.dates is not None and not np.all(np.isnat(data.dates)):
        known = data.dates[~np.isnat(data.dates)].astype("datetime64[D]")
        period = Period(str(known.min()), str(known.max()))
    return Sample(len(data), data.defaults, period)


def _validate_card(
    model: Model,
    card: Card,
    train: Dataset,
    holdout: Dataset,
    notes: Sequence[CardNotes],
    *,
    seed: int,
    draws: int,
) -> CardValidation:
    points = kernel.BatchScorecard(card, model.catalogue).score(holdout.columns).points
    fields = [feature.field for feature in card.features]
    return CardValidation(
        performance=performance(
            card.name, holdout.labels, points, seed=seed, draws=draws, people=holdout.people
        ),
        peers=peers.compare(fields, train, holdout, -points, seed=seed, draws=draws),
        missing_costs=_missing_costs(model, card, holdout, points),
        prices=tuple(price for note in notes if note.card == card.name for price in note.prices),
        stability=stability(card, model.catalogue, train, holdout),
    )


def _missing_costs(
    model: Model, card: Card, holdout: Dataset, points: Floats
) -> tuple[MissingCost, ...]:
    scorecard = kernel.BatchScorecard(card, model.catalogue)
    area, loss = _area_and_loss(holdout.labels, points)
    costs = []
    for feature in card.features:
        column = holdout.columns[feature.field]
        without = {**holdout.columns, feature.field: _withheld(column)}
        worse_area, worse_loss = _area_and_loss(holdout.labels, scorecard.score(without).points)
        costs.append(
            MissingCost(
                field=feature.field,
                given_share=float(np.mean(kernel.present(column))),
                auc=area - worse_area,
                log_loss=worse_loss - loss,
            )
        )
    return tuple(costs)


def _area_and_loss(labels: Labels, points: Floats) -> tuple[float, float]:
    return (
        metrics.auc(labels, -points),
        metrics.log_loss(labels, kernel.probabilities(points)),
    )


def _withheld(column: Column) -> Column:
    if isinstance(column, Words):
        return Words(np.full_like(column.codes, -1), column.vocabulary)
    return np.full_like(column, np.nan)


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _FIELDS_NAMED_MAX:
        return ", ".join(names)
    shown = ", ".join(names[: _FIELDS_NAMED_MAX - 1])
    return f"{shown} and {len(names) - _FIELDS_NAMED_MAX + 1} more"


def _patterns(
    model: Model, holdout: Dataset, points: Floats, chosen: NDArray[np.intp]
) -> tuple[Pattern, ...]:
    """Measure each common combination of missing fields, the most common first."""
    fields = [feature.field for feature in model.cards[-1].features]
    gone = np.column_stack([~kernel.present(holdout.columns[name]) for name in fields])
    packed = np.packbits(gone, axis=1)
    _, first, which, counts = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    patterns = []
    for group in np.argsort(-counts, kind="stable"):
        if counts[group] < _COMMON_PATTERN_SHARE * len(holdout):
            break
        rows = np.flatnonzero(which.ravel() == group)
        labels, chances = holdout.labels[rows], kernel.probabilities(points[rows])
        missing = gone[first[group]]
        both = 0 < np.count_nonzero(labels) < len(labels)
        patterns.append(
            Pattern(
                missing=tuple(n for n, m in zip(fields, missing, strict=True) if m),
                given=tuple(n for n, m in zip(fields, missing, strict=True) if not m),
                card=model.cards[int(chosen[rows[0]])].name,
                rows=len(rows),
                predicted_rate=float(np.mean(chances)),
                default_rate=float(np.mean(labels)),
                auc=metrics.auc(labels, chances) if both else None,
                calibration_error=metrics.calibration_error(labels, chances),
                calibration_noise=metrics.calibration_noise(chances),
            )
        )
    return tuple(patterns)
