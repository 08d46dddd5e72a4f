"""Training time, memory and quality by the number of rows, each run in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from bench.engine.hashes import engine_hash
from bench.engine.subject import population
from bench.environment import ROOT, SCRATCH

if TYPE_CHECKING:
    from bench.engine.options import Options
    from bench.progress import Bar
    from bench.store import Figures, Store

TRAIN_SEED: Final = 21
HOLDOUT_SEED: Final = 22
ALL_ROWS: Final = 2**31


@dataclass(frozen=True, slots=True)
class Run:
    """One training run; `portable` False lets the trainer round as this processor likes."""

    name: str
    rows: int
    seconds_guessed: float
    rows_per_bag: int | None = None
    portable: bool = True


RUNS: Final = (
    Run("10 k rows", 10_000, 60),
    Run("100 k rows", 100_000, 150),
    Run("1 M rows", 1_000_000, 400),
    # The price of sampling: the same twice, a sample a bag and all rows a bag. In the trainer's
    # fast arithmetic, or the second would take most of an hour.
    Run("1 M rows, sampled, fast", 1_000_000, 250, portable=False),
    Run("1 M rows, all in each bag, fast", 1_000_000, 1_200, ALL_ROWS, portable=False),
)
QUICK_RUNS: Final = (Run("5 k rows", 5_000, 30), Run("10 k rows", 10_000, 60))


def measure(options: Options, store: Store, bar: Bar) -> None:
    """Run what is not yet known."""
    runs = QUICK_RUNS if options.quick else RUNS
    by = engine_hash()
    waiting = [run for run in runs if "seconds" not in store.entry("training", run.name, by)]
    if not waiting:
        bar.say("training: all runs are known")
        return
    bar.start("training", sum(run.seconds_guessed for run in waiting))
    holdout = population(10_000 if options.quick else 200_000, HOLDOUT_SEED)
    for run in waiting:
        bar.at(f"the population of {run.name}")
        train = population(run.rows, TRAIN_SEED)
        store.entry("training", run.name, by).update(_child(run, str(train), str(holdout), bar))
        store.save()


def _child(run: Run, train: str, holdout: str, bar: Bar) -> Figures:
    """Start a run, show its progress, give its figures."""
    asked = json.dumps({**asdict(run), "train": train, "holdout": holdout})
    command = [sys.executable, "-m", "bench.engine.training_run", asked]
    log = SCRATCH / "training.log"
    shown = 0.0
    figures: Figures = {}
    with (
        log.open("w") as complaints,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=complaints, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            if "share" in told:
                bar.at(f"{run.name}: {told['stage']} {told['note']}")
                bar.advance((told["share"] - shown) * run.seconds_guessed)
                shown = told["share"]
            else:
                figures = told
    if process.returncode:
        raise RuntimeError(f"{run.name} failed: {log.read_text()[-2000:]}")
    bar.advance((1.0 - shown) * run.seconds_guessed)
    return figures
