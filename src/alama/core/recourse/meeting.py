"""Where levers meet: a condition on several of them turns for one as another moves.

Spending that exceeds the inflow one and a half times over is mended by less of the one, by more of
the other, or by some of both. Where it turns for the one depends on the other, so the edges as
things stand are not enough. Within a pair of pieces the card says the same, and cost grows evenly
with both: of all pairs on the turn the cheapest has one lever at an end of a piece, or at the end
of its reach. So for each such end of one lever the turn of the other is an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Final

from alama.core.recourse.values import FAR, on, turn_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from alama.core.application import Value
    from alama.core.recourse.values import Edge, Pieces

    Passes = Callable[[Sequence[Value]], bool]

UP: Final = 1
DOWN: Final = -1


@dataclass(frozen=True, slots=True)
class Bond:
    """A condition of an approval on several fields, each of which helps in one direction.

    `passes` takes all values of an application; `ways` says for each place whether more of the
    field (`UP`) or less of it (`DOWN`) can make it pass, and never makes it fail.
    """

    passes: Passes
    ways: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Span:
    """What one lever of an applicant can become: its present value and the ends of its reach.

    `edges` are those that this applicant adds to the pieces.
    """

    place: int
    value: float
    low: Edge
    high: Edge
    pieces: Pieces
    edges: tuple[Edge, ...]

    def nearest(self, more: Iterable[Edge] = ()) -> list[float]:
        """Give the nearest real value of each piece, but for the value's own."""
        return self.pieces.nearest(self.value, self.low, self.high, (*self.edges, *more))

    def pieces_on_the_way(self, way: int) -> list[tuple[float, float]]:
        """Give the near and the far real value of each piece in a direction, its own first.

        The first of them begins at the value itself.
        """
        low, high = (on(self.value), self.high) if way == UP else (self.low, on(self.value))
        found = self.pieces.ends_within(low, high, self.edges)
        if way == DOWN:
            found = [(last, first) for first, last in reversed(found)]
        return [(self.value, far) for _, far in found[:1]] + found[1:]

    def end(self, way: int) -> float:
        """Give how far it can be moved in a direction."""
        return min(self.high[0], FAR) if way == UP else max(self.low[0], -FAR)


def meet(
    bonds: Iterable[Bond], values: Sequence[Value], spans: Sequence[Span]
) -> list[list[float]]:
    """Give the values to look at of each lever, with those that the bonds between them add."""
    looked_at = {span.place: span.nearest() for span in spans}
    edges: dict[int, list[Edge]] = {}
    ends: dict[int, list[float]] = {}
    for bond in bonds:
        levers = [span for span in spans if span.place in bond.ways]
        if len(levers) > 1:
            meeting = _Meeting(bond, values, levers)
            if meeting.depends_on_levers():
                far = {span.place: list(meeting.ends(span)) for span in levers}
                for place, numbers in far.items():
                    ends.setdefault(place, []).extend(numbers)
                near_and_far = {place: [*looked_at[place], *far[place]] for place in far}
                for place, edge in meeting.edges(near_and_far):
                    edges.setdefault(place, []).append(edge)
    for span in spans:
        if span.place in edges:
            looked_at[span.place] = span.nearest(edges[span.place])
    return [
        list(dict.fromkeys((*looked_at[span.place], *ends.get(span.place, ())))) for span in spans
    ]


class _Meeting:
    """A bond between some levers of an applicant."""

    def __init__(self, bond: Bond, values: Sequence[Value], spans: Sequence[Span]) -> None:
        self._passes = bond.passes
        self._values = values
        self._spans = spans
        self._ways = bond.ways
        self._best = {span.place: span.end(bond.ways[span.place]) for span in spans}

    def _passes_at(self, changes: Mapping[int, float]) -> bool:
        row = list(self._values)
        for place, number in changes.items():
            row[place] = number
        return self._passes(row)

    def depends_on_levers(self) -> bool:
        """Say whether it passes with every lever as far as it helps, but not as far as it harms."""
        worst = {span.place: span.end(-self._ways[span.place]) for span in self._spans}
        return not self._passes_at(worst) and self._passes_at(self._best)

    def ends(self, span: Span) -> Iterator[float]:
        """Yield the far values of pieces that do not pass alone, but do beside other levers.

        Where it passes as things stand, less of what helps is always as good.
        """
        if self._passes(self._values):
            return
        for _, far in span.pieces_on_the_way(self._ways[span.place]):
            alone, beside = {span.place: far}, {**self._best, span.place: far}
            if not self._passes_at(alone) and self._passes_at(beside):
                yield far

    def edges(self, looked_at: Mapping[int, Sequence[float]]) -> Iterator[tuple[int, Edge]]:
        """Yield for each lever where it turns beside the ends of another."""
        short = {place: list(self._short(place, numbers)) for place, numbers in looked_at.items()}
        for span, other in permutations(self._spans, 2):
            for number in short[other.place]:
                yield from self._turn(span, {other.place: number})
        if len(self._spans) > 2:  # noqa: PLR2004  # what two leave to a third at their ends
            for span in self._spans:
                yield from self._turn(span, self._best)

    def _short(self, place: int, numbers: Iterable[float]) -> Iterator[float]:
        """Yield the values of a lever at which it does not pass while all others stay."""
        for number in numbers:
            if not self._passes_at({place: number}):
                yield number

    def _turn(self, span: Span, beside: Mapping[int, float]) -> Iterator[tuple[int, Edge]]:
        row = list(self._values)
        for place, number in beside.items():
            row[place] = number

        def passes(number: float) -> bool:
            row[span.place] = number
            return self._passes(row)

        for edge in turn_of(passes, span.value, self._best[span.place]):
            yield span.place, edge
