"""What is searched: moves, what they do to the points, and what stops sets of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from alama.core.recourse.additive import Effects, Floats, Places
    from alama.core.recourse.gates import Gate
    from alama.core.recourse.lending import Lending
    from alama.core.recourse.moves import Moves

_SLACK: Final = 1e-6
"""Sums here may differ from those of an assessment in their last bits; judging decides."""

_ROUNDING: Final = 0.5 + _SLACK
"""What points may lack of a score that they are rounded to."""

_PART: Final = 64
_PART_GROWTH: Final = 8
"""Most searches end among the first few sets; where they do not, all that are left come soon."""


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of as many moves each: their costs in millionths, what they gain in points, their moves.

    The moves of a set are one number, its code: the cell in a table with as many axes as the sets
    have moves, and as many cells along each of them as there are moves at all (`shape`).
    """

    shape: tuple[int, ...]
    costs: NDArray[np.int64]
    gains: Floats
    codes: Places

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def changes(self) -> tuple[Places, ...]:
        """Give the first move of each, then the second of each, and so on."""
        return np.unravel_index(self.codes, self.shape)

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Sets:
        return Sets(self.shape, self.costs[which], self.gains[which], self.codes[which])

    def at(self, rank: int) -> tuple[int, ...]:
        return tuple(int(move) for move in np.unravel_index(self.codes[rank], self.shape))

    def in_order(self) -> Sets:
        """Give them the cheapest first, and of equal cost by their moves."""
        return self.take(np.lexsort((self.codes, self.costs)))

    def by_cost(self) -> Iterator[Sets]:
        """Yield them part by part, the cheapest first: few, then more and more.

        No set of a later part costs as little as one of an earlier part.
        """
        rest, size = self, _PART
        while len(rest) > size:
            is_cheap = rest.costs <= np.partition(rest.costs, size)[size]
            yield rest.take(is_cheap)
            rest, size = rest.take(~is_cheap), size * _PART_GROWTH
        if len(rest):
            yield rest

    @staticmethod
    def joined(parts: Sequence[Sets]) -> Sets:
        """Give some, at least one of them, as one."""
        return Sets(
            parts[0].shape,
            np.concatenate([part.costs for part in parts]),
            np.concatenate([part.gains for part in parts]),
            np.concatenate([part.codes for part in parts]),
        )


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
class Booked:
    """The log-odds of being booked as they stand, what moves do to them, and the least of them."""

    log_odds: float
    effects: Effects
    limit: float

    def lets_pass(self, changes: Sequence[Places]) -> NDArray[np.bool_]:
        """Say which sets of changes are, to within rounding, not seldom booked."""
        return np.asarray(self.log_odds + self.effects.of(changes) >= self.limit - _SLACK)


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
    booked: Booked | None = None

    @property
    def gain_min(self) -> float:
        """Give the points that have to be gained."""
        return self.need - _ROUNDING - self.points

    def passing(self, sets: Sets) -> Sets:
        """Give the sets that may work.

        What is left out here is stopped by a gate, by there being no loan to lend, by its
        strangeness, or by its like having seldom been booked.
        """
        for gate in self.gates:
            points = self.points + _ROUNDING + sets.gains
            sets = sets.take(points >= gate.needs(sets.changes))
        if self.lending is not None and len(sets):
            sets = sets.take(self.lending.lets_pass(sets.changes))
        if self.strangeness is not None and len(sets):
            sets = sets.take(self.strangeness.lets_pass(sets.changes))
        if self.booked is not None and len(sets):
            sets = sets.take(self.booked.lets_pass(sets.changes))
        return sets
