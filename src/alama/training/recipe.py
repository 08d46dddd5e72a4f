"""How a model is made: every setting of the run, in one place, written into the model.

And what the run noticed: figures for the data scientist that the model need not carry.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from alama.core.model import Setting

PAIRS_NEED_DEFAULTS: Final = 1_000
"""Below this many defaults pairs fit noise: mains only."""

LARGE_ROWS: Final = 100_000
"""From here on boosting may take steps twice as long: measured, they cost nothing but time."""

REPEATS: Final = ((1_500, 4), (5_000, 2))
"""Below so many defaults, so many repeats: there scores move with the seed, and bags are cheap."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of one training run.

    Every row is left out by one bag of each repeat (`folds` bags a repeat), so that the margins
    that calibration sees were made by bags that never saw the row. Losses are log-loss a row: a
    pair is kept where it carries at least `pair_loss`, bands are merged while that costs no more
    than `band_loss` a field.
    """

    seed: int = 0
    main_bins: int = 128
    pair_bins: int = 32
    pairs: int = 30
    pair_loss: float = 5e-6
    folds: int = 4
    repeats: int = 1
    learning_rate: float = 0.04
    leaf_rows: int = 20
    rows_per_bag: int = 480_000
    masked_share: float = 0.1
    words_max: int = 40
    word_share_min: float = 0.002
    bands_max: int = 24
    pair_bands_max: int = 10
    band_loss: float = 1e-6
    ridge: float = 0.3
    portable: bool = True

    def for_data(self, rows: int, defaults: int) -> Recipe:
        """Fit the recipe to the evidence: little data, little model, more bags."""
        minority = min(defaults, rows - defaults)
        recipe = self
        if minority < PAIRS_NEED_DEFAULTS:
            recipe = replace(recipe, pairs=0)
        if rows >= LARGE_ROWS:
            recipe = replace(recipe, learning_rate=2.0 * recipe.learning_rate)
        repeats = next((many for below, many in REPEATS if minority < below), 1)
        return replace(recipe, repeats=max(recipe.repeats, repeats))

    @property
    def bags(self) -> int:
        return self.folds * self.repeats

    def settings(self) -> dict[str, Setting]:
        """Give what is written into the model."""
        return asdict(self)


# -------------------------------------------------------------------------------------------- notes


class ConstraintPrice(msgspec.Struct, frozen=True):
    """What holding one field to its risk direction costs: log-loss a row that it adds."""

    field: str
    log_loss: float


class Stage(msgspec.Struct, frozen=True):
    """The card on hold-out after one step of its making."""

    name: str
    auc: float
    log_loss: float


class WithheldGain(msgspec.Struct, frozen=True):
    """How many of those who gave a field would have scored higher by withholding it."""

    field: str
    share: float
    mean_points: float


class CardNotes(msgspec.Struct, frozen=True):
    """What the making of one card cost and found."""

    card: str
    stages: tuple[Stage, ...]
    prices: tuple[ConstraintPrice, ...]
    withheld: tuple[WithheldGain, ...]
    slope: float
    intercept: float
