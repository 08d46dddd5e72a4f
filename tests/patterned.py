"""Labelled rows with a known pattern, for tests of the trainer's steps."""

from __future__ import annotations

import numpy as np

from alama.core.catalogue import Catalogue, Direction, Field, Kind
from alama.core.kernel import Words
from alama.training.dataset import Dataset
from alama.training.recipe import Recipe

QUICK = Recipe(
    seed=5,
    pairs=2,
    folds=3,
    learning_rate=0.1,
    band_cost=2e-4,
    masked_share=0.1,
    portable=False,  # which takes three times as long; test_reproducible.py is about it
)
"""A recipe that is done in a second on a few thousand rows; the steps are the real ones."""

CATALOGUE = Catalogue(
    fields=(
        Field("months", Kind.INTEGER, required=True, minimum=0, direction=Direction.SAFER),
        Field("inflow", Kind.NUMBER, required=True, minimum=0, direction=Direction.SAFER),
        Field("amount", Kind.NUMBER, minimum=0, direction=Direction.RISKIER),
        Field("weekend", Kind.NUMBER, minimum=0, maximum=1),
        Field("device", Kind.WORD),
    )
)


def patterned(rows: int = 4_000, seed: int = 0) -> Dataset:
    """Loans whose risk falls with months and inflow, rises with amount, and has one pair effect.

    The pattern is broken on purpose where `months` is between 30 and 36: a free fit would follow.
    Optional fields are missing in a tenth of the rows.
    """
    rng = np.random.default_rng(seed)
    months = rng.integers(0, 60, rows).astype(np.float64)
    inflow = np.round(rng.lognormal(3.0, 0.6, rows), 2)
    amount = np.round(rng.lognormal(2.0, 0.8, rows), 0) + 1.0
    weekend = np.round(rng.random(rows), 2)
    device = rng.integers(0, 4, rows).astype(np.int32)
    log_odds = (
        -0.6
        - 0.03 * months
        + 1.2 * ((months >= 30) & (months < 36))
        - 0.02 * inflow
        + 0.05 * amount * (1.0 - np.minimum(inflow / 60.0, 1.0))
        + 1.5 * (weekend - 0.5) ** 2
        + np.array([0.0, 0.3, -0.2, 0.1])[device]
    )
    labels = (rng.random(rows) < 1.0 / (1.0 + np.exp(-log_odds))).astype(np.int8)
    gone = rng.random((3, rows)) < 0.1
    return Dataset(
        CATALOGUE,
        {
            "months": months,
            "inflow": inflow,
            "amount": np.where(gone[0], np.nan, amount),
            "weekend": np.where(gone[1], np.nan, weekend),
            "device": Words(
                np.where(gone[2], np.int32(-1), device), ["Smart", "basic", "tablet ", "feature"]
            ),
        },
        labels,
    )


def unwatched(*_: object) -> None:
    """Stand in for a progress bar."""
