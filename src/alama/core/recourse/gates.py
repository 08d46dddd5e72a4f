"""What has to be so beside the points: gates that depend on a few fields.

A gate knows for each value of its fields the least score with which it lets somebody pass: no bound
where a rule does not fire, an infinite one where it does. Gates are necessary for an approval, not
enough: they spare the whole assessment of what cannot pass. A rule whose levers have too many
values together has no gate, and is left to the assessment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.recourse.search import SIZE_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alama.core.application import Value
    from alama.core.recourse.additive import Floats, Places
    from alama.core.recourse.moves import Lever, Moves

Need = float
"""The least score that is needed; infinite where none is enough."""

OPEN: Final = -math.inf
SHUT: Final = math.inf
_CELLS_MAX: Final = 20_000
"""The largest table that is made: larger ones take longer than they spare."""


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
        if _cells([len(moves.levers[axis].values) for axis in axes]) > _CELLS_MAX:
            continue
        table = _table(condition, moves, values, axes)
        if table.max() > need:
            yield Gate(condition, tuple(_ranks(moves, axis) for axis in axes), table)


def _cells(sizes: Sequence[int]) -> int:
    """Give the number of ways to move some of the axes, no more of them than a set moves."""
    return sum(
        math.prod(moved) for count in range(SIZE_MAX + 1) for moved in combinations(sizes, count)
    )


def _table(
    condition: Condition, moves: Moves, values: Sequence[Value], axes: Sequence[int]
) -> Floats:
    """Table what is needed; more moves than a set has are not looked at, and left open."""
    levers = [moves.levers[axis] for axis in axes]
    choices = [(values[lever.place], *lever.values) for lever in levers]
    table = np.full([len(choice) for choice in choices], OPEN)
    for count in range(min(len(axes), SIZE_MAX) + 1):
        for moved in combinations(range(len(axes)), count):
            _fill(table, condition, list(values), [(n, levers[n]) for n in moved])
    return table


def _fill(
    table: Floats, condition: Condition, row: list[Value], moved: Sequence[tuple[int, Lever]]
) -> None:
    """Table the needs while some levers move and all others stay."""
    needs = []
    for chosen in product(*(lever.values for _, lever in moved)):
        for (_, lever), value in zip(moved, chosen, strict=True):
            row[lever.place] = value
        needs.append(condition.need(row))
    where: list[int | slice] = [0] * table.ndim
    for axis, _ in moved:
        where[axis] = slice(1, None)
    table[tuple(where)] = np.reshape(needs, [len(lever.values) for _, lever in moved])


def _ranks(moves: Moves, axis: int) -> Places:
    ranks = np.zeros(len(moves.values), dtype=np.intp)
    start, end = moves.starts[axis], moves.starts[axis + 1]
    ranks[start:end] = np.arange(1, end - start + 1)
    return ranks
