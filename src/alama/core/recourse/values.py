"""Real values that a person can act on, and what a change to each costs.

An *edge* is a place between two numbers at which somebody changes their mind: the card starts
another band, a rule of the policy begins or ceases to hold. Between two neighbouring edges all
values are alike, so of each such *piece* one value is enough: the nearest real one. Real is a whole
number where the field is one, a number of few figures otherwise; an amount is one that is lent.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from alama.core.tables import Feature


Edge = tuple[float, float]
"""(x, 0) lies just below the number x, and (x, 1) just above it."""

_ON: Final = 0.5
"""(x, 0.5) is the number x itself: edges and numbers have one order."""

_FINER_MAX: Final = 6
"""How many more figures a number gets where a rounder one does not fit."""


_DECIMALS_MAX: Final = 12
"""Nobody acts on smaller differences."""

FAR: Final = 1e15
"""As far as a turn is looked for where nothing bounds a change."""


def on(number: float) -> Edge:
    """Give the place of the number itself, as the end of what can be reached from it."""
    return number, _ON


def below(number: float) -> Edge:
    return number, 0.0


def above(number: float) -> Edge:
    return number, 1.0


def is_between(low: Edge, number: float, high: Edge) -> bool:
    return low < (number, _ON) < high


class Ruler(Protocol):
    """The real values of a field."""

    def first(self, low: Edge, high: Edge) -> float | None:
        """Give the least real value between two edges; None where there is none."""

    def last(self, low: Edge, high: Edge) -> float | None:
        """Give the greatest real value between two edges; None where there is none."""


class Listed:
    """A few values, in rising order: the terms on offer."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[float]) -> None:
        self._values = values

    def first(self, low: Edge, high: Edge) -> float | None:
        return next((v for v in self._values if is_between(low, v, high)), None)

    def last(self, low: Edge, high: Edge) -> float | None:
        return next((v for v in reversed(self._values) if is_between(low, v, high)), None)


class Steps:
    """The whole multiples of a whole step."""

    __slots__ = ("_step",)

    def __init__(self, step: int) -> None:
        self._step = step

    def first(self, low: Edge, high: Edge) -> float | None:
        return _first_step(low, high, self._step, 0)

    def last(self, low: Edge, high: Edge) -> float | None:
        return _last_step(low, high, self._step, 0)


class RoundNumbers:
    """Numbers of few figures: 4150 rather than 4137.2, and 0.435 rather than 0.43211.

    First those whose third figure is 0 or 5, then any of three figures, then of four and more. How
    round a number can be is measured where the piece begins, seen from the value that changes.
    """

    __slots__ = ()

    def first(self, low: Edge, high: Edge) -> float | None:
        for step, decimals in _steps_at(low[0]):
            if (found := _first_step(low, high, step, decimals)) is not None:
                return found
        return None

    def last(self, low: Edge, high: Edge) -> float | None:
        for step, decimals in _steps_at(high[0]):
            if (found := _last_step(low, high, step, decimals)) is not None:
                return found
        return None


class Shares:
    """Whole hundredths, and where none of them fits, round numbers."""

    __slots__ = ()

    def first(self, low: Edge, high: Edge) -> float | None:
        whole = _first_step(low, high, 1, 2)
        return RoundNumbers().first(low, high) if whole is None else whole

    def last(self, low: Edge, high: Edge) -> float | None:
        whole = _last_step(low, high, 1, 2)
        return RoundNumbers().last(low, high) if whole is None else whole


def _steps_at(number: float) -> Iterator[tuple[int, int]]:
    """Yield steps, each a whole number of units of its last decimal, the coarsest first."""
    decimals = 2 - math.floor(math.log10(abs(number))) if number else 2
    decimals = min(decimals, _DECIMALS_MAX)
    yield 5, decimals
    for finer in range(_FINER_MAX):
        yield 1, decimals + finer


def _first_step(low: Edge, high: Edge, step: int, decimals: int) -> float | None:
    # Dividing by the step only guesses the multiple: comparing with the edge decides.
    multiple = math.floor(_units(low[0], decimals) / step)
    while (number := _number(multiple * step, decimals), _ON) < low:
        multiple += 1
    return number if (number, _ON) < high else None


