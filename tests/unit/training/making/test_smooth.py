"""The smooth fit is the optimum of its penalised loss; the floor is what any table carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from alama.core.kernel import Column, Words
from alama.training import portable
from alama.training.dataset import take_column
from alama.training.making.draft import Axis, Draft
from alama.training.making.smooth import (
    GRAIN,
    STRENGTHS,
    Curves,
    floor,
    information,
    smooth,
    smooth_path,
)
from alama.training.validation.metrics import auc
from tests.tries import tries

if TYPE_CHECKING:
    from collections.abc import Mapping

SEEDS = st.integers(0, 10_000)
WORD_AXES = {"use": Axis("use", groups=(("farm",), ("trade",)))}


def table(seed: int, rows: int = 150) -> tuple[dict[str, Column], np.ndarray]:
    """Two numbers and a word, of which one number and the word say something; gaps in all."""
    rng = np.random.default_rng(seed)
    told, noise = rng.normal(size=rows), rng.integers(0, 5, rows).astype(np.float64)
    use = rng.integers(-1, 3, rows).astype(np.int32)
    log_odds = -0.5 + 1.5 * told + 0.6 * (use == 1)
    labels = (rng.random(rows) < portable.logistic(log_odds)).astype(np.int8)
    labels[:2] = 0, 1
    told[rng.random(rows) < 0.1] = np.nan
    noise[rng.random(rows) < 0.1] = np.nan
    words = Words(use, ("farm", "trade", "school"))
    return {"told": told, "noise": noise, "use": words}, labels


def fitted(columns: Mapping[str, Column], labels: np.ndarray, strength: float) -> Draft:
    curves = Curves.over(columns, WORD_AXES)
    return smooth(curves, curves.cells(columns), labels, strength)


def margins_of(draft: Draft, columns: Mapping[str, Column]) -> np.ndarray:
    return draft.margins(draft.slots(columns))


def penalty_of(draft: Draft) -> float:
    """Squared steps of numbers, squared words; and levels of numbers a little."""
    said = 0.0
    for axis, main in zip(draft.axes, draft.mains, strict=True):
        if axis.cuts is None:
            said += float(np.sum(main**2))
        else:
            levels = 0.02 * float(np.sum(main**2))
            said += float(np.sum(np.diff(main[1:]) ** 2)) + main[0] ** 2 + levels
    return said


def penalised_loss(
    draft: Draft, columns: Mapping[str, Column], labels: np.ndarray, strength: float
) -> float:
    margins = margins_of(draft, columns)
    loss = float(np.sum(np.logaddexp(0.0, margins) - labels * margins))
    return loss + 0.5 * strength * penalty_of(draft)


@given(SEEDS, st.sampled_from(STRENGTHS))
@tries(60)
def test_no_other_curves_have_less_penalised_loss(seed: int, strength: float) -> None:
    columns, labels = table(seed)
    draft = fitted(columns, labels, strength)
    sizes = [1, *(len(main) for main in draft.mains)]
    ends = np.cumsum(sizes)[:-1]

    def loss_at(values: np.ndarray) -> float:
        base, *mains = np.split(values, ends)
        other = Draft(draft.axes, float(base[0]), tuple(mains), ())
        return penalised_loss(other, columns, labels, strength)

    found = np.concatenate([[draft.base], *draft.mains])
    slope = optimize.approx_fprime(found, loss_at, 1e-6)
    assert np.max(np.abs(slope)) < 5e-3, "of 150 rows, at log-odds that are rounded"
    rng = np.random.default_rng(seed)
    for _ in range(10):
        assert loss_at(found) <= loss_at(found + 0.1 * rng.normal(size=len(found)))


def test_a_general_optimiser_finds_the_same_curves() -> None:
    columns, labels = table(3)
    draft = fitted(columns, labels, 2.0)
    ends = np.cumsum([1, *(len(main) for main in draft.mains)])[:-1]

    def loss_at(values: np.ndarray) -> float:
        base, *mains = np.split(values, ends)
        other = Draft(draft.axes, float(base[0]), tuple(mains), ())
        return penalised_loss(other, columns, labels, 2.0)

    best = optimize.minimize(loss_at, np.zeros(sum(len(m) for m in draft.mains) + 1), tol=1e-9)
    found = np.concatenate([[draft.base], *draft.mains])
    assert np.max(np.abs(found - best.x)) < 1e-3
    assert loss_at(found) <= best.fun + 1e-6


@given(SEEDS)
@tries(60)
def test_more_strength_gives_calmer_curves(seed: int) -> None:
    columns, labels = table(seed)
    curves = Curves.over(columns, WORD_AXES)
    path = list(smooth_path(curves, curves.cells(columns), labels))
    assert len(path) == len(STRENGTHS)
    steps = [penalty_of(draft) for draft in path]
    assert steps == sorted(steps), "the path goes from calm to lively"
    assert steps[0] < steps[-1]


def test_on_the_path_a_fit_is_what_it_is_alone() -> None:
    columns, labels = table(1)
    curves = Curves.over(columns, WORD_AXES)
    cells = curves.cells(columns)
    for strength, on_path in zip(STRENGTHS, smooth_path(curves, cells, labels), strict=True):
        alone = smooth(curves, cells, labels, strength)
        assert alone.base == pytest.approx(on_path.base, abs=GRAIN)
        for one, other in zip(alone.mains, on_path.mains, strict=True):
            assert np.max(np.abs(one - other)) <= GRAIN


def test_the_mean_chance_is_the_default_rate() -> None:
    columns, labels = table(5)
    for strength in STRENGTHS:
        said = portable.logistic(margins_of(fitted(columns, labels, strength), columns))
        assert said.mean() == pytest.approx(labels.mean(), abs=1e-4)


@given(SEEDS, st.sampled_from(STRENGTHS))
@tries(60)
def test_what_was_never_met_has_log_odds_too(seed: int, strength: float) -> None:
    columns, labels = table(seed)
    rng = np.random.default_rng(seed)
    for name in ("told", "noise"):  # and where it was never missing, missing is said nothing of
        column = columns[name]
        assert not isinstance(column, Words)
        columns[name] = np.where(np.isnan(column), rng.normal(size=len(labels)), column)
    strange: dict[str, Column] = {
        "told": np.array([-1e12, 1e12, np.nan, np.inf]),
        "noise": np.array([1e12, np.nan, np.nan, -np.inf]),
        "use": Words(np.array([-1, 0, 1, 0], np.int32), ("never met", "farm")),
    }
    curves = Curves.over(columns, WORD_AXES)
    fits = [smooth(curves, curves.cells(columns), labels, strength)]
    for draft in [*fits, floor(columns, WORD_AXES, labels)]:
        said = margins_of(draft, strange)
        assert np.all(np.isfinite(said))
        assert np.max(np.abs(said)) < 20.0


@given(SEEDS)
@tries(60)
def test_the_order_of_the_rows_does_not_matter(seed: int) -> None:
    columns, labels = table(seed)
    turned = np.random.default_rng(seed).permutation(len(labels))
    other = {name: take_column(column, turned) for name, column in columns.items()}
    for once, again in (
        (fitted(columns, labels, 4.0), fitted(other, labels[turned], 4.0)),
        (floor(columns, WORD_AXES, labels), floor(other, WORD_AXES, labels[turned])),
    ):
        # Sums differ in their last digits, and what lies half-way between two steps is rounded
        # to either of them: one step, in each of the tables.
        apart = np.abs(margins_of(once, columns) - margins_of(again, columns))
        assert np.max(apart) <= len(columns) * GRAIN


@given(SEEDS, st.sampled_from(STRENGTHS))
@tries(60)
def test_a_column_of_one_value_or_of_none_changes_nothing(seed: int, strength: float) -> None:
    columns, labels = table(seed)
    more: dict[str, Column] = {
        "same": np.full(len(labels), 7.0),
        **columns,
        "none": np.full(len(labels), np.nan),
    }
    for once, again in (
        (fitted(columns, labels, strength), fitted(more, labels, strength)),
        (floor(columns, WORD_AXES, labels), floor(more, WORD_AXES, labels)),
    ):
        assert np.max(np.abs(margins_of(once, columns) - margins_of(again, more))) < 1e-4
        for field in ("same", "none"):
            (main,) = (m for a, m in zip(again.axes, again.mains, strict=True) if a.field == field)
            assert np.max(np.abs(main)) < 1e-4


def test_curves_have_few_steps_where_there_are_many_fields() -> None:
    columns = {f"f{number}": np.arange(1_000.0) for number in range(300)}
    assert Curves.over(columns, {}).size <= 300 * 5 + 1
    few = Curves.over({"f": np.arange(1_000.0)}, {})
    assert few.axes[0].count == 25


def test_every_step_stands_on_about_as_many_rows() -> None:
    values = np.random.default_rng(0).lognormal(size=1_000)
    (axis,) = Curves.over({"f": values}, {}).axes
    counts = np.bincount(axis.slots(values))[1:]
    assert counts.min() >= 10
    assert counts.max() <= counts.min() + 2


# ------------------------------------------------------------------------------------------- floor


@given(SEEDS)
@tries(60)
def test_the_floor_beats_chance_where_one_field_tells_something(seed: int) -> None:
    rng = np.random.default_rng(seed)
    told = rng.normal(size=800)
    labels = (rng.random(800) < portable.logistic(-1.0 + told)).astype(np.int8)
    columns = {"told": told, **{f"noise{n}": rng.normal(size=800) for n in range(4)}}
    half = {name: column[:400] for name, column in columns.items()}
    draft = floor(half, {}, labels[:400])
    unseen = {name: column[400:] for name, column in columns.items()}
    assert auc(labels[400:], margins_of(draft, unseen)) > 0.58


def spread_of(draft: Draft, columns: Mapping[str, Column]) -> list[float]:
    slots = draft.slots(columns)
    return [float(np.std(main[slot])) for main, slot in zip(draft.mains, slots, strict=True)]


@given(SEEDS)
@tries(60)
def test_the_figure_of_noise_is_small_beside_that_of_a_field_that_tells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    told, noise = rng.normal(size=(2, 2_000))
    labels = (rng.random(2_000) < portable.logistic(-1.0 + told)).astype(np.int8)
    columns = {"told": told, "noise": noise}
    said, nothing = spread_of(floor(columns, {}, labels), columns)
    assert said > 0.7
    assert nothing < 0.25


@given(SEEDS, st.integers(1, 6))
@tries(60)
def test_the_floor_stays_finite_where_fields_give_the_outcome_away(seed: int, fields: int) -> None:
    rng = np.random.default_rng(seed)
    labels = (rng.random(300) < 0.05).astype(np.int8)
    labels[:2] = 0, 1
    columns = {f"leak{n}": 5.0 * labels + 0.01 * rng.normal(size=300) for n in range(fields)}
    draft = floor(columns, {}, labels)
    said = margins_of(draft, columns)
    assert np.max(np.abs(said)) < 30.0
    assert portable.logistic(said).mean() == pytest.approx(labels.mean(), abs=1e-3)
    assert auc(labels, said) > 0.9, "one sixth of the rows is its finest step"


@given(SEEDS)
@tries(60)
def test_a_field_that_tells_something_says_more_by_itself_than_noise_or_one_value(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    told, noise = rng.normal(size=(2, 1_000))
    labels = (rng.random(1_000) < portable.logistic(-1.0 + told)).astype(np.int8)
    columns: dict[str, Column] = {
        "same": np.full(1_000, 7.0),
        "noise": noise,
        "none": np.full(1_000, np.nan),
        "told": told,
    }
    said = information(columns, {}, labels)
    assert said["told"] > 3.0 * said["noise"] > 0.0
    assert said["same"] == said["none"] == 0.0
