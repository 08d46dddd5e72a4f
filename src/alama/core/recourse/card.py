"""One card laid out for recourse: its tables as options, its features among the population."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.lending.policy import Rule
from alama.core.lending.ready_policy import booking_asked_for, known_ranges
from alama.core.model import money_factor
from alama.core.recourse.additive import Options, booking_of, joined, points_of, strangeness_of
from alama.core.recourse.cost import Ladder
from alama.core.recourse.gates import OPEN, SHUT, Condition, Need
from alama.core.recourse.lending import ReadyLending
from alama.core.recourse.values import above, below
from alama.core.scorecard import cuts_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.core.application import Value
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.recourse.additive import Places
    from alama.core.recourse.moves import Moves
    from alama.core.recourse.values import Edge
    from alama.core.scorecard import Scorecard

UNLIKE_SHARE: Final = 0.001
"""What is too strange where the policy does not say: stranger than all but one in a thousand."""

_ANYTHING: Final = (-math.inf, math.inf)


class ReadyCard:
    """One card: its tables as options, and where its features stand among the population.

    `sums` are its points; where it knows a likeness, also the surprise and its variance; where the
    policy looks at who was booked, the log-odds of that come last. `known` is for each place the
    range that the policy holds for known from training and from what was booked, `ranges` the
    conditions that values do not leave it.
    """

    __slots__ = (
        "_feature_of",
        "_first_bands",
        "_ladders",
        "booking",
        "known",
        "lending",
        "likeness",
        "options",
        "ranges",
        "scorecard",
        "strangeness_max",
        "sums",
    )

    def __init__(self, scorecard: Scorecard, policy: ReadyPolicy) -> None:
        model, asked = policy.model, policy.policy.sufficiency
        self.scorecard = scorecard
        self.options = Options(scorecard.card)
        self.sums = points_of(scorecard.card, self.options)
        self.lending = ReadyLending(scorecard, policy)
        self.likeness = model.likeness_of(scorecard)
        self.strangeness_max = math.inf
        if self.likeness is not None:
            share = UNLIKE_SHARE if asked.unlike_share is None else asked.unlike_share
            self.strangeness_max = self.likeness.limit(share)
            parts = strangeness_of(self.likeness.likeness, self.options)
            self.sums = joined(self.sums, *parts)
        self.booking = booking_asked_for(asked, scorecard, model)
        booked: Mapping[int, tuple[float, float]] = {}
        if self.booking is not None:
            booked = self.booking.ends
            self.sums = joined(self.sums, booking_of(self.booking.booking, self.options))
        self._feature_of = {place: n for n, place in enumerate(scorecard.places)}
        self._ladders: dict[int, Ladder] = {}
        # The slots of a feature are its missing value and then its bands.
        self._first_bands = {
            place: int(start) + 1
            for place, start in zip(scorecard.places, self.options.starts[:-1], strict=True)
        }
        trained = known_ranges(asked.outside_times, scorecard, model)
        self.known = {
            place: _both(ends, booked.get(place, _ANYTHING)) for place, ends in trained.items()
        }
        self.ranges = tuple(
            _within(rule, place, *ends)
            for rule, ranges in (
                (Rule.VALUE_OUTSIDE_TRAINING, trained),
                (Rule.SELDOM_BOOKED, booked),
            )
            for place, ends in ranges.items()
        )
        money = money_factor(model.model, model.currency)
        for place, feature in zip(scorecard.places, scorecard.card.features, strict=True):
            field = model.catalogue.fields[place]
            if field.numeric:
                factor = money if field.money else 1.0
                cuts = cuts_in(feature, model.catalogue, money)
                self._ladders[place] = Ladder(feature, cuts, factor)

    def standing(self, slots: Sequence[int]) -> Places:
        """Give the options of all features as they stand."""
        return self.options.starts[:-1] + np.array(slots, dtype=np.intp)

    def slots_after(self, slots: Sequence[int], moves: Moves, chosen: Sequence[int]) -> list[int]:
        """Give the slots of all features after some moves, from those as they stand."""
        after = list(slots)
        for move in chosen:
            feature = self._feature_of.get(moves.place_of(move))
            if feature is not None:
                after[feature] = int(moves.after[move] - self.options.starts[feature])
        return after

    def ladder(self, place: int) -> Ladder | None:
        return self._ladders.get(place)

    def option(self, place: int, value: float) -> int:
        """Give the option of a number; that of no feature where the card does not read it."""
        ladder = self._ladders.get(place)
        if ladder is None:
            return self.options.nothing
        return self._first_bands[place] + bisect_right(ladder.cuts, value)

    def kept_inside(self, place: int, value: float, low: Edge, high: Edge) -> tuple[Edge, Edge]:
        """Give the ends of a reach without what lies outside training where the value does not."""
        least, most = self.known.get(place, _ANYTHING)
        return (
            max(low, below(least)) if value >= least else low,
            min(high, above(most)) if value <= most else high,
        )

    def edges(self, place: int) -> Iterator[Edge]:
        """Yield where the card starts another band, and where training saw no more."""
        if place in self._ladders:
            yield from map(below, self._ladders[place].cuts)
            low, high = self.known[place]
            yield below(low)
            yield above(high)


def _both(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return max(one[0], other[0]), min(one[1], other[1])


def _within(rule: Rule, place: int, low: float, high: float) -> Condition:
    def need(values: Sequence[Value]) -> Need:
        value = values[place]
        return OPEN if value is None or low <= value <= high else SHUT  # type: ignore[operator]

    return Condition(rule.value, frozenset([place]), need)
