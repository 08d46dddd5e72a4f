"""How one way of scoring did on rows it has not seen: figures, curves, and how sure they are."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import calibration, kernel
from alama.core.model import Model, money_factor
from alama.training.dataset import take_column
from alama.training.validation import metrics
from alama.training.validation.metrics import Floats, Interval, Labels, People, ReliabilityBand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from alama.core.kernel import Column


CALIBRATION_BINS: Final = 20
_HISTOGRAM_STEP_POINTS: Final = 10
_CURVATURE_MIN: Final = 1e-300


class Measure(StrEnum):
    """What a figure measures; the name is also its name in the model."""

    AUC = "auc"
    GINI = "gini"
    KS = "ks"
    BRIER = "brier"
    LOG_LOSS = "log_loss"
    CALIBRATION_ERROR = "calibration_error"
    CALIBRATION_SLOPE = "calibration_slope"


class Figure(msgspec.Struct, frozen=True):
    """A figure with its 95 % bootstrap interval."""

    measure: Measure
    value: float
    interval: Interval


class Histogram(msgspec.Struct, frozen=True):
    """Shares of the repaid and of the defaulted loans in bands of score points, lowest first."""

    edges: tuple[float, ...]
    repaid: tuple[float, ...]
    defaulted: tuple[float, ...]


class Performance(msgspec.Struct, frozen=True):
    """How one way of scoring did on hold-out. `roc` is false and true positive rates.

    `calibration_noise` is the calibration error that a perfect model would show on these rows.
    """

    name: str
    rows: int
    default_rate: float
    predicted_rate: float
    calibration_noise: float
    figures: tuple[Figure, ...]
    roc: tuple[tuple[float, ...], tuple[float, ...]]
    reliability: tuple[ReliabilityBand, ...]
    histogram: Histogram

    def figure(self, measure: Measure) -> Figure:
        return next(figure for figure in self.figures if figure.measure is measure)


def log_odds_of(points: Floats) -> Floats:
    """Give the log-odds of default that points stand for."""
    return (calibration.ANCHOR_POINTS - points) / calibration.POINTS_PER_LOG_ODDS - math.log(
        calibration.ANCHOR_ODDS
    )


def performance(
    name: str,
    labels: Labels,
    points: Floats,
    *,
    seed: int,
    draws: int,
    people: People | None = None,
) -> Performance:
    """Measure a way of scoring by its points (before rounding) on labelled rows."""
    probabilities = kernel.probabilities(points)
    false_rates, true_rates = metrics.roc(labels, -points)
    return Performance(
        name=name,
        rows=len(labels),
        default_rate=float(np.mean(labels)),
        predicted_rate=float(np.mean(probabilities)),
        calibration_noise=metrics.calibration_noise(probabilities, CALIBRATION_BINS),
        figures=_figures(labels, points, people, seed=seed, draws=draws),
        roc=(tuple(false_rates.tolist()), tuple(true_rates.tolist())),
        reliability=metrics.reliability(labels, probabilities, CALIBRATION_BINS),
        histogram=_histogram(labels, points),
    )


def _figures(
    labels: Labels, points: Floats, people: People | None, *, seed: int, draws: int
) -> tuple[Figure, ...]:
    measured = _Measured(labels, points)
    values = measured(np.ones(len(labels)))
    replicates = metrics.replicate(labels, measured, draws, seed, people)
    figures = []
    for place, measure in enumerate(Measure):
        value = float(values[place])
        interval = metrics.centred_interval(replicates[:, place], value)
        if measure is Measure.CALIBRATION_ERROR:
            interval = metrics.Interval(max(0.0, interval.low), interval.high)
        figures.append(Figure(measure, value, interval))
    return tuple(figures)


class _Measured:
    """All figures as a function of row weights; what does not depend on these is worked out once.

    The calibration slope of a resample is one Newton step from that of the sample: it differs
    from the full solution by less than any digit shown, and saves most of the time.
    """

    def __init__(self, labels: Labels, points: Floats) -> None:
        probabilities = kernel.probabilities(points)
        log_odds = log_odds_of(points)
        self._ranking = metrics.rank(labels, -points)
        self._squares = np.square(probabilities - labels)
        self._losses = metrics.log_losses(labels, probabilities)
        self._bands = metrics.quantile_bins(probabilities, CALIBRATION_BINS)
        self._gaps = probabilities - labels
        self._slope, intercept = metrics.calibration_line(labels, log_odds)
        line = metrics.sigmoid(self._slope * log_odds + intercept)
        # Where the outcomes are parted without error there is none, and the centre is any.
        curvature = np.maximum(line * (1.0 - line), _CURVATURE_MIN)
        # Centred where the curvature lies, so that slope and level step independently.
        self._x = log_odds - float(np.average(log_odds, weights=curvature))
        self._slope_pull = (labels - line) * self._x
        self._slope_stiffness = curvature * np.square(self._x)

    def __call__(self, weights: Floats) -> Floats:
        rows = weights.sum()
        area = self._ranking.auc(weights)
        gaps = np.bincount(self._bands, weights=self._gaps * weights)
        step = (weights @ self._slope_pull) / max(
            float(weights @ self._slope_stiffness), np.finfo(float).tiny
        )
        return np.array(
            [
                area,
                2.0 * area - 1.0,
                self._ranking.ks(weights),
                weights @ self._squares / rows,
                weights @ self._losses / rows,
                np.abs(gaps).sum() / rows,
                self._slope + step,
            ]
        )


def _histogram(labels: Labels, points: Floats) -> Histogram:
    scores = np.clip(points, calibration.SCORE_MIN, calibration.SCORE_MAX)
    step = _HISTOGRAM_STEP_POINTS
    first = math.floor(float(scores.min()) / step) * step
    last = (math.floor(float(scores.max()) / step) + 1) * step
    edges = np.arange(first, last + step, step, dtype=np.float64)
    repaid, _ = np.histogram(scores[labels == 0], bins=edges)
    defaulted, _ = np.histogram(scores[labels == 1], bins=edges)
    return Histogram(
        tuple(edges.tolist()),
        tuple((repaid / repaid.sum()).tolist()),
        tuple((defaulted / defaulted.sum()).tolist()),
    )


def served_points(
    model: Model, columns: Mapping[str, Column], rows: int, currency: str | None = None
) -> tuple[Floats, NDArray[np.intp]]:
    """Give the points of each row before rounding, and the place of the card that gave them.

    Rows are scored as they would be served: each by the smallest card that reads its given fields.
    A field without a column is given by nobody. Money is in `currency`; None means the currency of
    the model's own cuts.
    """
    nobody = np.full(rows, np.nan)
    read = {feature.field for card in model.cards for feature in card.features}
    complete = {**dict.fromkeys(read, nobody), **columns}
    chosen = kernel.choose_card(model.cards, complete, rows)
    factor = money_factor(model, currency)
    points = np.empty(rows)
    for place, card in enumerate(model.cards):
        mine = np.flatnonzero(chosen == place)
        if len(mine):
            fields = (feature.field for feature in card.features)
            some = {name: take_column(complete[name], mine) for name in fields}
            scorecard = kernel.BatchScorecard(card, model.catalogue, factor)
            points[mine] = scorecard.score(some).points
    return points, chosen
