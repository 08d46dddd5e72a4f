"""Inserts of rows that may be there already: both databases know them, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Table


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
