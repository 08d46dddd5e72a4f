"""A child process: read a file, boost LightGBM's bags on all cores, and write the forests."""

from __future__ import annotations

import sys
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from alama.training.history.load import load
from bench.engine.bags import BAGS, lightgbm_forest
from bench.engine.tables import LABEL
from bench.environment import cores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.training.dataset import Dataset


def main(source: Path, folder: Path) -> int:
    """Boost a bag on each core, one thread each: faster than all threads on one bag."""
    folder.mkdir(parents=True, exist_ok=True)
    data = load(source, label=LABEL, catalogue=None, monotone={}, exclude=()).dataset
    # Forked, so that the rows are neither read nor sent again.
    fork = get_context("fork")
    shares = [range(first, BAGS, cores()) for first in range(cores())]
    workers = [fork.Process(target=boost, args=(data, share, folder)) for share in shares]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return max(abs(worker.exitcode or 0) for worker in workers)


def boost(data: Dataset, numbers: Iterable[int], folder: Path) -> None:
    for number in numbers:
        lightgbm_forest(data, number).save_model(folder / f"{number}.txt")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
