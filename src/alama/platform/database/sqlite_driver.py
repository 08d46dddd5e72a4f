"""The SQLite that is used: the newest, where there is a wheel of it, or Python's own.

By one author and with one interface there is a wheel for x86-64, and one for ARM that could also
encrypt whole files. Nobody gives it a key for that, so it writes the same files as any other.
"""

from __future__ import annotations

import sqlite3

try:
    import pysqlite3
except ImportError:
    try:
        from sqlcipher3 import dbapi2 as pysqlite3
    except ImportError:  # no wheel at all; `database.check_processes` says what that means
        pysqlite3 = sqlite3

__all__ = ["pysqlite3"]
