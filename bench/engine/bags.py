"""LightGBM in bags, and how a forest is bagged here; imports no other peer, for its start is timed.

Forests are bagged eight times like ours is bagged, each bag stopped early on rows of its own;
unbagged they would flatter us.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import lightgbm
import numpy as np

from bench.engine.forests import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from alama.training.dataset import Dataset

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

BAGS: Final = 8
STOP_SHARE: Final = 0.15
TREES_MAX: Final = 4_000
PATIENCE: Final = 100
SMALL_ROWS: Final = 3_000
"""Below this many rows a forest of 31 leaves learns them by heart."""


def lightgbm_bagged(train: Dataset, test: Dataset) -> Floats:
    """Bagged, early-stopped, without constraints."""
    judged = Encoder(train).matrix(test)
    votes = [lightgbm_forest(train, number).predict(judged) for number in range(BAGS)]
    mean: Floats = np.mean(votes, axis=0)
    return mean


def lightgbm_forest(train: Dataset, number: int) -> lightgbm.Booster:
    """Boost one bag."""
    encoder = Encoder(train)
    rows = encoder.matrix(train)
    learn, stop = split(train, number)
    settings = {
        "objective": "binary",
        "learning_rate": 0.03,
        "num_leaves": 7 if len(train) < SMALL_ROWS else 31,
        "min_data_in_leaf": 20,
        "feature_fraction": 0.6,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "lambda_l2": 5.0,
        "num_threads": 1,  # two wait for each other for minutes where others work too
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
        "seed": number,
    }
    data = lightgbm.Dataset(
        rows[learn], train.labels[learn], categorical_feature=encoder.word_places or "auto"
    )
    watched = lightgbm.Dataset(rows[stop], train.labels[stop], reference=data)
    stopping = lightgbm.early_stopping(PATIENCE, verbose=False)
    return lightgbm.train(settings, data, TREES_MAX, valid_sets=[watched], callbacks=[stopping])


def split(train: Dataset, number: int) -> tuple[Rows, Rows]:
    """Set a stratified share apart for a bag, to stop by."""
    rng = np.random.default_rng([7, number])
    stop = np.zeros(len(train), dtype=np.bool_)
    for outcome in (0, 1):
        members = rng.permutation(np.flatnonzero(train.labels == outcome))
        stop[members[: round(STOP_SHARE * len(members))]] = True
    return np.flatnonzero(~stop), np.flatnonzero(stop)
