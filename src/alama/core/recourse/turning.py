"""Where a policy could change its mind as one field moves: the edges that it adds to the card's.

- A number that a rule compares the field with, or lists for it. Known before any application.
- Where a comparison of several fields turns, such as `avg_outflow / avg_inflow > 1.3`, the other
  fields being as they stand. So is where spending exceeds what the policy lets pass.
- The ends of what the policy holds for known from training.
- The inflow, or what is due on other loans, at which the smallest loan can just be repaid: for
  each tier that is approved at the probability where the tier begins, and at that of today.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core import calibration
from alama.core.expressions.meaning import judge_of
from alama.core.expressions.parser import tree_of
from alama.core.expressions.slopes import Slope, slope_of
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
from alama.core.lending.policy import Decision
from alama.core.recourse.values import Edge, above, below
from alama.core.units import Points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alama.core.application import Value
    from alama.core.catalogue import Catalogue
    from alama.core.lending.policy import Tier
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.units import Probability

_FAR: Final = 1e15
"""As far as a turn is looked for where nothing bounds a change."""


class Turns:
    """Where the rules of a policy turn; `fields_read` are the names that each of them reads."""

    __slots__ = ("_constants", "_relations", "fields_read")

    def __init__(self, policy: ReadyPolicy) -> None:
        """Read the rules once more, this time for the numbers in them."""
        catalogue = policy.model.catalogue
        trees = [tree_of(rule.when, catalogue) for rule in policy.policy.rules]
        self.fields_read = tuple(map(fields_read, trees))
        conditions = [leaf for tree in trees for leaf in _leaves(tree)]
        self._constants: dict[str, list[Edge]] = {}
        for name, number in (found for leaf in conditions for found in _numbers_in(leaf)):
            self._constants.setdefault(name, []).extend((below(number), above(number)))
        self._relations = tuple(
            _Relation(leaf, catalogue)
            for leaf in conditions
            if isinstance(leaf, Comparison) and not list(_numbers_in(leaf))
        )

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
        yield from turn_of(holds, start, max(min(end, _FAR), -_FAR))


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


def _leaves(node: ConditionNode) -> Iterator[ConditionNode]:
    match node:
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from _leaves(part)
        case Not(operand=operand):
            yield from _leaves(operand)
        case _:
            yield node


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


# ------------------------------------------------------------------------------- affordability


def approving(policy: ReadyPolicy) -> tuple[Tier, ...]:
    """Give the tiers that are approved, the best first."""
    return tuple(tier for tier in policy.tiers if tier.decision is Decision.APPROVED)


def inflow_edges(policy: ReadyPolicy, values: Sequence[Value], points: Points) -> Iterator[Edge]:
    """Yield the inflows that just carry the smallest loan."""
    existing = given(values, policy.existing_place)
    for tier, due in _least_dues(policy, points):
        share = tier.inflow_share - (policy.existing_share if existing is None else 0.0)
        if share > 0.0:
            yield below((due + (existing or 0.0)) / share)


def existing_edges(policy: ReadyPolicy, values: Sequence[Value], points: Points) -> Iterator[Edge]:
    """Yield what may be due on other loans beside the smallest loan."""
    inflow = given(values, policy.inflow_place) or 0.0
    for tier, due in _least_dues(policy, points):
        yield above(tier.inflow_share * inflow - due)


def _least_dues(policy: ReadyPolicy, points: Points) -> Iterator[tuple[Tier, float]]:
    due_now = _least_due(policy, calibration.shown_probability(points))
    for tier in approving(policy):
        foot = calibration.shown_probability(Points(tier.score_min - 0.5))
        yield tier, _least_due(policy, foot)
        yield tier, due_now


def _least_due(policy: ReadyPolicy, probability: Probability) -> float:
    return min(tariff.due_monthly(probability, policy.limit_step) for tariff in policy.tariffs)


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


def carries_a_loan(policy: ReadyPolicy, room_monthly: float) -> bool:
    """Say whether the smallest loan could be repaid if nobody ever defaulted: a bound."""
    reach = max(tariff.amount_max(room_monthly) for tariff in policy.tariffs)
    return reach >= policy.limit_step


def given(values: Sequence[Value], place: int | None) -> float | None:
    """Give a number of the application; None where it, or the field itself, is not there."""
    if place is None:
        return None
    value = values[place]
    assert not isinstance(value, str)
    return value
