"""Random conditions of the expression language, as trees and as text, and what each says of a row.

What a tree means is written down here once more, as the book has it: no line is shared.
"""

import math
from collections.abc import Sequence

from hypothesis import strategies as st

from alama.core.application import Value
from alama.core.catalogue import Catalogue, Field, Kind, Use
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
)

# Fields of every range, so that each sign and each way to infinity is met.
CATALOGUE = Catalogue(
    fields=(
        Field("inflow", Kind.NUMBER, minimum=0, maximum=1e12, other_spelling="income"),
        Field("outflow", Kind.NUMBER, minimum=0),
        Field("asked", Kind.NUMBER, above=0),
        Field("balance", Kind.NUMBER),
        Field("debt", Kind.NUMBER, minimum=-9, maximum=-1, use=Use.POLICY),
        Field("months", Kind.INTEGER, minimum=0),
        Field("region", Kind.WORD),
        Field("purpose", Kind.WORD),
        Field("reference", Kind.WORD, use=Use.REFERENCE),
    )
)
LARGEST = 1.7e308
MAGNITUDES = (0.0, 5e-324, 1e-200, 0.5, 1.0, 2.0, 3.0, 1e6, 1e12, 1e200, LARGEST)


# ---------------------------------------------------------------------------------------- trees


def number_fields() -> st.SearchStrategy[NumberField]:
    places = [place for place, field in enumerate(CATALOGUE.fields) if field.numeric]
    return st.sampled_from([NumberField(CATALOGUE.fields[place], place) for place in places])


def word_fields() -> st.SearchStrategy[WordField]:
    places = [CATALOGUE.position[name] for name in ("region", "purpose")]
    return st.sampled_from([WordField(CATALOGUE.fields[place], place) for place in places])


def numbers() -> st.SearchStrategy[NumberNode]:
    literals = st.sampled_from(MAGNITUDES).map(Number)
    return st.recursive(
        number_fields() | number_fields() | literals,
        lambda inner: st.one_of(
            st.builds(Negative, inner),
            st.builds(Arithmetic, st.sampled_from(Operation), inner, inner),
            st.builds(Arithmetic, st.sampled_from(Operation), inner, inner),
        ),
        max_leaves=5,
    )


def words() -> st.SearchStrategy[WordNode]:
    return word_fields() | st.sampled_from(["nairobi", "straße", "trade"]).map(_word)


def _word(text: str) -> Word:
    return Word(text.casefold())


def comparisons() -> st.SearchStrategy[ConditionNode]:
    signed = st.sampled_from([*MAGNITUDES, -1.0, -LARGEST])
    few_words = st.frozensets(st.sampled_from(["nairobi", "trade"]), min_size=1)
    return st.one_of(
        st.builds(Comparison, st.sampled_from(Relation), numbers(), numbers()),
        st.builds(Comparison, st.sampled_from(Relation), numbers(), numbers()),
        st.builds(SameWord, words(), words()),
        st.builds(NumberAmong, numbers(), st.frozensets(signed, min_size=1, max_size=3)),
        st.builds(WordAmong, words(), few_words),
        st.builds(Missing, number_fields() | word_fields()),
    ).filter(lambda node: bool(fields_read(node)))


def conditions() -> st.SearchStrategy[ConditionNode]:
    return st.recursive(
        comparisons(),
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        ),
        max_leaves=4,
    )


# One case for each node, here and below: shorter would not be simpler.
def written(node: Node) -> str:  # noqa: C901, PLR0911, PLR0912 - a case for each node
    """The text of a tree, with brackets round everything that has parts."""
    match node:
        case Number(value=value):
            return repr(value)
        case Word(folded=folded):
            return f'"{folded}"'
        case NumberField(field=field) | WordField(field=field):
            return field.other_spelling or field.name
        case Negative(operand=operand):
            return f"(- {written(operand)})"
        case Arithmetic(operation=sign, left=left, right=right):
            return f"({written(left)} {sign} {written(right)})"
        case Comparison(relation=sign, left=left, right=right):
            return f"({written(left)} {sign} {written(right)})"
        case SameWord(left=left, right=right):
            return f"({written(left)} == {written(right)})"
        case NumberAmong(operand=operand, members=members):
            return f"({written(operand)} in {sorted(members)})"
        case WordAmong(operand=operand, members=members):
            return f"({written(operand)} in {sorted(members)})"
        case Missing(operand=operand):
            return f"({written(operand)} is missing)"
        case Not(operand=operand):
            return f"(not {written(operand)})"
        case And(parts=parts):
            return "(" + " and ".join(map(written, parts)) + ")"
        case Or(parts=parts):
            return "(" + " or ".join(map(written, parts)) + ")"


