"""A connection to a SQLite file, as Alama uses every one of them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from alama.storage import sqlite_locks as locks
from alama.storage.sqlite_driver import pysqlite3

if TYPE_CHECKING:
    from alama.storage.sqlite_file import SqliteFile

_PAGE_BYTES: Final = 8_192
"""Of a SQLite file: about four scores a page, and fewer writes a commit than by default."""


class Connection(pysqlite3.Connection):  # type: ignore[misc] # no driver has types
    """Leaves the journal to `checkpoints`, also when it is the last to be closed.

    SQLite copies the journal into the file then, tells nobody of an error, and removes it. Told to
    stop, it gives up before the first page, and removes only what has been copied before.
    """

    def close(self) -> None:
        """Close it, and copy nothing."""
        with suppress(pysqlite3.ProgrammingError):  # it is closed
            self.interrupt()
        super().close()

    def __del__(self) -> None:
        """Do the same where nobody has closed it."""
        with suppress(pysqlite3.ProgrammingError):
            self.interrupt()


_EXACT_ERRORS: Final = 0x02000000 | 0x40 | 0x2
"""To SQLite: tell which kind of an error it was; the name is a URI; read and write."""


def opened(file: SqliteFile, busy_s: float, **options: int) -> Connection:
    """Open a file, with how long to wait for others who write; `StoreUnavailable` if it is gone."""
    connection: Connection = pysqlite3.connect(
        file.uri, uri=True, check_same_thread=False, timeout=busy_s, factory=Connection, **options
    )
    try:
        connection.isolation_level = None
        file.require()  # a connection to another file would stay where it is kept
    except BaseException:
        connection.close()
        raise
    return connection


def opened_exactly(file: SqliteFile) -> Connection:
    """Open a file so that an error says which kind it was, and wait for nobody.

    Python's own driver always says so, and knows no such option.
    """
    if pysqlite3.__name__ == "sqlite3":
        return opened(file, 0.0)
    return opened(file, 0.0, flags=_EXACT_ERRORS)


def prepare(connection: Connection, file: SqliteFile) -> None:
    """Set what holds for a connection, and have what it will write found again after a cut."""
    connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")  # of a new file; others keep theirs
    # Once for each file. SQLite waits for no other process here: we do.
    locks.when_free(lambda: connection.execute("PRAGMA journal_mode=WAL"), locks.BUSY_TIMEOUT_S)
    # What is deleted is overwritten; a row that is moved must leave no copy, and no key, behind.
    # Nothing is copied in passing, by a commit: see `checkpoints`.
    for pragma in (
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",
        "wal_autocheckpoint=0",
    ):
        connection.execute(f"PRAGMA {pragma}")
    file.keep_names()
