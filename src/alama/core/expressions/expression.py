"""An expression: read from its text, names and kinds checked, and ready to be asked.

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

Each line but `relation` is a method of the parser. Kinds are checked as nodes are made: a number
goes with a number, a word with a word, and conditions with `and`, `or`, `not`.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.application import Value, fold
from alama.core.catalogue import Catalogue, Use
from alama.core.errors import InvalidExpression
from alama.core.expressions.certainty import Slope, certainty_of, slope_of
from alama.core.expressions.meaning import judge_of
from alama.core.expressions.tokens import (
    KEYWORDS,
    Token,
    TokenKind,
    tokens_of,
    write_without_commas,
)
from alama.core.expressions.tree import (
    And,
    Arithmetic,
    Comparison,
    ConditionNode,
    Missing,
    Negative,
    Node,
    Not,
    Number,
    NumberAmong,
    NumberField,
    NumberNode,
    Operation,
    Or,
    Relation,
    SameWord,
    Word,
    WordAmong,
    WordField,
    WordNode,
    fields_read,
    fields_sought,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


DEPTH_MAX: Final = 32
"""Levels of a tree. Each costs some ten frames of the stack to read, and one or two to judge."""

_JOIN: Final = "join conditions with and, or (in small letters)"
_BEHIND: Final = {
    ")": "leave it out, or open it with ( before",
    ",": "write thousands as 1_000; commas stand only in lists",
}
_RELATIONS: Final = tuple(Relation)
_SUMS: Final = (Operation.ADD, Operation.SUBTRACT)
_PRODUCTS: Final = (Operation.MULTIPLY, Operation.DIVIDE)
_COMPARE: Final = "compare it with something: mm_months < 3"
_WORDS: Final = 'compare words with ==, != or in ["nairobi", "mombasa"]'
_BEFORE_WORDS: Final = ("==", "!=")
_ANSWERS: Final = frozenset(
    (
        *("score", "tier", "decision", "limit", "recommended_limit", "apr"),
        *("probability", "default_probability", "probability_of_default"),
    )
)
"""What people look for among the fields, and Alama works out from them."""


class Expression:
    """A condition over the fields of an application: its text, what it reads and what it says.

    `fields` are the names of the catalogue, whichever spelling the text has.
    """

    __slots__ = ("_catalogue", "_judge", "_tree", "fields", "text")

    def __init__(self, text: str, tree: ConditionNode, catalogue: Catalogue) -> None:
        self.text = text
        self.fields = fields_read(tree)
        self._tree = tree
        self._catalogue = catalogue
        self._judge = judge_of(tree)

    def fires(self, values: Sequence[Value]) -> bool:
        """Say whether the condition is definitely true of the values, in the catalogue's order."""
        return self._judge(values) is True

    def slope(self, field_name: str) -> Slope:
        """Say how firing moves as this field, in either spelling, grows and all else stays.

        RISES: what fires goes on firing as the value grows. FALLS: as it shrinks. Both values are
        given. UNKNOWN promises nothing, and is the slope of every word that is read.
        """
        return slope_of(self._tree, self._catalogue.field(field_name).name)

    @property
    def sought(self) -> frozenset[str]:
        """The fields of which it asks whether they are given."""
        return fields_sought(self._tree)

    @property
    def certainly(self) -> bool | None:
        """Say what is true whatever the application: True, False, or None where it depends.

        Of fields that may be missing this speaks for values that are given.
        """
        return certainty_of(self._tree)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def parse(text: str, catalogue: Catalogue) -> Expression:
    """Read an expression, or raise `InvalidExpression` with a column and what to write instead."""
    return Expression(text, tree_of(text, catalogue), catalogue)


def tree_of(text: str, catalogue: Catalogue) -> ConditionNode:
    """Read an expression, or raise `InvalidExpression`."""
    return _Parser(tokens_of(text), catalogue).whole()


class Part(NamedTuple):
    """A tree that was read, the column where its text starts, and its levels."""

    node: Node
    column: int
    depth: int


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
        return _as_condition(part)

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
        return _above(node(tuple(_as_condition(part) for part in parts)), *parts)

    def _contrary(self) -> Part:
        token = self._take("not")
        if token is None:
            return self._comparison()
        operand = self._deeper(token, self._contrary)
        return _above(Not(_as_condition(operand)), operand, column=token.column)

    def _comparison(self) -> Part:
        left = self._sum()
        if token := self._take(*_RELATIONS):
            right = self._sum()
            compared = _above(_compared(token, left, right), left, right)
        elif self._take("in"):
            compared = _above(_among(left, self._list()), left)
        elif self._take("not"):
            self._expect("in", "write: not in [..]")
            compared = _above(Not(_among(left, self._list())), left)
        elif self._take("is"):
            compared = _above(self._presence(left), left)
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
            node = Arithmetic(Operation(token.text), _as_number(result), _as_number(right))
            result = _above(node, result, right)
        return result

    def _signed(self) -> Part:
        token = self._take("-")
        if token is None:
            return self._atom()
        operand = self._deeper(token, self._signed)
        return _above(Negative(_as_number(operand)), operand, column=token.column)

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
                return Part(_field_named(token, before, self._catalogue), token.column, 1)
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
        _check_depth(self._depth, token.column)
        self._depth += 1
        part = read()
        self._depth -= 1
        return part


