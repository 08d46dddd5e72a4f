"""A table in a file, not yet read, whatever its format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Protocol

from alama.core.errors import FileProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

BATCH_ROWS: Final = 65_536

_CELLS_AT_ONCE: Final = 64 * BATCH_ROWS
"""In one batch; of a table with more columns fewer rows are read at a time."""

_SHOWN: Final = 20


class Table(Protocol):
    """A table in a file, not yet read."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in their order, without space around the names."""

    @property
    def rows(self) -> int | None:
        """How many rows there are; None where only reading tells."""

    @property
    def total(self) -> float:
        """How much there is to read, in `unit`."""

    @property
    def unit(self) -> str:
        """What `total` and `done` count: "rows" or "MB"."""

    @property
    def done(self) -> float:
        """How much of `total` the latest pass has read."""

    def type_of(self, name: str) -> pa.DataType:
        """Give the type in which a column comes; it must exist."""

    def batches(self, names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Read these columns, in this order, at most `size` rows at a time.

        Each call is a new pass over the file; FileProblem where a row cannot be read.
        """


def require(table: Table, names: Sequence[str]) -> None:
    """Raise FileProblem unless the table has all these columns."""
    there = set(table.names)
    absent = [name for name in names if name not in there]
    if absent:
        message = f"{table.path} has no column {', '.join(absent)}"
        raise FileProblem(message, hint=columns_hint(table.names))


def columns_hint(names: Iterable[str]) -> str:
    """Say which columns there are: the first of them."""
    listed = [name for name in names if name]
    rest = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return f"its columns are {', '.join(listed[:_SHOWN])}{rest}" if listed else "it has no others"


def rows_at_once(columns: int, size: int) -> int:
    """Give how many rows of so many columns are read at a time, at most `size`."""
    return max(1, min(size, _CELLS_AT_ONCE // max(columns, 1)))


def unreadable(path: Path, error: OSError) -> FileProblem:
    """Say why a file cannot be read, without the words of a library."""
    reason = os.strerror(error.errno) if error.errno else "it is damaged or not what its name says"
    return FileProblem(f"cannot read {path}: {reason}")
