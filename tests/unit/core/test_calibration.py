import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import calibration
from alama.core.units import LogOdds, Points
from tests.factories import points_of


def test_660_points_are_a_default_probability_of_5_percent() -> None:
    assert calibration.probability_of(Points(660.0)) == pytest.approx(0.05)


@given(st.floats(200.0, 1000.0))
def test_40_points_double_the_odds_of_repayment(points: float) -> None:
    def odds(p: float) -> float:
        return (1.0 - p) / p

    here = calibration.probability_of(Points(points))
    above = calibration.probability_of(Points(points + 40.0))
    assert odds(above) == pytest.approx(2.0 * odds(here), rel=1e-6)


@given(st.floats(-20.0, 20.0))
def test_log_odds_and_probability_name_the_same_points(log_odds: float) -> None:
    probability = 1.0 / (1.0 + math.exp(-log_odds))
    points = calibration.points_of_log_odds(LogOdds(log_odds))
    assert calibration.probability_of(points) == pytest.approx(probability, rel=1e-9)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_points_have_a_probability_and_a_score_in_range(points: float) -> None:
    assert 0.0 <= calibration.probability_of(Points(points)) <= 1.0
    assert 300 <= calibration.shown_score(Points(points)) <= 850


@pytest.mark.parametrize(
    ("points", "score"), [(659.5, 660), (660.5, 660), (299.9, 300), (1e6, 850), (-1e6, 300)]
)
def test_scores_round_half_to_even_and_stay_in_range(points: float, score: int) -> None:
    assert calibration.shown_score(Points(points)) == score


@given(st.floats(250.0, 900.0), st.floats(250.0, 900.0))
def test_more_points_never_mean_a_higher_probability(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert calibration.shown_probability(Points(low)) >= calibration.shown_probability(Points(high))


@given(st.floats(250.0, 900.0))
def test_a_probability_is_shown_as_round_would_show_it(points: float) -> None:
    shown = calibration.shown_probability(Points(points))
    assert shown == round(calibration.probability_of(Points(points)), 6)


@given(st.integers(1, 999_998))
def test_a_probability_in_the_middle_is_shown_as_round_would_show_it(step: int) -> None:
    points = points_of((step + 0.5) / 1e6)
    shown = calibration.shown_probability(points)
    assert shown == round(calibration.probability_of(points), 6)


@given(st.floats(-(2.0**50), 2.0**50) | st.integers(-1000, 1000).map(lambda whole: whole + 0.5))
def test_what_brings_numbers_to_whole_ones_rounds_as_round_does(number: float) -> None:
    assert number + calibration.TO_WHOLE - calibration.TO_WHOLE == round(number)
