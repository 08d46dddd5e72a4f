"""How a model is made: every setting of the run, in one place, written into the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from alama.core.model import Setting

PAIRS_NEED_DEFAULTS: Final = 1_000
"""Below this many defaults pairs fit noise: mains only."""

SMALL_DEFAULTS: Final = 5_000
"""Below this many defaults bags are cheap and scores move with the seed: use more of them."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of one training run.

    Every row is left out by one bag of each repeat (`folds` bags a repeat), so that the margins
    that calibration sees were made by bags that never saw the row.
    """

    seed: int = 0
    main_bins: int = 128
    pair_bins: int = 32
    pairs: int = 15
    pairs_tried: int = 30
    folds: int = 4
    repeats: int = 1
    learning_rate: float = 0.04
    leaf_rows: int = 20
    rows_per_bag: int = 240_000
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
            recipe = replace(recipe, pairs=0, pairs_tried=0)
        if minority < SMALL_DEFAULTS:
            recipe = replace(recipe, repeats=max(recipe.repeats, 4))
        return recipe

    @property
    def bags(self) -> int:
        """Count the bags."""
        return self.folds * self.repeats

    def settings(self) -> dict[str, Setting]:
        """Give what is written into the model."""
        return asdict(self)
