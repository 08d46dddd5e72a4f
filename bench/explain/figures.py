"""What the answers of a peer say together, and beside ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from alama.core.recourse.additive import SIZE_MAX
from alama.core.recourse.values import MILLIONTHS
from bench.explain.judge import Breach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.explain.judge import Judged
    from bench.store import Figures


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of the processor on one application: by the peer, and by us."""

    theirs_s: float
    ours_s: float


@dataclass(frozen=True, slots=True)
class Asked:
    """One application that a peer was asked about.

    `late`: it was given up. `spoiled` answers worked before the peer thinned them. `own_valid` says
    for each answer whether the peer's own model approves. `real` are the answers again, with values
    that a person can act on, where there are such. `ours_cost` is that of our cheapest answer.
    """

    spent: Spent
    late: bool = False
    spoiled: int = 0
    own_valid: Sequence[bool] = ()
    answers: Sequence[Judged] = ()
    real: Sequence[Judged] = ()
    ours_cost: int | None = None


def quantiles_ms(seconds: Sequence[float]) -> list[float]:
    """Give the median, the 99th percentile and the slowest in milliseconds."""
    return [round(float(q) * 1e3, 2) for q in np.quantile(seconds, (0.5, 0.99, 1.0))]


def summary(asked: Sequence[Asked]) -> Figures:
    """Give the figures of one method asked in one way."""
    answers = [answer for one in asked for answer in one.answers]
    theirs_s = [one.spent.theirs_s for one in asked]
    return {
        "applications": len(asked),
        "ms": quantiles_ms(theirs_s),
        "ratio": round(median(theirs_s) / median(one.spent.ours_s for one in asked), 1),
        "late": sum(one.late for one in asked),
        "answered": sum(bool(one.answers) for one in asked),
        "answers": len(answers),
        "spoiled": sum(one.spoiled for one in asked),
        "own_valid": sum(sum(one.own_valid) for one in asked),
        "approved": sum(answer.approved for answer in answers),
        "breaches": {b.value: sum(b in answer.breaches for answer in answers) for b in Breach},
        "usable": sum(_usable(answer) for answer in answers),
        "changes": _middle([answer.changes for answer in answers]),
        "compared": compared(asked),
    }


def compared(asked: Sequence[Asked]) -> Figures:
    """Hold our cheapest answer against the peer's cheapest of the kind that we give.

    Of our kind is an answer that is approved, can be followed, is plausible and changes at most
    three fields. All figures are numbers of applications but for two:

    - `cheaper`: its answer is cheaper than ours as it stands, by `cheaper_by_at_most`;
      `cheaper_real`: it still is with values that a person can act on.
    - `ours_none`: it has one where we say that there is none.
    - `wider`: it has none of our kind, but one that changes more fields; of these `wider_none`
      where we say that there is none, and `wider_cheaper` where it is cheaper than ours.
    """
    pairs = [(one, _costs(one.answers)) for one in asked]
    held = [(one, costs[0], one.ours_cost) for one, costs in pairs if costs]
    ours = [(one, theirs, cost) for one, theirs, cost in held if cost is not None]
    gaps = [cost - theirs for _, theirs, cost in ours if theirs < cost]
    wider = [
        (one.ours_cost, costs[0])
        for one, narrow in pairs
        if not narrow and (costs := _costs(one.answers, math.inf))
    ]
    return {
        "applications": len(held),
        "cost_ratio": _middle([theirs / cost for _, theirs, cost in ours]),
        "cheaper": len(gaps),
        "cheaper_by_at_most": max(gaps, default=0) / MILLIONTHS,
        "cheaper_real": sum(min(_costs(one.real), default=cost) < cost for one, _, cost in ours),
        "ours_none": len(held) - len(ours),
        "wider": len(wider),
        "wider_none": sum(cost is None for cost, _ in wider),
        "wider_cheaper": sum(cost is not None and theirs < cost for cost, theirs in wider),
    }


def _usable(answer: Judged) -> bool:
    """Say whether an applicant who follows the answer is approved."""
    return answer.approved and not answer.breaches


def _costs(answers: Sequence[Judged], changes_max: float = SIZE_MAX) -> list[int]:
    """Give the costs of answers that work and are plausible, the cheapest first."""
    return sorted(
        answer.cost
        for answer in answers
        if answer.cost is not None
        and _usable(answer)
        and answer.plausible
        and answer.changes <= changes_max
    )


def _middle(numbers: Sequence[float]) -> float | None:
    return round(float(np.median(numbers)), 2) if numbers else None
