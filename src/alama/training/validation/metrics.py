"""How good a model is, as numbers: discrimination, calibration, stability, and how sure we are.

Labels are 1 for default. Scores, probabilities and log-odds all rise with risk (hand points in
negated). Both classes must be present. Weights, where taken, are how often each row counts; that
is all a bootstrap needs, so a draw costs no copy of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


Labels = NDArray[np.int8]
Floats = NDArray[np.float64]
People = NDArray[np.int64]
"""Whose each row is: equal numbers are one person."""

PROBABILITY_MIN: Final = 1e-15
"""Where log loss stops falling: a probability of exactly 0 or 1 would make one row infinite."""

SHARE_MIN: Final = 1e-4
"""The least share a population stability index reckons with; an empty band would be infinite."""

_Z_95: Final = 1.959963984540054
_NEWTON_STEPS_MAX: Final = 50
_NEWTON_TOLERANCE: Final = 1e-14


class Interval(msgspec.Struct, frozen=True):
    """A range that holds the true figure 95 times in 100."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rows in order of risk, ties together: sorted once, weighed many times."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    labels: Floats

    def counts(self, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Give the weight of repaid and of defaulted rows at each distinct score, rising."""
        if weights is None:
            return self._grouped(1.0 - self.labels), self._grouped(self.labels)
        weighed = weights[self.order]
        bad = weighed * self.labels
        return self._grouped(weighed - bad), self._grouped(bad)

    def _grouped(self, values: Floats) -> Floats:
        if len(self.starts) == len(values):
            return values
        sums: Floats = np.add.reduceat(values, self.starts)
        return sums

    def auc(self, weights: Floats | None = None) -> float:
        """Give the chance that a default ranks above a repaid loan; ties count half."""
        return self.auc_and_ks(weights)[0]

    def auc_and_ks(self, weights: Floats | None = None) -> tuple[float, float]:
        """Give the AUC, and the widest gap between the two cumulative distributions, 0 to 1."""
        good, bad = self.counts(weights)
        good_below, bad_below = np.cumsum(good), np.cumsum(bad)
        wins = np.dot(bad, good_below) - 0.5 * np.dot(bad, good)
        area = float(wins / (good_below[-1] * bad_below[-1]))
        # In place: of a million rows a new array costs more than what is done with it.
        good_below /= good_below[-1]
        bad_below /= bad_below[-1]
        good_below -= bad_below
        return area, float(max(good_below.max(), -good_below.min()))


def rank(labels: Labels, scores: Floats) -> Ranking:
    """Sort the rows by score, once."""
    # Not stable: rows of one score are counted together, so their order cannot matter.
    order = np.argsort(scores)
    ranked = scores[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    return Ranking(order, starts, labels[order].astype(np.float64))


def auc(labels: Labels, scores: Floats) -> float:
    """Give the exact area under the ROC curve, ties counting half."""
    return rank(labels, scores).auc()


def rank_correlation(one: Floats, other: Floats) -> float:
    """Give Spearman's correlation, ties at their mean rank; 0 where either is the same for all."""
    ranks = []
    for values in (one, other):
        _, place, times = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(times) - 0.5 * times)[place] - 0.5 * len(values))
    spread = math.sqrt(float((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))
    return float(ranks[0] @ ranks[1]) / spread if spread > 0.0 else 0.0


def roc(labels: Labels, scores: Floats, points: int = 200) -> tuple[Floats, Floats]:
    """Give false and true positive rates, riskiest first, thinned to about so many points.

    The points kept lie exactly on the curve, evenly spread along it, corners (0, 0) and (1, 1)
    included.
    """
    good, bad = rank(labels, scores).counts()
    false_rate = np.concatenate(([0.0], np.cumsum(good[::-1]) / good.sum()))
    true_rate = np.concatenate(([0.0], np.cumsum(bad[::-1]) / bad.sum()))
    along = false_rate + true_rate
    kept = np.unique(np.searchsorted(along, np.linspace(0.0, along[-1], points)))
    return false_rate[kept], true_rate[kept]


def log_losses(labels: Labels, probabilities: Floats) -> Floats:
    """Give the log loss of each row, in nats."""
    said = np.where(labels == 1, probabilities, 1.0 - probabilities)
    losses: Floats = -np.log(np.maximum(said, PROBABILITY_MIN))
    return losses


def log_loss(labels: Labels, probabilities: Floats) -> float:
    """Give the mean log loss a row, in nats."""
    return float(np.mean(log_losses(labels, probabilities)))


def quantile_bins(values: Floats, bins: int) -> NDArray[np.intp]:
    """Number the rows by quantile band from 0; equal values share a band, so some stay empty."""
    # By whole numbers: a quantile of 0.15 is not exactly three twentieths.
    last_of_band = [max(-(-band * len(values) // bins) - 1, 0) for band in range(1, bins)]
    edges = np.sort(values)[last_of_band]
    return np.searchsorted(edges, values, side="left")


def calibration_error(labels: Labels, probabilities: Floats, bins: int = 20) -> float:
    """Give the expected calibration error: the mean gap of predicted and observed by quantile."""
    band = quantile_bins(probabilities, bins)
    gaps = np.bincount(band, weights=probabilities - labels, minlength=bins)
    return float(np.abs(gaps).sum() / len(labels))


def calibration_noise(probabilities: Floats, bins: int = 20) -> float:
    """Give the calibration error that chance alone would show, were every probability exact.

    The error of few rows is mostly this. By the normal approximation in each band.
    """
    band = quantile_bins(probabilities, bins)
    variances = np.bincount(band, weights=probabilities * (1.0 - probabilities), minlength=bins)
    return float(np.sqrt(2.0 / np.pi * variances).sum() / len(probabilities))


def calibration_line(
    labels: Labels, log_odds: Floats, weights: Floats | None = None
) -> tuple[float, float]:
    """Fit observed log-odds = intercept + slope x predicted by Newton's method: slope, intercept.

    1 and 0 for a calibrated model; a slope under 1 says its probabilities are too extreme. Where
    the labels are perfectly separated the fit has no end: it stops after so many steps.
    """
    weight = np.ones(len(labels)) if weights is None else weights
    # Centred, so that the two parameters hardly interact and the system stays well conditioned.
    centre = float(np.average(log_odds, weights=weight))
    x = log_odds - centre
    line = np.array([1.0, centre])
    loss = _line_loss(labels, x, line, weight)
    for _ in range(_NEWTON_STEPS_MAX):
        step, decrease = _newton_step(labels, x, line, weight)
        if decrease <= _NEWTON_TOLERANCE * loss:
            # So near the bottom that the loss no longer shows a gain: the last step is all gain.
            line += step
            break
        size = 1.0
        while (trial_loss := _line_loss(labels, x, line + size * step, weight)) > loss:
            size *= 0.5
        line, loss = line + size * step, trial_loss
    slope, level = float(line[0]), float(line[1])
    return slope, level - slope * centre


def _newton_step(labels: Labels, x: Floats, line: Floats, weight: Floats) -> tuple[Floats, float]:
    """Give the step and how far it would lower the loss if the loss were a parabola."""
    probability = sigmoid(line[0] * x + line[1])
    error = weight * (labels - probability)
    curvature = weight * probability * (1.0 - probability)
    gradient = np.array([error @ x, error.sum()])
    cross = curvature @ x
    hessian = np.array([[curvature @ (x * x), cross], [cross, curvature.sum()]])
    # Least squares, so that constant predictions (a singular system) still get a finite answer.
    step: Floats = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
    return step, float(0.5 * (gradient @ step))


def _line_loss(labels: Labels, x: Floats, line: Floats, weight: Floats) -> float:
    log_odds = line[0] * x + line[1]
    return float(weight @ (np.logaddexp(0.0, log_odds) - labels * log_odds))


def sigmoid(log_odds: Floats) -> Floats:
    """Give probabilities; no overflow at either end."""
    half: Floats = 0.5 + 0.5 * np.tanh(0.5 * log_odds)
    return half


class ReliabilityBand(msgspec.Struct, frozen=True):
    """One quantile band of predictions beside what happened, with a 95 % Wilson interval."""

    rows: int
    predicted: float
    observed: float
    interval: Interval


def reliability(
    labels: Labels, probabilities: Floats, bins: int = 20
) -> tuple[ReliabilityBand, ...]:
    """Compare predicted and observed default rates over quantile bands; empty bands left out."""
    band = quantile_bins(probabilities, bins)
    rows = np.bincount(band, minlength=bins)
    predicted = np.bincount(band, weights=probabilities, minlength=bins)
    defaults = np.bincount(band, weights=labels, minlength=bins)
    return tuple(
        ReliabilityBand(
            rows=int(count),
            predicted=float(predicted[place] / count),
            observed=float(defaults[place] / count),
            interval=wilson(int(defaults[place]), int(count)),
        )
        for place, count in enumerate(rows)
        if count
    )


def wilson(events: int, trials: int) -> Interval:
    """Give Wilson's 95 % interval for a rate; sound for few trials and for rates of 0 and 1."""
    return wilson_of(events / trials, trials)


def wilson_of(rate: float, trials: float) -> Interval:
    """Give the same where trials are weighed: as many as they are worth."""
    shrink = 1.0 + _Z_95**2 / trials
    centre = (rate + _Z_95**2 / (2.0 * trials)) / shrink
    spread = _Z_95 * math.sqrt(rate * (1.0 - rate) / trials + (_Z_95 / (2.0 * trials)) ** 2)
    reach = spread / shrink
    # At rates of 0 and 1 one end is the rate itself; rounding must not put it on the wrong side.
    return Interval(max(0.0, min(rate, centre - reach)), min(1.0, max(rate, centre + reach)))


def psi(expected_shares: Floats, observed_shares: Floats) -> float:
    """Give the population stability index of two distributions over the same bands.

    Below 0.1 is usually called stable, above 0.25 a shift.
    """
    expected = np.maximum(expected_shares, SHARE_MIN)
    observed = np.maximum(observed_shares, SHARE_MIN)
    return float(np.sum((observed - expected) * np.log(observed / expected)))


def resamples(rows: int, draws: int, seed: int, people: People | None = None) -> Iterator[Floats]:
    """Yield for each bootstrap draw how often each row was drawn.

    With `people` a person is drawn with all rows: those of one person are not independent, and
    drawing them one by one would make an interval too narrow.
    """
    generator = np.random.default_rng(seed)
    whose = None if people is None else np.unique(people, return_inverse=True)[1]
    units = rows if whose is None else int(whose.max(initial=-1)) + 1
    for _ in range(draws):
        drawn = generator.integers(0, units, size=units, dtype=np.int64)
        times = np.bincount(drawn, minlength=units).astype(np.float64)
        yield times if whose is None else times[whose]


def replicate(
    labels: Labels,
    statistic: Callable[[Floats], Floats],
    draws: int,
    seed: int,
    people: People | None = None,
) -> Floats:
    """Give a vector of figures for each bootstrap draw (draws x figures); see `resamples`.

    The statistic maps row weights to figures. A draw without both classes, which only tiny samples
    meet, is left out.
    """
    figures = [
        statistic(weights)
        for weights in resamples(len(labels), draws, seed, people)
        if 0.0 < weights @ labels < weights.sum()
    ]
    return np.array(figures)


def percentile_interval(replicates: Floats) -> Interval:
    """Give the 95 % percentile interval of one figure's bootstrap draws."""
    low, high = np.quantile(replicates, (0.025, 0.975))
    return Interval(float(low), float(high))


def centred_interval(replicates: Floats, value: float) -> Interval:
    """Give the 95 % percentile interval, moved so that the draws' mean is the figure itself.

    A resample is noisier than the sample, which lifts figures that can only err upwards, such as
    a calibration error: left where it is, their interval can miss the figure.
    """
    raw = percentile_interval(replicates)
    lift = float(np.mean(replicates)) - value
    return Interval(raw.low - lift, raw.high - lift)
