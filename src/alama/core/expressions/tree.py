"""What an expression is once it has been read: a tree whose kinds are in order.

There are numbers, words and conditions. A node holds only nodes of the kind it needs, so whatever
walks the tree has nothing left to check.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from alama.core.catalogue import Field


class Operation(StrEnum):
    """What can be done with two numbers."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"


class Relation(StrEnum):
    """How two numbers can be compared."""

    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="
    EQUAL = "=="
    UNEQUAL = "!="


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: finite, not below 0."""

    value: float


@dataclass(frozen=True, slots=True)
class NumberField:
    """The value of a field that holds numbers; `place` is where it stands in an application."""

    field: Field
    place: int


@dataclass(frozen=True, slots=True)
class Negative:
    """Minus a number."""

    operand: NumberNode


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers made into one."""

    operation: Operation
    left: NumberNode
    right: NumberNode


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written, folded."""

    folded: str


@dataclass(frozen=True, slots=True)
class WordField:
    """The value of a field that holds words."""

    field: Field
    place: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two numbers compared."""

    relation: Relation
    left: NumberNode
    right: NumberNode


@dataclass(frozen=True, slots=True)
class SameWord:
    """Whether two words are the same."""

    left: WordNode
    right: WordNode


@dataclass(frozen=True, slots=True)
class NumberAmong:
    """Whether a number is one of those listed."""

    operand: NumberNode
    members: frozenset[float]


@dataclass(frozen=True, slots=True)
class WordAmong:
    """Whether a word is one of those listed, which are folded."""

    operand: WordNode
    members: frozenset[str]


@dataclass(frozen=True, slots=True)
class Missing:
    """Whether a field was not given. This alone is never unknown."""

    operand: NumberField | WordField


@dataclass(frozen=True, slots=True)
class Not:
    """The contrary of a condition."""

    operand: ConditionNode


@dataclass(frozen=True, slots=True)
class And:
    """Two conditions or more, all of which must hold."""

    parts: tuple[ConditionNode, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two conditions or more, one of which must hold."""

    parts: tuple[ConditionNode, ...]


NumberNode = Number | NumberField | Negative | Arithmetic
WordNode = Word | WordField
ConditionNode = Comparison | SameWord | NumberAmong | WordAmong | Missing | Not | And | Or
Node = NumberNode | WordNode | ConditionNode


def fields_sought(node: Node) -> frozenset[str]:
    """Give the names of the fields of which an expression asks whether they are given."""
    match node:
        case Missing():
            return fields_read(node.operand)
        case Not():
            return fields_sought(node.operand)
        case And() | Or():
            return frozenset().union(*(fields_sought(part) for part in node.parts))
        case _:
            return frozenset()


def fields_read(node: Node) -> frozenset[str]:
    """Give the names of the fields that a part of an expression reads."""
    match node:
        case Number() | Word():
            return frozenset()
        case NumberField(field=field) | WordField(field=field):
            return frozenset([field.name])
        case Negative() | NumberAmong() | WordAmong() | Missing() | Not():
            return fields_read(node.operand)
        case Arithmetic() | Comparison() | SameWord():
            return fields_read(node.left) | fields_read(node.right)
        case And() | Or():
            return frozenset().union(*(fields_read(part) for part in node.parts))
        case _:
            assert_never(node)
