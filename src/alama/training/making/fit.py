"""Bagged boosting of mains and pairs, by interpret's explainable boosting machine."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from interpret import develop
from interpret.glassbox import ExplainableBoostingClassifier
from joblib import parallel_config

from alama.core.application import fold
from alama.core.errors import TrainingProblem
from alama.core.kernel import Column, Words
from alama.training.portable import line_totals, total, totals_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.recipe import Recipe

    Floats = NDArray[np.float64]

    Slots = NDArray[np.int16]

    Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Axis:
    """The slots of one field: `cuts` for numbers, `groups` of words otherwise."""

    field: str
    cuts: Floats | None = None
    groups: tuple[tuple[str, ...], ...] | None = None

    @property
    def count(self) -> int:
        """Count the slots, missing and (for words) other included."""
        if self.cuts is not None:
            return len(self.cuts) + 2
        assert self.groups is not None
        return len(self.groups) + 2

    def slots(self, column: Column) -> Slots:
        """Give the slot of each row."""
        if isinstance(column, Words):
            assert self.groups is not None
            slot_of = {w: slot for slot, group in enumerate(self.groups, 1) for w in group}
            of_code = [slot_of.get(fold(word), self.count - 1) for word in column.vocabulary]
            by_code: Slots = np.array([*of_code, 0], dtype=np.int16)
            return by_code[column.codes]
        assert self.cuts is not None
        slots: Slots = (np.searchsorted(self.cuts, column, side="right") + 1).astype(np.int16)
        slots[np.isnan(column)] = 0
        return slots


@dataclass(frozen=True, slots=True)
class DraftPair:
    """A pair's table; `rows` and `columns` map the slots of its two axes into it."""

    first: int
    second: int
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    table: Floats

    def cells(self, slots: Sequence[Slots]) -> NDArray[np.intp]:
        """Give the flat cell of each row."""
        width = self.table.shape[1]
        flat: NDArray[np.intp] = self.rows[slots[self.first]] * width
        flat += self.columns[slots[self.second]]
        return flat


@dataclass(frozen=True, slots=True)
class Draft:
    """Log-odds of default = base + mains + pairs."""

    axes: tuple[Axis, ...]
    base: float
    mains: tuple[Floats, ...]
    pairs: tuple[DraftPair, ...]

    def slots(self, columns: Mapping[str, Column]) -> list[Slots]:
        """Give the slots of every axis for every row."""
        return [axis.slots(columns[axis.field]) for axis in self.axes]

    def margins(self, slots: Sequence[Slots]) -> Floats:
        """Give the log-odds of default of every row."""
        margins = np.full(len(slots[0]), self.base)
        for main, slot in zip(self.mains, slots, strict=True):
            margins += main[slot]
        for pair in self.pairs:
            margins += pair.table.ravel()[pair.cells(slots)]
        return margins

    def purified(self, shares: Sequence[Floats]) -> Draft:
        """Move what pairs hold of mains, and mains of the base, to where it belongs.

        Against the product of the marginals `shares` every row and column of a pair, and every
        main, then averages to zero: the function is unchanged, and main + half of each pair is
        the exact Shapley value of the game in which absent features are drawn from `shares`.
        """
        mains = [main.copy() for main in self.mains]
        base = self.base
        pairs = []
        for pair in self.pairs:
            height, width = pair.table.shape
            row_shares = totals_by(pair.rows, shares[pair.first], height)
            column_shares = totals_by(pair.columns, shares[pair.second], width)
            row_means = weighted_mean(pair.table, column_shares, axis=1)
            column_means = weighted_mean(pair.table, row_shares, axis=0)
            mean = float(weighted_mean(row_means[None, :], row_shares, axis=1)[0])
            mains[pair.first] += row_means[pair.rows] - mean
            mains[pair.second] += column_means[pair.columns] - mean
            base += mean
            table = pair.table - row_means[:, None] - column_means[None, :] + mean
            pairs.append(replace(pair, table=table))
        for place, (main, share) in enumerate(zip(mains, shares, strict=True)):
            mean = float(weighted_mean(main[None, :], share, axis=1)[0])
            mains[place] = main - mean
            base += mean
        return replace(self, base=base, mains=tuple(mains), pairs=tuple(pairs))


