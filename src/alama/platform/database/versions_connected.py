"""Which versions of Alama are connected to a PostgreSQL, as each of their sessions says itself.

A session's name is all that anybody may see of the sessions of another role; where it comes from,
only those may see who are of that role, or of `pg_read_all_stats`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import text

from alama import __version__
from alama.platform.database import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


_NAMED: Final = re.compile(r"alama (?P<version>\S+) schema (?P<schema>\d{4})")

_SESSIONS: Final = text(
    "SELECT application_name, coalesce(host(client_addr), '') FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND application_name LIKE 'alama %'"
)


class Outdated(NamedTuple):
    """Sessions of one version in one place, which a schema would no longer serve."""

    version: str
    place: str
    sessions: int

    def __str__(self) -> str:
        """Say it as one item of a list."""
        sessions = "1 session" if self.sessions == 1 else f"{self.sessions} sessions"
        return f"{self.version} from {self.place or 'a place this role may not see'} ({sessions})"


def session_name() -> str:
    """Name the sessions of this code; PostgreSQL takes 63 characters."""
    return f"alama {__version__} schema {tables.HEAD}"


def outdated(connection: Connection, serves: str) -> Sequence[Outdated]:
    """Give the sessions of code for a schema before `serves`."""
    # The list is read once a transaction, unless one asks for a new one.
    connection.execute(text("SELECT pg_stat_clear_snapshot()"))
    counted: Counter[tuple[str, str]] = Counter()
    for name, place in connection.execute(_SESSIONS):
        said = _NAMED.fullmatch(name)
        if said is not None and said["schema"] < serves:
            counted[f"{said['version']} with schema {said['schema']}", place] += 1
    return [Outdated(*which, times) for which, times in sorted(counted.items())]
