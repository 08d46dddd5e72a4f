"""Boosting of mains and pairs, by interpret's explainable boosting machine: once without each fold.

Every machine leaves one fold of the rows out altogether: its pairs are chosen and it is stopped by
rows of other folds. So what it says of the rows left out judges the making, choices included; and
all machines together have seen every row.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from interpret import develop
from interpret.glassbox import ExplainableBoostingClassifier

from alama.core.application import fold
from alama.core.errors import TrainingProblem
from alama.core.kernel import Words
from alama.training.making.draft import Axis, Draft, DraftPair

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.recipe import Recipe

    Floats = NDArray[np.float64]

    Labels = NDArray[np.int8]

    Places = NDArray[np.intp]


Watch = Callable[[int, float], None]
"""Called now and then with the boosting steps done so far and the mean validation log-loss."""

DIFFERENCE_MAX: Final = 1e-9
"""Log-odds by which tables and trainer may differ: what is left of adding in another order."""

_ROWS_COMPARED: Final = 20_000
_WATCH_SECONDS = 0.3


class Machine(Protocol):
    """What we read of the trainer's fitted machine, which carries no types of its own."""

    bins_: Sequence[Sequence[Any]]
    term_features_: Sequence[tuple[int, ...]]
    term_scores_: Sequence[NDArray[np.float64]]
    intercept_: NDArray[np.float64]

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:  # noqa: N803
        """Give the trainer's own margin of each row (the argument's name is its own)."""
        ...


@dataclass(slots=True)
class Note:
    """Writes the progress of a fold to a file: folds may run in processes of their own."""

    folder: str
    fold: int
    due: float = 0.0

    def __call__(self, bag: int, step: int, _progressed: object, score: float) -> bool:
        """Note the step now and then; returning False lets the boosting go on."""
        now = time.monotonic()
        if now >= self.due:
            self.due = now + _WATCH_SECONDS
            Path(self.folder, f"bag-{self.fold}-{bag}").write_text(f"{step} {score}\n")
        return False


def word_axis(field: str, column: Words, recipe: Recipe) -> Axis:
    """Choose the words that get a slot of their own; rarer ones share "other"."""
    counts: dict[str, int] = {}
    by_code = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    for word, count in zip(column.vocabulary, by_code, strict=True):
        counts[fold(word)] = counts.get(fold(word), 0) + int(count)
    least = max(recipe.leaf_rows, recipe.word_share_min * len(column.codes))
    frequent = sorted((w for w in counts if counts[w] >= least), key=lambda w: (-counts[w], w))
    return Axis(field, groups=tuple((word,) for word in sorted(frequent[: recipe.words_max])))


def matrix_of(data: Dataset, word_axes: Mapping[str, Axis]) -> NDArray[np.float64]:
    """Give the rows as the trainer takes them: words as the number of their slot."""
    matrix = np.empty((len(data), len(data.columns)), order="F")
    for place, (name, column) in enumerate(data.columns.items()):
        if isinstance(column, Words):
            slots = word_axes[name].slots(column).astype(np.float64)
            slots[slots == 0] = np.nan
            matrix[:, place] = slots
        else:
            matrix[:, place] = column
    return matrix


