"""What several changes at once do to a sum of tables, and what one applicant could change.

Points add up over fields and pairs of fields, and so do both sums that strangeness is made of, and
the log-odds of being booked. Then

    sum after = sum before + the gain of each change + the extra of each two of them

whatever else stays. So with one vector of gains and one matrix of extras every set of changes is a
few additions away, and all of them can be had at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from alama.core.catalogue import Field, Use, Way
from alama.core.recourse.values import Edge, above, below, on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Value
    from alama.core.booking import Booking
    from alama.core.likeness import Likeness
    from alama.core.tables import Card


Floats = NDArray[np.float64]
Places = NDArray[np.intp]
SIZE_MAX: Final = 3
"""The most fields that a person is told to change: nobody acts on more."""


@dataclass(frozen=True, slots=True)
class Additive:
    """Some sums of tables over *options*: all slots of all features of a card, one after another.

    `alone` is what an option gives by itself, `together` what two options give as a pair; two of
    the same feature give nothing together. The last option is of no feature, and gives nothing.
    The first axis of both is the number of the sum.
    """

    alone: Floats
    together: Floats

    def totals(self, standing: Places) -> list[float]:
        """Give each sum over the options of all features as they stand."""
        # Each two of them are met from either side.
        pairs = self._pairs(standing, standing).sum(axis=(1, 2)) / 2.0
        totals: list[float] = (self.alone[:, standing].sum(axis=1) + pairs).tolist()
        return totals

    def effects(self, standing: Places, moves: Moves) -> list[Effects]:
        """Give what each move does to each sum; `standing` are the options as they stand."""
        after, stood, lever_of = moves.after, moves.stood, moves.lever_of
        worth = self.alone + self._beside(standing)
        gains = worth.take(after, axis=1) - worth.take(stood.take(lever_of), axis=1)
        # The extra of two moves is what both options give together, less what each gives beside
        # where the other stood, and what both gave where they stood. Half of the last is taken off
        # either of the two before, so that only small tables are looked up.
        crossed = self._pairs(after, stood)
        crossed -= self._pairs(stood, stood).take(lever_of, axis=1) / 2.0
        crossed = crossed.take(lever_of, axis=2)
        extras = self._pairs(after, after)
        extras -= crossed
        extras -= crossed.transpose(0, 2, 1)
        return [Effects(*one) for one in zip(gains, extras, strict=True)]

    def _beside(self, standing: Places) -> Floats:
        """Give what each option gives together with all others as they stand."""
        return np.asarray(self.together.take(standing, axis=1).sum(axis=1))

    def _pairs(self, rows: Places, columns: Places) -> Floats:
        sums, count, _ = self.together.shape
        cells = rows[:, None] * count + columns
        return np.asarray(self.together.reshape(sums, -1).take(cells, axis=1))


@dataclass(frozen=True, slots=True)
class Effects:
    """The gain of each change, and the extra of each two."""

    gains: Floats
    extras: Floats

    def of(self, changes: Sequence[Places]) -> Floats:
        """Give the gains of sets of changes: one array for the first of each set, and so on."""
        total = self.gains[changes[0]].copy()
        for rank, one in enumerate(changes[1:], start=1):
            total += self.gains[one]
            for other in changes[:rank]:
                total += self.extras[other, one]
        return total


class Options:
    """The numbering of options for one card."""

    __slots__ = ("count", "nothing", "starts")

    def __init__(self, card: Card) -> None:
        sizes = [len(feature.main) for feature in card.features]
        self.starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
        self.nothing = int(self.starts[-1])
        self.count = self.nothing + 1

    def block(self, feature: int) -> slice:
        return slice(int(self.starts[feature]), int(self.starts[feature + 1]))

    def empty(self) -> Additive:
        return Additive(np.zeros((1, self.count)), np.zeros((1, self.count, self.count)))


def points_of(card: Card, options: Options) -> Additive:
    """Lay out the points of a card."""
    points = options.empty()
    (alone,), (together,) = points.alone, points.together
    for place, feature in enumerate(card.features):
        alone[options.block(place)] = feature.main
    for pair in card.pairs:
        first, second = options.block(pair.first), options.block(pair.second)
        table = 2.0 * np.array(pair.halves)[np.ix_(pair.rows, pair.columns)]
        together[first, second] += table
        together[second, first] += table.T
    return points


def strangeness_of(likeness: Likeness, options: Options) -> tuple[Additive, Additive]:
    """Lay out the sums of centred surprise and of variance, whose ratio strangeness is."""
    surprise, variance = options.empty(), options.empty()
    for place, branch in enumerate(likeness.branches):
        # A line for each group of the parent, a column for each group of the field, missing first.
        centred = np.array(
            [[0.0, *(s - beside.expected for s in beside.surprises)] for beside in branch.beside]
        )
        spread = np.array(
            [[0.0, *(beside.variance for _ in beside.surprises)] for beside in branch.beside]
        )
        own, groups = options.block(place), np.array(branch.groups)
        for table, lines in ((surprise, centred), (variance, spread)):
            if branch.parent is None:
                table.alone[0, own] = lines[0, groups]
            else:
                other = options.block(branch.parent)
                cells = lines[np.array(likeness.branches[branch.parent].groups)][:, groups]
                table.together[0, other, own] += cells
                table.together[0, own, other] += cells.T
    return surprise, variance


def booking_of(booking: Booking, options: Options) -> Additive:
    """Lay out the log-odds of being booked, but for their base."""
    log_odds = options.empty()
    for place, field in enumerate(booking.fields):
        log_odds.alone[0, options.block(place)] = field.log_odds
    return log_odds


def joined(*sums: Additive) -> Additive:
    """Give several sums as one, so that all their cells are looked up at once."""
    return Additive(
        np.concatenate([one.alone for one in sums]), np.concatenate([one.together for one in sums])
    )


# ------------------------------------------------------------------ what one applicant could change


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
