"""The synthetic population as a lender keeps its loans, with an attribute to compare people by."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from alama.training.population.people import PopulationOptions, batches

_KNOWN_ONLY_HERE: Final = frozenset({"default", "true_default_probability", "booked"})
"""What no lender has beside its loans: what comes of them, and the true risk."""


def loan_table(population: PopulationOptions) -> pa.Table:
    """Give the loans of a population as a lender keeps them.

    Where there was an earlier policy, what it did not book has no date of disbursement. The gender
    is drawn at random: it has nothing to do with the risk.
    """
    books = pa.Table.from_batches(list(batches(replace(population, history=True))))
    rng = np.random.default_rng([population.seed, 8])
    gender = [("f", "m")[n] for n in rng.integers(0, 2, books.num_rows)]
    kept = [name for name in books.column_names if name not in _KNOWN_ONLY_HERE]
    return books.select(kept).append_column("gender", pa.array(gender))
