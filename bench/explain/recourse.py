"""Alama's recourse by itself: how long it takes, whether it works, what it asks for."""

from __future__ import annotations

import time
import tracemalloc
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.application import Application
from alama.core.assess import assess
from alama.core.recourse.answer import Counterfactual, Recourse, Sought, Status
from alama.core.recourse.find import find_recourse
from alama.core.recourse.ready import ReadyRecourse
from bench.explain.figures import quantiles_ms
from bench.explain.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.core.lending.ready_policy import ReadyPolicy
    from bench.explain.ground import Ground
    from bench.explain.judge import Values
    from bench.store import Figures

ROUNDS: Final = 3
SET_UPS: Final = 9


def ask(ready: ReadyRecourse, application: Application) -> Recourse:
    """Ask for three ways to be approved, with all the time there is: every answer is proven."""
    return find_recourse(ready, application, Sought(), lambda: False)


def measure(ground: Ground, ready: ReadyRecourse) -> Figures:
    """Time every application three times, and look at what is found."""
    told = [ask(ready, application) for application in ground.applications]
    ways = [len(recourse.counterfactuals) for recourse in told]
    first = [recourse.counterfactuals[0] for recourse in told if recourse.counterfactuals]
    return {
        "applications": len(told),
        "ms": quantiles_ms(_seconds(ground.applications, ready, time.perf_counter)),
        "processor_ms": quantiles_ms(_seconds(ground.applications, ready, time.thread_time)),
        "found": sum(recourse.status is Status.FOUND for recourse in told),
        "ways": [ways.count(count) for count in range(Sought().count + 1)],
        "proven": sum(recourse.optimal for recourse in told),
        "answers": sum(ways),
        "kept": sum(
            _holds(ready, application, way)
            for application, recourse in zip(ground.applications, told, strict=True)
            for way in recourse.counterfactuals
        ),
        "changes": [sum(len(way.changes) == n for way in first) for n in (1, 2, 3)],
        "cost": [round(float(q), 4) for q in np.quantile([w.cost for w in first], (0.5, 0.9))],
        **_set_up(ready.policy),
    }


def _seconds(
    applications: Sequence[Application], ready: ReadyRecourse, clock: Callable[[], float]
) -> list[float]:
    """Give the middle one of three times for each application: a pause of the machine is none."""
    rounds = []
    for _ in range(ROUNDS):
        taken = []
        for application in applications:
            started = clock()
            ask(ready, application)
            taken.append(clock() - started)
        rounds.append(taken)
    return [median(times) for times in zip(*rounds, strict=True)]


def _holds(ready: ReadyRecourse, application: Application, way: Counterfactual) -> bool:
    """Send an answer back: it must give what was promised, by changes that can be made."""
    after = _changed(ready, application, way)
    judged = Judge(ready, application).judge(after)
    promised = assess(ready.policy.model, ready.policy, Application(after)) == way.assessment
    return promised and judged.approved and judged.plausible and not judged.breaches


def _changed(ready: ReadyRecourse, application: Application, way: Counterfactual) -> Values:
    values = list(application.values)
    for change in way.changes:
        values[ready.policy.model.catalogue.position[change.field]] = change.after
    return tuple(values)


def _set_up(policy: ReadyPolicy) -> Figures:
    """Say what it takes to lay recourse out for a model and a policy, and what it keeps."""
    taken = []
    for _ in range(SET_UPS):
        started = time.perf_counter()
        ReadyRecourse(policy)
        taken.append(time.perf_counter() - started)
    tracemalloc.start()
    kept = ReadyRecourse(policy)
    held_bytes, _most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return {"set_up_ms": round(median(taken) * 1e3, 1), "set_up_kb": round(held_bytes / 1024)}
