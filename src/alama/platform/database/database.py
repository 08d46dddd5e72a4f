"""One database, SQLite or PostgreSQL: how to connect to it, and what its errors mean.

SQLite runs on its driver's autocommit with `BEGIN IMMEDIATE` of our own, because two writers that
both start by reading would deadlock when they want to write. `synchronous=FULL`, because with
NORMAL a power cut takes commits along that were already acknowledged.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import create_engine, event, exc, make_url, text
from sqlalchemy.pool import QueuePool

from alama import __version__
from alama.platform.database import sqlite, tables
from alama.platform.database.checkpoints import Checkpoints
from alama.platform.database.sqlite import BUSY_TIMEOUT_S, SqliteFile, require_there
from alama.platform.database.sqlite_driver import pysqlite3
from alama.platform.errors import StoreUnavailable, StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPICursor, ExceptionContext


SQLITE_SAFE_FOR_MANY: Final = (3, 51, 3)
"""Before this, several processes that write one file could corrupt it (the WAL-reset bug)."""

CONNECTIONS: Final = 8
CONNECTIONS_MORE: Final = 10
"""Kept open for all that is not the hot path, and how many more may come for a while."""

CONNECT_TIMEOUT_S: Final = 3
STATEMENT_TIMEOUT_MS: Final = 10_000
ABANDONED_MS: Final = 5_000
"""When PostgreSQL ends a transaction whose client has gone silent.

