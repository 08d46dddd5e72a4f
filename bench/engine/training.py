"""Training time beside LightGBM by the number of rows: a process each, in turns, on all cores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import lightgbm
import numpy as np
import pyarrow.parquet

from alama.core.model import decode
from alama.training.validation import metrics
from bench.engine import ours
from bench.engine.forests import Encoder
from bench.engine.hashes import engine_hash, peer_hash
from bench.engine.subject import CURRENCY, population
from bench.engine.tables import LABEL
from bench.environment import ONE_THREAD, ROOT, SCRATCH

if TYPE_CHECKING:
    from pathlib import Path

    from bench.engine.options import Options
    from bench.progress import Bar
    from bench.store import Figures, Store

TRAIN_SEED: Final = 21
HOLDOUT_SEED: Final = 22
HOLDOUT_ROWS: Final = 100_000
QUICK_ROWS_MAX: Final = 30_000
QUICK_HOLDOUT_ROWS: Final = 10_000
MODEL: Final = SCRATCH / "trained.json"
FORESTS: Final = SCRATCH / "forests"


@dataclass(frozen=True, slots=True)
class Run:
    """A file to train on, so many times by each; a table by its name, else synthetic loans."""

    name: str
    rows: int
    rounds: int
    seconds_guessed: float
    table: str | None = None


RUNS: Final = (
    Run("1,000 synthetic loans", 1_000, 3, 20),
    Run("10,000 synthetic loans", 10_000, 3, 50),
    Run("100,000 synthetic loans", 100_000, 3, 180),
    Run("1,000,000 synthetic loans", 1_000_000, 2, 900),
    Run("taiwan, 30,000 loans", 30_000, 3, 100, table="taiwan"),
)
"""Seconds are guessed for one round of both."""


def measure(options: Options, store: Store, bar: Bar) -> None:
    """Run what is not yet known, a round of both at a time."""
    known = store.document.get("training", {})
    store.document["training"] = {run.name: known[run.name] for run in RUNS if run.name in known}
    runs = [run for run in RUNS if run.table is None or _table_file(run, options).exists()]
    for run in set(RUNS) - set(runs):
        bar.say(f"{run.name}: not in the folder of tables, skipped")
    steps = [(run, _entry(store, run), number) for run in runs for number in _rounds(run, options)]
    waiting = [step for step in steps if step[2] >= len(step[1]["rounds"])]
    if not waiting:
        bar.say("training: all runs are known")
        return
    bar.start("training", sum(run.seconds_guessed for run, _, _ in waiting))
    for run, entry, number in waiting:
        bar.at(f"{run.name}: the file")
        source = _table_file(run, options) if run.table else population(run.rows, TRAIN_SEED)
        bar.at(f"{run.name}: round {number + 1}")
        entry["rounds"].append(_round(run, source, number))
        if run.table is None and "auc" not in entry:
            bar.at(f"{run.name}: judging")
            entry["auc"] = _aucs(source, QUICK_HOLDOUT_ROWS if options.quick else HOLDOUT_ROWS)
        store.save()
        bar.advance(run.seconds_guessed)


def _rounds(run: Run, options: Options) -> range:
    if options.quick:
        return range(1 if run.rows <= QUICK_ROWS_MAX else 0)
    return range(run.rounds)


def _entry(store: Store, run: Run) -> Figures:
    """Open what is known of a run; a peer that was asked otherwise makes it another run."""
    by, peer = engine_hash(), peer_hash("lightgbm")
    entry = store.entry("training", run.name, by)
    if entry.get("beside") != peer:
        entry.clear()
        entry.update(by=by, beside=peer, rows=run.rows, rounds=[])
    return entry


def _table_file(run: Run, options: Options) -> Path:
    return options.tables / f"{run.table}.csv"


def _round(run: Run, source: Path, number: int) -> list[float]:
    """Give seconds and GB of ours, then of LightGBM; who goes first changes with the round."""
    train = ["alama", "train", str(source), "--label", LABEL, "--out", str(MODEL)]
    commands = {
        "ours": train if run.table else [*train, "--currency", CURRENCY],
        "theirs": ["bench.engine.training_peer", str(source), str(FORESTS)],
    }
    order = list(commands) if number % 2 == 0 else list(reversed(commands))
    used = {who: _timed([sys.executable, "-m", *commands[who]]) for who in order}
    return [*used["ours"], *used["theirs"]]


def _timed(command: list[str]) -> tuple[float, float]:
    """Run a process as a user would: seconds by the clock, and GB of the largest of its family."""
    variables = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    log = SCRATCH / "training.log"
    with log.open("w") as said:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=said, stderr=said)
        _pid, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)  # or it would be waited for again
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[2:4])} failed: {log.read_text()[-2000:]}")
    return round(seconds, 2), round(used.ru_maxrss / 2**20, 2)


def _aucs(source: Path, holdout_rows: int) -> list[float]:
    """Judge ours, LightGBM and the truth itself on loans that neither has seen."""
    path = population(holdout_rows, HOLDOUT_SEED)
    holdout = ours.read(path, LABEL)
    matrix = Encoder(ours.read(source, LABEL)).matrix(holdout)
    forests = [lightgbm.Booster(model_file=file) for file in sorted(FORESTS.iterdir())]
    votes = np.mean([forest.predict(matrix) for forest in forests], axis=0)
    table = pyarrow.parquet.read_table(path, columns=["true_default_probability"])
    risks = (
        -ours.points(decode(MODEL.read_bytes()), holdout),
        votes,
        table.column(0).to_numpy(),
    )
    return [round(metrics.auc(holdout.labels, risk), 5) for risk in risks]
