"""Bagged boosting of mains and pairs, by interpret's explainable boosting machine."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from interpret import develop
from interpret.glassbox import ExplainableBoostingClassifier
from joblib import parallel_config

from alama.core.application import fold
from alama.core.kernel import Words
from alama.training.making.draft import Axis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.recipe import Recipe

Watch = Callable[[int, float | None], None]
"""Called now and then with the boosting steps done so far and the mean validation log-loss."""

_WATCH_SECONDS = 0.3
_STEPS_BETWEEN_NOTES = 25


class Machine(Protocol):
    """What we read of the trainer's fitted machine, which carries no types of its own."""

    bins_: Sequence[Sequence[Any]]
    term_features_: Sequence[tuple[int, ...]]
    term_scores_: Sequence[NDArray[np.float64]]
    bagged_scores_: Sequence[NDArray[np.float64]]
    intercept_: NDArray[np.float64]
    bagged_intercept_: NDArray[np.float64]

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:  # noqa: N803
        """Give the trainer's own margin of each row (the argument's name is its own)."""
        ...


@dataclass(frozen=True, slots=True)
class Fitted:
    """What the trainer made, and the fold in which each row was left out of each repeat."""

    machine: Machine
    word_axes: dict[str, Axis]
    fields: tuple[str, ...]
    left_out: NDArray[np.int8]


def word_axis(field: str, column: Words, recipe: Recipe) -> Axis:
    """Choose the words that get a slot of their own; rarer ones share "other"."""
    counts: dict[str, int] = {}
    by_code = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    for word, count in zip(column.vocabulary, by_code, strict=True):
        counts[fold(word)] = counts.get(fold(word), 0) + int(count)
    least = max(recipe.leaf_rows, recipe.word_share_min * len(column.codes))
    frequent = sorted((w for w in counts if counts[w] >= least), key=lambda w: (-counts[w], w))
    return Axis(field, groups=tuple((word,) for word in sorted(frequent[: recipe.words_max])))


def fit(
    data: Dataset, groups: NDArray[np.intp], recipe: Recipe, *, jobs: int = 1, watch: Watch
) -> Fitted:
    """Fit the machine; rows of one group (a row and its masked copies) share a fold.

    The result depends on the rows in their order and the recipe alone, not on `jobs`; with
    `recipe.portable` not on the processor either.
    """
    fields = tuple(data.columns)
    word_axes = {
        name: word_axis(name, column, recipe)
        for name, column in data.columns.items()
        if isinstance(column, Words)
    }
    matrix = matrix_of(data, word_axes)
    left_out = _folds(data.labels, groups, recipe)
    # Arrays go to the bags' processes by pipe: files in shared memory, joblib's way for large ones,
    # are at times cleaned up twice, and the second time prints a traceback.
    by_pipe = parallel_config(max_nbytes=None)
    with _progress(watch) as callback, by_pipe, warnings.catch_warnings():
        # It warns that its own pictures do not show missing values; ours do.
        warnings.filterwarnings("ignore", message="Missing values detected")
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        machine = ExplainableBoostingClassifier(
            feature_names=list(fields),
            feature_types=["nominal" if name in word_axes else "continuous" for name in fields],
            max_bins=recipe.main_bins,
            max_interaction_bins=recipe.pair_bins,
            interactions=min(recipe.pairs, len(fields) * (len(fields) - 1) // 2),
            outer_bags=recipe.bags,
            learning_rate=recipe.learning_rate,
            min_samples_leaf=recipe.leaf_rows,
            random_state=recipe.seed,
            n_jobs=jobs,
            callback=callback,
        )
        default_acceleration = develop.get_option("acceleration")
        # Its SIMD kernels round differently from processor to processor, and boosting amplifies
        # that; plain arithmetic is slower by a factor of three and the same everywhere.
        develop.set_option("acceleration", 0 if recipe.portable else default_acceleration)
        try:
            machine.fit(matrix, data.labels, bags=_bags(left_out, data.labels, recipe))
        finally:
            develop.set_option("acceleration", default_acceleration)
    return Fitted(machine, word_axes, fields, left_out)


def matrix_of(data: Dataset, word_axes: dict[str, Axis]) -> NDArray[np.float64]:
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


def _folds(labels: NDArray[np.int8], groups: NDArray[np.intp], recipe: Recipe) -> NDArray[np.int8]:
    """Deal the groups into folds, once a repeat, each fold with its share of the defaults."""
    first_rows = np.unique(groups, return_index=True)[1]
    folds = np.empty((len(labels), recipe.repeats), dtype=np.int8)
    for repeat in range(recipe.repeats):
        rng = np.random.default_rng([recipe.seed, repeat, 1])
        of_group = np.empty(len(first_rows), dtype=np.int8)
        for outcome in (0, 1):
            members = np.flatnonzero(labels[first_rows] == outcome)
            dealt = np.arange(len(members)) % recipe.folds
            of_group[members[rng.permutation(len(members))]] = dealt
        folds[:, repeat] = of_group[groups]
    return folds


def _bags(left_out: NDArray[np.int8], labels: NDArray[np.int8], recipe: Recipe) -> NDArray[np.int8]:
    """Say for each row and bag: 1 train, -1 validate, 0 neither.

    Where there are more rows than a bag can use, each bag sees a stratified sample of its own.
    """
    bags = np.ones((len(labels), recipe.bags), dtype=np.int8)
    keep = recipe.rows_per_bag / len(labels)
    for bag in range(recipe.bags):
        repeat, fold_number = divmod(bag, recipe.folds)
        bags[left_out[:, repeat] == fold_number, bag] = -1
        if keep < 1.0:
            rng = np.random.default_rng([recipe.seed, bag, 2])
            for outcome in (0, 1):
                members = np.flatnonzero(labels == outcome)
                dropped = len(members) - round(keep * len(members))
                bags[members[rng.permutation(len(members))[:dropped]], bag] = 0
    return bags


@dataclass(frozen=True, slots=True)
class _Note:
    """Writes a bag's progress to a file: bags may run in processes of their own."""

    folder: str

    def __call__(self, bag: int, step: int, _progressed: object, score: float) -> bool:
        """Note the step; returning False lets the boosting go on."""
        if step % _STEPS_BETWEEN_NOTES == 0:
            Path(self.folder, f"bag-{bag}").write_text(f"{step} {score}\n")
        return False


@contextlib.contextmanager
def _progress(watch: Watch) -> Iterator[_Note]:
    """Watch the bags from a thread of this process while they boost in theirs."""
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
            yield _Note(folder)
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
