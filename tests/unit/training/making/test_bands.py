from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.kernel import Column, Words
from alama.training import portable
from alama.training.dataset import Dataset
from alama.training.making.bands import (
    FINENESSES,
    ROWS_MOVED_MAX,
    Bander,
    Fineness,
    Runs,
    readable_cuts,
)
from alama.training.making.boost import Note, boost, word_axis
from alama.training.making.draft import Axis, Draft, DraftPair
from alama.training.making.make import deal
from alama.training.making.smooth import Curves, smooth
from alama.training.validation.metrics import auc
from tests.patterned import QUICK, patterned
from tests.tries import tries

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("bands")


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
    found = Runs(vectors, weights).cut(budget, count)
    edges = (0, *(end for _, end in found))
    assert edges[-1] == count
    assert loss_of(vectors, weights, edges) <= budget + 1e-6
    for fewer in range(1, len(found)):
        for inner in combinations(range(1, count), fewer - 1):
            assert loss_of(vectors, weights, (0, *inner, count)) > budget - 1e-6


def test_the_number_of_runs_is_bounded_even_beyond_the_budget() -> None:
    vectors = np.arange(50.0)[:, None]
    assert len(Runs(vectors, np.ones(50)).cut(0.0, 7)) == 7


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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Draft, Bander]:
    data = patterned(6_000)
    recipe = replace(QUICK.for_data(len(data), data.defaults), folds=3)
    device = data.columns["device"]
    assert isinstance(device, Words)
    words = {"device": word_axis("device", device, recipe)}
    note = Note(str(tmp_path_factory.mktemp("notes")), 0)
    draft = boost(data, words, deal(data.labels, None, recipe), 0, recipe, note)
    return data, draft, bander_of(draft, data)


def margins_of(draft: Draft, data: Dataset) -> np.ndarray:
    return draft.margins(draft.slots(data.columns))


def weights_of(draft: Draft, data: Dataset) -> np.ndarray:
    p = portable.logistic(margins_of(draft, data))
    return p * (1.0 - p)


def bander_of(draft: Draft, data: Dataset) -> Bander:
    return Bander(draft, data, draft.slots(data.columns), weights_of(draft, data))


def cost_of(banded: Draft, draft: Draft, data: Dataset) -> float:
    """The log-loss a row that bands add, were the draft the truth: to second order."""
    moved = margins_of(banded, data) - margins_of(draft, data)
    return float(np.mean(0.5 * weights_of(draft, data) * moved**2))


@pytest.mark.parametrize("fineness", [Fineness(1e-5, 8, 4), *FINENESSES])
def test_bands_are_few_and_cost_little(
    made: tuple[Dataset, Draft, Bander], fineness: Fineness
) -> None:
    data, draft, bander = made
    banded = bander.at(fineness)
    assert banded.pairs
    assert all(axis.count <= fineness.bands_max + 2 for axis in banded.axes)
    assert all(max(pair.table.shape) <= fineness.pair_bands_max + 1 for pair in banded.pairs)
    lost = auc(data.labels, margins_of(draft, data)) - auc(data.labels, margins_of(banded, data))
    assert lost < 0.01


def test_finer_bands_are_more_and_cost_less(made: tuple[Dataset, Draft, Bander]) -> None:
    data, draft, bander = made
    drafts = [bander.at(fineness) for fineness in FINENESSES]
    costs = [cost_of(banded, draft, data) for banded in drafts]
    counts = [sum(axis.count for axis in banded.axes) for banded in drafts]
    assert costs == sorted(costs, reverse=True)
    assert counts == sorted(counts)
    assert costs[0] > costs[-1]
    assert counts[0] < counts[-1]


def random_table(seed: int) -> tuple[Dataset, Draft]:
    """Two numbers and a word with lively tables, and one pair of them."""
    rng = np.random.default_rng(seed)
    catalogue = Catalogue(
        fields=(Field("x", Kind.NUMBER), Field("n", Kind.INTEGER), Field("w", Kind.WORD))
    )
    rows = 300
    columns: dict[str, Column] = {
        "x": np.where(rng.random(rows) < 0.1, np.nan, rng.lognormal(size=rows)),
        "n": rng.integers(0, 30, rows).astype(np.float64),
        "w": Words(rng.integers(-1, 6, rows).astype(np.int32), tuple("abcdef")),
    }
    axes = (
        Axis("x", cuts=np.sort(rng.lognormal(size=20))),
        Axis("n", cuts=np.arange(1.0, 30.0) - 0.5),
        Axis("w", groups=tuple((word,) for word in "abcde")),
    )
    lively = rng.choice([0.02, 0.3, 1.0])
    mains = tuple(lively * rng.normal(size=axis.count) for axis in axes)
    first, second = (np.arange(axis.count) for axis in axes[:2])
    table = lively * rng.normal(size=(len(first), len(second)))
    draft = Draft(axes, -1.0, mains, (DraftPair(0, 1, first, second, table),))
    return Dataset(catalogue, columns, np.zeros(rows, np.int8)), draft


