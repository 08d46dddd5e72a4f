"""Recourse laid out for one model and one policy: all that does not depend on the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core.lending.policy import Rule
from alama.core.lending.ready_policy import EXISTING, INFLOW, OUTFLOW
from alama.core.lending.room import owed_monthly, room_monthly
from alama.core.recourse import turning
from alama.core.recourse.card import ReadyCard
from alama.core.recourse.gates import OPEN, SHUT, Condition
from alama.core.recourse.levers import ReadyLever
from alama.core.recourse.meeting import meet
from alama.core.recourse.moves import Moves, is_lever

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from alama.core.application import Value
    from alama.core.lending.ready_policy import ReadyPolicy, ReadyRule
    from alama.core.recourse.meeting import Passes
    from alama.core.scorecard import Scorecard
    from alama.core.units import Points


class ReadyRecourse:
    """Recourse for the applicants of one policy, which is laid out for its model."""

    __slots__ = (
        "_approving",
        "_cards",
        "_conditions",
        "_levers",
        "_outflow_place",
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
        self._levers = {
            (name, place): ReadyLever(card, place, policy, self._turns)
            for name, card in self._cards.items()
            for place in self._places
        }
        self._conditions = tuple(self._needed_of_all())

    def card(self, scorecard: Scorecard) -> ReadyCard:
        return self._cards[scorecard.card.name]

    # ------------------------------------------------------------------------- what can change

    def moves(
        self, card: ReadyCard, values: Sequence[Value], movable: Collection[int], points: Points
    ) -> Moves:
        """Give what can be changed of the fields at these places, as things stand.

        The values are those with the loan that is asked for; `points` are theirs.
        """
        name = card.scorecard.card.name
        levers = [self._levers[name, place] for place in sorted(movable)]
        spans = [lever.span(values, points) for lever in levers]
        bonds = turning.bonds_of_money(self.policy, values, points, self._outflow_place)
        looked_at = meet((*self._turns.bonds, *bonds), values, spans)
        found = [
            lever.of(span, numbers)
            for lever, span, numbers in zip(levers, spans, looked_at, strict=True)
        ]
        return Moves([lever for lever in found if lever.values])

    def movable(self, given: Sequence[Value]) -> list[int]:
        """Give the places of what was given and can be changed."""
        return [place for place in self._places if given[place] is not None]

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
        ratio = self.policy.policy.affordability.outflow_ratio_max
        if self._outflow_place is not None and ratio is not None:
            inflow_place = self.policy.inflow_place
            places = frozenset([self._outflow_place, inflow_place])
            within = turning.spends_within(ratio, self._outflow_place, inflow_place)
            yield Condition(Rule.OUTFLOW_ABOVE_INFLOW.value, places, _need_of(within))

    def conditions_of(self, card: ReadyCard, values: Sequence[Value]) -> Iterator[Condition]:
        """Yield what an approval needs of everyone, and of those whose values are far outside."""
        yield from self._conditions
        # No change leads outside, so those who are inside stay there.
        yield from (condition for condition in card.ranges if condition.need(values) == SHUT)

    def _room_need(self, values: Sequence[Value]) -> float:
        """Give where the worst approved tier begins whose share of the inflow carries a loan."""
        policy = self.policy
        inflow = turning.given(values, policy.inflow_place) or 0.0
        owed = owed_monthly(policy, values, inflow)
        for tier in reversed(self._approving):
            if turning.carries_a_loan(policy, room_monthly(tier, inflow, owed)):
                return OPEN if tier is policy.tiers[-1] else tier.score_min
        return SHUT


def _need_of(passes: Passes) -> Callable[[Sequence[Value]], float]:
    return lambda values: OPEN if passes(values) else SHUT


def _rule_need(rule: ReadyRule) -> Callable[[Sequence[Value]], float]:
    return lambda values: SHUT if rule.fires(values) else OPEN
