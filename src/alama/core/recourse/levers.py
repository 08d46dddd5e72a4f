"""One field that applicants can change, laid out for a card and a policy.

Most values that an applicant is shown begin or end a piece that is known beforehand. What the card
makes of those is looked up; the few others are worked out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from alama.core.catalogue import Kind
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.ready_policy import OUTFLOW
from alama.core.recourse import turning
from alama.core.recourse.cost import change_costs, costs_to
from alama.core.recourse.meeting import Span
from alama.core.recourse.moves import Lever, reach
from alama.core.recourse.values import Listed, Pieces, RoundNumbers, Shares, Steps, above, below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.application import Value
    from alama.core.catalogue import Field
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.recourse.card import ReadyCard
    from alama.core.recourse.turning import Turns
    from alama.core.recourse.values import Edge, Ruler
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
        """Lay out the pieces between all edges that do not depend on the application."""
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
