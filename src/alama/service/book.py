"""A book: the scores of one lender in one mode. Nothing crosses from one book to another."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Mode(StrEnum):
    """Which model answers: the built-in one on synthetic data, or the lender's own."""

    TEST = "test"
    LIVE = "live"


class Book(NamedTuple):
    """Whose data it is. Every query of every score names one."""

    lender: str
    mode: Mode
