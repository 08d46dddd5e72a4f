"""Small files: samples of the real tables, everyone learns and is judged on the same rows."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.training.recipe import Recipe
from alama.training.validation import metrics
from bench.engine import ours
from bench.engine.bags import lightgbm_bagged
from bench.engine.draws import best_field, draw, sizes
from bench.engine.folds import subsample
from bench.engine.hashes import draws_hash, engine_hash, peer_hash
from bench.engine.models import optbinning
from bench.engine.samples_page import ALAMA, BEST_FIELD, LIGHTGBM, OPTBINNING
from bench.engine.tables import LABEL, found, path_of
from bench.environment import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from bench.engine.options import Options
    from bench.engine.tables import Table
    from bench.progress import Bar
    from bench.store import Figures, Store

    Floats = NDArray[np.float64]

DRAWS: Final = 20
QUICK_DRAWS: Final = 3
QUICK_ROWS: Final = 2_500
_CHANCE_MIN: Final = 1e-9


def _alama(train: Dataset, test: Dataset) -> Floats:
    """Train as onboarding does; a draw has one core, for there is another draw on the next."""
    model = ours.trained(train, Recipe(portable=False), jobs=1).model
    return ours.probabilities(model, test)


MODELS: Final[dict[str, Callable[[Dataset, Dataset], Floats]]] = {
    ALAMA: _alama,
    LIGHTGBM: lightgbm_bagged,
    OPTBINNING: optbinning,
    BEST_FIELD: best_field,
}

_SECONDS_GUESSED: Final = {
    ALAMA: (3.0, 5e-4),
    LIGHTGBM: (2.0, 5e-4),
    OPTBINNING: (1.0, 5e-5),
    BEST_FIELD: (0.1, 1e-6),
}
"""Seconds a draw, and for each row to learn from, until this machine's own are known."""


@dataclass(frozen=True, slots=True)
class _File:
    """A table as the workers read it: whole, or a part of it for a quick run."""

    path: Path
    rows_max: int | None


@dataclass(frozen=True, slots=True)
class _Step:
    """One model on one draw."""

    file: _File
    name: str
    model: str
    defaults: int
    number: int
    seconds: float
    entry: Figures


def measure(options: Options, store: Store, bar: Bar) -> None:
    """Measure what is not yet known, a draw on each core.

    Every table and size once, then the next draw: an interrupted run has seen them all.
    """
    steps = [step for table in found(options, bar) for step in _steps(table, options, store)]
    if not steps:
        bar.say("samples: nothing is left to measure")
        return
    steps.sort(key=lambda step: step.number)
    bar.start("samples of real tables", sum(step.seconds for step in steps) / cores())
    with ProcessPoolExecutor(cores(), multiprocessing.get_context("spawn"), _settle) as pool:
        waiting = {
            pool.submit(_judged, step.file, step.model, step.defaults, step.number): step
            for step in steps
        }
        try:
            for done in as_completed(waiting):
                step = waiting[done]
                doing = f"{step.name}, draw {step.number}: {step.model}"
                bar.at(doing)
                if (error := done.exception()) is not None:
                    raise RuntimeError(f"{doing} failed") from error
                step.entry["draws"][str(step.number)] = done.result()
                store.save()
                bar.advance(step.seconds / cores())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _settle() -> None:
    """Let a worker fork: boosting starts a process each time, which would import all this again."""
    multiprocessing.set_start_method("fork", force=True)


def _steps(table: Table, options: Options, store: Store) -> Iterator[_Step]:
    file = _File(path_of(options, table), QUICK_ROWS if options.quick else None)
    labels = _read(file).labels
    for size, defaults in sizes(int(labels.sum())).items():
        name = f"{table.name}/{size}"
        rows = len(draw(labels, defaults, 0).train)
        for model in MODELS:
            by = engine_hash() if model == ALAMA else peer_hash(model)
            entry = store.entry("samples", f"{name}/{model}", f"{by} {draws_hash()}")
            known = entry.setdefault("draws", {})
            entry.update(rows=rows, defaults=defaults)
            seconds = _expected(model, rows, known)
            for number in range(QUICK_DRAWS if options.quick else DRAWS):
                if str(number) not in known:
                    yield _Step(file, name, model, defaults, number, seconds, entry)


def _expected(model: str, rows: int, known: dict[str, list[float]]) -> float:
    if known:
        return sum(figures[-1] for figures in known.values()) / len(known)
    start, a_row = _SECONDS_GUESSED[model]
    return start + a_row * rows


@cache
def _read(file: _File) -> Dataset:
    data = ours.read(file.path, LABEL)
    return data if file.rows_max is None else data.take(subsample(data.labels, file.rows_max))


def _judged(file: _File, model: str, defaults: int, number: int) -> list[float]:
    """Give AUC, log loss, calibration slope and seconds; a field alone gives AUC and seconds."""
    data = _read(file)
    rows = draw(data.labels, defaults, number)
    train, test = data.take(rows.train), data.take(rows.test)
    started = time.perf_counter()
    risk = MODELS[model](train, test)
    seconds = round(time.perf_counter() - started, 2)
    auc = round(metrics.auc(test.labels, risk), 6)
    if model == BEST_FIELD:
        return [auc, seconds]
    chance = np.clip(risk, _CHANCE_MIN, 1.0 - _CHANCE_MIN)
    slope, _level = metrics.calibration_line(test.labels, np.log(chance / (1.0 - chance)))
    return [auc, round(metrics.log_loss(test.labels, chance), 6), round(slope, 4), seconds]
