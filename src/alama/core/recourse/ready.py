"""Recourse laid out for one model and one policy: all that does not depend on the application."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from alama.core.catalogue import Field, Kind
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.offer import number_at, owed_monthly, room_monthly
from alama.core.lending.policy import CounterOffers, Rule
from alama.core.lending.ready_policy import EXISTING, INFLOW, OUTFLOW, ReadyPolicy, ReadyRule
from alama.core.recourse import turning
from alama.core.recourse.additive import Lever, Moves, is_lever, reach
from alama.core.recourse.card import OPEN, SHUT, Condition, ReadyCard
from alama.core.recourse.turning import Span, Turns, meet
from alama.core.recourse.values import (
    Edge,
    Listed,
    Pieces,
    RoundNumbers,
    Ruler,
    Shares,
    Steps,
    above,
    below,
    change_costs,
    costs_to,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from alama.core.application import Value
    from alama.core.recourse.turning import Passes
    from alama.core.scorecard import Scorecard
    from alama.core.units import Points


_Stop = tuple[float, int, float]
"""A value of a field as it is told, its option, and the share of the population below it."""


class ReadyLever:
    """A field that can be changed, for the applicants who are scored by one card."""

    __slots__ = (
        "_card",
        "_effort",
        "_field",
        "_ladder",
        "_moves_money",
        "_outflow_place",
        "_pieces",
        "_place",
        "_policy",
        "_stops",
        "_turns",
    )

    def __init__(self, card: ReadyCard, place: int, policy: ReadyPolicy, turns: Turns) -> None:
        catalogue = policy.model.catalogue
        self._card = card
        self._place = place
        self._policy = policy
        self._turns = turns
        self._field = field = catalogue.fields[place]
        assert field.change is not None
        self._effort = field.change.effort
        self._ladder = card.ladder(place)
        self._outflow_place = catalogue.position.get(OUTFLOW)
        self._moves_money = place in {
            policy.inflow_place,
            policy.existing_place,
            self._outflow_place,
        }
        self._pieces = Pieces(_ruler(field, policy), self._fixed_edges())
        self._stops = {number: self._stop(number) for number in self._pieces.ends}

    def _fixed_edges(self) -> Iterator[Edge]:
        yield from self._card.edges(self._place)
        yield from self._turns.constants(self._field.name)
        if self._field.name == TERM:
            # Each term on offer is a loan of its own.
            for days in self._policy.terms_days:
                yield below(days)
                yield above(days)

    def _stop(self, number: float) -> _Stop:
        share = 0.0 if self._ladder is None else self._ladder.share_below(number)
        value = int(number) if self._field.kind is Kind.INTEGER else float(number)
        return value, self._card.option(self._place, number), share

    def span(self, values: Sequence[Value], points: Points) -> Span:
        """Give what the field of one applicant can become.

        The values are those with the loan that is asked for; `points` are theirs.
        """
        policy, place = self._policy, self._place
        value = turning.given(values, place)
        assert value is not None
        low, high = self._card.kept_inside(place, value, *reach(self._field, value))
        edges = (
            *self._turns.relative(values, self._field.name, place, (low[0], high[0])),
            *self._edges_of_money(values, points),
        )
        span = Span(place, value, low, high, self._pieces, edges)
        moves_room = place in {policy.inflow_place, policy.existing_place}
        if moves_room and turning.may_lack_room(policy, values, points):
            lent = turning.lending_edges(policy, self._card.scorecard, values, span)
            span = replace(span, edges=(*edges, *lent))
        return span

    def of(self, span: Span, numbers: Sequence[float]) -> Lever:
        """Give the lever of one applicant, with the values that are worth looking at."""
        value, known = span.value, self._stops
        stops = [known.get(number) or self._stop(number) for number in numbers]
        priced = sorted(zip(self._costs(value, stops), stops, strict=True))
        return Lever(
            self._place,
            tuple([new for _, (new, _, _) in priced]),
            tuple([cost for cost, _ in priced]),
            self._card.option(self._place, value),
            tuple([option for _, (_, option, _) in priced]),
        )

    def _costs(self, value: float, stops: Sequence[_Stop]) -> list[int]:
        if self._ladder is None:
            return change_costs(None, self._effort, value, [new for new, _, _ in stops])
        here = self._ladder.share_below(value)
        return costs_to([share for _, _, share in stops], here, self._effort)

    def _edges_of_money(self, values: Sequence[Value], points: Points) -> Iterator[Edge]:
        if not self._moves_money:
            return
        policy, place = self._policy, self._place
        yield from turning.spending_edges(policy, values, place, self._outflow_place)
        if place == policy.inflow_place:
            yield from turning.inflow_edges(policy, values, points)
        elif place == policy.existing_place:
            yield from turning.existing_edges(policy, values, points)


def _ruler(field: Field, policy: ReadyPolicy) -> Ruler:
    if field.name == TERM:
        return Listed(policy.terms_days)
    if field.name == AMOUNT:
        return Steps(policy.limit_step)
    if field.kind is Kind.INTEGER:
        return Steps(1)
    return Shares() if (field.minimum, field.maximum) == (0, 1) else RoundNumbers()


class ReadyRecourse:
    """Recourse for the applicants of one policy, which is laid out for its model."""

    __slots__ = (
        "_approves_others",
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
        catalogue = policy.model.catalogue
        self.policy = policy
        self._approving = turning.approving(policy)
        self._approves_others = policy.counter_offers is CounterOffers.APPROVE
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
        position = self.policy.catalogue.position
        deciding = {rule.objection.code: rule for rule in self.policy.rules}
        for own, names in zip(self.policy.policy.rules, self._turns.fields_read, strict=True):
            # One that bounds the limit alone objects to nobody, and where another loan is approved
            # in place of the one asked for, none that speaks of loans has the last word.
            rule = deciding.get(own.name)
            if rule and not (self._approves_others and rule.reads_loan):
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
        loan = {self.policy.amount_place, self.policy.term_place}
        yield from (
            condition
            for condition in card.ranges
            if condition.need(values) == SHUT
            and not (self._approves_others and condition.places <= loan)
        )

    def _room_need(self, values: Sequence[Value]) -> float:
        """Give where the worst approved tier begins whose share of the inflow carries a loan."""
        policy = self.policy
        inflow = number_at(values, policy.inflow_place)
        owed = owed_monthly(policy, values, inflow)
        for tier in reversed(self._approving):
            if turning.carries_a_loan(policy, room_monthly(tier, inflow, owed), inflow):
                is_any = self._approves_others or tier is policy.tiers[-1]
                return OPEN if is_any else tier.score_min
        return SHUT


def _need_of(passes: Passes) -> Callable[[Sequence[Value]], float]:
    return lambda values: OPEN if passes(values) else SHUT


def _rule_need(rule: ReadyRule) -> Callable[[Sequence[Value]], float]:
    return lambda values: SHUT if rule.fires(values) else OPEN
