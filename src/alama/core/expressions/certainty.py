"""What a condition says whatever the application: found from the ranges of the fields.

`balance_stability > 40` is never true, since the field is at most 1: somebody meant 0.4. The
analysis is sound, for values that are given and keep the rules of the catalogue; it is not
complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from alama.core.expressions.slopes import range_of
from alama.core.expressions.tree import (
    And,
    Comparison,
    ConditionNode,
    Missing,
    Not,
    NumberAmong,
    Or,
    Relation,
    SameWord,
    WordAmong,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def certainty_of(node: ConditionNode) -> bool | None:  # noqa: PLR0911 - one for each kind
    """Say that a condition is always true, or never; None where it depends or cannot be told."""
    match node:
        case Comparison():
            return _comparison(node)
        case NumberAmong(operand=operand, members=members):
            low, high = range_of(operand)
            return None if any(low <= member <= high for member in members) else False
        case SameWord() | WordAmong():
            return None
        case Missing(operand=operand):
            return False if operand.field.required else None
        case Not(operand=operand):
            certain = certainty_of(operand)
            return None if certain is None else not certain
        case And(parts=parts):
            return _all(parts)
        case Or(parts=parts):
            found = _all([Not(part) for part in parts])
            return None if found is None else not found
        case _:
            assert_never(node)


def _all(parts: Sequence[ConditionNode]) -> bool | None:
    certain = [certainty_of(part) for part in parts]
    if False in certain:
        return False
    return None if None in certain else True


def _comparison(node: Comparison) -> bool | None:
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
