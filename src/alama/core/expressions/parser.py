"""From the text of an expression to its tree, kinds checked, or an error that says what to write.

    condition   = conjunction { "or" conjunction }
    conjunction = contrary { "and" contrary }
    contrary    = "not" contrary | comparison
    comparison  = sum [ relation sum | ["not"] "in" list | "is" ("missing" | "given") ]
    relation    = "<" | "<=" | ">" | ">=" | "==" | "!="
    list        = "[" literal { "," literal } [","] "]"
    sum         = product { ("+" | "-") product }
    product     = signed { ("*" | "/") signed }
    signed      = "-" signed | atom
    atom        = number | word | field | "(" condition ")"

Each line but `relation` is a method. Kinds are checked as nodes are made, by
`alama.core.expressions.kinds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.application import fold
from alama.core.errors import InvalidExpression
from alama.core.expressions import kinds
from alama.core.expressions.kinds import Part
from alama.core.expressions.names import field_named
from alama.core.expressions.tokens import Token, TokenKind, tokens_of, write_without_commas
from alama.core.expressions.tree import (
    And,
    Arithmetic,
    ConditionNode,
    Missing,
    Negative,
    Not,
    Number,
    NumberField,
    Operation,
    Or,
    Relation,
    Word,
    WordField,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.core.catalogue import Catalogue

_JOIN: Final = "join conditions with and, or (in small letters)"
_BEHIND: Final = {
    ")": "leave it out, or open it with ( before",
    ",": "write thousands as 1_000; commas stand only in lists",
}
_RELATIONS: Final = tuple(Relation)
_SUMS: Final = (Operation.ADD, Operation.SUBTRACT)
_PRODUCTS: Final = (Operation.MULTIPLY, Operation.DIVIDE)


def tree_of(text: str, catalogue: Catalogue) -> ConditionNode:
    """Read an expression, or raise `InvalidExpression`."""
    return _Parser(tokens_of(text), catalogue).whole()


class _Parser:
    """Recursive descent. How deep it goes is bounded, so no text can exhaust the stack."""

    def __init__(self, tokens: list[Token], catalogue: Catalogue) -> None:
        self._tokens = tokens
        self._next = 0
        self._catalogue = catalogue
        self._depth = 0

    def whole(self) -> ConditionNode:
        if self._is_at_end():
            raise InvalidExpression(
                "the expression is empty", column=1, hint="write a condition: mm_months < 3"
            )
        part = self._condition()
        if not self._is_at_end():
            raise self._refusal(self._ungrouped() or _BEHIND.get(self._token.text, _JOIN))
        return kinds.condition(part)

    def _condition(self) -> Part:
        return self._joined("or", Or, self._conjunction)

    def _conjunction(self) -> Part:
        return self._joined("and", And, self._contrary)

    def _joined(
        self,
        keyword: str,
        node: Callable[[tuple[ConditionNode, ...]], And | Or],
        operand: Callable[[], Part],
    ) -> Part:
        parts = [operand()]
        while self._take(keyword):
            parts.append(operand())
        if len(parts) == 1:
            return parts[0]
        return kinds.above(node(tuple(kinds.condition(part) for part in parts)), *parts)

    def _contrary(self) -> Part:
        token = self._take("not")
        if token is None:
            return self._comparison()
        operand = self._deeper(token, self._contrary)
        return kinds.above(Not(kinds.condition(operand)), operand, column=token.column)

    def _comparison(self) -> Part:
        left = self._sum()
        if token := self._take(*_RELATIONS):
            right = self._sum()
            compared = kinds.above(kinds.compared(token, left, right), left, right)
        elif self._take("in"):
            compared = kinds.above(kinds.among(left, self._list()), left)
        elif self._take("not"):
            self._expect("in", "write: not in [..]")
            compared = kinds.above(Not(kinds.among(left, self._list())), left)
        elif self._take("is"):
            compared = kinds.above(self._presence(left), left)
        else:
            return left
        if any(self._is_next(sign) for sign in (*_RELATIONS, "in", "is")):
            raise self._refusal(
                "compare two values at a time: write a < b and b < c, not a < b < c"
            )
        return compared

    def _presence(self, operand: Part) -> ConditionNode:
        if not isinstance(operand.node, NumberField | WordField):
            raise InvalidExpression(
                "only a field can be missing or given",
                column=operand.column,
                hint="write the name of one field before `is`",
            )
        if self._take("missing"):
            return Missing(operand.node)
        self._expect("given", "write `is missing` or `is given`")
        return Not(Missing(operand.node))

    def _list(self) -> list[Part]:
        self._expect("[", 'write a list: in ["nairobi", "mombasa"]')
        members = [self._literal()]
        while self._take(",") and not self._is_next("]"):
            members.append(self._literal())
        self._expect("]", "separate the members of a list with commas and close it with ]")
        return members

    def _literal(self) -> Part:
        """One member of a list: a word, or a number with or without a minus."""
        minus = self._take("-")
        token = self._token
        if token.kind is TokenKind.WORD and minus is None:
            return self._atom()
        if token.kind is TokenKind.NUMBER:
            number = float(self._advance().text)
            return Part(Number(-number if minus else number), token.column, 1)
        raise self._refusal("a list holds numbers and words in quotes, at least one")

    def _sum(self) -> Part:
        return self._calculated(_SUMS, self._product)

    def _product(self) -> Part:
        return self._calculated(_PRODUCTS, self._signed)

    def _calculated(self, signs: tuple[Operation, ...], operand: Callable[[], Part]) -> Part:
        result = operand()
        while token := self._take(*signs):
            right = operand()
            node = Arithmetic(Operation(token.text), kinds.number(result), kinds.number(right))
            result = kinds.above(node, result, right)
        return result

    def _signed(self) -> Part:
        token = self._take("-")
        if token is None:
            return self._atom()
        operand = self._deeper(token, self._signed)
        return kinds.above(Negative(kinds.number(operand)), operand, column=token.column)

    def _atom(self) -> Part:
        token = self._token
        match token.kind:
            case TokenKind.NUMBER:
                return Part(Number(float(self._advance().text)), token.column, 1)
            case TokenKind.WORD:
                return Part(Word(fold(self._advance().text)), token.column, 1)
            case TokenKind.NAME:
                before = self._tokens[self._next - 1] if self._next else None
                self._advance()
                return Part(field_named(token, before, self._catalogue), token.column, 1)
            case _:
                pass
        if any(self._is_next(keyword) for keyword in ("missing", "given")):
            raise self._refusal("write `is missing` or `is given` behind the name of a field")
        if not self._take("("):
            raise self._refusal('write a field, a number or a word in quotes: region == "nairobi"')
        inside = self._deeper(token, self._condition)
        self._expect(")", "close what was opened with ( or join its parts with and, or")
        return inside._replace(column=token.column)

    # --------------------------------------------------------------------------------- tokens

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _is_at_end(self) -> bool:
        return self._token.kind is TokenKind.END

    def _is_next(self, sign: str) -> bool:
        return self._token.kind is TokenKind.SIGN and self._token.text == sign

    def _advance(self) -> Token:
        token = self._token
        self._next += 1
        return token

    def _take(self, *signs: str) -> Token | None:
        return self._advance() if any(self._is_next(sign) for sign in signs) else None

    def _expect(self, sign: str, hint: str) -> None:
        if not self._take(sign):
            raise self._refusal(hint)

    def _refusal(self, hint: str) -> InvalidExpression:
        ends = self._is_at_end()
        fault = "the expression ends too early" if ends else f"{self._token.text!r} is out of place"
        return InvalidExpression(fault, column=self._token.column, hint=hint)

    def _ungrouped(self) -> str | None:
        """Say how to write a number that has commas in it, if this is the first of them."""
        pieces: list[str] = []
        start = self._next - 1
        for place, token in enumerate(self._tokens[start:]):
            if place % 2 == 0 and token.kind is TokenKind.NUMBER:
                pieces.append(token.text)
            elif token.text != ",":
                break
        return write_without_commas(pieces) if len(pieces) > 1 else None

    def _deeper(self, token: Token, read: Callable[[], Part]) -> Part:
        """Read what is nested behind a token, unless it is nested too deep."""
        kinds.check_depth(self._depth, token.column)
        self._depth += 1
        part = read()
        self._depth -= 1
        return part
