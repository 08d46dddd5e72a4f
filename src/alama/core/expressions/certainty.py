"""What a condition says whatever the application, and how it moves with one field.

`balance_stability > 40` is never true, since the field is at most 1: somebody meant 0.4.

Truth has an order: false, unknown, true. A condition *rises* with a field if it can only move up
that order as the field's value grows and all others stay.

Both are found without trying values, and are sound for values that are given and keep the rules of
the catalogue. They are not complete: where they cannot tell, as for `a - a`, they say so. They
follow from one fact, which `alama.core.expressions.meaning` is made for: on doubles, each operation
moves one way with each of its two numbers while the other is held, if the sign of the other is
known. Rounding, overflow and underflow do not change that. So along with the slope goes the range
of each number, which tells its sign, and whether it can be infinite.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, assert_never

from alama.core.expressions.meaning import OPERATIONS
from alama.core.expressions.tree import (
    And,
    Arithmetic,
    Comparison,
    ConditionNode,
    Missing,
    Negative,
    Not,
    Number,
    NumberAmong,
    NumberField,
    NumberNode,
    Operation,
    Or,
    Relation,
    SameWord,
    WordAmong,
    fields_read,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.catalogue import Field


class Slope(Enum):
    """How something moves as the value of a field grows, from one given value to another."""

    CONSTANT = "constant"
    RISES = "rises"
    FALLS = "falls"
    UNKNOWN = "unknown"

    def __neg__(self) -> Slope:
        """Give the slope of the contrary."""
        match self:
            case Slope.RISES:
                return Slope.FALLS
            case Slope.FALLS:
                return Slope.RISES
            case Slope.CONSTANT | Slope.UNKNOWN:
                return self

    def __or__(self, other: Slope) -> Slope:
        """Give the slope of what moves with both."""
        if self is other or other is Slope.CONSTANT:
            return self
        return other if self is Slope.CONSTANT else Slope.UNKNOWN


def certainty_of(node: ConditionNode) -> bool | None:  # noqa: PLR0911 - one for each kind
    """Say that a condition is always true, or never; None where it depends or cannot be told."""
    match node:
        case Comparison():
            return _certainty_of_comparison(node)
        case NumberAmong(operand=operand, members=members):
            low, high = range_of(operand)
            return None if any(low <= member <= high for member in members) else False
        case SameWord() | WordAmong():
            return None
        case Missing(operand=operand):
            return False if operand.field.required else None
        case Not(operand=operand):
            return _contrary(certainty_of(operand))
        case And(parts=parts):
            return _all(parts)
        case Or(parts=parts):
            return _contrary(_all([Not(part) for part in parts]))
        case _:
            assert_never(node)


def _all(parts: Sequence[ConditionNode]) -> bool | None:
    certain = [certainty_of(part) for part in parts]
    if False in certain:
        return False
    return None if None in certain else True


def _certainty_of_comparison(node: Comparison) -> bool | None:
    left, right = range_of(node.left), range_of(node.right)
    match node.relation:
        case Relation.ABOVE:
            return _is_above(left, right)
        case Relation.BELOW:
            return _is_above(right, left)
        case Relation.AT_MOST:
            return _contrary(_is_above(left, right))
        case Relation.AT_LEAST:
            return _contrary(_is_above(right, left))
        case Relation.EQUAL | Relation.UNEQUAL:
            is_apart = left[0] > right[1] or left[1] < right[0]
            return (node.relation is Relation.UNEQUAL) if is_apart else None
        case _:
            assert_never(node.relation)


def _is_above(left: tuple[float, float], right: tuple[float, float]) -> bool | None:
    if left[0] > right[1]:
        return True
    return False if left[1] <= right[0] else None


def _contrary(certain: bool | None) -> bool | None:  # noqa: FBT001 - the value itself, no option
    return None if certain is None else not certain


def slope_of(node: ConditionNode, name: str) -> Slope:
    """Give the slope of a condition in the field of this name."""
    match node:
        case Comparison():
            return _slope_of_comparison(node, name)
        case SameWord() | NumberAmong() | WordAmong():
            return _unordered(node, name)
        case Missing():
            return Slope.CONSTANT  # of two values that are given
        case Not(operand=operand):
            return -slope_of(operand, name)
        case And(parts=parts) | Or(parts=parts):
            joined = Slope.CONSTANT
            for part in parts:
                joined |= slope_of(part, name)
            return joined
        case _:
            assert_never(node)


def _slope_of_comparison(node: Comparison, name: str) -> Slope:
    left, right = _course(node.left, name).slope, _course(node.right, name).slope
    match node.relation:
        case Relation.ABOVE | Relation.AT_LEAST:
            return left | -right
        case Relation.BELOW | Relation.AT_MOST:
            return -left | right
        case Relation.EQUAL | Relation.UNEQUAL:
            return _unordered(node, name)
        case _:
            assert_never(node.relation)


def _unordered(node: ConditionNode, name: str) -> Slope:
    return Slope.UNKNOWN if name in fields_read(node) else Slope.CONSTANT


def range_of(node: NumberNode) -> tuple[float, float]:
    """Give the least and the greatest that a number can be, where it is known."""
    course = _course(node, "")
    return course.low, course.high


@dataclass(frozen=True, slots=True)
class _Course:
    """Where a number lies, both ends included, and how it moves with the field."""

    low: float
    high: float
    slope: Slope

    def times_sign_of(self, other: _Course) -> Slope:
        """Give the slope of this number times another that is held."""
        if self.slope is Slope.CONSTANT or other.low >= 0:
            return self.slope
        return -self.slope if other.high <= 0 else Slope.UNKNOWN


def _course(node: NumberNode, name: str) -> _Course:
    match node:
        case Number(value=value):
            return _Course(value, value, Slope.CONSTANT)
        case NumberField(field=field):
            slope = Slope.RISES if field.name == name else Slope.CONSTANT
            return _Course(_lowest(field), _highest(field), slope)
        case Negative(operand=operand):
            positive = _course(operand, name)
            return _Course(-positive.high, -positive.low, -positive.slope)
        case Arithmetic(operation=operation, left=left, right=right):
            return _arithmetic(operation, _course(left, name), _course(right, name))
        case _:
            assert_never(node)


def _lowest(field: Field) -> float:
    if field.above is not None:
        return math.nextafter(field.above, math.inf)
    return -sys.float_info.max if field.minimum is None else field.minimum


def _highest(field: Field) -> float:
    return sys.float_info.max if field.maximum is None else field.maximum


def _arithmetic(operation: Operation, left: _Course, right: _Course) -> _Course:
    """Combine two courses; each operation takes its extremes at the ends of its numbers.

    Where infinite numbers may be set against each other, the result is known for some values and
    unknown for others, so it moves in no direction that can be told. The ends show it: infinity is
    always one of them. A divisor that may change its sign has no direction either.
    """
    ends = [
        OPERATIONS[operation](*pair)
        for pair in product((left.low, left.high), (right.low, right.high))
    ]
    known = [end for end in ends if end is not None]
    changes_sign = operation is Operation.DIVIDE and right.low < 0 <= right.high
    if len(known) < len(ends) or changes_sign:
        held = left.slope is right.slope is Slope.CONSTANT
        return _Course(-math.inf, math.inf, Slope.CONSTANT if held else Slope.UNKNOWN)
    return _Course(min(known), max(known), _slope_of_arithmetic(operation, left, right))


def _slope_of_arithmetic(operation: Operation, left: _Course, right: _Course) -> Slope:
    match operation:
        case Operation.ADD:
            return left.slope | right.slope
        case Operation.SUBTRACT:
            return left.slope | -right.slope
        case Operation.MULTIPLY:
            return left.times_sign_of(right) | right.times_sign_of(left)
        case Operation.DIVIDE:
            return left.times_sign_of(right) | -right.times_sign_of(left)
        case _:
            assert_never(operation)
