"""What a training run noticed: figures for the data scientist that the model need not carry."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConstraintPrice:
    """What holding one field to its risk direction costs: log-loss a row that it adds."""

    field: str
    log_loss: float


@dataclass(frozen=True, slots=True)
class Stage:
    """The card on hold-out after one step of its making."""

    name: str
    auc: float
    log_loss: float


@dataclass(frozen=True, slots=True)
class WithheldGain:
    """How many of those who gave a field would have scored higher by withholding it."""

    field: str
    share: float
    mean_points: float


@dataclass(frozen=True, slots=True)
class CardNotes:
    """What the making of one card cost and found."""

    card: str
    stages: tuple[Stage, ...]
    prices: tuple[ConstraintPrice, ...]
    withheld: tuple[WithheldGain, ...]
    slope: float
    intercept: float
