"""Whether only the level is off: slopes, losses, bands."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from alama.core.monitoring import recalibration
from alama.core.monitoring.rates import log_odds
from alama.core.monitoring.recalibration import Given


def drawn(steep: float, shift: float, loans: int = 400, seed: int = 1) -> list[Given]:
    """Loans of forty probabilities whose true log-odds are a line of the stated ones."""
    rng = np.random.default_rng(seed)
    stated = np.linspace(0.01, 0.5, 40)
    true = 1.0 / (1.0 + np.exp(-(shift + steep * np.log(stated / (1.0 - stated)))))
    return [
        Given(float(p), loans, int(rng.binomial(loans, t)))
        for p, t in zip(stated, true, strict=True)
    ]


def test_the_slope_is_that_of_a_logistic_regression() -> None:
    sample = drawn(0.8, 0.3)
    stated = [[log_odds(one.probability)] for one in sample]
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(
        stated * 2,
        [1] * len(sample) + [0] * len(sample),
        [one.defaults for one in sample] + [one.loans - one.defaults for one in sample],
    )
    found = recalibration.slope_of(sample)
    assert found is not None
    assert found.value == pytest.approx(float(fitted.coef_[0, 0]), abs=1e-4)
    assert abs(found.value - 0.8) < 3.0 * found.standard_error


def test_the_standard_error_of_the_slope_is_how_far_slopes_spread() -> None:
    found = [recalibration.slope_of(drawn(1.0, 0.0, loans=100, seed=seed)) for seed in range(200)]
    slopes = [one.value for one in found if one is not None]
    assert len(slopes) == 200
    assert found[0] is not None
    assert found[0].standard_error == pytest.approx(float(np.std(slopes)), rel=0.2)


@pytest.mark.parametrize(
    "sample",
    [
        [Given(0.1, 1_000, 120)],
        [Given(0.1, 500, 0), Given(0.2, 500, 500)],
    ],
    ids=["one probability", "outcomes parted by it"],
)
def test_where_the_loans_cannot_tell_there_is_no_slope(sample: list[Given]) -> None:
    assert recalibration.slope_of(sample) is None


def test_the_loss_is_the_mean_of_minus_log_of_what_came() -> None:
    sample = [Given(0.2, 10, 3)]
    expected = -(3 * math.log(0.2) + 7 * math.log(0.8)) / 10
    assert recalibration.loss(sample) == pytest.approx(expected)
    assert recalibration.loss(sample, math.log(3 / 7) - math.log(0.25)) < expected


def test_bands_hold_every_loan_once_in_order_of_risk() -> None:
    sample = drawn(1.0, 0.0)
    found = recalibration.bands(sample, 10)
    assert len(found) == 10
    assert sum(band.loans for band in found) == 40 * 400
    assert [band.predicted for band in found] == sorted(band.predicted for band in found)
    assert all(band.low <= band.observed <= band.high for band in found)


def test_few_rows_make_fewer_bands() -> None:
    found = recalibration.bands([Given(0.1, 90, 9), Given(0.3, 10, 3)], 10)
    assert [(band.loans, band.observed) for band in found] == [(90, 0.1), (10, 0.3)]


def test_a_sample_without_a_part_is_the_rest_of_it() -> None:
    whole = [Given(0.1, 10, 2), Given(0.2, 5, 1), Given(0.3, 4, 4)]
    part = [Given(0.1, 4, 1), Given(0.3, 4, 4)]
    assert recalibration.without(whole, part) == [Given(0.1, 6, 1), Given(0.2, 5, 1)]
