"""What an expression says about one application: true, false or unknown.

The logic is Kleene's. A comparison that reads a missing field is unknown, which is None here, and
so is its contrary; `and` is false as soon as one part is, `or` true as soon as one part is. An
unknown is never taken for either side: nobody is declined for what they did not say, unless the
rule asks for it with `is missing`.

A tree is compiled once, to closures: an application is then a handful of calls.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, assert_never

from alama.core.application import fold
from alama.core.expressions.tree import (
    And,
    Arithmetic,
    Comparison,
    ConditionNode,
    Missing,
    Negative,
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
)

if TYPE_CHECKING:
    from collections.abc import Mapping


Row = Sequence[Any]
"""The values of an application. The kinds were checked when it and the expression were read."""

Operand = TypeVar("Operand")
Result = TypeVar("Result")
Truth = bool | None
Judge = Callable[[Row], Truth]


def judge_of(node: ConditionNode) -> Judge:  # noqa: PLR0911 - one for each kind of condition
    """Compile a condition to a function from the values of an application to what it says."""
    match node:
        case Comparison():
            return _comparison(node)
        case SameWord(left=left, right=right):
            return _both(operator.eq, _word(left), _word(right))
        case NumberAmong(operand=operand, members=members):
            return _among(_number(operand), members)
        case WordAmong(operand=operand, members=members):
            return _among(_word(operand), members)
        case Missing(operand=operand):
            place = operand.place
            return lambda values: values[place] is None
        case Not(operand=operand):
            return _contrary(judge_of(operand))
        case And(parts=parts):
            return _until([judge_of(part) for part in parts], stop=False)
        case Or(parts=parts):
            return _until([judge_of(part) for part in parts], stop=True)
        case _:
            assert_never(node)


def _comparison(node: Comparison) -> Judge:
    holds = _RELATIONS[node.relation]
    match node.left, node.right:
        case NumberField(place=place), Number(value=bound):
            # Most rules are this one, so it skips two calls.
            def against_bound(values: Row) -> Truth:
                value = values[place]
                return None if value is None else holds(value, bound)

            return against_bound
        case _:
            return _both(holds, _number(node.left), _number(node.right))


def _until(judges: Sequence[Judge], *, stop: bool) -> Judge:
    """Ask one after the other until one gives `stop`; unknown if one was, else the contrary."""
    otherwise = not stop

    def judge(values: Row) -> Truth:
        found: Truth = otherwise
        for ask in judges:
            truth = ask(values)
            if truth is stop:
                return stop
            if truth is None:
                found = None
        return found

    return judge


def _contrary(ask: Judge) -> Judge:
    def judge(values: Row) -> Truth:
        truth = ask(values)
        return None if truth is None else not truth

    return judge


def _number(node: NumberNode) -> Callable[[Row], float | None]:
    match node:
        case Number(value=written):
            return lambda _: written
        case NumberField(place=place):

            def given(values: Row) -> float | None:
                value = values[place]
                # As a double: arithmetic on whole numbers of any size would raise, not overflow.
                return None if value is None else float(value)

            return given
        case Negative(operand=operand):
            number = _number(operand)

            def negated(values: Row) -> float | None:
                value = number(values)
                return None if value is None else -value

            return negated
        case Arithmetic(operation=operation, left=left, right=right):
            return _both(OPERATIONS[operation], _number(left), _number(right))
        case _:
            assert_never(node)


def _word(node: WordNode) -> Callable[[Row], str | None]:
    match node:
        case Word(folded=folded):
            return lambda _: folded
        case WordField(place=place):

            def given(values: Row) -> str | None:
                value = values[place]
                return None if value is None else fold(value)

            return given
        case _:
            assert_never(node)


def _both(
    combine: Callable[[Operand, Operand], Result | None],
    left: Callable[[Row], Operand | None],
    right: Callable[[Row], Operand | None],
) -> Callable[[Row], Result | None]:
    """Combine two values, or give None where one of them is unknown."""

    def combined(values: Row) -> Result | None:
        first = left(values)
        if first is None:
            return None
        second = right(values)
        return None if second is None else combine(first, second)

    return combined


def _among(read: Callable[[Row], Operand | None], members: frozenset[Operand]) -> Judge:
    def judge(values: Row) -> Truth:
        value = read(values)
        return None if value is None else value in members

    return judge


_RELATIONS: Final[Mapping[Relation, Callable[[float, float], bool]]] = {
    Relation.BELOW: operator.lt,
    Relation.AT_MOST: operator.le,
    Relation.ABOVE: operator.gt,
    Relation.AT_LEAST: operator.ge,
    Relation.EQUAL: operator.eq,
    Relation.UNEQUAL: operator.ne,
}


def add(left: float, right: float) -> float | None:
    return _known(left + right)


def subtract(left: float, right: float) -> float | None:
    return _known(left - right)


def multiply(left: float, right: float) -> float:
    if left == 0 or right == 0:
        return 0.0
    return left * right


def divide(left: float, right: float) -> float | None:
    if right == 0:
        return multiply(left, math.inf)
    return _known(left / right)


def _known(result: float) -> float | None:
    return None if math.isnan(result) else result


OPERATIONS: Final[Mapping[Operation, Callable[[float, float], float | None]]] = {
    Operation.ADD: add,
    Operation.SUBTRACT: subtract,
    Operation.MULTIPLY: multiply,
    Operation.DIVIDE: divide,
}
