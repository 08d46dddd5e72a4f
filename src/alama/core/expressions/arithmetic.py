"""Arithmetic that always has an answer, and never one that jumps.

A lender writes `avg_outflow / avg_inflow > 1.3`, and sooner or later the inflow is 0. As a divisor
shrinks, the ratio grows beyond every bound; were the ratio of 0 an error, or unknown, a rule that
fires for an inflow of 1 would let an inflow of 0 pass. Hence:

    x / 0 is infinite for x > 0, and minus infinite for x < 0
    0 / 0 is 0: where nothing came in and nothing went out, nothing was overspent
    0 times infinite is 0: nothing, however often, is nothing

so that each result moves one way with each of its numbers while the other is held, through 0 and
up to infinity. (A divisor that changes its sign is the exception, as it is in all arithmetic.) Only
where two infinite numbers are set against each other is there no such answer: infinite minus
infinite and infinite by infinite are unknown, which is None.

Numbers too large for a double become infinite. No NaN comes in, and none goes out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from alama.core.expressions.tree import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
