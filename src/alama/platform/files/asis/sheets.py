"""One table of cells, as it stands in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alama.platform.files.asis.written import Cell

    Row = tuple[Cell, ...]


@dataclass(slots=True)
class Sheet:
    """One table of cells, as far as its shape tells more than its cells do.

    Rows are counted from 1. `merged` are ranges (first row, first column, last row, last column),
    columns from 0; `epoch` is the date system that the file names.
    """

    name: str = ""
    is_shown: bool = True
    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()
    merged: tuple[tuple[int, int, int, int], ...] = ()
    unsolved: int = 0
    epoch: str | None = None
