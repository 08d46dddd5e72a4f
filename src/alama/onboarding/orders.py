"""What workers are asked for, as jobs carry it: JSON that those who ask and those who do share."""

from __future__ import annotations

from typing import Final

import msgspec

from alama.onboarding.records import FileFormat

SEED_MAX: Final = 2**31 - 1


class Wishes(msgspec.Struct, frozen=True):
    """What may become an input, and which columns say who is treated how.

    `exclude` takes fields of a request out of the inputs, `keep` leaves one in that gives the
    outcome away, `groups` are looked at for fairness and never are inputs; `region` is an input
    only where it is asked for.
    """

    region: bool = False
    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class ReadOrder(msgspec.Struct, frozen=True):
    """A file that was received: how it is written, its hash and in how many parts it lies."""

    file_format: FileFormat
    digest: str
    part_count: int
    days_past_due: int
    wishes: Wishes = Wishes()


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What is decided about a training run since its history was read; see `Wishes`."""

    region: bool = False
    exclude: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    seed: int = 0


class TrainOrder(Decided, frozen=True):
    """A history to train on, as it was read but for what is decided since.

    Equal orders on equal histories give equal models.
    """

    history_id: str


def to_train(history_id: str, decided: Decided) -> TrainOrder:
    """Give the order of a training run."""
    return TrainOrder(history_id, **msgspec.structs.asdict(decided))


def encode(order: ReadOrder | TrainOrder) -> bytes:
    """Write an order for a job to carry."""
    return msgspec.json.encode(order)


def reading(order: bytes) -> ReadOrder:
    """Read the order of a job that reads."""
    return msgspec.json.decode(order, type=ReadOrder)


def training(order: bytes) -> TrainOrder:
    """Read the order of a job that trains."""
    return msgspec.json.decode(order, type=TrainOrder)
