"""The SQLite that is used: the newest, where there is a wheel of it, or Python's own."""

from __future__ import annotations

import sqlite3

try:
    import pysqlite3
except ImportError:  # no wheel for this platform; `database.check_processes` says what that means
    pysqlite3 = sqlite3

__all__ = ["pysqlite3"]
