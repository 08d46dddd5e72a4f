from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.catalogue import Catalogue, Field, Kind
from alama.training.dataset import Dataset
from alama.training.making.bands import ROWS_MOVED_MAX, band, readable_cuts, segments
from alama.training.making.fit import compile_terms, fit
from alama.training.validation.metrics import auc
from tests.patterned import QUICK, patterned, unwatched
from tests.tries import tries


def loss_of(vectors: np.ndarray, weights: np.ndarray, edges: tuple[int, ...]) -> float:
    total = 0.0
    for start, end in pairwise(edges):
        part, weight = vectors[start:end], weights[start:end, None]
        mean = (part * weight).sum(axis=0) / weight.sum()
        total += 0.5 * float((weight * (part - mean) ** 2).sum())
    return total


@given(st.integers(0, 10_000), st.integers(1, 7), st.floats(0.0, 2.0))
@tries(100)
def test_no_other_cutting_has_fewer_runs_within_the_budget(
    seed: int, count: int, budget: float
) -> None:
    rng = np.random.default_rng(seed)
    vectors, weights = rng.normal(size=(count, 2)), rng.random(count) + 0.1
    found = segments(vectors, weights, budget, most=count)
    edges = (0, *(end for _, end in found))
    assert edges[-1] == count
    assert loss_of(vectors, weights, edges) <= budget + 1e-6
    for fewer in range(1, len(found)):
        for inner in combinations(range(1, count), fewer - 1):
            assert loss_of(vectors, weights, (0, *inner, count)) > budget - 1e-6


def test_the_number_of_runs_is_bounded_even_beyond_the_budget() -> None:
    vectors = np.arange(50.0)[:, None]
    assert len(segments(vectors, np.ones(50), 0.0, most=7)) == 7


def column(values: np.ndarray, kind: Kind = Kind.NUMBER) -> Dataset:
    catalogue = Catalogue(fields=(Field("x", kind),))
    return Dataset(catalogue, {"x": values}, np.zeros(len(values), np.int8))


def test_a_cut_becomes_the_roundest_number_that_hardly_a_row_minds() -> None:
    values = np.random.default_rng(0).uniform(0.0, 100.0, 100_000)
    (cut,) = readable_cuts(np.array([49.987_654]), "x", column(values))
    assert cut == 50.0
    (kept,) = readable_cuts(np.array([47.3]), "x", column(values))
    moved = np.mean((values >= min(kept, 47.3)) & (values < max(kept, 47.3)))
    assert moved <= ROWS_MOVED_MAX


def test_whole_numbers_are_cut_at_whole_numbers_and_no_row_moves() -> None:
    values = np.random.default_rng(0).integers(0, 40, 10_000).astype(np.float64)
    cuts = readable_cuts(np.array([5.5, 17.5, 23.5]), "x", column(values, Kind.INTEGER))
    assert cuts.tolist() == [6.0, 18.0, 24.0]


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=8, unique=True))
def test_readable_cuts_still_rise(cuts: list[float]) -> None:
    values = np.random.default_rng(0).lognormal(8.0, 3.0, 500)
    readable = readable_cuts(np.sort(np.array(cuts)), "x", column(values))
    assert np.all(np.diff(readable) > 0.0)


def test_bands_are_few_and_cost_little() -> None:
    data = patterned(8_000)
    fitted = fit(data, np.arange(len(data)), QUICK, watch=unwatched)
    draft, _ = compile_terms(fitted)
    slots = draft.slots(data.columns)
    banded = band(draft, data, slots, np.full(len(data), 0.2), QUICK)
    assert all(axis.count <= QUICK.bands_max + 2 for axis in banded.axes)
    assert all(max(pair.table.shape) <= QUICK.pair_bands_max + 1 for pair in banded.pairs)
    lost = auc(data.labels, draft.margins(slots)) - auc(
        data.labels, banded.margins(banded.slots(data.columns))
    )
    assert lost < 0.01


def test_the_budget_buys_bands_one_against_the_other() -> None:
    steps = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])[:, None]
    assert segments(steps, np.ones(6), 1e-9, most=6) == [(0, 3), (3, 6)]
    assert segments(steps, np.ones(6), 10.0, most=6) == [(0, 6)]
    assert segments(np.empty((0, 1)), np.ones(0), 1.0, most=6) == []
    assert pytest.approx(loss_of(steps, np.ones(6), (0, 6))) == 0.75


@given(st.integers(0, 10_000), st.floats(0.1, 3.0))
def test_no_run_is_too_light_to_carry_a_step(seed: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    vectors, weights = rng.normal(size=(12, 2)), rng.random(12)
    found = segments(vectors, weights, 0.0, most=12, least=least)
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == 12
    assert len(found) == 1 or all(weights[a:b].sum() > least - 1e-9 for a, b in found)
