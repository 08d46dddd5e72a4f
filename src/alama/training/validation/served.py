"""Rows scored as they would be served: each by the smallest card that reads its given fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alama.core import kernel
from alama.core.model import money_factor
from alama.training.dataset import take_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from alama.core.kernel import Column
    from alama.core.model import Model
    from alama.training.validation.metrics import Floats


def served_points(
    model: Model, columns: Mapping[str, Column], rows: int, currency: str | None = None
) -> tuple[Floats, NDArray[np.intp]]:
    """Give the points of each row before rounding, and the place of the card that gave them.

    A field without a column is given by nobody. Money is in `currency`; None means the currency of
    the model's own cuts.
    """
    nobody = np.full(rows, np.nan)
    read = {feature.field for card in model.cards for feature in card.features}
    complete = {**dict.fromkeys(read, nobody), **columns}
    chosen = kernel.choose_card(model.cards, complete, rows)
    factor = money_factor(model, currency)
    points = np.empty(rows)
    for place, card in enumerate(model.cards):
        mine = np.flatnonzero(chosen == place)
        if len(mine):
            fields = (feature.field for feature in card.features)
            some = {name: take_column(complete[name], mine) for name in fields}
            scorecard = kernel.BatchScorecard(card, model.catalogue, factor)
            points[mine] = scorecard.score(some).points
    return points, chosen
