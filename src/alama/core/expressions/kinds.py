"""What fits what: a number with a number, a word with a word, and conditions with and, or, not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.errors import InvalidExpression
from alama.core.expressions.tree import (
    Comparison,
    ConditionNode,
    Node,
    Not,
    Number,
    NumberAmong,
    NumberNode,
    Relation,
    SameWord,
    Word,
    WordAmong,
    WordNode,
    fields_read,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.expressions.tokens import Token

DEPTH_MAX: Final = 32
"""Levels of a tree. Each costs some ten frames of the stack to read, and one or two to judge."""

_COMPARE: Final = "compare it with something: mm_months < 3"
_WORDS: Final = 'compare words with ==, != or in ["nairobi", "mombasa"]'


class Part(NamedTuple):
    """A tree that was read, the column where its text starts, and its levels."""

    node: Node
    column: int
    depth: int


def above(node: Node, *below: Part, column: int | None = None) -> Part:
    """Give the part of a node that was made of others; it starts where they do, if not before."""
    start = below[0].column if column is None else column
    depth = max(part.depth for part in below)
    check_depth(depth, start)
    return Part(node, start, depth + 1)


def check_depth(depth: int, column: int) -> None:
    """Raise `InvalidExpression` if nothing may stand above, or below, that many levels."""
    if depth >= DEPTH_MAX:
        raise InvalidExpression(
            f"the expression has more than {DEPTH_MAX} levels",
            column=column,
            hint="split it into several rules",
        )


def number(part: Part) -> NumberNode:
    if isinstance(part.node, NumberNode):
        return part.node
    hint = _WORDS if isinstance(part.node, WordNode) else "join conditions with and, or, not"
    raise InvalidExpression(
        f"{_kind(part)} stands where a number is needed", column=part.column, hint=hint
    )


def condition(part: Part) -> ConditionNode:
    if isinstance(part.node, ConditionNode):
        return part.node
    raise InvalidExpression(
        f"{_kind(part)} stands where a condition is needed", column=part.column, hint=_COMPARE
    )


def compared(token: Token, left: Part, right: Part) -> ConditionNode:
    """Compare two numbers or two words."""
    _check_reads_field(left, right)
    relation = Relation(token.text)
    if not isinstance(left.node, WordNode) and not isinstance(right.node, WordNode):
        return Comparison(relation, number(left), number(right))
    if relation not in {Relation.EQUAL, Relation.UNEQUAL}:
        raise InvalidExpression(
            f"words have no order that {relation} could ask for", column=token.column, hint=_WORDS
        )
    if not isinstance(left.node, WordNode) or not isinstance(right.node, WordNode):
        raise InvalidExpression(
            f"{_kind(left)} is compared with {_kind(right)}",
            column=token.column,
            hint="words stand in quotes and numbers without, and each is compared with its like",
        )
    same = SameWord(left.node, right.node)
    return same if relation is Relation.EQUAL else Not(same)


def among(operand: Part, members: Sequence[Part]) -> NumberAmong | WordAmong:
    """Look an operand up in a list of literals of its own kind."""
    _check_reads_field(operand)
    if isinstance(operand.node, WordNode):
        _check_alike(operand, members)
        words = (part.node.folded for part in members if isinstance(part.node, Word))
        return WordAmong(operand.node, frozenset(words))
    sought = number(operand)
    _check_alike(operand, members)
    numbers = (part.node.value for part in members if isinstance(part.node, Number))
    return NumberAmong(sought, frozenset(numbers))


def _check_alike(operand: Part, members: Sequence[Part]) -> None:
    for member in members:
        if _kind(member) != _kind(operand):
            raise InvalidExpression(
                f"{_kind(operand)} is looked up in a list with {_kind(member)}",
                column=member.column,
                hint="list words in quotes for a word, and numbers without for a number",
            )


def _check_reads_field(*parts: Part) -> None:
    """Refuse what is always the same: mostly it is a field's name that was put in quotes."""
    if not any(fields_read(part.node) for part in parts):
        raise InvalidExpression(
            "this compares without reading a field, so it is always the same",
            column=parts[0].column,
            hint='name a field, without quotes: region == "nairobi"',
        )


def _kind(part: Part) -> str:
    if isinstance(part.node, NumberNode):
        return "a number"
    return "a word" if isinstance(part.node, WordNode) else "a condition"
