"""The recipe fits itself to the evidence: little data, more folds and bags."""

import pytest

from alama.training.recipe import FOLDS_OF_FEW, FOLDS_OF_MANY, Recipe

ROWS = 50_000


@pytest.mark.parametrize(
    ("defaults", "folds", "bags"),
    [
        (499, FOLDS_OF_FEW, 2),
        (500, FOLDS_OF_FEW, 1),
        (4_999, FOLDS_OF_FEW, 1),
        (5_000, FOLDS_OF_MANY, 1),
        (49_501, FOLDS_OF_FEW, 2),
    ],
)
def test_the_fewer_there_are_of_the_rarer_outcome_the_smaller_the_folds(
    defaults: int, folds: int, bags: int
) -> None:
    recipe = Recipe().for_data(ROWS, defaults)
    assert (recipe.folds, recipe.bags) == (folds, bags)


def test_other_folds_can_be_asked_for() -> None:
    assert Recipe(folds=6).for_data(ROWS, 1_000).folds == 6


@pytest.mark.parametrize(
    ("rows", "rate"), [(20_000, 0.04), (50_000, 0.04), (100_000, 0.08), (1_000_000, 0.2)]
)
def test_many_rows_are_learnt_in_longer_steps(rows: int, rate: float) -> None:
    assert Recipe().for_data(rows, rows // 4).learning_rate == pytest.approx(rate)


def test_few_rows_are_learnt_in_few_steps_and_many_in_small_ones() -> None:
    few, many = Recipe().for_data(ROWS, 4_999), Recipe().for_data(ROWS, 5_000)
    assert few.learning_rate > many.learning_rate
    assert few.tolerance > many.tolerance
    assert few.patience < many.patience
    assert few.band_cost > many.band_cost


@pytest.mark.parametrize(("defaults", "pairs"), [(20, 3), (100, 10), (1_000, 30)])
def test_the_fewer_defaults_the_fewer_pairs_are_tried(defaults: int, pairs: int) -> None:
    assert Recipe().for_data(ROWS, defaults).pairs == pairs
