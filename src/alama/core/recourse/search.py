"""The search: every set of up to three moves of different levers, the cheapest that works first.

Sets grow in three stages. Of each stage all sets are laid out at once by adding gains and extras;
what has not the points, or is not cheap enough to be among the answers, falls out there, then what
the gates or plausibility stop. Whatever is left is judged for good, in order of cost. Nothing else
is left out, so what is found is the cheapest, and where nothing is found there is nothing.

An answer is *different* from the cheaper ones if its levers are not theirs, nor theirs and more. As
every move costs something, no answer holds a move that it does not need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from alama.core.recourse.space import Sets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alama.core.recourse.additive import Floats, Places
    from alama.core.recourse.space import Space

Answer = TypeVar("Answer")

SIZE_MAX: Final = 3
"""The most fields that a person is told to change: nobody acts on more."""

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
        """Yield for each size the sets that may work.

        A stage is laid out when those before it have been judged, and so knows their bound.
        """
        space, moves = self._space, self._space.moves
        singles = np.arange(len(moves.values), dtype=np.intp)
        yield space.passing((singles,), space.effects.gains, self._bound())
        # Sorted by the later move, so that the pairs before some lever stand first.
        later, earlier = np.nonzero(moves.lever_of[:, None] > moves.lever_of[None, :])
        gains = space.effects.of((earlier, later))
        yield space.passing((earlier, later), gains, self._bound())
        triples = list(self._triples(earlier, later, gains))
        if triples:
            yield Sets.joined(triples)

    def _triples(self, first: Places, second: Places, gains: Floats) -> Iterator[Sets]:
        """Lay out the sets of three: all pairs before a lever beside all moves of that lever."""
        space, moves, bound = self._space, self._space.moves, self._bound()
        costs = moves.costs[first] + moves.costs[second]
        cheap = np.flatnonzero(costs < bound - moves.costs.min())
        first, second, gains, costs = first[cheap], second[cheap], gains[cheap], costs[cheap]
        starts = np.array(moves.starts[:-1])
        # The most that a lever can give by itself, and beside each move.
        best = np.maximum.reduceat(space.effects.gains, starts)
        best_beside = np.maximum.reduceat(space.effects.extras, starts, axis=1)
        for lever in range(SIZE_MAX - 1, len(moves.levers)):
            start, end = moves.starts[lever], moves.starts[lever + 1]
            before = int(np.searchsorted(second, start))
            reach = gains[:before] + best[lever]
            reach += best_beside[first[:before], lever] + best_beside[second[:before], lever]
            room = bound - int(moves.costs[start:end].min())
            kept = np.flatnonzero((reach >= space.gain_min) & (costs[:before] < room))
            rows = max(_CELLS_MAX // (end - start), 1)
            for part in (kept[n : n + rows] for n in range(0, len(kept), rows)):
                if self._look_at_the_clock():
                    return
                yield self._beside(first[part], second[part], gains[part], range(start, end))

    def _beside(self, first: Places, second: Places, gains: Floats, third: range) -> Sets:
        """Lay out some pairs beside all moves of another lever."""
        space, bound = self._space, self._bound()
        own = slice(third.start, third.stop)
        block = gains[:, None] + space.effects.gains[own]
        block += space.effects.extras[first, own] + space.effects.extras[second, own]
        pair_costs = space.moves.costs[first] + space.moves.costs[second]
        cheap = pair_costs[:, None] + space.moves.costs[own] < bound
        rows, columns = np.nonzero((block >= space.gain_min) & cheap)
        changes = (first[rows], second[rows], columns + third.start)
        return space.passing(changes, block[rows, columns], bound)

    # ------------------------------------------------------------------------- judging

    def _judge_all(self, sets: Sets) -> None:
        """Judge sets in their order, until time runs out."""
        for found in self._found:
            sets = self._without(sets, found)
        sets = sets.in_order()
        while (rank := self._next_that_works(sets)) is not None:
            sets = self._without(sets.take(slice(rank + 1, None)), self._found[-1])

    def _next_that_works(self, sets: Sets) -> int | None:
        """Judge sets until one works; give its rank, or None where none does."""
        bound, lever_of = self._bound(), self._space.moves.lever_of
        for rank, cost in enumerate(sets.costs.tolist()):
            if cost >= bound:
                return None
            if rank % _JUDGED_BETWEEN_LOOKS == 0 and self._look_at_the_clock():
                return None
            chosen = sets.at(rank)
            if (answer := self._judge(chosen)) is not None:
                levers = frozenset(int(lever_of[move]) for move in chosen)
                self._found.append(Found(chosen, levers, cost, answer))
                return rank
        return None

    def _without(self, sets: Sets, found: Found[Answer]) -> Sets:
        """Give the sets but for those that cost no less than an answer and hold all its levers."""
        is_held = np.zeros(len(self._space.moves.levers), dtype=np.intp)
        is_held[list(found.levers)] = 1
        is_held = is_held[self._space.moves.lever_of]
        held = sum(is_held[one] for one in sets.changes)
        return sets.take(np.asarray((held < len(found.levers)) | (sets.costs < found.cost)))
