"""New databases in a moment: what the migrations make there, they make once a process.

They take Alembic 75 ms on SQLite and 250 ms on PostgreSQL, and hundreds of tests begin with a
database of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alembic.config import Config
from sqlalchemy import Connection, event

Upgrade = Callable[[Config, str], None]
Statement = tuple[str, tuple[Any, ...]]
# The kind of database, where the migrations lie, and the last of them.
Target = tuple[str, str | None, str]


class Repeated:
    """Alembic's `upgrade`, which repeats on empty databases what it did on the first of them."""

    def __init__(self, upgrade: Upgrade) -> None:
        self.upgrade = upgrade
        self._made: dict[Target, list[Statement]] = {}

    def __call__(self, config: Config, revision: str) -> None:
        connection: Connection = config.attributes["connection"]
        kind = connection.dialect.name
        target = kind, config.get_main_option("script_location"), revision
        if not (_is_bare if kind == "postgresql" else _is_empty)(connection):
            self.upgrade(config, revision)
        elif target in self._made:
            for statement, values in self._made[target]:
                connection.exec_driver_sql(statement, values)
        elif kind == "postgresql":
            self._made[target] = self._watched(config, revision)
        else:
            self.upgrade(config, revision)
            self._made[target] = [*_made_in(connection), *_rows_in(connection)]

    def _watched(self, config: Config, revision: str) -> list[Statement]:
        """Upgrade, and give all that was said to PostgreSQL, but the questions, in one breath."""
        said: list[str] = []

        def note(*event: Any) -> None:
            _, _, statement, values, _, _ = event
            if not statement.lstrip().upper().startswith("SELECT"):
                assert not values, statement
                said.append(statement)

        connection: Connection = config.attributes["connection"]
        event.listen(connection, "after_cursor_execute", note)
        try:
            self.upgrade(config, revision)
        finally:
            event.remove(connection, "after_cursor_execute", note)
        return [(";\n".join(said), ())]


def _is_bare(connection: Connection) -> bool:
    """Whether a PostgreSQL has no table of anybody."""
    found = connection.exec_driver_sql(
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    )
    return found.scalar() == 0


def _is_empty(connection: Connection) -> bool:
    return not _made_in(connection)


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
