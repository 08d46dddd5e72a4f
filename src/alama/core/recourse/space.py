"""What is searched: moves, what they do to the points, and what stops sets of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from alama.core.recourse.additive import Effects, Floats, Places
    from alama.core.recourse.gates import Gate
    from alama.core.recourse.lending import Lending
    from alama.core.recourse.moves import Moves

_SLACK: Final = 1e-6
"""Sums here may differ from those of an assessment in their last bits; judging decides."""

_ROUNDING: Final = 0.5 + _SLACK
"""What points may lack of a score that they are rounded to."""


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of as many moves each: their costs in millionths, the first move of each, and so on."""

    costs: NDArray[np.int64]
    changes: tuple[Places, ...]

    def take(self, which: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Sets:
        return Sets(self.costs[which], tuple(one[which] for one in self.changes))

    def at(self, rank: int) -> tuple[int, ...]:
        return tuple(int(one[rank]) for one in self.changes)

    def in_order(self) -> Sets:
        """Give them the cheapest first, and of equal cost by their moves."""
        return self.take(np.lexsort((*reversed(self.changes), self.costs)))

    @staticmethod
    def joined(parts: Iterable[Sets]) -> Sets:
        """Give some, at least one of them, as one."""
        gathered = list(parts)
        columns = zip(*(part.changes for part in gathered), strict=True)
        costs = np.concatenate([part.costs for part in gathered])
        return Sets(costs, tuple(np.concatenate(column) for column in columns))


@dataclass(frozen=True, slots=True)
class Strangeness:
    """The two sums that strangeness is the ratio of, as they stand, and what moves do to them."""

    surprise: float
    variance: float
    surprise_effects: Effects
    variance_effects: Effects
    limit: float

    def lets_pass(self, changes: Sequence[Places]) -> NDArray[np.bool_]:
        """Say which sets of changes are, to within rounding, not too strange."""
        surprise = self.surprise + self.surprise_effects.of(changes)
        variance = np.maximum(self.variance + self.variance_effects.of(changes), 0.0)
        # The root of almost nothing is far from nothing, and strangeness is 0 at nothing.
        slack = np.where(variance < _SLACK, np.inf, _SLACK)
        return np.asarray(surprise <= self.limit * np.sqrt(variance) + slack)


@dataclass(frozen=True, slots=True)
class Space:
    """All moves of one applicant.

    `points` are those as things stand, `need` is the score that every answer must have.
    """

    moves: Moves
    points: float
    effects: Effects
    need: float
    gates: tuple[Gate, ...]
    lending: Lending | None
    strangeness: Strangeness | None

    @property
    def gain_min(self) -> float:
        """Give the points that have to be gained."""
        return self.need - _ROUNDING - self.points

    def passing(self, changes: Sequence[Places], gains: Floats, cost_bound: int) -> Sets:
        """Give the sets that may work and cost less than the bound.

        What is left out here has too few points, or is stopped by a gate, by there being no loan to
        lend, or by its strangeness.
        """
        costs = np.asarray(sum(self.moves.costs[one] for one in changes), dtype=np.int64)
        kept = np.flatnonzero((gains >= self.gain_min) & (costs < cost_bound))
        sets = Sets(costs, tuple(changes)).take(kept)
        points = self.points + _ROUNDING + gains[kept]
        for gate in self.gates:
            kept = np.flatnonzero(points >= gate.needs(sets.changes))
            sets, points = sets.take(kept), points[kept]
        if self.lending is not None:
            sets = sets.take(self.lending.lets_pass(sets.changes))
        if self.strangeness is not None:
            sets = sets.take(self.strangeness.lets_pass(sets.changes))
        return sets
