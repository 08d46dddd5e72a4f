"""One table of cells, as it stands in a file, or in what was sent."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from alama.platform.files.asis.written import Cell

    Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that lies in memory only; messages call it by the name that it is given."""

    content: bytes
    name: str = "the file"

    def __str__(self) -> str:
        return self.name

    def open(self, mode: str) -> IO[bytes]:
        assert mode == "rb"
        return io.BytesIO(self.content)


Source: TypeAlias = "Path | Sent"
"""What a table is read from."""


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
