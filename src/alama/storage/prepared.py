"""Statements for many rows whose text is made once.

SQLAlchemy makes the parameters of a row in ten microseconds, SQLite takes the row in three: and
while whoever writes behind scoring does so, scoring waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Executable


class Prepared:
    """A statement with named parameters, for both databases."""

    def __init__(self, write: Callable[[Connection], Executable], names: Sequence[str]) -> None:
        """Take what writes it, and the parameters that every row has; it is written when needed."""
        self._write = write
        self._names = list(names)
        self._texts: dict[str, _Text] = {}

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Do it for each row; without any, do nothing."""
        if not rows:
            return
        dialect = connection.dialect.name
        if dialect not in self._texts:
            self._texts[dialect] = _Text(self._write(connection), connection, self._names)
        self._texts[dialect].run(connection, rows)


class _Text:
    """A statement in the language of one driver."""

    def __init__(self, statement: Executable, connection: Connection, names: Sequence[str]) -> None:
        compiled = statement.compile(dialect=connection.dialect, column_keys=list(names))  # type: ignore[attr-defined]
        self._text = str(compiled)
        self._places: Sequence[str] | None = compiled.positiontup
        # What is the same for every row.
        self._given = {name: value for name, value in compiled.params.items() if name not in names}

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if self._places is None:
            whole = [{**self._given, **row} for row in rows]
            connection.exec_driver_sql(self._text, whole)
            return
        given, places = self._given, self._places
        connection.exec_driver_sql(
            self._text,
            [tuple(row[name] if name in row else given[name] for name in places) for row in rows],
        )
