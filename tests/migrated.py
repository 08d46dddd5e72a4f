"""New SQLite databases in a moment: what the migrations make there, they make once a process.

They take Alembic 75 ms, and hundreds of tests begin with a database of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alembic.config import Config
from sqlalchemy import Connection

Upgrade = Callable[[Config, str], None]
Statement = tuple[str, tuple[Any, ...]]


class Repeated:
    """Alembic's `upgrade`, which repeats on empty SQLite files what it did on the first of them."""

    def __init__(self, upgrade: Upgrade) -> None:
        self.upgrade = upgrade
        self._made: list[Statement] = []

    def __call__(self, config: Config, revision: str) -> None:
        connection: Connection = config.attributes["connection"]
        if connection.dialect.name != "sqlite" or _made_in(connection):
            self.upgrade(config, revision)
        elif not self._made:
            self.upgrade(config, revision)
            self._made = [*_made_in(connection), *_rows_in(connection)]
        else:
            for statement, values in self._made:
                connection.exec_driver_sql(statement, values)


def _made_in(connection: Connection) -> list[Statement]:
    """What makes the tables and indexes of a database, in their order; not what SQLite adds."""
    found = connection.exec_driver_sql(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%'"
        " ESCAPE '~' ORDER BY rowid"
    )
    return [(sql, ()) for (sql,) in found]


def _rows_in(connection: Connection) -> list[Statement]:
    """What fills them again."""
    names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
    return [
        (f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(row))})', tuple(row))  # noqa: S608
        for name in names.scalars().all()
        for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"')  # noqa: S608
    ]
