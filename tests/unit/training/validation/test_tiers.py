"""Intervals and lights are those of the textbooks, and tiers are those that are served."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.kernel import probabilities
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.units import Points
from alama.platform.files.packaged import builtin
from alama.training.validation.tiers import (
    Light,
    chance_of,
    jeffreys,
    light_of,
    lights,
    tier_places,
    tier_rates,
)

COUNTS = st.integers(0, 400).flatmap(lambda loans: st.tuples(st.integers(0, loans), st.just(loans)))


def policy() -> ReadyPolicy:
    return ReadyPolicy(default_policy("KES"), ReadyModel(builtin(), "KES"))


@given(COUNTS)
def test_a_jeffreys_interval_holds_the_rate_and_stays_between_0_and_1(
    counts: tuple[int, int],
) -> None:
    defaults, loans = counts
    interval = jeffreys(defaults, loans)
    assert 0.0 <= interval.low <= interval.high <= 1.0
    if loans:
        assert interval.low <= defaults / loans <= interval.high


@given(COUNTS)
def test_a_jeffreys_interval_of_repaid_mirrors_that_of_defaults(counts: tuple[int, int]) -> None:
    defaults, loans = counts
    there, back = jeffreys(defaults, loans), jeffreys(loans - defaults, loans)
    assert there.low == pytest.approx(1.0 - back.high, abs=1e-9)
    assert there.high == pytest.approx(1.0 - back.low, abs=1e-9)


def test_a_jeffreys_interval_is_the_published_one() -> None:
    """Brown, Cai and DasGupta (2001): 2 of 20 gives 0.021 to 0.284."""
    interval = jeffreys(2, 20)
    assert interval.low == pytest.approx(0.021, abs=0.001)
    assert interval.high == pytest.approx(0.284, abs=0.001)


def _sum_of_chances(counts: range, loans: int, p: float) -> float:
    return math.fsum(math.comb(loans, k) * p**k * (1.0 - p) ** (loans - k) for k in counts)


@given(
    st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.floats(0.01, 0.99),
)
def test_the_chance_is_twice_the_smaller_tail_summed_by_hand(
    counts: tuple[int, int], predicted: float
) -> None:
    defaults, loans = counts
    tails = (
        _sum_of_chances(range(defaults, loans + 1), loans, predicted),
        _sum_of_chances(range(defaults + 1), loans, predicted),
    )
    expected = min(1.0, 2.0 * min(tails))
    assert chance_of(defaults, loans, predicted) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_lights_change_at_one_and_at_five_percent() -> None:
    assert light_of(0.05, 10) is Light.GREEN
    assert light_of(0.049, 10) is Light.AMBER
    assert light_of(0.0099, 10) is Light.RED
    assert light_of(1.0, 0) is Light.DARK


def test_a_true_model_is_seldom_red() -> None:
    rng = np.random.default_rng(7)
    draws = rng.binomial(300, 0.1, size=2_000)
    seen = [light_of(chance_of(int(d), 300, 0.1), 300) for d in draws]
    assert seen.count(Light.RED) / len(seen) < 0.012
    assert seen.count(Light.GREEN) / len(seen) > 0.94


def test_rows_fall_into_the_tier_that_the_policy_serves() -> None:
    ready = policy()
    points = np.array([300.0, 554.49, 554.51, 605.0, 649.6, 690.2, 900.0])
    names = [ready.tiers[place].name for place in tier_places(ready, points)]
    assert names == [ready.tier(Points(value)).name for value in points.tolist()]


def test_tiers_count_every_loan_once_and_keep_the_mean_probability() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(640.0, 60.0, 4_000)
    chances = probabilities(points)
    labels = (rng.random(4_000) < chances).astype(np.int8)
    rates = tier_rates(policy(), labels, points, chances)
    assert sum(rate.loans for rate in rates) == 4_000
    assert sum(rate.defaults for rate in rates) == labels.sum()
    assert sum(rate.predicted * rate.loans for rate in rates) == pytest.approx(chances.sum())
    assert [rate.observed for rate in rates] == sorted(rate.observed for rate in rates)
    assert sum(lights(rates).values()) == len(rates)


def test_a_tier_without_loans_is_dark() -> None:
    points = np.full(60, 900.0)
    rates = tier_rates(policy(), np.zeros(60, np.int8), points, probabilities(points))
    assert rates[0].loans == 60
    assert {rate.light for rate in rates[1:]} == {Light.DARK}