# --------------------------------------------------------------------------------------- values


def values_of(field: Field) -> st.SearchStrategy[Value]:
    """Values that keep the rules of a field: its own corners, and anything between."""
    if not field.numeric:
        return st.sampled_from(["Nairobi", " nairobi", "STRASSE", "trade", "kisumu"])
    lowest = float(-LARGEST if field.minimum is None else field.minimum)
    lowest = lowest if field.above is None else math.nextafter(field.above, math.inf)
    highest = float(LARGEST if field.maximum is None else field.maximum)
    corners = [sign * size for size in MAGNITUDES for sign in (1, -1)]
    kept = [corner for corner in (*corners, lowest, highest) if lowest <= corner <= highest]
    if field.kind is Kind.INTEGER:
        whole = st.sampled_from([int(corner) for corner in kept if corner.is_integer()])
        return whole | st.integers(int(lowest), 100)
    return st.sampled_from(kept) | st.floats(lowest, highest)


def rows() -> st.SearchStrategy[tuple[Value, ...]]:
    return st.tuples(*(values_of(field) | st.none() for field in CATALOGUE.fields))


def full_rows() -> st.SearchStrategy[tuple[Value, ...]]:
    return st.tuples(*(values_of(field) for field in CATALOGUE.fields))


# ----------------------------------------------------------------------------------- the reference


def said(node: ConditionNode, row: Sequence[Value]) -> float:  # noqa: PLR0911 - a case for each node
    """What a condition says, by the book: 1 true, 0 false, one half unknown."""
    match node:
        case Comparison(relation=relation, left=left, right=right):
            first, second = amount(left, row), amount(right, row)
            if math.isnan(first) or math.isnan(second):
                return 0.5
            sides = (first > second) - (first < second)
            return float(sides in SIDES[relation])
        case SameWord(left=left, right=right):
            found = [spoken(left, row), spoken(right, row)]
            return 0.5 if None in found else float(found[0] == found[1])
        case NumberAmong(operand=operand, members=members):
            number = amount(operand, row)
            return 0.5 if math.isnan(number) else float(any(number == one for one in members))
        case WordAmong(operand=operand, members=members):
            word = spoken(operand, row)
            return 0.5 if word is None else float(word in members)
        case Missing(operand=operand):
            return float(row[operand.place] is None)
        case Not(operand=operand):
            return 1 - said(operand, row)
        case And(parts=parts):
            return min(said(part, row) for part in parts)
        case Or(parts=parts):
            return max(said(part, row) for part in parts)


SIDES = {
    Relation.BELOW: {-1},
    Relation.AT_MOST: {-1, 0},
    Relation.ABOVE: {1},
    Relation.AT_LEAST: {0, 1},
    Relation.EQUAL: {0},
    Relation.UNEQUAL: {-1, 1},
}


def amount(node: NumberNode, row: Sequence[Value]) -> float:
    """A number by the book, not a number where it is unknown."""
    match node:
        case Number(value=number):
            return number
        case NumberField(place=place):
            value = row[place]
            return math.nan if value is None else float(value)
        case Negative(operand=operand):
            return -amount(operand, row)
        case Arithmetic(operation=operation, left=left, right=right):
            return calculated(operation, amount(left, row), amount(right, row))


def calculated(operation: Operation, left: float, right: float) -> float:
    if math.isnan(left) or math.isnan(right):
        return math.nan
    match operation:
        case Operation.ADD:
            return left + right
        case Operation.SUBTRACT:
            return left - right
        case Operation.MULTIPLY:
            return 0.0 if 0 in {left, right} else left * right
        case Operation.DIVIDE if right == 0:
            return math.inf if left > 0 else -math.inf if left < 0 else 0.0
        case Operation.DIVIDE:
            return left / right


def spoken(node: WordNode, row: Sequence[Value]) -> str | None:
    match node:
        case Word(folded=folded):
            return folded
        case WordField(place=place):
            value = row[place]
            return None if value is None else str(value).strip().casefold()
