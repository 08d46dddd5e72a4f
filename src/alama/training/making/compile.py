"""Fitted terms into tables of our own, equal to the trainer's margin to the last digit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from alama.core.errors import TrainingProblem
from alama.training.making.draft import Axis, Draft, DraftPair
from alama.training.making.fit import matrix_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.making.draft import Slots
    from alama.training.making.fit import Fitted, Machine

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

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
