"""What an expression is once it has been read: tokens, and a tree whose kinds are in order.

There are numbers, words and conditions. A node holds only nodes of the kind it needs, so whatever
walks the tree has nothing left to check.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from alama.core.application import fold
from alama.core.catalogue import WORD_LENGTH_MAX, Field
from alama.core.errors import InvalidExpression

if TYPE_CHECKING:
    from collections.abc import Sequence


LENGTH_MAX: Final = 1000
"""Characters of an expression: more than that, nobody reads as one rule."""

KEYWORDS: Final = frozenset(["and", "or", "not", "in", "is", "missing", "given"])

_TOKEN: Final = re.compile(
    r"""
    (?P<blank>   [ \t\r\n]+ )
  | (?P<number>  [0-9]+ (?:_[0-9]+)* (?:\.[0-9]+ (?:_[0-9]+)*)? (?:[eE][+-]?[0-9]+)? )
  | (?P<name>    [^\W\d] \w* )
  | (?P<word>    "[^"\n]*" | '[^'\n]*' )
  | (?P<sign>    <= | >= | == | != | <(?!>) | [>+\-*/()\[\],] )
  | (?P<foreign> =< | => | <> | && | \|\| | . )
    """,
    re.VERBOSE | re.DOTALL,
)

_CUT_BY_COMMAS: Final = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})*),\Z")
_THOUSANDS: Final = 3
_NUMBERS: Final = "write a number as 1500, 1_500, 0.5 or 1e6, without a unit"
_STRAIGHT_QUOTES: Final = 'put words in straight quotes: "nairobi"'
_INSTEAD: Final = {
    "=": "write == to compare",
    "=<": "write <=",
    "=>": "write >=",
    "<>": "write !=",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "&": "write and",
    "&&": "write and",
    "|": "write or",
    "||": "write or",
    "!": "write not",
    "×": "write *",  # noqa: RUF001 - the sign of the printed page, which is not the letter
    "÷": "write /",
    "−": "write -",  # noqa: RUF001 - as above: word processors put it for the hyphen
    "–": "write -",  # noqa: RUF001 - as above
    "%": "write a share: 0.3 for 30 percent",
    ".": _NUMBERS,
    '"': 'close the word with the quote that opens it: "nairobi"',
    "'": "close the word with the quote that opens it: 'nairobi'",
    "“": _STRAIGHT_QUOTES,
    "”": _STRAIGHT_QUOTES,
    "‘": _STRAIGHT_QUOTES,  # noqa: RUF001 - what a word processor makes of a straight quote
    "’": _STRAIGHT_QUOTES,  # noqa: RUF001 - as above
}


class TokenKind(Enum):
    """What a token is. A sign is punctuation or a keyword."""

    NUMBER = auto()
    WORD = auto()
    NAME = auto()
    SIGN = auto()
    END = auto()


class Token(NamedTuple):
    """A piece of the text and the column where it starts, from 1. A word is without its quotes."""

    kind: TokenKind
    text: str
    column: int


def tokens_of(text: str) -> list[Token]:
    """Cut a text into tokens, of which the last is the end, or raise `InvalidExpression`."""
    if len(text) > LENGTH_MAX:
        raise InvalidExpression(
            f"the expression is longer than {LENGTH_MAX} characters",
            column=LENGTH_MAX + 1,
            hint="split it into several rules",
        )
    tokens = []
    for match in _TOKEN.finditer(text):
        piece, column = match.group(), match.start() + 1
        match match.lastgroup:
            case "blank":
                pass
            case "number":
                _check_number(text, match)
                tokens.append(Token(TokenKind.NUMBER, piece, column))
            case "name":
                kind = TokenKind.SIGN if piece in KEYWORDS else TokenKind.NAME
                tokens.append(Token(kind, piece, column))
            case "word":
                _check_word(piece[1:-1], column)
                tokens.append(Token(TokenKind.WORD, piece[1:-1], column))
            case "sign":
                tokens.append(Token(TokenKind.SIGN, piece, column))
            case _:
                raise InvalidExpression(
                    f"{piece!r} means nothing here",
                    column=column,
                    hint=_INSTEAD.get(piece, "leave it out"),
                )
    return [*tokens, Token(TokenKind.END, "", len(text) + 1)]


def write_without_commas(pieces: Sequence[str]) -> str | None:
    """Say how to write a number that commas cut into pieces, unless it is none."""
    first, *others = pieces
    if first == "0" or any(len(piece) != _THOUSANDS for piece in others):
        return f"write {first}.{others[0]}, with a point" if len(others) == 1 else None
    return f"write {''.join(pieces)} or {'_'.join(pieces)}, without commas"


def _check_number(text: str, match: re.Match[str]) -> None:
    piece = match.group()
    rest = text[match.end() : match.end() + 1]
    if rest.isalnum() or rest in {"_", "."}:
        raise InvalidExpression(
            f"the number {piece} is followed by {rest!r}", column=match.end() + 1, hint=_NUMBERS
        )
    if piece[0] == "0" and piece[1:2].isdecimal():
        # Nobody writes 007 on purpose; [1,000] is one thousand gone wrong.
        cut = _CUT_BY_COMMAS.search(text[: match.start()])
        hint = write_without_commas([*cut[1].split(","), piece]) if cut else None
        raise InvalidExpression(
            f"the number {piece} starts with a 0", column=match.start() + 1, hint=hint or _NUMBERS
        )
    if math.isinf(float(piece)):
        raise InvalidExpression(
            f"the number {piece} is too large", column=match.start() + 1, hint="write a smaller one"
        )


def _check_word(word: str, column: int) -> None:
    if not fold(word):
        raise InvalidExpression(
            "a word between quotes is empty",
            column=column,
            hint="a field that was not given `is missing`",
        )
    if len(word.strip()) > WORD_LENGTH_MAX:
        raise InvalidExpression(
            f"a word is longer than {WORD_LENGTH_MAX} characters, which no value is",
            column=column,
            hint="close its quotes where it ends",
        )


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
