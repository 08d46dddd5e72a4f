"""The tables are the trainer's machine, to the last digit, and do not know the fold left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from interpret.glassbox import ExplainableBoostingClassifier

from alama.core.errors import TrainingProblem
from alama.core.kernel import Words
from alama.training.dataset import Dataset
from alama.training.making import boost as boosting
from alama.training.making.boost import Note, boost, matrix_of, progress, word_axis
from alama.training.making.make import deal
from tests.patterned import QUICK, patterned, unwatched

if TYPE_CHECKING:
    from pathlib import Path

    from alama.training.making.boost import Machine
    from alama.training.making.draft import Axis, Draft
    from alama.training.recipe import Recipe

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("boost")

ROWS = 2_500
LEFT_OUT = 1
RECIPE = replace(QUICK, folds=3, bags=2, leaf_rows=10).for_data(2_500, 500)


@dataclass(frozen=True)
class Boosted:
    data: Dataset
    word_axes: dict[str, Axis]
    folds: np.ndarray
    draft: Draft
    machine: Machine
    bags: np.ndarray


def boosted(data: Dataset, folds: np.ndarray, recipe: Recipe, folder: Path) -> Boosted:
    """Boost, and keep the trainer's machine beside the tables."""
    kept: list[Any] = []

    class Kept(ExplainableBoostingClassifier):  # type: ignore[misc]  # which carries no types
        def fit(self, matrix: np.ndarray, labels: np.ndarray, bags: np.ndarray) -> Kept:
            kept.extend((self, bags))
            super().fit(matrix, labels, bags=bags)
            return self

    device = data.columns["device"]
    assert isinstance(device, Words)
    word_axes = {"device": word_axis("device", device, recipe)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "ExplainableBoostingClassifier", Kept)
        draft = boost(data, word_axes, folds, LEFT_OUT, recipe, Note(str(folder), LEFT_OUT))
    machine, bags = kept
    return Boosted(data, word_axes, folds, draft, machine, bags)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Boosted:
    data = patterned(ROWS)
    folds = deal(data.labels, None, RECIPE)
    return boosted(data, folds, RECIPE, tmp_path_factory.mktemp("notes"))


def difference(made: Boosted, data: Dataset) -> float:
    own = made.draft.margins(made.draft.slots(data.columns))
    theirs = made.machine.decision_function(matrix_of(data, made.word_axes))
    return float(np.max(np.abs(own - theirs)))


def test_tables_equal_the_trainers_margin_on_every_training_row(made: Boosted) -> None:
    assert made.draft.pairs
    assert difference(made, made.data) < 1e-9


def test_tables_equal_it_on_the_cuts_beside_them_beyond_all_and_where_nothing_is_given(
    made: Boosted,
) -> None:
    data = made.data
    rng = np.random.default_rng(1)
    columns = dict(data.columns)
    for axis in made.draft.axes:
        if axis.cuts is not None:
            beside = np.concatenate(
                [
                    axis.cuts,
                    np.nextafter(axis.cuts, np.inf),
                    np.nextafter(axis.cuts, -np.inf),
                    [0.0, 1e12, np.nan],
                ]
            )
            columns[axis.field] = rng.choice(beside, len(data))
    codes = rng.integers(-1, 5, len(data)).astype(np.int32)
    columns["device"] = Words(codes, ["smart", "BASIC", "tablet", "feature", "never seen"])
    assert difference(made, Dataset(data.catalogue, columns, data.labels)) < 1e-9


def test_tables_that_differ_from_the_machine_stop_the_run(
    made: Boosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ExplainableBoostingClassifier,
        "decision_function",
        lambda _, matrix: np.full(len(matrix), 0.25),
    )
    brief = replace(RECIPE, bags=1, pairs=0, learning_rate=0.5)
    with pytest.raises(TrainingProblem, match="differ from the trainer's machine"):
        boost(made.data, made.word_axes, made.folds, 0, brief, Note(str(tmp_path), 0))


def test_a_machine_does_not_know_the_outcomes_of_the_fold_left_out(
    made: Boosted, tmp_path: Path
) -> None:
    turned = np.where(made.folds == LEFT_OUT, 1 - made.data.labels, made.data.labels)
    other = replace(made.data, labels=turned.astype(np.int8))
    again = boosted(other, made.folds, RECIPE, tmp_path).draft
    slots = made.draft.slots(made.data.columns)
    assert np.array_equal(again.margins(slots), made.draft.margins(slots))


def test_no_bag_learns_from_the_fold_left_out_and_each_is_stopped_by_another(
    made: Boosted,
) -> None:
    stopping = []
    for bag in made.bags.T:
        assert np.all(bag[made.folds == LEFT_OUT] == 0)
        (stopped_by,) = np.unique(made.folds[bag == -1])
        assert np.all(bag[made.folds == stopped_by] == -1)
        rest = (made.folds != LEFT_OUT) & (made.folds != stopped_by)
        assert np.all(bag[rest] == 1)
        stopping.append(int(stopped_by))
    assert sorted(stopping) == [0, 2]


def test_where_rows_are_many_the_fold_left_out_stops_and_still_teaches_nothing(
    made: Boosted, tmp_path: Path
) -> None:
    recipe = replace(RECIPE, stop_apart=False, bags=1, pairs=0)
    (bag,) = boosted(made.data, made.folds, recipe, tmp_path).bags.T
    assert np.array_equal(bag == -1, made.folds == LEFT_OUT)
    assert np.all(bag[made.folds != LEFT_OUT] == 1)


def test_a_bag_takes_no_more_rows_than_it_can_use_and_the_same_share_of_defaults(
    made: Boosted, tmp_path: Path
) -> None:
    recipe = replace(RECIPE, rows_per_bag=1_500, pairs=0)
    bags = boosted(made.data, made.folds, recipe, tmp_path).bags
    others = made.folds != LEFT_OUT
    for bag in bags.T:
        used = bag[others] != 0
        assert np.mean(used) == pytest.approx(1_500 / ROWS, abs=0.03)
        share = made.data.labels[others][used].mean()
        assert share == pytest.approx(made.data.labels.mean(), abs=0.02)
    assert not np.array_equal(bags[:, 0] != 0, bags[:, 1] != 0), "each has a sample of its own"


def test_words_too_rare_to_learn_from_have_no_slot_of_their_own() -> None:
    codes = np.repeat([0, 1, 2, 3], [500, 300, 4, 196]).astype(np.int32)
    column = Words(codes, ("Farm", "trade", "rare", " farm"))
    recipe = replace(RECIPE, leaf_rows=5, word_share_min=0.002)
    assert word_axis("use", column, recipe).groups == (("farm",), ("trade",))
    assert word_axis("use", column, replace(recipe, words_max=1)).groups == (("farm",),)


def test_folds_tell_how_far_they_are(made: Boosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosting, "_WATCH_SECONDS", 0.01)
    told: list[tuple[int, float | None]] = []
    with progress(lambda steps, loss: told.append((steps, loss))) as folder:
        brief = replace(RECIPE, bags=1, pairs=0)
        boost(made.data, made.word_axes, made.folds, 0, brief, Note(folder, 0))
    assert told
    steps = [step for step, _ in told]
    assert steps == sorted(steps)
    assert all(loss is not None and 0.0 < loss < 1.0 for _, loss in told)
    with progress(unwatched):
        pass