def boost(
    data: Dataset,
    word_axes: Mapping[str, Axis],
    folds: NDArray[np.int8],
    left_out: int,
    recipe: Recipe,
    note: Note,
) -> Draft:
    """Boost on all folds but one, and give the tables.

    The result depends on the rows in their order and the recipe alone; with `recipe.portable` not
    on the processor either.
    """
    fields = tuple(data.columns)
    matrix = matrix_of(data, word_axes)
    machine = ExplainableBoostingClassifier(
        feature_names=list(fields),
        feature_types=["nominal" if name in word_axes else "continuous" for name in fields],
        max_bins=recipe.main_bins,
        max_interaction_bins=recipe.pair_bins,
        interactions=min(recipe.pairs, len(fields) * (len(fields) - 1) // 2),
        outer_bags=recipe.bags,
        learning_rate=recipe.learning_rate,
        smoothing_rounds=recipe.smoothing_rounds,
        interaction_smoothing_rounds=recipe.smoothing_rounds,
        early_stopping_rounds=recipe.patience,
        early_stopping_tolerance=recipe.tolerance,
        max_rounds=recipe.rounds_max,
        min_samples_leaf=recipe.leaf_rows,
        random_state=recipe.seed,
        n_jobs=1,
        callback=note,
    )
    usual = {
        name: develop.get_option(name) for name in ("acceleration", "n_intercept_rounds_final")
    }
    if recipe.portable:
        # Its SIMD kernels round differently from processor to processor, and boosting amplifies
        # that; plain arithmetic is slower by a factor of two and the same everywhere.
        develop.set_option("acceleration", 0)
    # It would fit its intercept once more at the end, by all rows: those left out among them.
    develop.set_option("n_intercept_rounds_final", 0)
    try:
        with warnings.catch_warnings():
            # It warns that its own pictures do not show missing values; ours do.
            warnings.filterwarnings("ignore", message="Missing values detected")
            machine.fit(matrix, data.labels, bags=_bags(folds, left_out, data.labels, recipe))
    finally:
        for name, value in usual.items():
            develop.set_option(name, value)
    draft = _compiled(machine, fields, word_axes)
    some = np.arange(min(len(data), _ROWS_COMPARED))
    _check_equal(draft, machine, matrix[some], data.take(some))
    return draft


def _bags(
    folds: NDArray[np.int8], left_out: int, labels: Labels, recipe: Recipe
) -> NDArray[np.int8]:
    """Say for each row and bag: 1 train, -1 stop by it, 0 neither.

    Each bag is stopped by another fold; by the one left out where there are so many rows that
    being stopped by them tells a machine nothing about them. Where there are more rows than a bag
    can use, each sees a stratified sample of its own.
    """
    bags = np.ones((len(folds), recipe.bags), dtype=np.int8)
    keep = recipe.rows_per_bag / len(folds)
    for bag in range(recipe.bags):
        bags[folds == left_out, bag] = 0
        stopping = (left_out + 1 + bag) % recipe.folds if recipe.stop_apart else left_out
        bags[folds == stopping, bag] = -1
        if keep < 1.0:
            rng = np.random.default_rng([recipe.seed, left_out, bag, 2])
            for outcome in (0, 1):
                members = np.flatnonzero(labels == outcome)
                dropped = len(members) - round(keep * len(members))
                bags[members[rng.permutation(len(members))[:dropped]], bag] = 0
    return bags


def _compiled(machine: Machine, fields: Sequence[str], word_axes: Mapping[str, Axis]) -> Draft:
    """Give the machine as a draft.

    Pairs have coarser cuts than mains, and not a part of them; an axis takes the union of both,
    so that one look-up a field serves all its tables.
    """
    axes = tuple(_axis(machine, name, place, word_axes) for place, name in enumerate(fields))
    mains = [np.zeros(axis.count) for axis in axes]
    pairs = []
    for term, table in zip(machine.term_features_, machine.term_scores_, strict=True):
        maps = [_slot_map(machine.bins_[place], axes[place], len(term)) for place in term]
        if len(term) == 1:
            mains[term[0]] += table[maps[0]]
        elif term[0] < term[1]:
            pairs.append(DraftPair(term[0], term[1], maps[0], maps[1], table.copy()))
        else:
            pairs.append(DraftPair(term[1], term[0], maps[1], maps[0], table.T.copy()))
    return Draft(axes, float(np.ravel(machine.intercept_)[0]), tuple(mains), tuple(pairs))


def _axis(machine: Machine, name: str, place: int, word_axes: Mapping[str, Axis]) -> Axis:
    if name in word_axes:
        return word_axes[name]
    cuts = np.unique(np.concatenate([np.asarray(c) for c in machine.bins_[place]]))
    return Axis(name, cuts=cuts + 0.0)


def _slot_map(levels: Sequence[Any], axis: Axis, term_size: int) -> Places:
    """Map the slots of an axis to the trainer's slots for a term of this size.

    The trainer keeps one level of bins a term size and reuses the last one for the larger; its
    slots are missing, bins, unknown.
    """
    level = levels[min(len(levels), term_size) - 1]
    if axis.cuts is not None:
        # A value on a cut belongs to the bin right of it: take each band at its left end.
        left_ends = np.concatenate([[-np.inf], axis.cuts])
        inner = np.searchsorted(np.asarray(level), left_ends, side="right") + 1
        return np.concatenate([[0], inner]).astype(np.intp)
    assert axis.groups is not None
    unknown = max(level.values(), default=0) + 1
    # The matrix held slot numbers, which the trainer keeps as their text.
    inner = np.array([level.get(str(slot), unknown) for slot in range(1, axis.count)])
    return np.concatenate([[0], inner]).astype(np.intp)


def _check_equal(draft: Draft, machine: Machine, matrix: Floats, data: Dataset) -> None:
    """Hold the tables against the trainer's own margin, or stop the run."""
    theirs = machine.decision_function(matrix)
    difference = np.max(np.abs(draft.margins(draft.slots(data.columns)) - theirs))
    if difference > DIFFERENCE_MAX:
        raise TrainingProblem(
            f"the tables differ from the trainer's machine by {difference:.3g} log-odds",
            hint="this version of interpret-core lays its terms out in another way",
        )


@contextlib.contextmanager
def progress(watch: Watch) -> Iterator[str]:
    """Watch folds from a thread of this process while they boost in theirs; gives their folder."""
    with tempfile.TemporaryDirectory(prefix="alama-") as folder:
        done = threading.Event()

        def look() -> None:
            highest: dict[str, int] = {}
            earlier = 0
            while not done.wait(_WATCH_SECONDS):
                steps, scores = _read_notes(Path(folder))
                for bag, step in steps.items():
                    if step < highest.get(bag, 0):  # mains are done: the pairs count from one
                        earlier += highest[bag]
                        highest[bag] = 0
                    highest[bag] = max(step, highest.get(bag, 0))
                if scores:
                    watch(earlier + sum(highest.values()), sum(scores) / len(scores))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield folder
        finally:
            done.set()
            watcher.join()


def _read_notes(folder: Path) -> tuple[dict[str, int], list[float]]:
    steps: dict[str, int] = {}
    scores: list[float] = []
    for path in sorted(folder.glob("bag-*")):
        parts = path.read_text().split()
        if len(parts) == len(("step", "score")):  # a note may be caught while it is being written
            steps[path.name] = int(parts[0])
            scores.append(float(parts[1]))
    return steps, scores
