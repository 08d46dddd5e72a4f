"""A SQLite file that no other process has open: all of its journal copied, all of it checked."""

from __future__ import annotations

import os
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

from alama.storage.sqlite_connection import opened_exactly
from alama.storage.sqlite_driver import pysqlite3
from alama.storage.sqlite_locks import is_locked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.storage.sqlite_connection import Connection
    from alama.storage.sqlite_file import SqliteFile

FINDINGS_MAX: Final = 3


@contextmanager
def alone(file: SqliteFile) -> Iterator[Connection | None]:
    """Give a connection that shuts all others out; None where somebody else has the file open.

    It keeps what it knows of the journal to itself, so that it starts at its beginning.
    """
    with closing(opened_exactly(file)) as connection:
        try:
            for pragma in ("locking_mode=EXCLUSIVE", "synchronous=FULL", "wal_autocheckpoint=0"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except pysqlite3.Error as error:
            if not is_locked(error):
                raise
            yield None
            return
        yield connection
        file.memory.unlink(missing_ok=True)  # of those who were here before


def read_anew(file: SqliteFile) -> int:
    """Have the system forget the file, so that it is read from its disk; give what is to be closed.

    Not before the connection is: to close a file drops the locks of this process on it.
    """
    descriptor = os.open(file.path, os.O_RDONLY)
    if sys.platform == "linux":
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return descriptor


def copy_all(connection: Connection) -> None:
    """Copy all of the journal."""
    busy, frames, copied = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
    assert not busy, "nobody else is there"
    assert frames == copied, "nobody else is there"


def damages(connection: Connection) -> list[str]:
    """Give what is wrong with a file, in the words of SQLite."""
    try:
        found = connection.execute(f"PRAGMA integrity_check({FINDINGS_MAX})").fetchall()
    except pysqlite3.DatabaseError as error:
        return [str(error)]
    wrong = [str(line) for (line,) in found if line != "ok"]
    orphans = connection.execute("PRAGMA foreign_key_check").fetchmany(FINDINGS_MAX)
    return [*wrong, *(f"{table}: row {row} names no row of {to}" for table, row, to, _ in orphans)]
