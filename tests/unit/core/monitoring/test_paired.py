"""Two models on the same loans: by how much the areas differ, against all pairs one by one."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alama.core.monitoring.rates import Difference, difference, ranked
from tests.tries import tries

CELLS = st.dictionaries(
    st.tuples(st.integers(0, 8), st.integers(0, 8)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    min_size=2,
    max_size=20,
)
Cells = dict[tuple[int, int], tuple[int, int]]


def brute_force(cells: Cells) -> tuple[float, float]:
    """Give the difference and DeLong's variance of it, pair by pair, with both covariances."""
    goods = [pair for pair, (good, _) in cells.items() for _ in range(good)]
    bads = [pair for pair, (_, bad) in cells.items() for _ in range(bad)]
    won = [
        (np.sign(np.subtract.outer([g[side] for g in goods], [b[side] for b in bads])) + 1.0) / 2.0
        for side in (0, 1)
    ]
    of_goods = np.cov([one.mean(axis=1) for one in won])
    of_bads = np.cov([one.mean(axis=0) for one in won])
    contrast = np.array([-1.0, 1.0])
    variance = contrast @ (of_goods / len(goods) + of_bads / len(bads)) @ contrast
    return float(won[1].mean() - won[0].mean()), float(variance)


def counts(cells: Cells) -> tuple[int, int]:
    return sum(good for good, _ in cells.values()), sum(bad for _, bad in cells.values())


@tries(80)
@given(CELLS)
def test_the_difference_and_its_interval_are_those_of_all_pairs(cells: Cells) -> None:
    assume(min(counts(cells)) > 1)
    value, variance = brute_force(cells)
    found = difference(cells)
    assert found is not None
    assert found.value == pytest.approx(value, abs=1e-12)
    reach = 1.959963984540054 * math.sqrt(max(variance, 0.0))
    assert found.low == pytest.approx(max(-1.0, value - reach), abs=1e-6)
    assert found.high == pytest.approx(min(1.0, value + reach), abs=1e-6)


@tries(40)
@given(CELLS)
def test_it_is_the_difference_of_the_two_areas_and_turns_with_the_sides(cells: Cells) -> None:
    assume(min(counts(cells)) > 0)
    found = difference(cells)
    turned = difference({(b, a): count for (a, b), count in cells.items()})
    areas = []
    for side in (0, 1):
        by_score: dict[int, tuple[int, int]] = {}
        for pair, (good, bad) in cells.items():
            goods, bads = by_score.get(pair[side], (0, 0))
            by_score[pair[side]] = (goods + good, bads + bad)
        area = ranked(by_score)
        assert area is not None
        areas.append(area.auc)
    assert found is not None
    assert turned is not None
    assert found.value == pytest.approx(areas[1] - areas[0], abs=1e-12)
    assert turned == pytest.approx((-found.value, -found.high, -found.low), abs=1e-12)


def test_two_that_order_all_loans_alike_do_not_differ_at_all() -> None:
    cells = {(score, 2 * score + 1): (score, 9 - score) for score in range(10)}
    assert difference(cells) == Difference(0.0, 0.0, 0.0)


def test_where_all_loans_ended_alike_there_is_nothing_to_rank() -> None:
    assert difference({}) is None
    assert difference({(1, 2): (3, 0)}) is None
    assert difference({(1, 2): (0, 3)}) is None


def test_a_single_default_says_nothing_of_how_defaults_spread() -> None:
    assert difference({(1, 1): (5, 0), (0, 2): (0, 1)}) == Difference(-1.0, -1.0, 1.0)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """The second of two noisy readings of one risk is the better one; 300 samples of 400 loans."""
    rng = np.random.default_rng(11)
    truth = _sampled(rng, 200_000)
    assert truth is not None
    hits = 0
    for _ in range(300):
        found = _sampled(rng, 400)
        assert found is not None
        hits += found.low <= truth.value <= found.high
    assert 0.92 <= hits / 300 <= 0.98


def _sampled(rng: np.random.Generator, count: int) -> Difference | None:
    risk = rng.normal(size=count)
    defaults = rng.random(count) < 1.0 / (1.0 + np.exp(1.5 - risk))
    first = np.round(600 - 40 * (risk + rng.normal(scale=1.5, size=count)))
    second = np.round(600 - 40 * (risk + rng.normal(scale=1.0, size=count)))
    cells: Cells = {}
    for a, b, bad in zip(first.astype(int), second.astype(int), defaults, strict=True):
        goods, bads = cells.get((int(a), int(b)), (0, 0))
        cells[int(a), int(b)] = (goods + (not bad), bads + bool(bad))
    return difference(cells)
