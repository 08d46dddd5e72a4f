"""Days that were counted, made up: as those of training, or moved away from them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import insert

from alama.core import document, tally
from alama.core.calibration import SCORE_MIN
from alama.core.model import Model
from alama.core.tables import Card
from alama.core.tally import SCORE_STEP, CardTally, Tally
from alama.monitoring.drift import Drift, DriftStore
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.platform.files.packaged import builtin
from alama.scoring import schema
from tests.entries import NOON_US
from tests.stores import acts_in, registry_in

if TYPE_CHECKING:
    pass

CARD: Final = "full"
MOVING: Final = "avg_inflow"
DAY_US: Final = 86_400 * 1_000_000
TODAY: Final = NOON_US // DAY_US


@cache
def the_model() -> Model:
    """The model of the package: its counts are in no file, so they are drawn from its shares."""
    return builtin()


def card_named(name: str = CARD, model: Model | None = None) -> Card:
    return next(card for card in (model or the_model()).cards if card.name == name)


def drawn(
    count: int,
    seed: int,
    moved: tuple[str, ...] = (),
    card: str = CARD,
    model: Model | None = None,
) -> CardTally:
    """Counts of so many scores; of the fields that have moved half are in their second band."""
    rng = np.random.default_rng(seed)
    found = CardTally(tiers={"B": count}, decisions={"APPROVED": count})
    for feature in card_named(card, model).features:
        shares = np.array(feature.shares)
        if feature.field in moved:
            shares = shares / 2.0
            shares[1] += 0.5
        found.bands.append(rng.multinomial(count, shares / shares.sum()).tolist())
    reference = next(one for one in (model or the_model()).references if one.card == card)
    lows = [SCORE_MIN, *reference.score_edges]
    found.steps = [0] * (1 + (lows[-1] - SCORE_MIN) // SCORE_STEP)
    for low, number in zip(lows, rng.multinomial(count, reference.score_shares), strict=True):
        found.steps[(low - SCORE_MIN) // SCORE_STEP] += int(number)
    return found


def count_day(
    database: Database,
    book: Book,
    day: int,
    counted: CardTally,
    card: str = CARD,
    writer: str = "w1",
    model: Model | None = None,
) -> None:
    """Keep what one process counted on a day, as scoring would have."""
    row = {
        "lender": book.lender,
        "mode": book.mode.value,
        "day": day,
        "model_id": (model or the_model()).id,
        "writer": writer,
        "counts": tally.encode(Tally({card: counted})),
    }
    with database.writing() as connection:
        connection.execute(insert(schema.daily_counts), row)


def drift_in(database: Database) -> Drift:
    """What looks for drift in a database, which holds the model."""
    registry = registry_in(database)
    registry.keep_model(the_model().id, document.encode(the_model()), NOON_US)
    return Drift(drift_store_in(database), registry)


def drift_store_in(database: Database) -> DriftStore:
    return DriftStore(database, acts_in(database), lambda: NOON_US)
