"""What one applicant could change: each lever, the values it can take, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from alama.core.catalogue import Use, Way
from alama.core.recourse.values import Edge, above, below, on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Value
    from alama.core.catalogue import Field
    from alama.core.recourse.additive import Places


@dataclass(frozen=True, slots=True)
class Lever:
    """A field that can be changed, and the values it can take, the cheapest first.

    `costs` are millionths. `before` and `after` are options of the card.
    """

    place: int
    values: tuple[Value, ...]
    costs: tuple[int, ...]
    before: int
    after: tuple[int, ...]


class Moves:
    """All that can be changed, one *move* for each value of each lever, lever after lever.

    `after` is the option of each move, `stood` the option of each lever as it stands.
    """

    __slots__ = ("after", "costs", "lever_of", "levers", "starts", "stood", "values")

    def __init__(self, levers: Sequence[Lever]) -> None:
        sizes = [len(lever.values) for lever in levers]
        self.levers = tuple(levers)
        self.values = [value for lever in levers for value in lever.values]
        self.costs = _whole([cost for lever in levers for cost in lever.costs])
        self.after: Places = _whole([option for lever in levers for option in lever.after])
        self.lever_of: Places = np.repeat(np.arange(len(levers), dtype=np.intp), sizes)
        self.stood: Places = _whole([lever.before for lever in levers])
        self.starts: list[int] = [0, *accumulate(sizes)]

    def place_of(self, move: int) -> int:
        """Give the place of the field that a move changes."""
        return self.levers[int(self.lever_of[move])].place

    def changed(self, values: Sequence[Value], moves: Sequence[int]) -> list[Value]:
        """Give the values after some moves."""
        after = list(values)
        for move in moves:
            after[self.place_of(move)] = self.values[move]
        return after


def _whole(numbers: Sequence[int]) -> Places:
    return np.array(numbers, dtype=np.intp)


def is_lever(field: Field) -> bool:
    """Say whether an applicant can change a field at all."""
    return field.change is not None and field.numeric and field.use is not Use.REFERENCE


def reach(field: Field, value: float) -> tuple[Edge, Edge]:
    """Give the ends of what a field can become, its range included."""
    change = field.change
    assert change is not None
    low, high = below(-math.inf), above(math.inf)
    if field.minimum is not None:
        low = below(field.minimum)
    if field.above is not None:
        low = above(field.above)
    if field.maximum is not None:
        high = above(field.maximum)
    if change.times_at_most is not None:
        times = change.times_at_most if value >= 0.0 else 1.0 / change.times_at_most
        low, high = max(low, below(value / times)), min(high, above(value * times))
    if change.by_at_most is not None:
        low = max(low, below(value - change.by_at_most))
        high = min(high, above(value + change.by_at_most))
    if change.way is Way.UP:
        low = on(value)
    if change.way is Way.DOWN:
        high = on(value)
    return low, high