def _last_step(low: Edge, high: Edge, step: int, decimals: int) -> float | None:
    multiple = math.ceil(_units(high[0], decimals) / step)
    while (number := _number(multiple * step, decimals), _ON) > high:
        multiple -= 1
    return number if (number, _ON) > low else None


def _units(number: float, decimals: int) -> float:
    return number * _ten_to(decimals) if decimals >= 0 else number / _ten_to(-decimals)


def _number(units: int, decimals: int) -> float:
    # One division, rounded once: this is the double that a person's decimal stands for.
    return units / _ten_to(decimals) if decimals >= 0 else float(units * _ten_to(-decimals))


def _ten_to(power: int) -> int:
    return int(10**power)


def turn_of(holds: Callable[[float], bool], start: float, end: float) -> Iterator[Edge]:
    """Yield the edge at which a condition that moves one way turns, if it does, to the last bit."""
    before = holds(start)
    if holds(end) is before:
        return
    near, far = start, end
    while (middle := near + (far - near) / 2.0) not in {near, far}:
        if holds(middle) is before:
            near = middle
        else:
            far = middle
    yield below(far) if far > start else above(far)


_BEFORE_ALL: Final = below(-math.inf)
_AFTER_ALL: Final = above(math.inf)


class Pieces:
    """The pieces of a field between edges that are known before any application.

    Piece n ends at edge n. The first edge lies before all numbers and the last one after them, so
    every number is in a piece, and the first piece is number 1.
    """

    __slots__ = ("_edges", "_firsts", "_lasts", "_ruler")

    def __init__(self, ruler: Ruler, edges: Iterable[Edge]) -> None:
        inner = sorted({edge for edge in edges if math.isfinite(edge[0])})
        self._ruler = ruler
        self._edges = [_BEFORE_ALL, *inner, _AFTER_ALL]
        # A piece without a beginning has no first value, and one without an end has no last.
        begun, ended = pairwise(self._edges[1:]), pairwise(self._edges[:-1])
        self._firsts = [None, None, *(ruler.first(*piece) for piece in begun)]
        self._lasts = [None, *(ruler.last(*piece) for piece in ended), None]

    @property
    def ends(self) -> set[float]:
        """Give the real values at the ends of all pieces."""
        return {number for number in (*self._firsts, *self._lasts) if number is not None}

    def nearest(self, value: float, low: Edge, high: Edge, more: Sequence[Edge]) -> list[float]:
        """Give the nearest real value of each piece that can be reached, but for the value's own.

        `low` and `high` bound what can be reached; `more` are edges that this applicant adds.
        """
        added = [edge for edge in more if low < edge < high and math.isfinite(edge[0])]
        if added:
            return self._split_at(added).nearest(value, low, high, ())
        edges, firsts, lasts = self._edges, self._firsts, self._lasts
        start = bisect_left(edges, low, 1)
        own = bisect_left(edges, on(value), 1)
        end = bisect_left(edges, high, 1)
        found = firsts[own + 1 : end] + lasts[start + 1 : own]
        # The outermost pieces end where the reach does.
        if end > own:
            found.append(self._first_before(high, end))
        if own > start:
            found.append(self._last_after(low, start))
        return [number for number in found if number is not None]

    def ends_within(self, low: Edge, high: Edge, more: Sequence[Edge]) -> list[tuple[float, float]]:
        """Give the first and the last real value of each piece between two edges, in their order.

        A piece that no number bounds has no last value, and is left out.
        """
        inner = sorted({edge for edge in (*self._edges, *more) if low < edge < high})
        found = [
            (self._ruler.first(*piece), self._ruler.last(*piece))
            for piece in pairwise((low, *inner, high))
            if math.isfinite(piece[0][0]) and math.isfinite(piece[1][0])
        ]
        return [(first, last) for first, last in found if first is not None and last is not None]

    def _first_before(self, high: Edge, piece: int) -> float | None:
        """Give the first real value of a piece that is cut off at `high`."""
        first = self._firsts[piece]
        # What is first in the whole piece is first in the part, if it is there. No value is so
        # round that it fits into the part only.
        if first is None or on(first) < high:
            return first
        return self._ruler.first(self._edges[piece - 1], high)

    def _last_after(self, low: Edge, piece: int) -> float | None:
        """Give the last real value of a piece that begins at `low` only."""
        last = self._lasts[piece]
        if last is None or on(last) > low:
            return last
        return self._ruler.last(low, self._edges[piece])

    def _split_at(self, added: Iterable[Edge]) -> Pieces:
        """Give the pieces between more edges; only those that are split are looked at again."""
        split = Pieces(self._ruler, ())
        split._edges, split._firsts, split._lasts = (
            self._edges.copy(),
            self._firsts.copy(),
            self._lasts.copy(),
        )
        for edge in added:
            split._split(edge)
        return split

    def _split(self, edge: Edge) -> None:
        edges, ruler = self._edges, self._ruler
        piece = bisect_left(edges, edge, 1)
        if edges[piece] == edge:
            return
        low, high = edges[piece - 1], edges[piece]
        before = None if piece == 1 else self._first_before(edge, piece)
        after = None if high == _AFTER_ALL else self._last_after(edge, piece)
        self._firsts[piece : piece + 1] = before, ruler.first(edge, high)
        self._lasts[piece : piece + 1] = ruler.last(low, edge), after
        edges.insert(piece, edge)


