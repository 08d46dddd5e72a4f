"""What a training run noticed: figures for the data scientist that the model need not carry."""

from __future__ import annotations

import msgspec


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
