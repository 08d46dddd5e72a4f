"""Many rows in few statements, past SQLAlchemy and straight to the driver.

The driver lets go of the interpreter at every statement, and gets it back only when the event loop
has a moment. A statement a row would hand it over a hundred times for a commit of a hundred rows;
so as many rows as possible go into one. Chunks are powers of two, so that a handful of texts serves
every number of rows and the database prepares each of them once.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine.interfaces import DBAPICursor

ROWS_MAX: Final = 64
"""In one statement: more gains nothing, and SQLite counts the parameters."""


class Inserts:
    """The statements for one table, for rows that are tuples in the order of its columns."""

    def __init__(self, table: str, columns: Sequence[str], mark: str) -> None:
        """Write the texts; `mark` stands for a parameter in the driver's language."""
        row = f"({', '.join([mark] * len(columns))})"
        head = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "  # noqa: S608  our own names
        self._texts = {}
        size = ROWS_MAX
        while size:
            self._texts[size] = head + ", ".join([row] * size)
            size //= 2

    def run(self, cursor: DBAPICursor, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert all rows."""
        done = 0
        for size, text in self._texts.items():
            while len(rows) - done >= size:
                chunk = rows[done : done + size]
                cursor.execute(text, tuple(chain.from_iterable(chunk)))
                done += size
