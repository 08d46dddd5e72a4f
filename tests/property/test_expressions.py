"""Expressions say what their trees mean, slopes keep their promise, no text breaks the reader."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from alama.core.application import Value
from alama.core.catalogue import Catalogue, Field, Kind, Use
from alama.core.errors import InvalidExpression
from alama.core.expressions.certainty import Slope
from alama.core.expressions.expression import Expression, parse, tree_of
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
from alama.core.product import PRODUCT
from tests.tries import tries

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
# What a tree means, written down once more as the book has it: no line is shared with the code.


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


# ------------------------------------------------------------------------------------- properties


@given(conditions())
def test_the_text_of_a_tree_is_read_back_as_that_tree(tree: ConditionNode) -> None:
    assert tree_of(written(tree), CATALOGUE) == tree


@tries(120)
@given(conditions(), rows())
def test_a_condition_fires_where_the_book_has_it_true_and_its_contrary_where_false(
    tree: ConditionNode, row: tuple[Value, ...]
) -> None:
    assert Expression("", tree, CATALOGUE).fires(row) is (said(tree, row) == 1)
    assert Expression("", Not(tree), CATALOGUE).fires(row) is (said(tree, row) == 0)


def breaks_its_slope(tree: ConditionNode, name: str, row: Sequence[Value], other: Value) -> bool:
    """Whether firing moves against the slope between a row and the row with another value."""
    place = CATALOGUE.position[name]
    pair = sorted([row[place], other], key=lambda value: float(value or 0))
    expression = Expression("", tree, CATALOGUE)
    low, high = (expression.fires([*row[:place], value, *row[place + 1 :]]) for value in pair)
    match expression.slope(name):
        case Slope.RISES:
            return low and not high
        case Slope.FALLS:
            return high and not low
        case Slope.CONSTANT:
            return low is not high
        case Slope.UNKNOWN:
            return False


@tries(120)
@given(conditions(), rows() | full_rows(), st.data())
def test_no_condition_moves_against_its_slope(
    tree: ConditionNode, row: tuple[Value, ...], data: st.DataObject
) -> None:
    for name in sorted(fields_read(tree)):
        place = CATALOGUE.position[name]
        field = CATALOGUE.fields[place]
        if field.numeric and row[place] is not None:
            other = data.draw(values_of(field), name)
            assert not breaks_its_slope(tree, name, row, other)


CORNERS = {
    "inflow": [0.0, 5e-324, 3.0, 1e12],
    "outflow": [0.0, 2.0, 1e200, LARGEST],
    "balance": [-LARGEST, -1.0, 0.0, 2.0, LARGEST],
    "debt": [-9.0, -1.0],
}
LEAVES: tuple[NumberNode, ...] = (
    *(NumberField(CATALOGUE.field(name), CATALOGUE.position[name]) for name in CORNERS),
    Number(0.0),
)


# Two operations are where signs, zero and infinity meet, so here all of them are tried.
@pytest.mark.parametrize(("first", "second"), [*product(Operation, Operation)])
def test_no_two_operations_move_against_their_slope(first: Operation, second: Operation) -> None:
    for a, b, c in product(LEAVES, repeat=3):
        inside = Arithmetic(second, a, b)
        for tree in (Arithmetic(first, inside, c), Arithmetic(first, c, inside)):
            for name in fields_read(tree):
                above_zero = Comparison(Relation.ABOVE, tree, Number(0.0))
                slope = Expression("", above_zero, CATALOGUE).slope(name)
                assert all(keeps(slope, line) for line in lines(tree, name)), written(tree)


def lines(tree: NumberNode, name: str) -> Iterator[list[float]]:
    """A number as one field goes through its corners, for all corners of the others."""
    others = sorted(fields_read(tree) - {name})
    row: list[Value] = [None] * len(CATALOGUE.fields)
    for held in product(*(CORNERS[other] for other in others)):
        for other, value in zip(others, held, strict=True):
            row[CATALOGUE.position[other]] = value
        line = []
        for value in CORNERS[name]:
            row[CATALOGUE.position[name]] = value
            line.append(amount(tree, row))
        yield line


def keeps(slope: Slope, line: list[float]) -> bool:
    """Whether numbers that rise, or fall, also stay known, or unknown, all along."""
    known = [number for number in line if not math.isnan(number)]
    if slope is Slope.UNKNOWN or not known:
        return True
    steps = {(after > before) - (after < before) for before, after in pairwise(known)}
    allowed = {Slope.RISES: {0, 1}, Slope.FALLS: {0, -1}, Slope.CONSTANT: {0}}[slope]
    return len(known) == len(line) and steps <= allowed


def outcome(text: str, catalogue: Catalogue) -> Expression | InvalidExpression:
    """What comes of a text; whatever else is raised fails the test."""
    try:
        return parse(text, catalogue)
    except InvalidExpression as error:
        refused = error
    assert 1 <= refused.column <= len(text) + 1
    assert refused.hint
    return refused


@given(st.text(max_size=60))
@example("(" * 1_000)
@example("-" * 1_000)
@example("not " * 250)
@example("inflow" + "+1" * 400 + "<1")
@example("inflow" + "/1" * 400 + "<1")
@example("inflow<1 and " * 75 + "inflow<1")
@example("inflow in [" + "1," * 490 + "]")
@example("1" * 1_000)
@example("inflow < " + "9" * 900)
@example("inflow < 1" + "_0" * 400)
@example("\ud800")
@example("region == '\x00'")
def test_any_text_is_read_or_refused_with_a_column_and_advice(text: str) -> None:
    outcome(text, CATALOGUE)


PIECES = st.sampled_from(
    [
        *["and", "or", "not", "in", "is", "missing", "given", "inflow", "region", "mm_months"],
        *["<", "<=", "==", "!=", "=", "+", "-", "*", "/", "(", ")", "[", "]", ",", "%", ".", "\n"],
        *["1", "0", "00", "1e6", "1e999", "1_000", "2.5", '"', "'", '"nairobi"', "''", "²", "é"],
    ]
)


@given(st.lists(PIECES, max_size=12), st.sampled_from(["", " "]))
def test_any_pieces_of_the_language_are_read_or_refused(pieces: list[str], gap: str) -> None:
    outcome(gap.join(pieces), CATALOGUE)


@tries(120)
@given(conditions(), st.integers(0), st.integers(0, 3), PIECES | st.text(max_size=2))
def test_a_damaged_expression_is_read_or_refused(
    tree: ConditionNode, place: int, cut: int, piece: str
) -> None:
    text = written(tree)
    place %= len(text)
    found = outcome(text[:place] + piece + text[place + cut :], CATALOGUE)
    if isinstance(found, Expression):
        found.fires([None] * len(CATALOGUE.fields))
        assert all(found.slope(field.name) in Slope for field in CATALOGUE.fields)


@given(st.sampled_from(sorted(PRODUCT.position)), st.sampled_from(["< 3", "is given", '== "x"']))
def test_every_name_of_the_product_is_read_in_either_spelling(name: str, rest: str) -> None:
    field = PRODUCT.field(name)
    found = outcome(f"{name} {rest}", PRODUCT)
    if isinstance(found, Expression):
        assert found.fields == {field.name}
    else:
        fits = field.use is not Use.REFERENCE and field.numeric is (rest == "< 3")
        assert not fits
