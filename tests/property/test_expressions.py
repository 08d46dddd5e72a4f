"""Expressions say what their trees mean, slopes keep their promise, no text breaks the reader."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from alama.core.application import Value
from alama.core.catalogue import Catalogue, Use
from alama.core.errors import InvalidExpression
from alama.core.expressions.certainty import Slope
from alama.core.expressions.expression import Expression, parse, tree_of
from alama.core.expressions.tree import (
    Arithmetic,
    Comparison,
    ConditionNode,
    Not,
    Number,
    NumberField,
    NumberNode,
    Operation,
    Relation,
    fields_read,
)
from alama.core.product import PRODUCT
from tests.conditions import (
    CATALOGUE,
    LARGEST,
    amount,
    conditions,
    full_rows,
    rows,
    said,
    values_of,
    written,
)
from tests.tries import tries

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
