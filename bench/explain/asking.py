"""DiCE and Alama asked about the same applications in turn, and every answer judged alike."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from alama.core.recourse.values import MILLIONTHS
from bench.explain import recourse
from bench.explain.dice import Answers, Dice, OutOfTime, seed
from bench.explain.figures import Asked, Spent, summary
from bench.explain.judge import Judge
from bench.explain.options import CARD, FOREST, OURS, WAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.core.recourse.answer import Recourse
    from alama.core.recourse.ready import ReadyRecourse
    from bench.explain.dice import Ranges, Row
    from bench.explain.ground import Ground
    from bench.explain.judge import Values
    from bench.explain.options import Size
    from bench.explain.surfaces import Surface
    from bench.progress import Bar
    from bench.store import Figures

_SECONDS: Final = {"random": 0.6, "genetic": 5.0, "kdtree": 0.6}
"""What an application takes DiCE, about."""


def seconds(size: Size) -> float:
    """Say how long it takes, about."""
    return sum(size.asked[way.method] * _SECONDS[way.method] for way in WAYS)


def measure(ground: Ground, ready: ReadyRecourse, size: Size, bar: Bar) -> Figures:
    """Ask each method in each way; the names of the results say which."""
    surfaces: dict[str, Surface] = {FOREST: ground.forest, CARD: ground.card}
    found: dict[str, Any] = {}
    for way in WAYS:
        bar.at(f"DiCE on {way.name}")
        surface, count = surfaces[way.decision], size.asked[way.method]
        dice = Dice(surface, ground.known, way.method)
        limits_of = partial(dice.limits, ground.model.catalogue) if way.limits == OURS else _none
        one = _Asking(ground, ready, dice, surface, size.cap_s)
        found[way.name] = summary(list(one.all(count, limits_of)))
        bar.advance(_SECONDS[way.method] * count)
    return found


def _none(_row: Row) -> None:
    """Leave DiCE its defaults: everything may change, within what it has seen."""


class _Asking:
    """Asks one method of DiCE, and Alama right before it."""

    def __init__(
        self, ground: Ground, ready: ReadyRecourse, dice: Dice, surface: Surface, cap_s: float
    ) -> None:
        self._ground = ground
        self._ready = ready
        self._dice = dice
        self._surface = surface
        self._cap_s = cap_s

    def all(self, count: int, limits_of: Callable[[Row], Ranges | None]) -> Iterator[Asked]:
        for place, row in enumerate(self._ground.rows[:count]):
            limits = limits_of(row)
            began = time.thread_time()
            ours = recourse.ask(self._ready, self._ground.applications[place])
            seed(place)
            asked_at = time.thread_time()
            try:
                answers, late = self._dice.ask(row, limits, self._cap_s), False
            except OutOfTime:
                answers, late = Answers([]), True
            spent = Spent(time.thread_time() - asked_at, asked_at - began)
            yield self._judged(Asked(spent, late), place, answers, ours)

    def _judged(self, asked: Asked, place: int, answers: Answers, ours: Recourse) -> Asked:
        judge = Judge(self._ready, self._ground.applications[place])
        told = [self._values(row) for row in answers.rows]
        ways = ours.counterfactuals
        return replace(
            asked,
            spoiled=answers.spoiled,
            own_valid=self._surface.approves(answers.rows) if told else (),
            answers=[judge.judge(values) for values in told],
            real=[judge.judge(r) for values in told if (r := judge.rounded(values)) is not None],
            ours_cost=round(ways[0].cost * MILLIONTHS) if ways else None,
        )

    def _values(self, row: dict[str, Any]) -> Values:
        return tuple(row.get(field.name) for field in self._ground.model.catalogue.fields)
