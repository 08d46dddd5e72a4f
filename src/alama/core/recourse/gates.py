"""What has to be so beside the points: gates that depend on one field or two.

A gate knows for each value of its fields the least score with which it lets somebody pass: no bound
where a rule does not fire, an infinite one where it does. Gates are necessary for an approval, not
enough: they spare the whole assessment of what cannot pass. A rule that reads more than two levers
has no gate, and is left to the assessment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alama.core.application import Value
    from alama.core.recourse.additive import Floats, Places
    from alama.core.recourse.moves import Moves

Need = float
"""The least score that is needed; infinite where none is enough."""

OPEN: Final = -math.inf
SHUT: Final = math.inf
_AXES_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that an approval needs: its code, the places that it reads, and what it needs."""

    code: str
    places: frozenset[int]
    need: Callable[[Sequence[Value]], Need]


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition tabled over the moves of the levers that it reads.

    `ranks` number the moves along each axis from 1, 0 being a lever that stays, or another one.
    """

    condition: Condition
    ranks: tuple[Places, ...]
    table: Floats

    def needs(self, changes: Sequence[Places]) -> Floats:
        """Give the score that each set of changes needs."""
        where = tuple(sum(ranks[one] for one in changes) for ranks in self.ranks)
        return np.asarray(self.table[where])

    @property
    def is_shut(self) -> bool:
        """Say whether no change of its fields opens it."""
        return bool(self.table.min() == SHUT)


def gates(
    conditions: Sequence[Condition], moves: Moves, values: Sequence[Value], need: Need
) -> Iterator[Gate]:
    """Yield the gates of conditions that can ask for more than `need`, which the goal asks for."""
    for condition in conditions:
        axes = [
            number for number, lever in enumerate(moves.levers) if lever.place in condition.places
        ]
        if len(axes) > _AXES_MAX:
            continue
        table = _table(condition, moves, values, axes)
        if table.max() > need:
            yield Gate(condition, tuple(_ranks(moves, axis) for axis in axes), table)


def _table(
    condition: Condition, moves: Moves, values: Sequence[Value], axes: Sequence[int]
) -> Floats:
    levers = [moves.levers[axis] for axis in axes]
    choices = [(values[lever.place], *lever.values) for lever in levers]
    row = list(values)
    needs = []
    for chosen in product(*choices):
        for lever, value in zip(levers, chosen, strict=True):
            row[lever.place] = value
        needs.append(condition.need(row))
    return np.array(needs).reshape([len(choice) for choice in choices])


def _ranks(moves: Moves, axis: int) -> Places:
    ranks = np.zeros(len(moves.values), dtype=np.intp)
    start, end = moves.starts[axis], moves.starts[axis + 1]
    ranks[start:end] = np.arange(1, end - start + 1)
    return ranks
