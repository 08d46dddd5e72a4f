"""The area under the curve, from counts by score."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from alama.core.monitoring.rates import Ranked, ranked, wilson
from tests.tries import tries

BY_SCORE = st.dictionaries(
    st.integers(300, 850), st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=15
)


def rows(by_score: dict[int, tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Each loan by itself: the scores of those repaid, and of those not."""
    goods = [score for score, (good, _) in by_score.items() for _ in range(good)]
    bads = [score for score, (_, bad) in by_score.items() for _ in range(bad)]
    return goods, bads


def brute_force(goods: list[int], bads: list[int]) -> tuple[float, float]:
    """Give the area and DeLong's variance, pair by pair."""
    won = (np.sign(np.subtract.outer(goods, bads)) + 1.0) / 2.0
    variance = np.var(won.mean(axis=1), ddof=1) / len(goods)
    variance += np.var(won.mean(axis=0), ddof=1) / len(bads)
    return float(won.mean()), float(variance)


@tries(60)
@given(BY_SCORE)
def test_the_area_and_its_variance_are_those_of_all_pairs(
    by_score: dict[int, tuple[int, int]],
) -> None:
    goods, bads = rows(by_score)
    found = ranked(by_score)
    if not (goods and bads):
        assert found is None
        return
    assert found is not None
    truth = [0] * len(goods) + [1] * len(bads)
    assert found.auc == pytest.approx(roc_auc_score(truth, [-s for s in (*goods, *bads)]))
    assert (found.goods, found.bads) == (len(goods), len(bads))
    assert 0.0 <= found.low <= found.auc <= found.high <= 1.0
    if min(len(goods), len(bads)) > 1 and 0.0 < found.auc < 1.0:
        area, variance = brute_force(goods, bads)
        reach = math.log(found.high / (1 - found.high)) - math.log(area / (1 - area))
        assert (reach / 1.959964 * area * (1 - area)) ** 2 == pytest.approx(variance, abs=1e-9)


def test_a_higher_score_is_safer() -> None:
    found = ranked({400: (1, 9), 700: (9, 1)})
    assert found is not None
    assert found.auc == pytest.approx(0.9)


def test_with_none_of_a_kind_there_is_nothing_to_rank() -> None:
    assert ranked({}) is None
    assert ranked({500: (3, 0)}) is None
    assert ranked({500: (0, 3)}) is None


def test_a_single_default_tells_nothing_of_how_sure_it_is() -> None:
    assert ranked({500: (0, 1), 600: (40, 0)}) == Ranked(1.0, 0.0, 1.0, 40, 1)


def test_perfect_order_among_few_is_not_said_to_be_certain() -> None:
    assert ranked({500: (0, 5), 600: (40, 0)}) == (1.0, *wilson(5, 5), 40, 5)
    assert ranked({500: (40, 0), 600: (0, 5)}) == (0.0, *wilson(0, 5), 40, 5)


def test_one_score_for_all_orders_nobody() -> None:
    found = ranked({500: (10, 10)})
    assert found is not None
    assert (found.auc, found.low, found.high) == (0.5, 0.5, 0.5)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(8)
    truth = 0.7602499  # of two normal variables a standard deviation apart: Phi(1 / sqrt(2))
    covered = 0
    for _ in range(400):
        by_score: dict[int, list[int]] = {}
        for kind, size, mean in ((0, 400, 640), (1, 60, 600)):
            for score in rng.normal(mean, 40, size).round().astype(int):
                by_score.setdefault(int(score), [0, 0])[kind] += 1
        found = ranked({score: (good, bad) for score, (good, bad) in by_score.items()})
        assert found is not None
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / 400 <= 0.98
