"""By how much all predictions are off together."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.monitoring.recalibration import shift
from tests.tries import tries

LOANS = st.integers(1, 2_000).flatmap(
    lambda n: st.tuples(st.floats(0.0, 1.0), st.just(n), st.integers(0, n))
)


def moved(probability: float, by: float) -> float:
    inside = min(max(probability, 5e-7), 1.0 - 5e-7)
    return 1.0 / (1.0 + math.exp(-(math.log(inside / (1.0 - inside)) + by)))


@tries(50)
@given(st.lists(LOANS, min_size=1, max_size=8))
def test_with_the_shift_as_many_defaults_are_predicted_as_there_were(
    predicted: list[tuple[float, int, int]],
) -> None:
    loans, defaults = (sum(group[place] for group in predicted) for place in (1, 2))
    found = shift(predicted)
    if not 0 < defaults < loans:
        assert found is None
        return
    assert found is not None
    expected = math.fsum(count * moved(p, found.log_odds) for p, count, _ in predicted)
    assert expected == pytest.approx(defaults, rel=1e-6, abs=1e-6)
    assert found.standard_error > 0.0
    assert (found.loans, found.defaults) == (loans, defaults)


def test_predictions_that_came_true_need_no_shift() -> None:
    found = shift([(0.1, 1_000, 100), (0.2, 500, 100)])
    assert found is not None
    assert found.log_odds == pytest.approx(0.0, abs=1e-9)


def test_twice_the_odds_of_default_are_log_two_above() -> None:
    found = shift([(0.1, 1_100, 200)])  # odds of 1 to 9 were predicted, 2 to 9 came
    assert found is not None
    assert found.log_odds == pytest.approx(math.log(2.0))


def test_where_nobody_defaulted_or_everybody_did_no_shift_is_far_enough() -> None:
    assert shift([]) is None
    assert shift([(0.1, 50, 0)]) is None
    assert shift([(0.1, 50, 50)]) is None


def test_a_prediction_of_no_chance_at_all_is_taken_as_a_very_small_one() -> None:
    found = shift([(0.0, 100, 1), (1.0, 100, 99)])
    assert found is not None
    assert math.isfinite(found.log_odds)


def test_a_million_loans_with_one_default_are_solved() -> None:
    found = shift([(1.0 - 1e-7, 1_000_000, 1)])
    assert found is not None
    assert found.log_odds < -20.0


def test_the_standard_error_is_how_much_the_shift_varies() -> None:
    rng = np.random.default_rng(4)
    chances = np.array([0.02, 0.05, 0.1, 0.3])
    loans = np.array([400, 300, 200, 100])
    found = []
    for _ in range(600):
        defaults = rng.binomial(loans, chances)
        found.append(shift(zip(chances.tolist(), loans.tolist(), defaults.tolist(), strict=True)))
    shifts = [one.log_odds for one in found if one]
    errors = [one.standard_error for one in found if one]
    assert np.std(shifts) == pytest.approx(np.mean(errors), rel=0.08)
    assert np.mean(shifts) == pytest.approx(0.0, abs=0.03)
