"""Where a policy could change its mind as fields move: the edges that it adds to the card's.

- A number that a rule compares the field with, or lists for it. Known before any application.
- Where a comparison of several fields turns, such as `avg_outflow / avg_inflow > 1.3`, the other
  fields being as they stand; how they turn as others move is told by *bonds*. So is
  where spending exceeds what the policy lets pass.
- The ends of what the policy holds for known from training.
- The inflow, or what is due on other loans, at which the smallest loan can just be repaid, and the
  smallest that pays for itself: for each tier that is approved at the probability where the tier
  begins, and at that of today. Also where a loan is first found if nothing else moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Final

from alama.core import calibration
from alama.core.expressions.certainty import Slope, slope_of
from alama.core.expressions.expression import tree_of
from alama.core.expressions.meaning import judge_of
from alama.core.expressions.tree import (
    And,
    Comparison,
    ConditionNode,
    Negative,
    Not,
    Number,
    NumberAmong,
    NumberField,
    NumberNode,
    Or,
    fields_read,
)
from alama.core.lending.offer import find_loan, number_at, owed_monthly, room_monthly
from alama.core.lending.policy import Decision, Rule, Tier
from alama.core.recourse.values import FAR, Edge, Pieces, above, below, on, turn_of
from alama.core.units import Points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from alama.core.application import Value
    from alama.core.catalogue import Catalogue
    from alama.core.lending.pricing import Tariff
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.scorecard import Scorecard

    Passes = Callable[[Sequence[Value]], bool]


UP: Final = 1
DOWN: Final = -1
_OTHER_PRICE: Final = 1.5
"""How much more than expected may fall due on a loan of another amount or term, as a factor."""

NO_LOAN: Final = frozenset(
    {Rule.UNAFFORDABLE.value, Rule.OFFER_BELOW_CUTOFF.value, Rule.BELOW_BREAK_EVEN.value}
)
"""What is said where no loan is to be lent."""


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


# -------------------------------------------------------------------------------------------- rules


class Turns:
    """Where the rules of a policy turn; `fields_read` are the names that each of them reads."""

    __slots__ = ("_constants", "_relations", "bonds", "fields_read")

    def __init__(self, policy: ReadyPolicy) -> None:
        catalogue = policy.catalogue
        trees = [tree_of(rule.when, catalogue) for rule in policy.policy.rules]
        self.fields_read = tuple(map(fields_read, trees))
        leaves = [leaf for tree in trees for leaf in _leaves(tree, against=True)]
        conditions = [leaf for leaf, _ in leaves]
        self._constants: dict[str, list[Edge]] = {}
        for name, number in (found for leaf in conditions for found in _numbers_in(leaf)):
            self._constants.setdefault(name, []).extend((below(number), above(number)))
        self._relations = tuple(
            _Relation(leaf, catalogue)
            for leaf in conditions
            if isinstance(leaf, Comparison) and not list(_numbers_in(leaf))
        )
        bonds = (_bond(leaf, catalogue, against=against) for leaf, against in leaves)
        self.bonds = tuple(bond for bond in bonds if len(bond.ways) > 1)

    def constants(self, name: str) -> Sequence[Edge]:
        """Give the edges at numbers that a field is compared with."""
        return self._constants.get(name, ())

    def relative(
        self, values: Sequence[Value], name: str, place: int, ends: Sequence[float]
    ) -> Iterator[Edge]:
        """Yield where comparisons of several fields turn between a value and either end."""
        for relation in self._relations:
            if name in relation.moves_with:
                for end in ends:
                    yield from relation.turn(values, place, end)


class _Relation:
    """A comparison of several fields; `moves_with` are those that it moves one way with."""

    __slots__ = ("_judge", "moves_with")

    def __init__(self, comparison: Comparison, catalogue: Catalogue) -> None:
        self._judge = judge_of(comparison)
        self.moves_with = frozenset(
            name
            for name in fields_read(comparison)
            if catalogue.field(name).numeric
            and slope_of(comparison, name) in {Slope.RISES, Slope.FALLS}
        )

    def turn(self, values: Sequence[Value], place: int, end: float) -> Iterator[Edge]:
        """Yield the edge at which it turns on the way from the present value to the end."""
        row = list(values)

        def holds(number: float) -> bool:
            row[place] = number
            return self._judge(row) is True

        start = float(values[place] or 0.0)
        yield from turn_of(holds, start, max(min(end, FAR), -FAR))


def _bond(leaf: ConditionNode, catalogue: Catalogue, *, against: bool) -> Bond:
    """Give what has to be so of a leaf; it is against an application where it is `against`."""
    judge = judge_of(leaf)
    slopes = {name: slope_of(leaf, name) for name in fields_read(leaf)}
    helps = {Slope.RISES: DOWN, Slope.FALLS: UP}
    return Bond(
        lambda values: judge(values) is not against,
        {
            catalogue.position[name]: helps[slope] if against else -helps[slope]
            for name, slope in slopes.items()
            if slope in helps and catalogue.field(name).numeric
        },
    )


def _leaves(node: ConditionNode, *, against: bool) -> Iterator[tuple[ConditionNode, bool]]:
    """Yield the conditions that a rule is made of, each with the truth that makes it fire."""
    match node:
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from _leaves(part, against=against)
        case Not(operand=operand):
            yield from _leaves(operand, against=not against)
        case _:
            yield node, against


def _numbers_in(leaf: ConditionNode) -> Iterator[tuple[str, float]]:
    """Yield each number that a condition sets against a field that stands alone."""
    match leaf:
        case NumberAmong(operand=NumberField(field=field), members=members):
            for member in sorted(members):
                yield field.name, member
        case (
            Comparison(left=NumberField(field=field), right=other)
            | Comparison(left=other, right=NumberField(field=field))
        ):
            if (number := _written(other)) is not None:
                yield field.name, number
        case _:
            return


def _written(node: NumberNode) -> float | None:
    match node:
        case Number(value=value):
            return value
        case Negative(operand=Number(value=value)):
            return -value
        case _:
            return None


# ------------------------------------------------------------------------------------ affordability


def approving(policy: ReadyPolicy) -> tuple[Tier, ...]:
    """Give the tiers that are approved, the best first."""
    return tuple(tier for tier in policy.tiers if tier.decision is Decision.APPROVED)


def inflow_edges(policy: ReadyPolicy, values: Sequence[Value], points: Points) -> Iterator[Edge]:
    """Yield the inflows that just carry the smallest loan."""
    for tier, dues in _dues(policy, points):
        if (share := _share_for_loans(policy, tier, values)) > 0.0:
            existing = given(values, policy.existing_place) or 0.0
            carrying = [max((due + existing) / share, t.inflow_min(due)) for t, due in dues]
            yield below(min(carrying))


def existing_edges(policy: ReadyPolicy, values: Sequence[Value], points: Points) -> Iterator[Edge]:
    """Yield what may be due on other loans beside the smallest loan."""
    inflow = number_at(values, policy.inflow_place)
    for tier, dues in _dues(policy, points):
        fitting = [due for tariff, due in dues if inflow >= tariff.inflow_min(due)]
        if fitting:
            yield above(tier.inflow_share * inflow - min(fitting))


def _share_for_loans(policy: ReadyPolicy, tier: Tier, values: Sequence[Value]) -> float:
    """Give the share of a growing inflow that a tier leaves for what falls due."""
    is_said = given(values, policy.existing_place) is not None
    return tier.inflow_share - (0.0 if is_said else policy.existing_share)


def _dues(
    policy: ReadyPolicy, points: Points
) -> Iterator[tuple[Tier, Sequence[tuple[Tariff, float]]]]:
    """Yield for the approved tiers what falls due per 30 days on the smallest loans of each term.

    These are the smallest there is and, where that loses money, the smallest that does not. The
    probabilities are those where the tier begins, and today's.
    """
    now, step = calibration.shown_probability(points), policy.limit_step
    for tier in approving(policy):
        for probability in (calibration.shown_probability(Points(tier.score_min - 0.5)), now):
            yield tier, [(t, t.due_monthly(probability, step)) for t in policy.tariffs]
            paying = [
                (tariff, amount)
                for tariff in policy.tariffs
                if (amount := tariff.amount_min(probability)) <= tier.limit_max
            ]
            if paying and all(amount > step for _, amount in paying):
                yield (
                    tier,
                    [
                        (t, t.due_monthly(probability, math.ceil(a / step) * step))
                        for t, a in paying
                    ],
                )


def spending_edges(
    policy: ReadyPolicy, values: Sequence[Value], place: int, outflow_place: int | None
) -> Iterator[Edge]:
    """Yield where spending begins or ceases to exceed what the policy lets pass."""
    ratio = policy.policy.affordability.outflow_ratio_max
    outflow, inflow = given(values, outflow_place), given(values, policy.inflow_place)
    if ratio is None or outflow is None:
        return
    if place == outflow_place:
        yield above(ratio * (inflow or 0.0))
    elif place == policy.inflow_place and ratio > 0.0:
        # The quotient only guesses: the policy multiplies.
        yield from turn_of(lambda x: outflow <= ratio * x, 0.0, outflow / ratio * 2.0 + 1.0)


def bonds_of_money(
    policy: ReadyPolicy, values: Sequence[Value], points: Points, outflow_place: int | None
) -> Iterator[Bond]:
    """Yield what an approval needs of inflow, spending and what is due on other loans together."""
    inflow, existing = policy.inflow_place, policy.existing_place
    ratio = policy.policy.affordability.outflow_ratio_max
    if ratio is not None and outflow_place is not None:
        yield Bond(spends_within(ratio, outflow_place, inflow), {outflow_place: DOWN, inflow: UP})
    if existing is not None and values[existing] is not None:
        for tier, dues in _dues(policy, points):
            due = min(due for _, due in dues)
            passes = _leaves_room(tier.inflow_share, due, inflow, existing)
            yield Bond(passes, {existing: DOWN, inflow: UP})


def spends_within(ratio: float, outflow_place: int, inflow_place: int) -> Passes:
    """Give the condition that no more goes out than the policy lets pass."""

    def passes(values: Sequence[Value]) -> bool:
        outflow = values[outflow_place]
        return outflow is None or outflow <= ratio * (values[inflow_place] or 0.0)  # type: ignore[operator]  # numbers

    return passes


def _leaves_room(share: float, due: float, inflow_place: int, existing_place: int) -> Passes:
    def passes(values: Sequence[Value]) -> bool:
        return share * number_at(values, inflow_place) - number_at(values, existing_place) >= due

    return passes


def lending_edges(
    policy: ReadyPolicy, scorecard: Scorecard, values: Sequence[Value], span: Span
) -> Iterator[Edge]:
    """Yield where a loan is first found as the inflow alone grows, or what is due elsewhere falls.

    Within a piece the points are the same, and more room never hurts: so there is one such place,
    which is looked for where no loan is found at the near end and one is at the far end.
    """
    codes = {*NO_LOAN, *(rule.objection.code for rule in policy.loan_rules)}
    row = list(values)

    def is_lent(number: float) -> bool:
        row[span.place] = number
        scored = scorecard.score(row)
        against = policy.objections_of_rules(row)
        tier, loans = policy.tier(scored.points), policy.loans(scorecard, scored)
        # Not by `decide`: to the seldom booked it says less of loans, and nobody approves of those.
        _, obstacles = find_loan(policy, tier, row, loans, against)
        return codes.isdisjoint(objection.code for objection in (*against, *obstacles))

    def is_declined(row: Sequence[Value]) -> bool:
        return policy.tier(scorecard.score(row).points).decision is Decision.DECLINED

    most_generous = max(policy.tiers, key=lambda tier: tier.inflow_share)
    way = UP if span.place == policy.inflow_place else DOWN
    for near, far in span.pieces_on_the_way(way):
        row[span.place] = far
        inflow = number_at(row, policy.inflow_place)
        room = room_monthly(most_generous, inflow, owed_monthly(policy, row, inflow))
        # To a declined tier nothing is said of loans.
        if carries_a_loan(policy, room, inflow) and not is_declined(row):
            yield from turn_of(is_lent, near, far)


def may_lack_room(policy: ReadyPolicy, values: Sequence[Value], points: Points) -> bool:
    """Say whether it may depend on the inflow whether there is a loan to lend."""
    inflow = number_at(values, policy.inflow_place)
    owed = owed_monthly(policy, values, inflow)
    # A loan may be of a worse tier than the applicant is, and have another price.
    tiers = [tier for tier in policy.tiers if tier.decision is not Decision.DECLINED]
    room = min((room_monthly(tier, inflow, owed) for tier in tiers), default=0.0)
    return bool(policy.loan_rules) or any(
        all(tariff.room(room, inflow) < _OTHER_PRICE * due for tariff, due in dues)
        for _, dues in _dues(policy, points)
    )


def carries_a_loan(policy: ReadyPolicy, room: float, inflow: float) -> bool:
    """Say whether the smallest loan could be repaid if nobody ever defaulted: a bound.

    The room is what may fall due per 30 days.
    """
    reach = max(tariff.amount_max(tariff.room(room, inflow)) for tariff in policy.tariffs)
    return reach >= policy.limit_step


def given(values: Sequence[Value], place: int | None) -> float | None:
    """Give a number of the application; None where it, or the field itself, is not there."""
    if place is None:
        return None
    value = values[place]
    assert not isinstance(value, str)
    return value
