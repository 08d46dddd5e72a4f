"""What a database says of itself: asked by whoever looks for what is wrong. Nothing is changed."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import func, insert, select, text

from alama.platform.clock_store import SERVER_NOW
from alama.platform.database import tables
from alama.platform.database.sqlite_driver import pysqlite3
from alama.webhooks import schema
from alama.webhooks.endpoint_store import ENDPOINTS, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.webhooks.records import Listed


NETWORKED: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "glusterfs", "lustre", "ncpfs"}
    | {"nfs", "nfs4", "smb3", "smbfs"}
)
"""File systems of other machines: SQLite's locks and its shared memory do not reach across them."""

STUCK_S: Final = 60.0
_SCORES_MIN: Final = 1_000
_SQLITE: Final = b"SQLite format 3\0"
_WAL: Final = b"\x02\x02"
_WAL_AT: Final = 18
"""Where a SQLite file says by which journal it is written and read."""


class Server(NamedTuple):
    """A PostgreSQL server, as one connection to it sees it."""

    version: str
    fsync: bool
    full_page_writes: bool
    is_standby: bool
    tls: str | None
    connections_max: int
    connections_now: int
    size_bytes: int


class Stuck(NamedTuple):
    """Transactions of this database in which nothing has happened for a minute or longer."""

    transactions: int
    longest_s: int


class Offset(NamedTuple):
    """How far a clock is ahead of ours, and how long the answer took: half of it is uncertain."""

    ahead_us: int
    took_us: int


def round_trips_us(database: Database, count: int) -> Sequence[int]:
    """Give how long some questions took, on a connection that stands already, shortest first."""
    took = []
    with database.reading() as connection:
        connection.execute(text("SELECT 1"))
        for _ in range(count):
            began_ns = time.perf_counter_ns()
            connection.execute(text("SELECT 1"))
            took.append((time.perf_counter_ns() - began_ns) // 1_000)
    return sorted(took)


def try_to_write(database: Database) -> None:
    """Write a row and take it back, or raise `StoreUnavailable`."""

    class TakenBack(Exception):
        pass

    with suppress(TakenBack), database.writing() as connection:
        connection.execute(insert(tables.facts), {"name": "doctor", "value": ""})
        raise TakenBack


def server(database: Database) -> Server:
    """Ask a PostgreSQL server what it is."""
    query = text(
        "SELECT current_setting('server_version'), current_setting('fsync') = 'on',"
        " current_setting('full_page_writes') = 'on', pg_is_in_recovery(),"
        " (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl),"
        " current_setting('max_connections')::int"
        "  - current_setting('superuser_reserved_connections')::int,"
        " (SELECT count(*) FROM pg_stat_activity WHERE usename IS NOT NULL),"
        " pg_database_size(current_database())"
    )
    with database.reading() as connection:
        return Server._make(connection.execute(query).one())


def stuck(database: Database, idle_s: float = STUCK_S) -> Stuck:
    """Look for transactions that somebody began and left; they keep old rows from being removed."""
    query = text(
        "SELECT count(*), coalesce(max(extract(epoch FROM now() - state_change)), 0)::int"
        " FROM pg_stat_activity WHERE datname = current_database()"
        " AND state LIKE 'idle in transaction%'"
        " AND state_change < now() - make_interval(secs => :stuck_s)"
    )
    with database.reading() as connection:
        return Stuck._make(connection.execute(query, {"stuck_s": idle_s}).one())


def clock(database: Database, now_us: Clock) -> Offset:
    """Compare the clock of a PostgreSQL server with ours: the nearest of some answers."""
    offsets = []
    with database.reading() as connection:
        for _ in range(5):
            began_us = now_us()
            theirs_us = connection.execute(SERVER_NOW).scalar_one()
            ended_us = now_us()
            offsets.append(Offset(theirs_us - (began_us + ended_us) // 2, ended_us - began_us))
    return min(offsets, key=lambda offset: offset.took_us)


def scores_about(database: Database) -> int | None:
    """Give about how many scores there are, at no cost; None where they are too few to tell.

    Of a SQLite file it is how many there were at most: it does not count those that are gone.
    """
    postgresql = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'scores'::regclass"
    query = "SELECT max(rowid) FROM scores" if database.embedded else postgresql
    with database.reading() as connection:
        count: int | None = connection.execute(text(query)).scalar()
    return count if count is not None and count >= _SCORES_MIN else None


def endpoints(database: Database) -> Listed:
    """Give every webhook endpoint, disabled ones included."""
    with database.reading() as connection:
        return listed(connection.execute(ENDPOINTS.order_by(tables.webhook_endpoints.c.id)))


def last_attempt_us(database: Database) -> int | None:
    """Give when a worker last tried to deliver something; None: not for as long as that is kept."""
    table = schema.webhook_attempts
    newest = select(table.c.started_us).order_by(table.c.id.desc()).limit(1)
    with database.reading() as connection:
        return connection.execute(newest).scalar()


def oldest_event_us(database: Database) -> int | None:
    """Give when the oldest event was kept that no worker has looked at yet."""
    with database.reading() as connection:
        return connection.execute(select(func.min(tables.bundles.c.created_us))).scalar()


def sqlite_version() -> str:
    """Give the version of SQLite that writes the files."""
    version: str = pysqlite3.sqlite_version
    return version


def has_other_journal(file: Path) -> bool:
    """Say whether a SQLite file is not in journal mode WAL: to connect would switch it."""
    with file.open("rb") as opened:
        head = opened.read(_WAL_AT + len(_WAL))
    return head.startswith(_SQLITE) and not head.endswith(_WAL)


def file_system(file: Path, mounts: str | None = None) -> str | None:
    """Give the kind of file system that a file is on; None where this machine does not say."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text("utf-8", "replace")
        except OSError:
            return None
    there = file.resolve()
    best: tuple[str, str | None] = ("", None)
    for line in mounts.splitlines():
        _, place, kind, *_ = line.split(" ")
        place = place.replace("\\040", " ")
        if (there == Path(place) or Path(place) in there.parents) and len(place) >= len(best[0]):
            best = (place, kind)
    return best[1]
