"""The journal of a SQLite file: it holds what the file does not any more, until it is emptied."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPICursor

ATTEMPTS: Final = 10
TIMEOUT_S: Final = 0.2
PAUSE_S: Final = 0.3
"""How often it is tried, for how long each time, when nobody can write, and with which pause."""


def empty(cursor: DBAPICursor, timeout_s_before: float) -> bool:
    """Copy the journal into the file and cut it to nothing; False where somebody reads from it.

    The connection waits for others as long as before, once it is done.
    """
    cursor.execute(f"PRAGMA busy_timeout={TIMEOUT_S * 1000:.0f}")
    try:
        for attempt in range(ATTEMPTS):
            time.sleep(PAUSE_S if attempt else 0)
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy, *_ = cursor.fetchall()[0]
            if not busy:
                return True
        return False
    finally:
        cursor.execute(f"PRAGMA busy_timeout={timeout_s_before * 1000:.0f}")