def weighted_mean(table: Floats, weights: Floats, axis: int) -> Floats:
    """Average along an axis."""
    weighted = table * (weights[None, :] if axis == 1 else weights[:, None])
    return line_totals(weighted, axis) / total(weights)


def shares_of(slots: Sequence[Slots], axes: Sequence[Axis]) -> list[Floats]:
    """Give the distribution of rows over the slots of each axis."""
    rows = len(slots[0])
    return [
        np.bincount(slot, minlength=axis.count) / rows
        for slot, axis in zip(slots, axes, strict=True)
    ]


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


DIFFERENCE_MAX: Final = 1e-9
"""Log-odds by which tables and trainer may differ: what is left of adding in another order."""

_ROWS_AT_ONCE: Final = 100_000


def compile_terms(fitted: Fitted) -> tuple[Draft, list[Draft]]:
    """Give the averaged machine as a draft, and each bag as one on the same axes.

    Pairs have coarser cuts than mains, and not a part of them; an axis takes the union of both,
    so that one look-up a field serves all its tables.
    """
    machine = fitted.machine
    axes = tuple(_axis(fitted, place) for place in range(len(fitted.fields)))
    averaged = _draft(axes, machine, machine.term_scores_, float(np.ravel(machine.intercept_)[0]))
    bags = [
        _draft(
            axes,
            machine,
            [scores[bag] for scores in machine.bagged_scores_],
            float(np.ravel(machine.bagged_intercept_)[bag]),
        )
        for bag in range(len(np.ravel(machine.bagged_intercept_)))
    ]
    return averaged, bags


def _axis(fitted: Fitted, place: int) -> Axis:
    name = fitted.fields[place]
    if name in fitted.word_axes:
        return fitted.word_axes[name]
    cuts = np.unique(np.concatenate([np.asarray(c) for c in fitted.machine.bins_[place]]))
    return Axis(name, cuts=cuts + 0.0)


def _draft(
    axes: tuple[Axis, ...], machine: Machine, scores: Sequence[Floats], base: float
) -> Draft:
    mains = [np.zeros(axis.count) for axis in axes]
    pairs = []
    for term, table in zip(machine.term_features_, scores, strict=True):
        maps = [_slot_map(machine.bins_[place], axes[place], len(term)) for place in term]
        if len(term) == 1:
            mains[term[0]] += table[maps[0]]
        elif term[0] < term[1]:
            pairs.append(DraftPair(term[0], term[1], maps[0], maps[1], table.copy()))
        else:
            pairs.append(DraftPair(term[1], term[0], maps[1], maps[0], table.T.copy()))
    return Draft(axes, base, tuple(mains), tuple(pairs))


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


def check_equal(draft: Draft, slots: Sequence[Slots], fitted: Fitted, data: Dataset) -> None:
    """Hold the tables against the trainer's own margin on every row, or stop the run."""
    for start in range(0, len(data), _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(data)))
        theirs = fitted.machine.decision_function(matrix_of(data.take(rows), fitted.word_axes))
        difference = np.max(np.abs(draft.margins([slot[rows] for slot in slots]) - theirs))
        if difference > DIFFERENCE_MAX:
            raise TrainingProblem(
                f"the tables differ from the trainer's machine by {difference:.3g} log-odds",
                hint="this version of interpret-core lays its terms out in another way",
            )


def left_out_margins(
    bags: Sequence[Draft], slots: Sequence[Slots], left_out: NDArray[np.int8]
) -> Floats:
    """Give each row the mean margin of the bags that never saw it."""
    repeats = left_out.shape[1]
    folds = len(bags) // repeats
    margins = np.zeros(len(left_out))
    for number, bag in enumerate(bags):
        repeat, fold_number = divmod(number, folds)
        rows = np.flatnonzero(left_out[:, repeat] == fold_number)
        margins[rows] += bag.margins([slot[rows] for slot in slots])
    mean: Floats = margins / repeats
    return mean
