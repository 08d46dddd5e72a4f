"""Books as rows name them, and the way from one to the next.

The key of many a table begins with the book, so which books have rows is found by going from one
to the next, whatever lies between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import (
    select,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, Table

    from alama.platform.book import Book


class StoredBook(NamedTuple):
    """A book as rows have it."""

    lender: str
    mode: str


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


def of_book(book: Book) -> dict[str, object]:
    """Give the columns that say whose a row is."""
    return {"lender": book.lender, "mode": book.mode.value}


def in_book(table: Table, book: Book) -> ColumnElement[bool]:
    return (table.c.lender == book.lender) & (table.c.mode == book.mode.value)
