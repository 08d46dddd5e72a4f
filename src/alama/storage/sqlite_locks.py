"""Waiting for a SQLite file that another connection is writing into."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from alama.storage.sqlite_driver import pysqlite3

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine.interfaces import DBAPICursor

BUSY_TIMEOUT_S: Final = 5.0
"""How long a SQLite writer waits for another process before it gives up."""

BEGIN_WRITING: Final = "BEGIN IMMEDIATE"

_LOOK_AGAIN_S: Final = 0.001


class Busy(Exception):
    """Another process is writing, and nobody wanted to wait for it."""


def begin_when_free(cursor: DBAPICursor, patience_s: float) -> None:
    """Begin to write, or raise `Busy` once the patience is over; the driver itself has none."""
    try:
        when_free(lambda: cursor.execute(BEGIN_WRITING), patience_s)
    except pysqlite3.OperationalError as error:
        if is_locked(error):
            raise Busy from error
        raise


def begin_noting(cursor: DBAPICursor, note_wait: Callable[[], None]) -> None:
    """Begin to write as soon as nobody else does, and say so if that was not at once."""
    cursor.execute("PRAGMA busy_timeout=0")
    try:
        cursor.execute(BEGIN_WRITING)
    except pysqlite3.OperationalError as error:
        if not is_locked(error):
            raise
        note_wait()
        when_free(lambda: cursor.execute(BEGIN_WRITING), BUSY_TIMEOUT_S)
    finally:
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_S * 1_000:.0f}")


def when_free(work: Callable[[], object], patience_s: float) -> None:
    """Do something as soon as no other process holds the file, or raise as SQLite does."""
    given_up_at = time.monotonic() + patience_s
    while True:
        try:
            work()
        except pysqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() >= given_up_at:
                raise
            time.sleep(_LOOK_AGAIN_S)
        else:
            return


def is_locked(error: Exception) -> bool:
    return "locked" in str(error)
