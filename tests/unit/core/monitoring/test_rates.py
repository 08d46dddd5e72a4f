"""Between which bounds a default rate lies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from alama.core.monitoring.rates import Interval, deviations, wilson
from tests.tries import tries

LOANS = st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@tries(60)
@given(LOANS, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_interval_holds_the_rate_and_stays_between_0_and_1(
    loans: tuple[int, int], level: float
) -> None:
    defaults, count = loans
    found = wilson(defaults, count, level)
    assert 0.0 <= found.low <= defaults / count <= found.high <= 1.0
    assert found.high > found.low


@tries(40)
@given(LOANS)
def test_more_loans_of_the_same_rate_know_more(loans: tuple[int, int]) -> None:
    defaults, count = loans
    few, many = wilson(defaults, count), wilson(10 * defaults, 10 * count)
    assert many.high - many.low < few.high - few.low


@tries(40)
@given(LOANS)
def test_defaults_and_repayments_are_told_alike(loans: tuple[int, int]) -> None:
    defaults, count = loans
    found, other = wilson(defaults, count), wilson(count - defaults, count)
    assert found.low == pytest.approx(1.0 - other.high, abs=1e-12)
    assert found.high == pytest.approx(1.0 - other.low, abs=1e-12)


@tries(40)
@given(LOANS)
def test_a_higher_level_is_wider(loans: tuple[int, int]) -> None:
    wide, narrow = wilson(*loans, 0.99), wilson(*loans, 0.9)
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


@pytest.mark.parametrize(("defaults", "count"), [(0, 7), (2, 100), (13, 40), (40, 40)])
def test_it_is_the_interval_of_scipy(defaults: int, count: int) -> None:
    theirs = binomtest(defaults, count).proportion_ci(0.95, method="wilson")
    assert wilson(defaults, count) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_of_no_loans_nothing_is_known() -> None:
    assert wilson(0, 0) == Interval(0.0, 1.0)


def test_no_defaults_among_few_loans_do_not_say_that_there_never_are_any() -> None:
    assert wilson(0, 20).low == 0.0
    assert wilson(0, 20).high > 0.1


def test_the_normal_quantile_is_the_usual_one() -> None:
    assert deviations(0.95) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize(("true_rate", "count"), [(0.02, 500), (0.05, 200), (0.2, 60)])
def test_it_covers_the_truth_about_as_often_as_it_says(true_rate: float, count: int) -> None:
    drawn = np.random.default_rng(3).binomial(count, true_rate, size=4_000)
    covered = [wilson(int(n), count) for n in drawn]
    share = sum(low <= true_rate <= high for low, high in covered) / len(covered)
    assert 0.93 <= share <= 0.98
