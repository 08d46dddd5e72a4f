"""The text of an expression, cut into tokens."""

from __future__ import annotations

import math
import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.application import fold
from alama.core.catalogue import WORD_LENGTH_MAX
from alama.core.errors import InvalidExpression

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def write_without_commas(pieces: Sequence[str]) -> str | None:
    """Say how to write a number that commas cut into pieces, unless it is none."""
    first, *others = pieces
    if first == "0" or any(len(piece) != _THOUSANDS for piece in others):
        return f"write {first}.{others[0]}, with a point" if len(others) == 1 else None
    return f"write {''.join(pieces)} or {'_'.join(pieces)}, without commas"
