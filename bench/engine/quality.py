"""Quality on real tables: everyone learns and is judged on the same folds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

from alama.training.validation import metrics
from bench.engine import ours
from bench.engine.folds import Fold, folds, subsample
from bench.engine.hashes import engine_hash, peer_hash
from bench.engine.models import PEERS
from bench.engine.tables import FOLDS, LABEL, found, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from bench.engine.options import Options
    from bench.engine.tables import Table
    from bench.progress import Bar
    from bench.store import Figures, Store

    Floats = NDArray[np.float64]
    Predict = Callable[[Dataset, Dataset], Floats]

QUICK_ROWS: Final = 2_500
QUICK_FOLDS: Final = 2
ALAMA: Final = "alama"
DIRECTED: Final = "alama, directed"

_SECONDS_GUESSED: Final = {
    "german": {ALAMA: 8, "optbinning": 2, "lightgbm": 2, "xgboost": 3, "ebm": 6},
    "hmeq": {ALAMA: 15, "optbinning": 2, "lightgbm": 15, "xgboost": 15, "ebm": 15},
    "taiwan": {ALAMA: 30, DIRECTED: 40, "optbinning": 5, "lightgbm": 12, "xgboost": 15, "ebm": 12},
    "gmsc": {ALAMA: 60, DIRECTED: 70, "optbinning": 8, "lightgbm": 30, "xgboost": 35, "ebm": 25},
}
"""Seconds a fold on two cores, until this machine's own are known."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One model on one fold of one table."""

    table: Table
    model: str
    fold: str
    entry: Figures
    seconds: float


def measure(options: Options, store: Store, bar: Bar) -> None:
    """Measure what is not yet known, one fold at a time; tables that are not there are skipped.

    Every table once, then the repeats: an interrupted run has seen them all.
    """
    tables = found(options, bar)
    steps = [step for table in tables for step in _steps(table, store, quick=options.quick)]
    if not steps:
        bar.say("quality: nothing is left to measure")
        return
    bar.start("quality on real tables", sum(step.seconds for step in steps))
    for repeat, table in product(range(max(t.repeats for t in tables)), tables):
        due = [s for s in steps if s.table is table and s.fold.startswith(f"{repeat}.")]
        if due:
            data = ours.read(path_of(options, table), LABEL)
            _run(data, table, due, store, bar, quick=options.quick)


def _models(table: Table) -> dict[str, str]:
    """Name the models, and the code that each stands for."""
    mine = [ALAMA, *([DIRECTED] if table.directions else [])]
    return {**dict.fromkeys(mine, engine_hash()), **{name: peer_hash(name) for name in PEERS}}


def _steps(table: Table, store: Store, *, quick: bool) -> Iterator[_Step]:
    repeats, count = (1, QUICK_FOLDS) if quick else (table.repeats, FOLDS)
    entries = {
        model: store.entry("quality", f"{table.name}/{model}", by)
        for model, by in _models(table).items()
    }
    for repeat in range(repeats):
        for number in range(count):
            for model, entry in entries.items():
                known = entry.setdefault("folds", {})
                fold = f"{repeat}.{number}"
                if fold not in known:
                    seconds = _expected(table.name, model, known)
                    yield _Step(table, model, fold, entry, seconds)


def _expected(table: str, model: str, known: dict[str, list[float]]) -> float:
    if known:
        return sum(figures[-1] for figures in known.values()) / len(known)
    return float(_SECONDS_GUESSED[table].get(model, 1))


def _run(
    data: Dataset, table: Table, steps: list[_Step], store: Store, bar: Bar, *, quick: bool
) -> None:
    if quick:
        data = data.take(subsample(data.labels, QUICK_ROWS))
    count, repeats = (QUICK_FOLDS, 1) if quick else (FOLDS, table.repeats)
    splits = {fold.name: fold for fold in folds(data.labels, count, repeats)}
    for step in steps:
        bar.at(f"{table.name} fold {step.fold}: {step.model}")
        step.entry["folds"][step.fold] = _judged(data, splits[step.fold], _predictor(step))
        step.entry.update(rows=len(data), fold_count=count)
        store.save()
        bar.advance(step.seconds)


def _predictor(step: _Step) -> Predict:
    if step.model == ALAMA:
        return _alama
    if step.model == DIRECTED:
        directions = step.table.directions
        return lambda train, test: _alama(ours.directed(train, directions), test)
    return PEERS[step.model]


def _alama(train: Dataset, test: Dataset) -> Floats:
    return ours.probabilities(ours.trained(train).model, test)


def _judged(data: Dataset, fold: Fold, predict: Predict) -> list[float]:
    """Give AUC, log loss, calibration error and seconds."""
    train, test = data.take(fold.train), data.take(fold.test)
    started = time.perf_counter()
    predicted = predict(train, test)
    seconds = time.perf_counter() - started
    return [
        round(metrics.auc(test.labels, predicted), 6),
        round(metrics.log_loss(test.labels, predicted), 6),
        round(metrics.calibration_error(test.labels, predicted), 6),
        round(seconds, 2),
    ]