# -------------------------------------------------------------------------------------------- costs
#
# A change costs the share of the population it crosses, by its effort: from 10 % of the wallets
# below oneself to 35 % below is a cost of 0.25 at an effort of 1. Those are counted who gave the
# field in training; within a band they are taken to be spread evenly. A field without a table (one
# that only the policy reads) has no population. There the change is taken as a share of the larger
# of the two values: to halve or to double it costs 0.5, to be rid of it 1.
#
# Each change costs a little more than that, however small it is: one thing to see to is less
# trouble than three. Costs are whole millionths, so that sums are exact and ties are ties on every
# machine.


MILLIONTHS: Final = 1_000_000

TROUBLE: Final = 20_000
"""Of each change, in millionths: as much as to pass one in fifty at an effort of 1."""


class Ladder:
    """Where a value stands among those of the training population."""

    __slots__ = ("_ends", "_shares", "_starts", "_up_to", "cuts")

    def __init__(self, feature: Feature, cuts: tuple[float, ...], factor: float) -> None:
        """Lay out a feature of numbers; `cuts` are in the caller's currency, as `factor` makes."""
        given = sum(feature.shares[1:]) or 1.0
        self.cuts = cuts
        self._shares = [share / given for share in feature.shares[1:]]
        self._up_to = [0.0, *accumulate(self._shares)]
        lowest, highest = feature.lowest, feature.highest
        first, last = (cuts[0], cuts[-1]) if cuts else (0.0, 0.0)
        self._starts = (first if lowest is None else lowest * factor, *cuts)
        self._ends = (*cuts, last if highest is None else highest * factor)

    def share_below(self, value: float) -> float:
        """Give the share of those who gave the field that stand below a value."""
        band = bisect_right(self.cuts, value)
        start, end = self._starts[band], self._ends[band]
        within = min(max((value - start) / (end - start), 0.0), 1.0) if end > start else 0.0
        return self._up_to[band] + self._shares[band] * within


def change_costs(
    ladder: Ladder | None, effort: float, old: float, new: Sequence[float]
) -> list[int]:
    """Give the cost of a change to each of some values in millionths."""
    if ladder is not None:
        shares = [ladder.share_below(value) for value in new]
        return costs_to(shares, ladder.share_below(old), effort)
    crossed = [min(abs(value - old) / max(abs(value), abs(old)), 1.0) for value in new]
    return costs_to(crossed, 0.0, effort)


def costs_to(shares: Sequence[float], here: float, effort: float) -> list[int]:
    """Give the cost of a change from where a share stands below to where these shares do."""
    return [round(abs(share - here) * effort * MILLIONTHS) + TROUBLE for share in shares]
