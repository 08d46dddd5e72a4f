"""The validation of a model on rows set apart, or out of fold: see `Unseen`.

Each card is measured on every row that judges, and the model as it is served: each row by the
smallest card that reads all its given fields.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import kernel
from alama.core.errors import TrainingProblem
from alama.core.kernel import Column, Words
from alama.core.model import Metric
from alama.training.recipe import CardNotes, ConstraintPrice
from alama.training.validation import metrics
from alama.training.validation.figures import (
    PeerComparison,
    Performance,
    performance,
    served_points,
)
from alama.training.validation.stability import Stability, UnlikeShare, stability, unlike_shares
from alama.training.validation.unseen import card_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.validation.metrics import Floats, Labels
    from alama.training.validation.unseen import Unseen

    Places = NDArray[np.intp]


AS_SERVED: Final = "as served"

DRAWS: Final = 200
"""Bootstrap draws behind an interval."""

COST_ROWS_MAX: Final = 200_000
"""Rows on which a missing field is priced; more would not move it."""

_COMMON_PATTERN_SHARE: Final = 0.03
_FIELDS_NAMED_MAX: Final = 6
_METRIC_DECIMALS: Final = 5
"""Figures enter the model's hash; beyond these digits they are noise of the machine."""


class MissingCost(msgspec.Struct, frozen=True):
    """What it costs when nobody gives a field: AUC lost, log loss a row added."""

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
    """All about one card; `peers` where they were measured."""

    performance: Performance
    missing_costs: tuple[MissingCost, ...]
    prices: tuple[ConstraintPrice, ...]
    stability: Stability
    peers: tuple[PeerComparison, ...] = ()

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
    """Everything the report says about how the model did. Cards stand in the model's order.

    `folds` is how many the rows were dealt into to be judged out of fold; None where they were set
    apart.
    """

    train: Sample
    judged: Sample
    folds: int | None
    served: Performance
    cards: tuple[CardValidation, ...]
    patterns: tuple[Pattern, ...]
    unlike: tuple[UnlikeShare, ...]
    draws: int

    @property
    def rows_that_judge(self) -> str:
        """Name them."""
        return "hold-out rows" if self.folds is None else "out-of-fold rows"


def validate(
    unseen: Unseen,
    notes: Sequence[CardNotes],
    *,
    seed: int,
    draws: int = DRAWS,
    progress: Callable[[float, str], None] = lambda _share, _step: None,
) -> Validation:
    """Measure a model on rows it has not seen; `progress` hears the share done and the step begun.

    Where it is known who stands behind the rows, intervals are those of drawing people.
    """
    model, rows = unseen.model, unseen.rows
    if not 0 < rows.defaults < len(rows):
        message = "the rows that judge do not hold both outcomes, so nothing can be measured"
        raise TrainingProblem(message, hint="give more rows, or another split")
    served, chosen = points_as_served(unseen)
    progress(0.0, "measuring the model as served")
    whole = performance(AS_SERVED, rows.labels, served, seed=seed, draws=draws, people=rows.people)
    cards = []
    for place, card in enumerate(model.cards):
        progress((place + 1) / (len(model.cards) + 1), f"measuring the {card.name} card")
        cards.append(_validate_card(unseen, place, notes, seed=seed, draws=draws))
    progress(1.0, "measured")
    return Validation(
        train=_sample(rows if unseen.train is None else unseen.train),
        judged=_sample(rows),
        folds=len(unseen.judges) if unseen.train is None else None,
        served=whole,
        cards=tuple(cards),
        patterns=_patterns(unseen, served, chosen),
        unlike=unlike_shares(unseen, chosen, seed=seed),
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


def points_as_served(unseen: Unseen) -> tuple[Floats, Places]:
    """Give the points of each row as it would be served, and the place of the card."""
    points = np.empty(len(unseen.rows))
    chosen = np.empty(len(unseen.rows), dtype=np.intp)
    for part in unseen.parts():
        points[part.places], chosen[part.places] = served_points(
            part.model, part.rows.columns, len(part.rows)
        )
    return points, chosen


def _validate_card(
    unseen: Unseen, place: int, notes: Sequence[CardNotes], *, seed: int, draws: int
) -> CardValidation:
    name, rows = unseen.model.cards[place].name, unseen.rows
    points = np.empty(len(rows))
    for part in unseen.parts():
        points[part.places] = card_points(part, place)
    return CardValidation(
        performance=performance(
            name, rows.labels, points, seed=seed, draws=draws, people=rows.people
        ),
        missing_costs=_missing_costs(unseen.some(COST_ROWS_MAX), place),
        prices=tuple(price for note in notes if note.card == name for price in note.prices),
        stability=stability(unseen, place, points),
    )


def _missing_costs(unseen: Unseen, place: int) -> tuple[MissingCost, ...]:
    fields = [feature.field for feature in unseen.model.cards[place].features]
    whole = np.empty(len(unseen.rows))
    without = np.empty((len(fields), len(unseen.rows)))
    for part in unseen.parts():
        whole[part.places] = card_points(part, place)
        columns = part.rows.columns
        for line, name in zip(without, fields, strict=True):
            withheld = replace(part.rows, columns={**columns, name: _withheld(columns[name])})
            line[part.places] = card_points(replace(part, rows=withheld), place)
    labels = unseen.rows.labels
    area, loss = _area_and_loss(labels, whole)
    costs = []
    for name, points in zip(fields, without, strict=True):
        worse_area, worse_loss = _area_and_loss(labels, points)
        given = kernel.present(unseen.rows.columns[name])
        costs.append(MissingCost(name, float(np.mean(given)), area - worse_area, worse_loss - loss))
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


def _patterns(unseen: Unseen, points: Floats, chosen: Places) -> tuple[Pattern, ...]:
    """Measure each common combination of missing fields, the most common first."""
    model, judged = unseen.model, unseen.rows
    fields = [feature.field for feature in model.cards[-1].features]
    gone = np.column_stack([~kernel.present(judged.columns[name]) for name in fields])
    packed = np.packbits(gone, axis=1)
    _, first, which, counts = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    patterns = []
    for group in np.argsort(-counts, kind="stable"):
        if counts[group] < _COMMON_PATTERN_SHARE * len(judged):
            break
        rows = np.flatnonzero(which.ravel() == group)
        labels, chances = judged.labels[rows], kernel.probabilities(points[rows])
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