@given(st.integers(0, 10_000), st.sampled_from([0.0, 1e-6, 1e-5, 1e-4, 5e-4, 1e-2, 1.0]))
@tries(60)
def test_the_coarsest_fineness_within_the_budget_is_taken_else_the_finest(
    seed: int, budget: float
) -> None:
    data, draft = random_table(seed)
    bander = bander_of(draft, data)
    costs = [cost_of(bander.at(fineness), draft, data) for fineness in FINENESSES]
    found = bander.within(budget)
    within = [fineness for fineness, cost in zip(FINENESSES, costs, strict=True) if cost <= budget]
    assert found == (within[0] if within else FINENESSES[-1])
    if within:
        assert cost_of(bander.at(found), draft, data) <= budget


@given(st.integers(0, 10_000))
@tries(60)
def test_every_word_is_in_one_group_and_other_and_missing_stay_apart(seed: int) -> None:
    data, draft = random_table(seed)
    banded = bander_of(draft, data).at(FINENESSES[0])
    groups = banded.axes[2].groups
    assert groups is not None
    assert sorted(word for group in groups for word in group) == list("abcde")
    assert banded.mains[2][-1] == pytest.approx(draft.mains[2][-1]), "other"
    for before, after in zip(draft.mains, banded.mains, strict=True):
        assert after[0] == pytest.approx(before[0]), "missing"


@given(st.integers(0, 10_000), st.sampled_from(FINENESSES))
@tries(60)
def test_bands_of_whole_numbers_rise_where_one_fit_cut_at_a_half_and_another_at_a_whole(
    seed: int, fineness: Fineness
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 12, 400).astype(np.float64)
    data = column(values, Kind.INTEGER)
    axis = Axis("x", cuts=np.arange(0.5, 12.0, 0.5))
    draft = Draft((axis,), 0.0, (3.0 * rng.normal(size=axis.count),), ())
    banded = bander_of(draft, data).at(fineness)
    cuts = banded.axes[0].cuts
    assert cuts is not None
    assert np.all(np.diff(cuts) > 0.0)
    assert np.all(cuts == np.rint(cuts))
    assert len(cuts) + 2 == len(banded.mains[0])
    assert cost_of(banded, draft, data) < 1e-4


def test_a_small_file_with_a_strong_signal_is_not_flattened() -> None:
    """Few rows must not make every difference look like nothing."""
    rng = np.random.default_rng(47)
    rows = 400
    columns = {name: rng.normal(size=rows) for name in ("x", "y", "z")}
    risk = 2.0 * columns["x"] - 1.5 * columns["y"] + rng.logistic(size=rows)
    labels = (risk >= np.sort(risk)[-47]).astype(np.int8)
    assert labels.sum() == 47
    catalogue = Catalogue(fields=tuple(Field(name, Kind.NUMBER) for name in columns))
    data = Dataset(catalogue, columns, labels)
    curves = Curves.over(columns, {})
    for strength in (0.5, 4.0, 32.0):
        draft = smooth(curves, curves.cells(columns), labels, strength)
        bander = bander_of(draft, data)
        banded = bander.at(bander.within(QUICK.band_cost))
        whole = auc(labels, margins_of(draft, data))
        assert whole > 0.85
        assert auc(labels, margins_of(banded, data)) == pytest.approx(whole, abs=0.005)


def test_a_field_that_nobody_gave_or_that_is_always_the_same_is_one_band() -> None:
    data, draft = random_table(1)
    columns = {
        **data.columns,
        "x": np.full(len(data), np.nan),
        "n": np.full(len(data), 3.0),
        "w": Words(np.full(len(data), -1, np.int32), tuple("abcdef")),
    }
    flat = tuple(np.zeros(axis.count) for axis in draft.axes)
    bare = replace(draft, mains=flat, pairs=())
    banded = bander_of(bare, replace(data, columns=columns)).at(FINENESSES[0])
    assert [axis.count for axis in banded.axes] == [2, 2, 3]


def test_the_budget_buys_bands_one_against_the_other() -> None:
    steps = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])[:, None]
    assert Runs(steps, np.ones(6)).cut(1e-9, 6) == [(0, 3), (3, 6)]
    assert Runs(steps, np.ones(6)).cut(10.0, 6) == [(0, 6)]
    assert Runs(np.empty((0, 1)), np.ones(0)).cut(1.0, 6) == []
    assert pytest.approx(loss_of(steps, np.ones(6), (0, 6))) == 0.75
