"""The model that comes with the package: trained on the public synthetic population.

Test keys score with it. Anyone can make it again from here, to the same hash.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.platform.files.writer import open_table
from alama.training.history.load import load
from alama.training.pipeline import Judged, Order, judge, train
from alama.training.population.people import PopulationOptions, batches, schema
from alama.training.recipe import Recipe

if TYPE_CHECKING:
    from alama.training.making.make import Watch

POPULATION: Final = PopulationOptions(rows=400_000, seed=20_250_701)
RECIPE: Final = Recipe(seed=1)


def build(jobs: int, watch: Watch) -> Judged:
    """Make the population, read it as any lender's file is read, train on it and judge."""
    order = Order(
        name="Alama synthetic",
        label="default",
        recipe=RECIPE,
        currency=POPULATION.currency,
        currencies=tuple(REFERENCE_INFLOW_MONTHLY),
        jobs=jobs,
    )
    with tempfile.TemporaryDirectory(prefix="alama-") as folder:
        loans = Path(folder, "loans.parquet")
        with open_table(loans, schema(POPULATION)) as table:
            for batch in batches(POPULATION):
                table.write(batch)
        data = load(loans, label="default", catalogue=None, monotone={}, exclude=()).dataset
    return judge(train(data, order, watch), order.recipe.seed, watch)
