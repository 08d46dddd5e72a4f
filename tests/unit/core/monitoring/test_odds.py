"""Probabilities as log-odds and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.monitoring.rates import PROBABILITY_MIN, log_odds, probability


@given(st.floats(PROBABILITY_MIN, 1.0 - PROBABILITY_MIN))
def test_there_and_back_is_the_same(stated: float) -> None:
    assert probability(log_odds(stated)) == pytest.approx(stated, rel=1e-9)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_however_far_it_stays_above_nought_and_within_one(value: float) -> None:
    assert 0.0 < probability(value) <= 1.0


def test_what_is_shown_as_certain_has_log_odds_too() -> None:
    assert log_odds(0.0) == log_odds(PROBABILITY_MIN)
    assert log_odds(1.0) == pytest.approx(-log_odds(0.0))
