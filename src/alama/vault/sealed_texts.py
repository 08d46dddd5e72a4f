"""The columns that hold sealed texts, changed batch by batch while scores go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, bindparam, select, tuple_, update

from alama.vault import envelope

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row, Select, Table, Update

    from alama.platform.database.database import Database


AT_ONCE: Final = 500
"""Rows in one transaction: while it lasts, SQLite lets no score be kept."""


class TextColumn(NamedTuple):
    """A column of sealed texts, and which part of a score they are."""

    table: Table
    name: str
    part: str


class Resealed(NamedTuple):
    """A text as it is to stand from now on, and the keys that it names."""

    text: bytes
    seal_key_id: str | None
    applicant_key_id: str | None


class SealedText(NamedTuple):
    """A record, a reply or a note as it is stored, and where it stands."""

    lender: str
    mode: str
    request_id: str
    part: str
    text: bytes

    @property
    def where(self) -> bytes:
        """The place that it is bound to."""
        return envelope.place(self.lender, self.mode, self.request_id, self.part)


Change = Callable[["Connection", Sequence[SealedText]], Sequence[Resealed]]


def changed(
    database: Database, column: TextColumn, chosen: ColumnElement[bool], change: Change
) -> Iterator[int]:
    """Change the chosen texts in the order of their keys; give how many each transaction changed.

    What another process has deleted or changed meanwhile, so that it is not chosen any more, stays.
    """
    query, move = _query(column).where(chosen).limit(AT_ONCE), _update(column, chosen)
    key = tuple_(*column.table.primary_key.columns)
    rest = query
    while True:
        with database.writing() as connection:
            found = connection.execute(rest).all()
            if found:
                _write(connection, column, move, found, change)
        if not found:
            return
        rest = query.where(key > tuple_(*_key(column, found[-1])))
        yield len(found)


def change_all(
    connection: Connection, column: TextColumn, chosen: ColumnElement[bool], change: Change
) -> int:
    """Change all chosen texts in the transaction that is open; give how many they were."""
    found = connection.execute(_query(column).where(chosen)).all()
    if found:
        _write(connection, column, _update(column, chosen), found, change)
    return len(found)


def _write(
    connection: Connection,
    column: TextColumn,
    move: Update,
    found: Sequence[Row[Any]],
    change: Change,
) -> None:
    rows: list[tuple[Any, ...]] = [tuple(row) for row in found]
    texts = [SealedText(row[0], row[1], row[2], column.part, row[3]) for row in rows]
    names = [f"was_{part.name}" for part in column.table.primary_key.columns]
    values = [
        dict(zip(names, _key(column, row), strict=True))
        | {f"now_{name}": value for name, value in after._asdict().items()}
        for row, after in zip(rows, change(connection, texts), strict=True)
    ]
    connection.execute(move, values)


def _query(column: TextColumn) -> Select[Any]:
    table = column.table.c
    key = column.table.primary_key.columns
    place = (table.lender, table.mode, table.request_id, table[column.name])
    return select(*place, *key).order_by(*key)


def _key(column: TextColumn, row: Sequence[Any]) -> Sequence[Any]:
    return row[-len(column.table.primary_key.columns) :]


def _update(column: TextColumn, chosen: ColumnElement[bool]) -> Update:
    key = column.table.primary_key.columns
    return (
        update(column.table)
        .where(and_(*(part == bindparam(f"was_{part.name}") for part in key)), chosen)
        .values(
            {
                column.name: bindparam("now_text"),
                "seal_key_id": bindparam("now_seal_key_id"),
                "applicant_key_id": bindparam("now_applicant_key_id"),
            }
        )
    )


ChangeText = Callable[[SealedText], bytes]
