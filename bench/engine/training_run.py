"""A child process: train once and tell seconds, memory and quality, a line of JSON each."""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
from joblib.externals.loky import get_reusable_executor

from alama.training.recipe import Recipe
from alama.training.validation import metrics
from bench.engine import ours
from bench.engine.subject import CURRENCY
from bench.environment import cores


def main(asked: dict[str, Any]) -> None:
    """Train as asked; the hold-out is read after memory has been measured."""
    recipe = replace(Recipe(), portable=asked["portable"])
    if asked["rows_per_bag"] is not None:
        recipe = replace(recipe, rows_per_bag=asked["rows_per_bag"])
    started = time.perf_counter()
    data = ours.read(Path(asked["train"]), "default")
    loaded = time.perf_counter()
    model = ours.trained(data, recipe, currency=CURRENCY, watch=tell).model
    finished = time.perf_counter()
    memory = memory_gb()
    holdout = ours.read(Path(asked["holdout"]), "default")
    table = pyarrow.parquet.read_table(asked["holdout"], columns=["true_default_probability"])
    truth = table.column(0).to_numpy()
    figures = {
        "rows": len(data),
        "rows_per_bag": min(recipe.rows_per_bag, len(data)),
        "seconds": round(finished - loaded, 1),
        "seconds_reading": round(loaded - started, 1),
        "gb": memory,
        "processes": cores(),
        "auc": round(metrics.auc(holdout.labels, -ours.points(model, holdout)), 5),
        "auc_truth": round(metrics.auc(holdout.labels, truth), 5),
    }
    print(json.dumps(figures), flush=True)


def tell(stage: str, share: float, note: str) -> None:
    """Tell the parent how far the run is."""
    print(json.dumps({"stage": stage, "share": share, "note": note}), flush=True)


def memory_gb() -> float:
    """Give the most this process held, plus the most any worker held times their number.

    An upper bound: what the workers share is counted more than once.
    """
    # A worker is counted once it has ended.
    get_reusable_executor().shutdown(wait=True)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return round((own + cores() * worker) / 2**20, 2)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
