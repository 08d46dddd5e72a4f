"""The search: every set of up to three moves of different levers, the cheapest that works first.

Sets grow in three stages. Of each stage all sets are laid out at once by adding gains and extras;
what has not the points, or is not cheap enough to be among the answers, falls out there. The rest
is taken in order of cost: what the gates or plausibility stop falls out, and whatever is left is
judged for good. Nothing else is left out, so what is found is the cheapest, and where nothing is
found there is nothing.

An answer is *different* from the cheaper ones if its levers are not theirs, nor theirs and more. As
every move costs something, no answer holds a move that it does not need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from alama.core.recourse.additive import Effects, Floats, Moves, Places
    from alama.core.recourse.card import Gate, Lending


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


Answer = TypeVar("Answer")


_NO_BOUND: Final = 2**62
_CELLS_MAX: Final = 2**18
"""Sets laid out at once: they fit into the cache of a processor, and the clock is looked at."""

_JUDGED_BETWEEN_LOOKS: Final = 8


@dataclass(frozen=True, slots=True)
class Found(Generic[Answer]):
    """A set of moves that works, what was said about it, and its cost in millionths."""

    moves: tuple[int, ...]
    levers: frozenset[int]
    cost: int
    answer: Answer


class Search(Generic[Answer]):
    """One search. `judge` gives an answer where a set of moves works, else None."""

    def __init__(
        self,
        space: Space,
        judge: Callable[[Sequence[int]], Answer | None],
        count: int,
        out_of_time: Callable[[], bool],
    ) -> None:
        self._space = space
        self._judge = judge
        self._count = count
        self._out_of_time = out_of_time
        self._found: list[Found[Answer]] = []
        self._is_late = False

    def run(self) -> list[Found[Answer]]:
        """Give up to `count` different answers, the cheapest first."""
        if self._space.moves.values and self._space.need < math.inf:
            for sets in self._stages():
                self._judge_all(sets)
                if self._is_late:
                    break
        self._found.sort(key=lambda found: (found.cost, len(found.moves), found.moves))
        return self._found[: self._count]

    @property
    def complete(self) -> bool:
        """Say whether time did not run out, so that what was found is proven."""
        return not self._is_late

    def _look_at_the_clock(self) -> bool:
        self._is_late = self._is_late or self._out_of_time()
        return self._is_late

    def _bound(self) -> int:
        """Give the cost below which a further answer would be among those to give.

        Later stages hold more moves, so none of their sets can make an earlier answer fall out.
        """
        if len(self._found) < self._count:
            return _NO_BOUND
        return sorted(found.cost for found in self._found)[self._count - 1]

    # ------------------------------------------------------------------------- laying out

    def _stages(self) -> Iterator[Sets]:
        """Yield for each size the sets that have the points and are cheap enough.

        A stage is laid out when those before it have been judged, and so knows their bound.
        """
        space, lever_of = self._space, self._space.moves.lever_of
        gains, costs = space.effects.gains, space.moves.costs
        yield _chosen((gains >= space.gain_min) & (costs < self._bound()), gains, costs)
        # All pairs as a table: a line for the earlier move, a column for the later one.
        in_order = lever_of[:, None] < lever_of
        gains = gains[:, None] + gains + space.effects.extras
        costs = costs[:, None] + costs
        cheap = costs < self._bound()
        yield _chosen(in_order & (gains >= space.gain_min) & cheap, gains, costs)
        third = _Third.of(space)
        in_order &= gains + third.beyond(lever_of) >= space.gain_min
        cheap = costs < self._bound() - int(third.costs.min())
        triples = list(self._triples(_chosen(in_order & cheap, gains, costs), third))
        if triples:
            yield Sets.joined(triples)

    def _triples(self, pairs: Sets, third: _Third) -> Iterator[Sets]:
        """Lay out the sets of three: pairs beside all moves of a lever after theirs."""
        space, moves, bound = self._space, self._space.moves, self._bound()
        levers = np.arange(len(moves.levers))
        rows = max(_CELLS_MAX // len(moves.values), 1)
        for start in range(0, len(pairs), rows):
            part = pairs.take(slice(start, start + rows))
            earlier, later = part.changes
            reach = third.beside.take(earlier, axis=0)
            reach += third.beside.take(later, axis=0)
            reach += third.alone
            reach += part.gains[:, None]
            kept = reach >= space.gain_min
            kept &= levers > moves.lever_of[later][:, None]
            kept &= part.costs[:, None] < bound - third.costs
            for lever in np.flatnonzero(kept.any(axis=0)).tolist():
                if self._look_at_the_clock():
                    return
                yield self._beside(part.take(np.flatnonzero(kept[:, lever])), lever, bound)

    def _beside(self, pairs: Sets, lever: int, bound: int) -> Sets:
        """Lay out some pairs beside all moves of another lever."""
        effects, moves = self._space.effects, self._space.moves
        start, end = moves.starts[lever], moves.starts[lever + 1]
        earlier, later = pairs.changes
        extras = effects.extras[:, start:end]
        gains = extras.take(earlier, axis=0)
        gains += extras.take(later, axis=0)
        gains += effects.gains[start:end]
        gains += pairs.gains[:, None]
        costs = pairs.costs[:, None] + moves.costs[start:end]
        works = (gains >= self._space.gain_min) & (costs < bound)
        codes = pairs.codes[:, None] * len(moves.values) + np.arange(start, end)
        return Sets((*pairs.shape, len(moves.values)), costs[works], gains[works], codes[works])

    # ------------------------------------------------------------------------- judging

    def _judge_all(self, sets: Sets) -> None:
        """Judge sets in order of cost, until time runs out or they cost too much."""
        for part in sets.by_cost():
            if part.costs.min() >= self._bound() or self._is_late:
                break
            others = part.take(self._is_different(part, self._found)) if self._found else part
            if len(others):
                self._judge_part(self._space.passing(others).in_order())

    def _judge_part(self, sets: Sets) -> None:
        """Judge sets that are in order, and whose levers are not those of what was found before."""
        bound, judged, lever_of = self._bound(), 0, self._space.moves.lever_of
        is_different = np.ones(len(sets), dtype=np.bool_)
        for rank, cost in enumerate(sets.costs.tolist()):
            if cost >= bound:
                return
            if not is_different[rank]:
                continue
            if judged % _JUDGED_BETWEEN_LOOKS == 0 and self._look_at_the_clock():
                return
            judged += 1
            chosen = sets.at(rank)
            if (answer := self._judge(chosen)) is not None:
                levers = frozenset(int(lever_of[move]) for move in chosen)
                self._found.append(Found(chosen, levers, cost, answer))
                bound = self._bound()
                is_different &= self._is_different(sets, self._found[-1:])

    def _is_different(self, sets: Sets, found: Sequence[Found[Answer]]) -> NDArray[np.bool_]:
        """Say which sets cost less than an answer or lack a lever of it, for each answer."""
        moves = self._space.moves
        is_different = np.ones(len(sets), dtype=np.bool_)
        for one in found:
            holds = np.zeros(len(moves.levers), dtype=np.intp)
            holds[list(one.levers)] = 1
            holds = holds[moves.lever_of]
            held = sum(holds[change] for change in sets.changes)
            is_different &= (held < len(one.levers)) | (sets.costs < one.cost)
        return is_different


def _chosen(which: NDArray[np.bool_], gains: Floats, costs: NDArray[np.int64]) -> Sets:
    """Give some cells of a table of sets."""
    codes = np.flatnonzero(which)
    return Sets(which.shape, costs.take(codes), gains.take(codes), codes)


@dataclass(frozen=True, slots=True)
class _Third:
    """What levers can give as the third of a set: bounds, lest all sets of three be laid out.

    For each lever the most that it can give by itself, and the least that it costs; a line for each
    move and a column for each lever with the most that the lever can give beside the move.
    """

    alone: Floats
    beside: Floats
    costs: NDArray[np.int64]

    @staticmethod
    def of(space: Space) -> _Third:
        starts, effects = space.moves.starts[:-1], space.effects
        return _Third(
            np.maximum.reduceat(effects.gains, starts),
            # Line by line, which is much faster: the extras are the same either way.
            np.maximum.reduceat(effects.extras, starts, axis=0).T,
            np.minimum.reduceat(space.moves.costs, starts),
        )

    def beyond(self, lever_of: Places) -> Floats:
        """Give the most that any lever after those of two moves can add to them, or more.

        Each of the two is given half of what a lever gives by itself, and its own best lever. A
        line is for the earlier of the two, a column for the later one.
        """
        shares = self.beside.T + self.alone[:, None] / 2.0
        after = np.full(shares.shape, -np.inf)
        np.maximum.accumulate(shares[:0:-1], axis=0, out=after[-2::-1])
        after = after.take(lever_of, axis=0)
        return np.asarray(after.T + after.diagonal())
