"""One application through a scorecard: points and exact Shapley values, in microseconds.

Plain Python on purpose: for one row, `bisect` on twenty cuts beats every vectorised way.
"""

from __future__ import annotations

from bisect import bisect_right
from math import inf
from typing import TYPE_CHECKING

import msgspec

from alama.core.application import Value, fold
from alama.core.tables import MISSING, Card, Feature, Pair
from alama.core.units import Points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.catalogue import Catalogue


_Cell = tuple[float, tuple[tuple[int, tuple[float, ...]], ...]]
"""What one slot of a feature stands for: its points alone, and for each pair with an earlier
feature the place of that feature and the halves by its slot."""


class Scored(msgspec.Struct, frozen=True, gc=False):
    """The points of one application before rounding, and what each feature gave to them.

    `points` is exactly `base` plus the sum of `contributions`, whose order is the scorecard's.
    """

    points: Points
    base: float
    contributions: list[float]
    slots: list[int]


class Scorecard:
    """A card made ready for one catalogue and one currency."""

    __slots__ = ("_readers", "base", "card", "fields", "places")

    def __init__(self, card: Card, catalogue: Catalogue, money_factor: float = 1.0) -> None:
        """Lay the tables out for look-up; `money_factor` turns the card's money into the caller's.

        All that a slot decides by itself is brought together here, once, so that one pass over the
        features is enough. A band is found by where it starts, the first of them at minus infinity:
        so they are counted from 1, slot 0 being that of a missing value.
        """
        self.card = card
        self.base = card.base
        self.fields = tuple(feature.field for feature in card.features)
        self.places = tuple(catalogue.position[name] for name in self.fields)
        self._readers = tuple(
            (
                self.places[place],
                (-inf, *cuts_in(feature, catalogue, money_factor)),
                word_slots(feature),
                _last(feature),
                _cells(card, place),
            )
            for place, feature in enumerate(card.features)
        )

    def score(self, values: Sequence[Value]) -> Scored:
        """Score values in the order of the catalogue."""
        slots: list[int] = []
        contributions: list[float] = []
        for place, starts, words, other, cells in self._readers:
            value = values[place]
            if value is None:
                slot = MISSING
            elif words is None:
                slot = bisect_right(starts, value)
            else:
                # Most callers send words as training met them; only the others pay for folding.
                slot = words.get(value) or words.get(fold(value), other)  # type: ignore[arg-type]
            slots.append(slot)
            contribution, pairs = cells[slot]
            for earlier, halves in pairs:
                half = halves[slots[earlier]]
                contribution += half
                contributions[earlier] += half
            contributions.append(contribution)
        return Scored(Points(self.base + sum(contributions)), self.base, contributions, slots)


def cuts_in(feature: Feature, catalogue: Catalogue, money_factor: float) -> tuple[float, ...]:
    """Give the cuts in the caller's currency."""
    if catalogue.field(feature.field).money:
        return tuple(cut * money_factor for cut in feature.cuts)
    return feature.cuts


def money_in(feature: Feature, catalogue: Catalogue, money_factor: float) -> float:
    """Give what a value of the feature is multiplied by to stand in the caller's currency."""
    return money_factor if catalogue.field(feature.field).money else 1.0


def word_slots(feature: Feature) -> Mapping[str, int] | None:
    """Map each known word to its slot; None for a feature of numbers."""
    if not feature.words:
        return None
    return {word: slot for slot, group in enumerate(feature.words, start=1) for word in group}


def _last(feature: Feature) -> int:
    return len(feature.main) - 1


def _cells(card: Card, place: int) -> tuple[_Cell, ...]:
    """Lay out what a feature gives by its slot, and in pairs with the features before it."""
    earlier = [pair for pair in card.pairs if pair.second == place]
    return tuple(
        (points, tuple((pair.first, _halves(pair, slot)) for pair in earlier))
        for slot, points in enumerate(card.features[place].main)
    )


def _halves(pair: Pair, second_slot: int) -> tuple[float, ...]:
    return tuple(pair.half(first_slot, second_slot) for first_slot in range(len(pair.rows)))
