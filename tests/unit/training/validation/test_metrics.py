from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics as peers
from sklearn.linear_model import LogisticRegression

from alama.training.validation import metrics
from alama.training.validation.metrics import Floats, Labels


@st.composite
def samples(draw: st.DrawFn) -> tuple[Labels, Floats]:
    """Labels of both classes and scores with many ties."""
    size = draw(st.integers(2, 60))
    labels = draw(hnp.arrays(np.int8, size, elements=st.integers(0, 1)))
    assume(0 < labels.sum() < size)
    scores = draw(hnp.arrays(np.float64, size, elements=st.integers(-4, 4).map(float)))
    return labels, scores


def drawn_sample(rows: int, seed: int = 0) -> tuple[Labels, Floats]:
    """Calibrated log-odds and labels drawn from them."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-2.0, 1.0, rows)
    labels = (rng.random(rows) < metrics.sigmoid(log_odds)).astype(np.int8)
    return labels, log_odds


@given(samples())
def test_auc_equals_the_reference_with_ties(sample: tuple[Labels, Floats]) -> None:
    labels, scores = sample
    assert metrics.auc(labels, scores) == pytest.approx(peers.roc_auc_score(labels, scores))


@given(samples())
def test_ks_is_the_widest_gap_of_the_reference_roc_curve(sample: tuple[Labels, Floats]) -> None:
    labels, scores = sample
    false_rate, true_rate, _ = peers.roc_curve(labels, scores)
    widest = float(np.max(np.abs(true_rate - false_rate)))
    assert metrics.rank(labels, scores).auc_and_ks()[1] == pytest.approx(widest)


@given(samples())
def test_turning_the_scores_round_turns_the_auc_round(sample: tuple[Labels, Floats]) -> None:
    labels, scores = sample
    assert metrics.auc(labels, -scores) == pytest.approx(1.0 - metrics.auc(labels, scores))


@given(samples(), st.data())
def test_a_weight_counts_a_row_as_often_as_it_says(
    sample: tuple[Labels, Floats], data: st.DataObject
) -> None:
    labels, scores = sample
    counts = data.draw(hnp.arrays(np.int64, len(labels), elements=st.integers(0, 3)))
    repeated = np.repeat(np.arange(len(labels)), counts)
    assume(0 < labels[repeated].sum() < len(repeated))
    ranking = metrics.rank(labels, scores)
    weights = counts.astype(np.float64)
    again = metrics.rank(labels[repeated], scores[repeated])
    assert ranking.auc(weights) == pytest.approx(again.auc())
    assert ranking.auc_and_ks(weights) == pytest.approx(again.auc_and_ks())


def test_log_loss_equals_the_reference() -> None:
    labels, log_odds = drawn_sample(2_000)
    chances = metrics.sigmoid(log_odds)
    assert metrics.log_loss(labels, chances) == pytest.approx(peers.log_loss(labels, chances))


def test_log_loss_of_a_certain_error_is_finite() -> None:
    labels = np.array([1, 0], dtype=np.int8)
    assert math.isfinite(metrics.log_loss(labels, np.array([0.0, 1.0])))


def test_roc_runs_from_corner_to_corner_and_holds_the_area() -> None:
    labels, scores = drawn_sample(20_000)
    false_rate, true_rate = metrics.roc(labels, scores, points=400)
    assert (false_rate[0], true_rate[0]) == (0.0, 0.0)
    assert (false_rate[-1], true_rate[-1]) == (1.0, 1.0)
    assert len(false_rate) <= 400
    area = float(np.trapezoid(true_rate, false_rate))
    assert area == pytest.approx(metrics.auc(labels, scores), abs=1e-3)


@pytest.mark.parametrize("distortion", [(1.0, 0.0), (2.0, -1.0), (0.4, 1.5), (30.0, 7.0)])
def test_the_calibration_line_undoes_a_distortion(distortion: tuple[float, float]) -> None:
    labels, log_odds = drawn_sample(5_000)
    stretch, shift = distortion
    plain_slope, plain_intercept = metrics.calibration_line(labels, log_odds)
    slope, intercept = metrics.calibration_line(labels, stretch * log_odds + shift)
    assert slope * stretch == pytest.approx(plain_slope, rel=1e-9)
    assert intercept + slope * shift == pytest.approx(plain_intercept, rel=1e-9)


def test_the_calibration_line_equals_an_unpenalised_logistic_regression() -> None:
    labels, log_odds = drawn_sample(3_000)
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    reference.fit(log_odds[:, None], labels)
    slope, intercept = metrics.calibration_line(labels, log_odds)
    assert slope == pytest.approx(reference.coef_[0, 0], rel=1e-5)
    assert intercept == pytest.approx(reference.intercept_[0], rel=1e-5)


def test_the_calibration_line_weighs_rows() -> None:
    labels, log_odds = drawn_sample(500)
    counts = np.random.default_rng(1).integers(0, 4, 500)
    repeated = np.repeat(np.arange(500), counts)
    weighed = metrics.calibration_line(labels, log_odds, counts.astype(np.float64))
    assert weighed == pytest.approx(metrics.calibration_line(labels[repeated], log_odds[repeated]))


@pytest.mark.parametrize("log_odds", [np.full(6, -2.0), np.array([-3.0, -2, -1, 1, 2, 3])])
def test_the_calibration_line_stays_finite_where_it_has_no_solution(log_odds: Floats) -> None:
    labels = np.array([0, 0, 0, 1, 1, 1], dtype=np.int8)
    assert np.isfinite(metrics.calibration_line(labels, log_odds)).all()


def test_calibration_error_is_small_where_calibrated_and_the_shift_where_shifted() -> None:
    labels, log_odds = drawn_sample(200_000)
    chances = metrics.sigmoid(log_odds)
    assert metrics.calibration_error(labels, chances) < 0.004
    assert metrics.calibration_error(labels, chances + 0.05) == pytest.approx(0.05, abs=0.003)


def test_calibration_noise_is_the_error_that_exact_probabilities_show() -> None:
    rng = np.random.default_rng(0)
    chances = metrics.sigmoid(rng.normal(-2.0, 1.0, 2_000))
    errors = [
        metrics.calibration_error((rng.random(2_000) < chances).astype(np.int8), chances)
        for _ in range(60)
    ]
    assert metrics.calibration_noise(chances) == pytest.approx(np.mean(errors), rel=0.1)


@given(samples(), st.integers(1, 30), st.randoms(use_true_random=False))
def test_quantile_figures_do_not_depend_on_the_order_of_rows(
    sample: tuple[Labels, Floats], bins: int, random: object
) -> None:
    labels, scores = sample
    order = np.random.default_rng(len(repr(random))).permutation(len(labels))
    chances = metrics.sigmoid(scores)
    assert metrics.calibration_error(labels, chances, bins) == pytest.approx(
        metrics.calibration_error(labels[order], chances[order], bins)
    )


@given(samples(), st.integers(1, 30))
def test_reliability_accounts_for_every_row_and_brackets_what_it_saw(
    sample: tuple[Labels, Floats], bins: int
) -> None:
    labels, scores = sample
    bands = metrics.reliability(labels, metrics.sigmoid(scores), bins)
    assert sum(band.rows for band in bands) == len(labels)
    assert sum(band.rows * band.observed for band in bands) == pytest.approx(labels.sum())
    for band in bands:
        assert 0.0 <= band.interval.low <= band.observed <= band.interval.high <= 1.0
    predicted = [band.predicted for band in bands]
    assert predicted == sorted(predicted)


def test_distinct_values_fall_into_bands_of_equal_size() -> None:
    band = metrics.quantile_bins(np.random.default_rng(0).permutation(1000) / 1000.0, 20)
    assert np.bincount(band).tolist() == [50] * 20


def test_wilson_gives_the_textbook_interval() -> None:
    found = metrics.wilson(10, 100)
    assert (found.low, found.high) == pytest.approx((0.05523, 0.17437), abs=1e-5)


@given(
    hnp.arrays(np.float64, 5, elements=st.floats(0.01, 1.0)),
    hnp.arrays(np.float64, 5, elements=st.floats(0.0, 1.0)),
)
def test_psi_is_zero_for_equals_symmetric_and_finite(first: Floats, second: Floats) -> None:
    assume(second.sum() > 0.0)
    first, second = first / first.sum(), second / second.sum()
    assert metrics.psi(first, first) == 0.0
    there, back = metrics.psi(first, second), metrics.psi(second, first)
    assert there == pytest.approx(back)
    assert 0.0 <= there < np.inf


def test_psi_of_a_known_shift() -> None:
    found = metrics.psi(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    assert found == pytest.approx(0.25 * np.log(3.0))


def auc_interval(labels: Labels, scores: Floats, draws: int, seed: int) -> metrics.Interval:
    ranking = metrics.rank(labels, scores)
    found = metrics.replicate(labels, lambda w: np.array([ranking.auc(w)]), draws, seed)
    return metrics.percentile_interval(found[:, 0])


def test_bootstrap_holds_the_figure_and_has_the_width_of_the_formula() -> None:
    labels, scores = drawn_sample(5_000)
    found = auc_interval(labels, scores, draws=300, seed=3)
    value = metrics.auc(labels, scores)
    assert found.low < value < found.high
    error = (found.high - found.low) / (2 * 1.96)
    assert error == pytest.approx(_hanley_mcneil(value, labels), rel=0.25)


def _hanley_mcneil(area: float, labels: Labels) -> float:
    """Give the textbook standard error of an AUC."""
    bad, good = int(labels.sum()), int(len(labels) - labels.sum())
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (bad - 1) * (q1 - area**2) + (good - 1) * (q2 - area**2)
    return math.sqrt(variance / (bad * good))


def test_bootstrap_repeats_for_a_seed_and_differs_for_another() -> None:
    labels, scores = drawn_sample(300)
    first, again, other = (auc_interval(labels, scores, draws=20, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_rows_of_one_person_are_drawn_together() -> None:
    people = np.array([7, 7, -2, 7, 5], dtype=np.int64)
    for weights in metrics.resamples(5, 30, 1, people):
        assert weights[0] == weights[1] == weights[3]
        assert weights[[0, 2, 4]].sum() == 3.0


def test_loans_that_one_person_repeats_make_no_interval_narrower() -> None:
    labels, scores = drawn_sample(800)
    whose = np.arange(800, dtype=np.int64)

    def widths(times: int, people: metrics.People | None) -> float:
        many = np.tile(labels, times)
        ranks = metrics.rank(many, np.tile(scores, times))
        found = metrics.replicate(many, lambda w: np.array([ranks.auc(w)]), 300, 5, people)
        interval = metrics.percentile_interval(found[:, 0])
        return interval.high - interval.low

    once = widths(1, None)
    assert widths(4, np.tile(whose, 4)) == pytest.approx(once, rel=0.2)
    assert widths(4, None) < 0.7 * once


def test_bootstrap_leaves_out_draws_of_one_class() -> None:
    labels = np.array([1, 0, 0], dtype=np.int8)
    found = auc_interval(labels, np.array([0.9, 0.5, 0.1]), draws=50, seed=0)
    assert (found.low, found.high) == (1.0, 1.0)


def test_a_centred_interval_lies_around_the_figure() -> None:
    found = metrics.centred_interval(np.linspace(0.4, 0.6, 101), 0.3)
    assert (found.low, found.high) == pytest.approx((0.205, 0.395))