# -------------------------------------------------------------------------------------------- kinds


def _as_number(part: Part) -> NumberNode:
    if isinstance(part.node, NumberNode):
        return part.node
    hint = _WORDS if isinstance(part.node, WordNode) else "join conditions with and, or, not"
    raise InvalidExpression(
        f"{_kind(part)} stands where a number is needed", column=part.column, hint=hint
    )


def _as_condition(part: Part) -> ConditionNode:
    if isinstance(part.node, ConditionNode):
        return part.node
    raise InvalidExpression(
        f"{_kind(part)} stands where a condition is needed", column=part.column, hint=_COMPARE
    )


def _compared(token: Token, left: Part, right: Part) -> ConditionNode:
    """Compare two numbers or two words."""
    _check_reads_field(left, right)
    relation = Relation(token.text)
    if not isinstance(left.node, WordNode) and not isinstance(right.node, WordNode):
        return Comparison(relation, _as_number(left), _as_number(right))
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


def _among(operand: Part, members: Sequence[Part]) -> NumberAmong | WordAmong:
    """Look an operand up in a list of literals of its own kind."""
    _check_reads_field(operand)
    if isinstance(operand.node, WordNode):
        _check_alike(operand, members)
        words = (part.node.folded for part in members if isinstance(part.node, Word))
        return WordAmong(operand.node, frozenset(words))
    sought = _as_number(operand)
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


def _above(node: Node, *below: Part, column: int | None = None) -> Part:
    """Give the part of a node that was made of others; it starts where they do, if not before."""
    start = below[0].column if column is None else column
    depth = max(part.depth for part in below)
    _check_depth(depth, start)
    return Part(node, start, depth + 1)


def _check_depth(depth: int, column: int) -> None:
    """Raise `InvalidExpression` if nothing may stand above, or below, that many levels."""
    if depth >= DEPTH_MAX:
        raise InvalidExpression(
            f"the expression has more than {DEPTH_MAX} levels",
            column=column,
            hint="split it into several rules",
        )


# -------------------------------------------------------------------------------------------- names


def _field_named(
    token: Token, before: Token | None, catalogue: Catalogue
) -> NumberField | WordField:
    """Give the field of this name, in either spelling, or raise `InvalidExpression`.

    The token before it tells whether a word may have been meant.
    """
    name = token.text
    place = catalogue.position.get(name)
    if place is None:
        raise _unknown(token, before, catalogue)
    field = catalogue.fields[place]
    if field.use is Use.REFERENCE:
        raise InvalidExpression(
            f"{name} names an applicant and is no fact about them",
            column=token.column,
            hint="decide by what is known of the applicant, not by who it is",
        )
    return NumberField(field, place) if field.numeric else WordField(field, place)


def _unknown(token: Token, before: Token | None, catalogue: Catalogue) -> InvalidExpression:
    name = token.text
    if fold(name) in catalogue.prohibited:
        return InvalidExpression(
            f"{name} must never be part of a credit decision",
            column=token.column,
            hint="decide by other fields",
        )
    if fold(name) in _ANSWERS:
        return InvalidExpression(
            f"{name} is what Alama answers, and no field of an application",
            column=token.column,
            hint="use the tiers for that: their score_min, decision and limit_max",
        )
    return InvalidExpression(
        f"{name} is not a field", column=token.column, hint=_advice(name, before, catalogue)
    )


def _advice(name: str, before: Token | None, catalogue: Catalogue) -> str:
    if fold(name) in KEYWORDS:
        return f"write {fold(name)} in small letters"
    facts = [field for field in catalogue.fields if field.use is not Use.REFERENCE]
    names = [field.name for field in facts]
    others = [field.other_spelling for field in facts if field.other_spelling is not None]
    near = difflib.get_close_matches(fold(name), names + others, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    fields = f"the fields are {', '.join(names)}"
    may_be_word = before is not None and before.text in _BEFORE_WORDS
    return f'put a word in quotes ("{name}"); {fields}' if may_be_word else fields