A machine that vanished in the middle of a commit would keep its idempotency keys locked for hours,
and whoever retries one of them would hold up a whole group.
"""

_POSTGRESQL: Final = ("postgresql", "postgres", "postgresql+psycopg")
_READS_ONLY: Final = "alama_reads_only"
_NOTE_WAIT: Final = "alama_note_wait"
_READ_ONLY_STATE: Final = "25006"  # PostgreSQL's; SQLite has only words
_DEADLOCK_STATE: Final = "40P01"


class Clash(Exception):
    """A row breaks a rule of the schema: its key is taken, or what it refers to is not there.

    Or two transactions waited for each other, and this one had to end. It may begin anew.
    """


class _Refusal(NamedTuple):
    at_s: float
    error: StoreUnavailable


class Database:
    """An open database. Connections are made when they are needed."""

    def __init__(self, engine: Engine, hot: Engine, file: SqliteFile | None) -> None:
        """Take what `connect` has prepared: two engines of one database, and its file if it is one.

        The hot path has one connection of its own, so that no crowd of readers can starve it.
        """
        self.engine = engine
        self._hot = hot
        self._file = file
        self.checkpoints = None if file is None else Checkpoints(file)
        """What copies the journal of a file into it."""
        self.write_backoff = WriteBackoff()
        self._refusal: _Refusal | None = None  # of the hot path, unless it has succeeded since

    @property
    def embedded(self) -> bool:
        """Say whether the database is a file of this machine, which we migrate ourselves."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the database and changes nothing."""
        self._require_file()
        with self._translated(), self.engine.connect() as plain:
            connection = plain.execution_options(**{_READS_ONLY: True})
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose work is committed at the end, or not at all."""
        self._require_writable()
        with self._translated(), self.write_backoff.turn(), self.engine.connect() as plain:
            noted = self.write_backoff.note_wait if self.write_backoff.wanted else None
            connection = plain.execution_options(**{_NOTE_WAIT: noted})
            with connection.begin():
                yield connection
        self._rely_on_commit()

    @contextmanager
    def session(self) -> Iterator[Connection]:
        """Give a connection that no other work shares, and that ends with all it set and locked."""
        self._require_writable()
        with self._translated(), self.engine.connect() as connection:
            try:
                yield connection
            finally:
                connection.invalidate()  # not back into the pool

    @contextmanager
    def driving(self, timeout_s: float = BUSY_TIMEOUT_S) -> Iterator[DBAPICursor]:
        """Give a cursor of the driver itself, in a transaction as `writing` has one.

        For the hot path: the bookkeeping of a connection costs as much as the database does. There
        is one such cursor at a time; whoever asks for a second waits. `Busy` where another process
        writes into the same file for longer than the timeout.
        """
        try:
            self._require_writable()
            with self._translated(), self._driven(timeout_s) as cursor:
                yield cursor
            self._rely_on_commit()
        except StoreUnavailable as error:
            self._refusal = _Refusal(time.monotonic(), error)
            raise
        self._refusal = None

    @contextmanager
    def _driven(self, timeout_s: float) -> Iterator[DBAPICursor]:
        driver = self.engine.dialect.loaded_dbapi
        connection = self._hot.raw_connection()
        try:
            cursor = connection.cursor()
            if self.embedded:
                sqlite.begin_when_free(cursor, timeout_s)
            yield cursor
            connection.commit()
        except (driver.OperationalError, driver.InternalError) as error:
            if getattr(error, "sqlstate", None) == _DEADLOCK_STATE:
                raise Clash from error
            # It may be dead, or a session that may only read: nobody should be handed it again.
            connection.invalidate()
            raise
        finally:
            connection.close()  # back into the pool, which rolls back what is not committed

    def require_no_refusal(self, within_s: float) -> None:
        """Raise again what the hot path raised last, if that is not longer ago than this."""
        refusal = self._refusal  # another thread may be writing
        if refusal is not None and time.monotonic() - refusal.at_s < within_s:
            raise StoreUnavailable(str(refusal.error)) from refusal.error

    def _require_file(self) -> None:
        """Refuse a file that is no longer in its place: before work, lest it be done in vain."""
        if self._file is not None:
            self._file.require()

    def _require_writable(self) -> None:
        """Refuse as well to write where the disk has failed."""
        if self._file is not None:
            self._file.require_writable()

    def _rely_on_commit(self) -> None:
        """Look again after a commit, because that is the moment from which it is relied upon."""
        if self._file is not None and self.checkpoints is not None:
            self._file.require()
            self.checkpoints.after_commit()

    def restore(self) -> None:
        """After its disk has failed, have a file checked and written again, if nobody else has it.

        To be called before anything is asked of it. `StoreUnfit` where that cannot be done.
        """
        if self.checkpoints is not None:
            self.checkpoints.restore()

    def empty_journal(self) -> bool:
        """Leave nothing in SQLite's journal that is not in the file; False: somebody reads it."""
        return self.checkpoints is None or self.checkpoints.empty()

    @property
    def parameter_mark(self) -> str:
        """What stands for a parameter in the driver's own language."""
        return "?" if self.embedded else "%s"

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what the driver says into what it means for those who asked."""
        driver = self.engine.dialect.loaded_dbapi
        try:
            yield
        except (exc.IntegrityError, driver.IntegrityError) as error:
            raise Clash from error
        except (exc.DBAPIError, exc.TimeoutError, driver.Error) as error:
            raise StoreUnavailable("the database does not answer as it should") from error

    def close(self) -> None:
        self.engine.dispose()
        self._hot.dispose()
        if self.checkpoints is not None:
            self.checkpoints.close()


def without_timeout(connection: Connection) -> None:
    """Let a transaction take as long as it needs, where PostgreSQL cuts others short."""
    if connection.dialect.name == "postgresql":
        for timeout in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(text(f"SET LOCAL {timeout} = 0"))


def connect(address: str) -> Database:
    """Open the database of an address, `sqlite:///path` or `postgresql://...`."""
    url = parse_address(address)
    if url.drivername == "sqlite":
        file = SqliteFile(file_of(url))
        hot = _sqlite(file, 1, 0, busy_s=0.0)  # whoever drives says how long to wait
        return Database(_sqlite(file, CONNECTIONS, CONNECTIONS_MORE), hot, file)
    return Database(_postgresql(url, CONNECTIONS, CONNECTIONS_MORE), _postgresql(url, 1, 0), None)


def require_file(address: str) -> None:
    """Raise `StoreUnavailable` where the SQLite file of an address is gone: `connect` makes one."""
    url = parse_address(address)
    if url.drivername == "sqlite":
        require_there(file_of(url))


def parse_address(address: str) -> URL:
    """Take an address apart, or raise `StoreUnfit`; no part of the address is in the message."""
    kind = address.partition(":")[0]
    if kind in _POSTGRESQL and address.count("@") > 1:
        # A driver would take the end of the password for the host, and print it.
        raise StoreUnfit(
            "ALAMA_DATABASE has more than one @",
            hint="write an @ in a password or a name as %40",
        )
    try:
        url = make_url(address)
    except (exc.ArgumentError, ValueError):
        raise _unfit_address() from None  # its words repeat the address
    if kind in _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise _unfit_address()
    return url


def safe_for_several(database: Database) -> bool:
    """Say whether several processes may write into it at once."""
    return not database.embedded or pysqlite3.sqlite_version_info >= SQLITE_SAFE_FOR_MANY


def check_processes(database: Database, processes: int) -> None:
    """Refuse several processes on a SQLite that could corrupt the file they share."""
    if processes > 1 and not safe_for_several(database):
        raise StoreUnfit(
            f"SQLite {pysqlite3.sqlite_version} is not safe for several processes on one file",
            hint="run one worker, or use PostgreSQL",
        )


def _unfit_address() -> StoreUnfit:
    # The address is not part of the message: it may hold a password.
    return StoreUnfit(
        "ALAMA_DATABASE is not an address of a database that Alama knows",
        hint="sqlite:////var/lib/alama/alama.db or postgresql://user:password@host/name",
    )


def file_of(url: URL) -> Path:
    """Give the file that an address of SQLite names, or raise `StoreUnfit`."""
    if not url.database or url.database == ":memory:":
        raise StoreUnfit(
            "a database in memory would lose every score",
            hint="name a file: sqlite:////var/lib/alama/alama.db",
        )
    if url.query:
        raise StoreUnfit(
            "the address of a SQLite file has no parameters",
            hint="leave out what follows the question mark",
        )
    return Path(url.database).absolute()


def _sqlite(
    file: SqliteFile, connections: int, more: int, busy_s: float = BUSY_TIMEOUT_S
) -> Engine:
    _take_as_they_are()
    engine = create_engine(
        "sqlite://",
        module=pysqlite3,
        creator=lambda: sqlite.opened(file, busy_s),
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=more,
        pool_timeout=CONNECT_TIMEOUT_S,
        hide_parameters=True,
    )
    event.listen(engine, "connect", lambda one, _: sqlite.prepare(one, file))
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _part_with_readers)
    return engine


def _take_as_they_are() -> None:
    """Save the driver the search for adapters of bytes and nulls: longer than the whole row."""
    for one in (bytes, type(None)):
        pysqlite3.register_adapter(one, lambda value: value)


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get(_READS_ONLY):
        connection.exec_driver_sql("BEGIN")
    elif (note_wait := options.get(_NOTE_WAIT)) is None:
        connection.exec_driver_sql(sqlite.BEGIN_WRITING)
    else:
        sqlite.begin_noting(connection.connection.cursor(), note_wait)


def _part_with_readers(context: ExceptionContext) -> None:
    """Have connections made anew that may not write, where one of them was to.

    A session opened while the database was read-only stays so when the database is not any more.
    """
    error = context.original_exception
    if getattr(error, "sqlstate", None) == _READ_ONLY_STATE or "readonly" in str(error):
        context.is_disconnect = True


def _postgresql(url: URL, connections: int, more: int) -> Engine:
    engine = create_engine(
        url,
        pool_size=connections,
        max_overflow=more,
        pool_timeout=CONNECT_TIMEOUT_S,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "tcp_user_timeout": STATEMENT_TIMEOUT_MS,
            # A server that vanished owing us an answer is noticed in 15 s, not in two hours.
            "keepalives_idle": 5,
            "keepalives_interval": 5,
            "keepalives_count": 2,
            "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
            f" -c idle_in_transaction_session_timeout={ABANDONED_MS}",
            "application_name": session_name(),
        },
    )
    event.listen(engine, "connect", _prepare_postgresql)
    event.listen(engine, "handle_error", _part_with_readers)
    return engine


def _prepare_postgresql(connection: Any, _record: object) -> None:  # noqa: ANN401  a driver's own
    """Wait for the disk though a role or a database is set not to; leave what waits for more."""
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()


PAUSE_S_MAX: Final = 1.0


class WriteBackoff:
    """Turns at writing. One that had to wait for somebody is followed by a pause, many turns long.

    The busier others are, the more turns have to wait, and the less of the time is taken from them,
    however slow the machine is at that moment. Where nobody else writes there are no pauses.
    """

    def __init__(self) -> None:
        self.pause_turns = 0.0
        """How many times as long as the turn its pause is; 0: there are none."""
        self._waited = False
        self._lock = threading.Lock()
        self._free_s = 0.0

    @property
    def wanted(self) -> bool:
        """Whether there is to be any pause."""
        return self.pause_turns > 0

    def note_wait(self) -> None:
        """Somebody else was writing when this turn began."""
        self._waited = True

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and have it; what it waits for meanwhile counts as well."""
        if not self.wanted:
            yield
            return
        with self._lock:
            time.sleep(max(self._free_s - time.monotonic(), 0))
            began_s, self._waited = time.monotonic(), False
            try:
                yield
            finally:
                ended_s = time.monotonic()
                pause_s = (ended_s - began_s) * self.pause_turns if self._waited else 0.0
                self._free_s = ended_s + min(pause_s, PAUSE_S_MAX)


_NAMED: Final = re.compile(r"alama (?P<version>\S+) schema (?P<schema>\d{4})")

_SESSIONS: Final = text(
    "SELECT application_name, coalesce(host(client_addr), '') FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND application_name LIKE 'alama %'"
)
"""A name is all that may be seen of sessions of another role; of its own, also where they are."""


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
