"""One row: from an application to points and exact contributions, beside a forest and its own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from alama.core.application import Application, read
from alama.core.assess import explain_score
from alama.core.model import ReadyModel
from alama.platform.files.reader import open_table
from bench.engine.hashes import engine_hash
from bench.engine.subject import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from bench.engine.options import Options
    from bench.engine.subject import Subject
    from bench.progress import Bar
    from bench.store import Store

    Call = Callable[[int], object]

BLOCK_ROWS: Final = 50
SELDOM: Final = {"shap, background": 5}
"""What takes milliseconds is measured on fewer rows of a block."""

COLD: Final = "alama, cold"


def measure(options: Options, store: Store, bar: Bar) -> None:
    """Time every way on the same rows in turns, so that a busy moment hits all alike."""
    entry = store.entry("speed", "rows", engine_hash())
    if "us" in entry:
        bar.say("one row: known")
        return
    train_rows, count = (10_000, 400) if options.quick else (100_000, 5_000)
    bar.start("one row", 15 if options.quick else 240)
    subject = prepare(train_rows, 20_000, bar)
    bar.at("timing one row at a time")
    wall, cpu = _interleaved(_calls(subject, count), count)
    entry.update(
        us={name: _summary(nanoseconds) for name, nanoseconds in wall.items()},
        cpu_us={name: _summary(nanoseconds)[0] for name, nanoseconds in cpu.items()},
        about=subject.about(),
        rows=count,
    )
    store.save()


def _calls(subject: Subject, count: int) -> dict[str, Call]:
    """Lay everything ready that a caller would hold: applications for us, matrices for them."""
    ready = ReadyModel(subject.model)
    applications, matrix = _full_rows(subject, ready, count)
    single = [np.ascontiguousarray(matrix[row : row + 1]) for row in range(count)]
    values = [application.values for application in applications]
    card, forest, light = ready.scorecards[-1], subject.forest, subject.light
    along, against = subject.explainer(background=False), subject.explainer(background=True)
    return {
        "alama": lambda row: explain_score(ready, applications[row]),
        "lightgbm": lambda row: (
            forest.predict(single[row]),
            forest.predict(single[row], pred_contrib=True),
        ),
        "alama, card alone": lambda row: card.score(values[row]),
        "lightgbm, predict": lambda row: forest.predict(single[row]),
        "lightgbm, pred_contrib": lambda row: forest.predict(single[row], pred_contrib=True),
        "light": lambda row: (
            light.predict(single[row]),
            light.predict(single[row], pred_contrib=True),
        ),
        "shap, paths": lambda row: along.shap_values(single[row], check_additivity=False),
        "shap, background": lambda row: against.shap_values(single[row], check_additivity=False),
    }


def _full_rows(
    subject: Subject, ready: ReadyModel, count: int
) -> tuple[list[Application], NDArray[np.float64]]:
    """Take the first rows that need the full card, with whatever they lack."""
    names = [field.name for field in ready.catalogue.fields]
    applications, places, at = [], [], 0
    for batch in open_table(subject.test_file).batches(list(subject.encoder.names), 4_096):
        for sent in batch.to_pylist():
            known: dict[str, Any] = {n: v for n, v in sent.items() if v is not None and n in names}
            application = read(ready.catalogue, known)
            if ready.scorecard_for(application) is ready.scorecards[-1]:
                applications.append(application)
                places.append(at)
            at += 1
            if len(places) == count:
                return applications, subject.encoder.matrix(subject.test.take(np.array(places)))
    raise AssertionError("the population has too few rows with more than the core fields")


def _interleaved(
    calls: Mapping[str, Call], count: int
) -> tuple[dict[str, list[int]], dict[str, list[float]]]:
    """Give nanoseconds a row by the clock, and of the processor as the mean of each block.

    Everyone does a block of rows, then the next in turn. A block's first row finds the caches full
    of somebody else's forest: it is not counted, but ours is told apart, as what a row costs out
    of the blue. On a busy machine long calls are interrupted and short ones are not, so the clock
    flatters us; ratios are of processor time.
    """
    wall: dict[str, list[int]] = {name: [] for name in (*calls, COLD)}
    cpu: dict[str, list[float]] = {name: [] for name in calls}
    clock = time.perf_counter_ns
    for start in range(0, count, BLOCK_ROWS):
        for name, call in calls.items():
            first, *others = range(start, start + SELDOM.get(name, BLOCK_ROWS))
            started = clock()
            call(first)
            if name == "alama":
                wall[COLD].append(clock() - started)
            used = time.thread_time_ns()
            for row in others:
                started = clock()
                call(row)
                wall[name].append(clock() - started)
            cpu[name].append((time.thread_time_ns() - used) / len(others))
    return wall, cpu


def _summary(nanoseconds: Sequence[float]) -> list[float]:
    """Give median and 99th percentile in microseconds."""
    return [round(float(q) / 1e3, 2) for q in np.quantile(nanoseconds, (0.5, 0.99))]
