import numpy as np
import pytest

from alama.training import portable
from alama.training.making.card import SLOPE_MAX, calibrate, intercept_for


def drawn(slope: float, intercept: float, rows: int = 200_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    margins = rng.normal(-2.0, 1.0, rows)
    p = portable.logistic(intercept + slope * margins)
    return margins, (rng.random(rows) < p).astype(np.int8)


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.7, -0.4), (1.3, 0.5)])
def test_slope_and_intercept_are_recovered(slope: float, intercept: float) -> None:
    found = calibrate(*drawn(slope, intercept))
    assert found.slope == pytest.approx(slope, abs=0.03)
    assert found.intercept == pytest.approx(intercept, abs=0.06)


def test_margins_that_say_nothing_keep_a_positive_slope() -> None:
    rng = np.random.default_rng(0)
    labels = (rng.random(500) < 0.1).astype(np.int8)
    assert calibrate(-5.0 + 0.01 * rng.normal(size=500), labels).slope >= 0.1


def test_the_intercept_makes_the_mean_probability_the_default_rate() -> None:
    margins, labels = drawn(1.0, 0.3)
    intercept = intercept_for(margins, labels, 0.8)
    assert portable.logistic(intercept + 0.8 * margins).mean() == pytest.approx(
        labels.mean(), abs=1e-5
    )


def test_the_mean_probability_is_the_rate_whatever_the_slope(subtests: pytest.Subtests) -> None:
    for rate in [0.005, 0.02, 0.3, 0.5]:
        for slope in [0.2, 1.0, 1.7, 2.5, 5.0]:
            with subtests.test(rate=rate, slope=slope):
                rng = np.random.default_rng(1)
                margins = rng.normal(np.log(rate / (1.0 - rate)), 0.8, 4_000)
                labels = (rng.random(4_000) < rate).astype(np.int8)
                intercept = intercept_for(margins, labels, slope)
                assert portable.logistic(intercept + slope * margins).mean() == pytest.approx(
                    labels.mean(), abs=1e-5
                )
                fitted = calibrate(margins, labels)
                assert portable.logistic(
                    fitted.intercept + fitted.slope * margins
                ).mean() == pytest.approx(labels.mean(), abs=1e-5)


def test_margins_that_part_the_outcomes_without_error_keep_a_finite_slope() -> None:
    margins = np.concatenate([np.full(50, 3.0), np.full(450, -3.0)])
    labels = np.concatenate([np.ones(50), np.zeros(450)]).astype(np.int8)
    assert 1.0 <= calibrate(margins, labels).slope <= SLOPE_MAX
