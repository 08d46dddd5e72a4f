"""Random applications as a model's own population would send them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alama.core.application import Application, Value
from alama.core.kernel import Column, Words
from alama.core.model import ReadyModel
from tests.factories import random_columns

if TYPE_CHECKING:
    from tests.factories import Rng


def random_application(rng: Rng, ready: ReadyModel) -> Application:
    """Give an application in the model's own money: complete, thin, or compact.

    A third of them owe something elsewhere.
    """
    catalogue = ready.catalogue
    columns = random_columns(rng, ready.model.cards[-1], catalogue, 1)
    withheld = rng.choice([0.0, 0.3, 1.0])
    values: list[Value] = [None] * len(catalogue.fields)
    for name, column in columns.items():
        if catalogue.field(name).required or rng.random() >= withheld:
            values[catalogue.position[name]] = _only(column)
    if rng.random() < 1 / 3:
        values[catalogue.position["existing_repayments"]] = float(rng.integers(0, 12_000))
    return Application(tuple(values))


def _only(column: Column) -> Value:
    if isinstance(column, Words):
        code = int(column.codes[0])
        return None if code < 0 else column.vocabulary[code]
    # Nothing is asked for where the amount is nought, so that is not drawn.
    number = max(float(column[0]), 1e-6)
    return None if np.isnan(column[0]) else number
