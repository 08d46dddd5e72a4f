"""How a model is made: every setting of the run, in one place, written into the model.

And what the run noticed: figures for the data scientist that the model need not carry.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.model import Setting

FEW: Final = 5_000
"""Below so many of the rarer outcome rows are few: every one that a fit is left without is missed,
and one that only stopped it has told it something."""

FOLDS_OF_FEW: Final = 6
FOLDS_OF_MANY: Final = 3
FOLDS_MIN: Final = 3
"""One is left out, one stops the boosting, and at least one is learned from."""

BAGS: Final = ((500, 2),)
"""Below so many of the rarer outcome, so many bags a fold: there scores move with the seed."""

OF_FEW: Final = {
    "learning_rate": 0.08,
    "smoothing_rounds": 5,
    "patience": 8,
    "tolerance": 1e-3,
    "band_cost": 2e-4,
}
OF_MANY: Final = {
    "learning_rate": 0.04,
    "smoothing_rounds": 75,
    "patience": 50,
    "tolerance": 1e-5,
    "band_cost": 1.5e-4,
}
OF_MILLIONS: Final = {**OF_MANY, "smoothing_rounds": 20, "patience": 10, "tolerance": 1e-4}
"""Few rows are learned by heart in small steps; many have room for shapes that are found slowly;
and where a step takes long, fewer have to do."""

MILLIONS: Final = 500_000

STEP_A_ROW: Final = 8e-7
STEP_MAX: Final = 0.2
"""The more rows, the longer steps may be: measured, shorter ones cost nothing but time."""

DEFAULTS_PER_PAIR: Final = 10
PAIRS_MIN: Final = 3
"""One pair is tried for so many of the rarer outcome, and a few at least."""

LEAF_ROWS_MAX: Final = 20
LEAF_ROWS: Final = ((1_000, 5), (3_000, 10))
"""Below so many of the rarer outcome, so many rows a step of boosting must stand on."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of one training run.

    Every row is left out by one of the `folds`, whose drafts judge what is chosen. A pair more has
    to save `pair_gain` of log-loss over all rows together. Bands may cost `band_cost` a row, and a
    cap on what is missing `cap_cost`. What is nought is chosen by the rows there are.
    """

    seed: int = 0
    main_bins: int = 128
    pair_bins: int = 32
    pairs: int = 30
    pair_gain: float = 0.1
    folds: int = 0
    stop_apart: bool = True
    bags: int = 0
    learning_rate: float = 0.0
    smoothing_rounds: int = 0
    patience: int = 0
    tolerance: float = 0.0
    rounds_max: int = 1_000
    leaf_rows: int = 0
    rows_per_bag: int = 480_000
    masked_share: float = 0.1
    words_max: int = 40
    word_share_min: float = 0.002
    band_cost: float = 0.0
    cap_cost: float = 2e-4
    ridge: float = 0.3
    portable: bool = True

    def for_data(self, rows: int, defaults: int) -> Recipe:
        """Fit the recipe to the evidence: little data, more bags and smaller leaves."""
        minority = min(defaults, rows - defaults)
        few = minority < FEW
        usual = OF_FEW if few else OF_MANY if rows < MILLIONS else OF_MILLIONS
        step = max(usual["learning_rate"], min(rows * STEP_A_ROW, STEP_MAX))
        folds = max(self.folds or (FOLDS_OF_FEW if few else FOLDS_OF_MANY), FOLDS_MIN)
        return replace(
            self,
            folds=folds,
            stop_apart=few,
            bags=min(self.bags or _by_evidence(BAGS, minority, 1), folds - 1),
            pairs=min(self.pairs, max(minority // DEFAULTS_PER_PAIR, PAIRS_MIN)),
            leaf_rows=self.leaf_rows or _by_evidence(LEAF_ROWS, minority, LEAF_ROWS_MAX),
            learning_rate=self.learning_rate or step,
            smoothing_rounds=self.smoothing_rounds or int(usual["smoothing_rounds"]),
            patience=self.patience or int(usual["patience"]),
            tolerance=self.tolerance or usual["tolerance"],
            band_cost=self.band_cost or usual["band_cost"],
        )

    def settings(self) -> dict[str, Setting]:
        """Give what is written into the model."""
        return asdict(self)


def _by_evidence(ladder: Sequence[tuple[int, int]], minority: int, otherwise: int) -> int:
    return next((value for below, value in ladder if minority < below), otherwise)


# -------------------------------------------------------------------------------------------- notes


class ConstraintPrice(msgspec.Struct, frozen=True):
    """What holding one field to its risk direction costs: log-loss a row that it adds."""

    field: str
    log_loss: float


class Stage(msgspec.Struct, frozen=True):
    """The card after one step of its making, on rows that were left out of it."""

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
