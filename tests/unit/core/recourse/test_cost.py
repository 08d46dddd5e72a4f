"""What a change costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.recourse.values import TROUBLE, Ladder, change_costs
from alama.core.tables import Feature

# A fifth say nothing. Of the others a quarter stand below 10, a half below 20, a quarter up to 40.
FEATURE = Feature(
    field="any",
    main=(0.0,) * 4,
    shares=(0.2, 0.2, 0.4, 0.2),
    default_rates=(None,) * 4,
    cuts=(10.0, 20.0),
    lowest=0.0,
    highest=40.0,
)
LADDER = Ladder(FEATURE, FEATURE.cuts, 1.0)


@pytest.mark.parametrize(
    ("value", "share"),
    [(-5, 0.0), (0, 0.0), (5, 0.125), (10, 0.25), (15, 0.5), (20, 0.75), (30, 0.875), (99, 1.0)],
)
def test_a_value_stands_above_a_share_of_those_who_gave_it(value: float, share: float) -> None:
    assert LADDER.share_below(value) == pytest.approx(share)


def crossed(*costs: int) -> list[int]:
    """Give what changes cost without the trouble that each of them is."""
    return [cost - TROUBLE for cost in costs]


def test_a_change_costs_the_share_that_it_crosses_times_its_effort() -> None:
    assert crossed(*change_costs(LADDER, 1.0, 5.0, [15.0, 0.0])) == [375_000, 125_000]
    assert crossed(*change_costs(LADDER, 2.0, 5.0, [15.0])) == [750_000]


def test_every_change_costs_something() -> None:
    assert change_costs(LADDER, 0.0, 5.0, [15.0]) == [20_000]
    assert change_costs(LADDER, 1.0, 41.0, [99.0]) == [20_000]


def test_without_a_population_the_larger_of_both_values_is_the_measure() -> None:
    costs = crossed(*change_costs(None, 1.0, 100.0, [50.0, 200.0, 0.0]))
    assert costs == [500_000, 500_000, 1_000_000]
    assert crossed(*change_costs(None, 0.5, 0.0, [10.0])) == [500_000]


def test_money_is_measured_in_the_callers_currency() -> None:
    elsewhere = Ladder(FEATURE, (300.0, 600.0), 30.0)
    assert elsewhere.share_below(450.0) == pytest.approx(LADDER.share_below(15.0))
    assert elsewhere.share_below(900.0) == pytest.approx(LADDER.share_below(30.0))


def test_a_table_that_does_not_say_where_it_ends_has_no_width_there() -> None:
    endless = Feature("any", FEATURE.main, FEATURE.shares, FEATURE.default_rates, FEATURE.cuts)
    ladder = Ladder(endless, endless.cuts, 1.0)
    assert ladder.share_below(5.0) == 0.0
    assert ladder.share_below(99.0) == pytest.approx(0.75)


@given(st.floats(-10, 60), st.floats(-10, 60))
def test_whoever_goes_further_pays_no_less(one: float, other: float) -> None:
    near, far = sorted([one, other])
    cost, more = change_costs(LADDER, 1.0, -20.0, [near, far])
    assert cost <= more
