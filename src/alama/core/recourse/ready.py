"""Recourse laid out for one model and one policy: all that does not depend on the application."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.catalogue import Kind
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.offer import owed_monthly, room_monthly
from alama.core.lending.policy import Rule
from alama.core.lending.ready_policy import EXISTING, INFLOW, OUTFLOW, known_ranges
from alama.core.model import money_factor
from alama.core.recourse import turning
from alama.core.recourse.additive import Options, joined, points_of, strangeness_of
from alama.core.recourse.cost import Ladder, change_costs
from alama.core.recourse.gates import OPEN, SHUT, Condition
from alama.core.recourse.lending import ReadyLending
from alama.core.recourse.moves import Lever, Moves, is_lever, reach
from alama.core.recourse.values import Listed, Pieces, RoundNumbers, Steps, above, below
from alama.core.scorecard import cuts_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from alama.core.application import Value
    from alama.core.catalogue import Field
    from alama.core.lending.ready_policy import ReadyPolicy, ReadyRule
    from alama.core.recourse.additive import Places
    from alama.core.recourse.values import Edge, Ruler
    from alama.core.scorecard import Scorecard
    from alama.core.units import Points

UNLIKE_SHARE: Final = 0.001
"""What is too strange where the policy does not say: stranger than all but one in a thousand."""


class ReadyCard:
    """One card: its tables as options, and where its features stand among the population.

    `sums` are its points; where it knows a likeness, also the surprise and its variance. `known` is
    for each place the range that the policy holds for known from training.
    """

    __slots__ = (
        "_feature_of",
        "_ladders",
        "known",
        "lending",
        "likeness",
        "options",
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
        self._feature_of = {place: n for n, place in enumerate(scorecard.places)}
        self._ladders: dict[int, Ladder] = {}
        self.known = known_ranges(asked.outside_times, scorecard, model)
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

    def ladder(self, place: int) -> Ladder | None:
        return self._ladders.get(place)

    def option(self, place: int, value: float) -> int:
        """Give the option of a number; that of no feature where the card does not read it."""
        ladder = self._ladders.get(place)
        if ladder is None:
            return self.options.nothing
        slot = bisect_right(ladder.cuts, value) + 1
        return int(self.options.starts[self._feature_of[place]]) + slot

    def kept_inside(self, place: int, value: float, low: Edge, high: Edge) -> tuple[Edge, Edge]:
        """Give the ends of a reach without what lies outside training where the value does not."""
        least, most = self.known.get(place, (-math.inf, math.inf))
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


class ReadyRecourse:
    """Recourse for the applicants of one policy, which is laid out for its model."""

    __slots__ = (
        "_approving",
        "_cards",
        "_conditions",
        "_outflow_place",
        "_pieces",
        "_places",
        "_turns",
        "policy",
    )

    def __init__(self, policy: ReadyPolicy) -> None:
        """Lay out every card, and all edges that do not depend on the application."""
        catalogue = policy.model.catalogue
        self.policy = policy
        self._approving = turning.approving(policy)
        self._outflow_place = catalogue.position.get(OUTFLOW)
        self._turns = turning.Turns(policy)
        self._cards = {
            scorecard.card.name: ReadyCard(scorecard, policy)
            for scorecard in policy.model.scorecards
        }
        self._places = tuple(n for n, field in enumerate(catalogue.fields) if is_lever(field))
        self._pieces = {
            (name, place): Pieces(
                _ruler(catalogue.fields[place], policy), self._fixed_edges(card, place)
            )
            for name, card in self._cards.items()
            for place in self._places
        }
        self._conditions = tuple(self._needed_of_all())

    def card(self, scorecard: Scorecard) -> ReadyCard:
        return self._cards[scorecard.card.name]

    def _fixed_edges(self, card: ReadyCard, place: int) -> Iterator[Edge]:
        name = self.policy.model.catalogue.fields[place].name
        yield from card.edges(place)
        yield from self._turns.constants(name)
        if name == TERM:
            # Each term on offer is a loan of its own.
            for days in self.policy.terms_days:
                yield below(days)
                yield above(days)

    # ------------------------------------------------------------------------- what can change

    def moves(
        self, card: ReadyCard, values: Sequence[Value], movable: Collection[int], points: Points
    ) -> Moves:
        """Give what can be changed of the fields at these places, as things stand.

        The values are those with the loan that is asked for; `points` are theirs.
        """
        levers = (self._lever(card, values, place, points) for place in sorted(movable))
        return Moves([lever for lever in levers if lever.values])

    def movable(self, given: Sequence[Value]) -> list[int]:
        """Give the places of what was given and can be changed."""
        return [place for place in self._places if given[place] is not None]

    def _lever(self, card: ReadyCard, values: Sequence[Value], place: int, points: Points) -> Lever:
        field = self.policy.model.catalogue.fields[place]
        value = turning.given(values, place)
        assert value is not None
        assert field.change is not None
        low, high = card.kept_inside(place, value, *reach(field, value))
        more = [
            *self._turns.relative(values, field.name, place, (low[0], high[0])),
            *self._edges_of_money(values, place, points),
        ]
        pieces = self._pieces[card.scorecard.card.name, place]
        numbers = pieces.nearest(value, low, high, more)
        costs = change_costs(card.ladder(place), field.change.effort, value, numbers)
        priced = sorted(zip(costs, numbers, strict=True))
        make = int if field.kind is Kind.INTEGER else float
        return Lever(
            place,
            tuple(make(new) for _, new in priced),
            tuple(cost for cost, _ in priced),
            card.option(place, value),
            tuple(card.option(place, new) for _, new in priced),
        )

    def _edges_of_money(
        self, values: Sequence[Value], place: int, points: Points
    ) -> Iterator[Edge]:
        policy = self.policy
        yield from turning.spending_edges(policy, values, place, self._outflow_place)
        if place == policy.inflow_place:
            yield from turning.inflow_edges(policy, values, points)
        elif place == policy.existing_place:
            yield from turning.existing_edges(policy, values, points)

    # ------------------------------------------------------------------------- what is needed

    def _needed_of_all(self) -> Iterator[Condition]:
        """Yield what an approval needs beside the score of its tier, whatever the card."""
        position = self.policy.model.catalogue.position
        for rule, names in zip(self.policy.rules, self._turns.fields_read, strict=True):
            places = frozenset(position[name] for name in names)
            yield Condition(rule.objection.code, places, _rule_need(rule))
        money = (position.get(name) for name in (INFLOW, EXISTING))
        places = frozenset(place for place in money if place is not None)
        yield Condition(Rule.UNAFFORDABLE.value, places, self._room_need)
        if self._outflow_place is not None:
            places = frozenset([self._outflow_place, self.policy.inflow_place])
            yield Condition(Rule.OUTFLOW_ABOVE_INFLOW.value, places, self._spending_need)

    def conditions_of(self, card: ReadyCard, values: Sequence[Value]) -> Iterator[Condition]:
        """Yield what an approval needs of everyone, and of those whose values are far outside."""
        yield from self._conditions
        for place, (low, high) in card.known.items():
            need = _range_need(place, low, high)
            # No change leads outside, so those who are inside stay there.
            if need(values) == SHUT:
                code = Rule.VALUE_OUTSIDE_TRAINING.value
                yield Condition(code, frozenset([place]), need)

    def _room_need(self, values: Sequence[Value]) -> float:
        """Give where the worst approved tier begins whose share of the inflow carries a loan."""
        policy = self.policy
        inflow = turning.given(values, policy.inflow_place) or 0.0
        owed = owed_monthly(policy, values, inflow)
        for tier in reversed(self._approving):
            if turning.carries_a_loan(policy, room_monthly(tier, inflow, owed)):
                return OPEN if tier is policy.tiers[-1] else tier.score_min
        return SHUT

    def _spending_need(self, values: Sequence[Value]) -> float:
        ratio = self.policy.policy.affordability.outflow_ratio_max
        outflow = turning.given(values, self._outflow_place)
        inflow = turning.given(values, self.policy.inflow_place)
        if ratio is None or outflow is None or outflow <= ratio * (inflow or 0.0):
            return OPEN
        return SHUT


def _ruler(field: Field, policy: ReadyPolicy) -> Ruler:
    if field.name == TERM:
        return Listed(policy.terms_days)
    if field.name == AMOUNT:
        return Steps(policy.limit_step)
    return Steps(1) if field.kind is Kind.INTEGER else RoundNumbers()


def _rule_need(rule: ReadyRule) -> Callable[[Sequence[Value]], float]:
    return lambda values: SHUT if rule.fires(values) else OPEN


def _range_need(place: int, low: float, high: float) -> Callable[[Sequence[Value]], float]:
    def need(values: Sequence[Value]) -> float:
        value = values[place]
        return OPEN if value is None or low <= value <= high else SHUT  # type: ignore[operator]

    return need
