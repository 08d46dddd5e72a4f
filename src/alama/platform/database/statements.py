"""Statements for many rows: prepared, upserted, past SQLAlchemy and straight to the driver.

SQLAlchemy makes the parameters of a row in ten microseconds, SQLite takes the row in three: and
while whoever writes behind scoring does so, scoring waits.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Executable, Table
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
        done = 0
        for size, text in self._texts.items():
            while len(rows) - done >= size:
                chunk = rows[done : done + size]
                cursor.execute(text, tuple(chain.from_iterable(chunk)))
                done += size


def insert_into(connection: Connection, table: Table) -> Any:  # noqa: ANN401  two types, none in common
    """Give an insert that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    return dialect.insert(table)


def insert_new(connection: Connection, table: Table, row: Mapping[str, Any]) -> bool:
    """Insert a row unless its primary key is taken, by this process or by another just now.

    Say whether it was inserted.
    """
    statement = insert_into(connection, table).on_conflict_do_nothing()
    counted = {"preserve_rowcount": True}  # which it is not for an insert
    return connection.execute(statement, row, execution_options=counted).rowcount == 1


class Prepared:
    """A statement with named parameters, for both databases."""

    def __init__(self, write: Callable[[Connection], Executable], names: Sequence[str]) -> None:
        self._write = write
        self._names = list(names)
        self._texts: dict[str, _Text] = {}

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
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
