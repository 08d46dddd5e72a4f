"""A book: the scores of one lender in one mode. Nothing crosses from one book to another."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from alama.service.ports import Registry


class Mode(StrEnum):
    """Which model answers: the built-in one on synthetic data, or the lender's own."""

    TEST = "test"
    LIVE = "live"


class Book(NamedTuple):
    """Whose data it is. Every query of every score names one."""

    lender: str
    mode: Mode


def is_open(registry: Registry, book: Book) -> bool:
    """Say whether a book can be scored in: a live one needs a model of its own."""
    deployed = registry.deployed(book)
    return book.mode is Mode.TEST or (deployed is not None and deployed[0] is not None)
