"""Events book by book, as workers see them: these work for all books, and have them take turns.

The key of an event begins with its book, and so does that of a bundle. So whatever is asked names
the book of each, and which books there are is found by going from one to the next, whatever lies
between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select, tuple_

from alama.storage import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, Table

EVENT_KEY: Final = tuple_(schema.events.c.lender, schema.events.c.mode, schema.events.c.id)
"""What a `StoredKey` is compared with."""


class StoredBook(NamedTuple):
    """A book as rows have it."""

    lender: str
    mode: str


class StoredKey(NamedTuple):
    """What names an event among those of all books."""

    lender: str
    mode: str
    id: str


NO_BOOK: Final = StoredBook("", "")
"""What comes before all of them."""


def within(table: Table, book: StoredBook) -> ColumnElement[bool]:
    """Choose the rows of a book."""
    return (table.c.lender == book.lender) & (table.c.mode == book.mode)


def books_after(connection: Connection, table: Table, book: StoredBook) -> Iterator[StoredBook]:
    """Go through the books after one that have rows in a table, by its key.

    A step or two for each book, however many rows it has: where both columns are compared at
    once, SQLite reads through the book that it is to leave.
    """
    lender, mode = table.c.lender, table.c.mode
    query = select(lender, mode).order_by(lender, mode).limit(1)
    while True:
        other_mode = query.where(lender == book.lender, mode > book.mode)
        row = connection.execute(other_mode).first()
        if row is None:
            row = connection.execute(query.where(lender > book.lender)).first()
        if row is None:
            return
        book = StoredBook._make(row)
        yield book
