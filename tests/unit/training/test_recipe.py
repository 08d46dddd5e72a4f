"""The recipe fits itself to the evidence: little data, little model, more bags."""

import pytest

from alama.training.recipe import Recipe

ROWS = 50_000


@pytest.mark.parametrize(
    ("defaults", "repeats"), [(1_499, 4), (1_500, 2), (4_999, 2), (5_000, 1), (48_501, 4)]
)
def test_the_fewer_there_are_of_the_rarer_outcome_the_more_often_rows_are_left_out(
    defaults: int, repeats: int
) -> None:
    recipe = Recipe(folds=4).for_data(ROWS, defaults)
    assert (recipe.repeats, recipe.bags) == (repeats, 4 * repeats)


def test_more_repeats_than_that_can_be_asked_for() -> None:
    assert Recipe(repeats=6).for_data(ROWS, 1_000).repeats == 6


@pytest.mark.parametrize(("defaults", "pairs"), [(999, 0), (1_000, 30)])
def test_pairs_take_a_thousand_defaults(defaults: int, pairs: int) -> None:
    assert Recipe().for_data(ROWS, defaults).pairs == pairs


@pytest.mark.parametrize(("rows", "rate"), [(99_999, 0.04), (100_000, 0.08)])
def test_many_rows_are_learnt_in_longer_steps(rows: int, rate: float) -> None:
    assert Recipe().for_data(rows, 20_000).learning_rate == rate
