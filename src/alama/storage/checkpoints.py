"""Checkpoints: the journal of a SQLite file, copied into the file where every error is seen.

What is committed is in the journal, synced. From time to time it is copied into the file, and then
written over from its beginning. SQLite's own way of doing that, in passing, tells nobody when the
disk fails. And it may be copied in parts, of which only the last waits for the disk. Where that
wait fails, Linux has given up the pages of all parts, and takes them for written. SQLite would copy
the last part again, wait with success, and write over the only copy there is of the others.

So whoever sees such a failure stops everybody: nothing more is copied and nothing more is written,
and the journal stays whole. A start that nobody else is in the way of lets SQLite copy all of it
again, from its beginning, and checks the file. docs/decisions/0022 has the figures.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final, Protocol

from alama.service.errors import StoreUnavailable, StoreUnfit
from alama.storage import journal
from alama.storage.sqlite_connection import opened_exactly
from alama.storage.sqlite_driver import pysqlite3
from alama.storage.sqlite_file import DISK_FAILED, DISK_FAILED_HINT
from alama.storage.sqlite_locks import BUSY_TIMEOUT_S, is_locked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.storage.sqlite_connection import Connection
    from alama.storage.sqlite_file import SqliteFile

LARGE_BYTES: Final = 8 << 20
"""From here on a journal is copied; SQLite's own measure is half of it."""

RESTART_TIMES: Final = 2
"""How many times as large it is waited for that nobody writes, so that it can begin anew."""

HELD_TIMES: Final = 8
"""How many times as large somebody is in the way who reads, and it is told."""

LOOK_EVERY_S: Final = 0.2
RESTART_TIMEOUT_S: Final = 0.02
"""How long writers wait for readers so that the journal can begin anew."""

EMPTY_ATTEMPTS: Final = 10
EMPTY_TIMEOUT_S: Final = 0.2
EMPTY_PAUSE_S: Final = 0.3
"""How often it is tried to empty it, for how long each time, when nobody can write, and with which
pause."""

STOP_TIMEOUT_S: Final = 10.0
FINDINGS_MAX: Final = 3

_PASSING: Final = frozenset({5, 6, 7, 8, 13, 14})
_PASSING_EXACTLY: Final = frozenset({778, 1546, 3082, 3850, 4618, 4874, 5130, 5386})
"""What ends a copy and loses nothing, by the codes of SQLite: what was not copied is copied later.

BUSY, LOCKED, NOMEM, READONLY, FULL, CANTOPEN; and of IOERR a write or a truncation that was
refused, as a quota does it, no memory, a lock, and the shared memory.
"""

_DAMAGED: Final = ("malformed", "not a database")
"""In the words of SQLite where a page of its file is not what it should be."""


class Tell(Protocol):
    """Told what has happened to a journal; the error has no applicant's data."""

    def __call__(self, event: str, error: Exception | None = None, **fields: object) -> None: ...


class Checkpoints:
    """Copies the journal of a file, for one process. Several processes take turns.

    A thread of its own looks at it, from the first commit that leaves it large.
    """

    def __init__(self, file: SqliteFile) -> None:
        """Take the file; `close` is the end of it."""
        self.large_bytes = LARGE_BYTES
        self.tell: Tell = _tell_nobody
        self._file = file
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._copied = journal.EMPTY  # what the file has as well
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._is_untold = False  # that the disk has failed, by this process
        self._told: set[str] = set()

    @property
    def size_bytes(self) -> int:
        """How much there is in the journal."""
        return journal.measure(self._file.journal).size_bytes

    @property
    def held_bytes(self) -> int:
        """From which size on somebody who reads must be in the way."""
        return HELD_TIMES * self.large_bytes

    @property
    def has_failed(self) -> bool:
        """Say whether the disk has failed, whoever saw it."""
        return self._file.has_failed

    def require_sound(self) -> None:
        """Raise `StoreUnavailable` where the disk has failed: what is read may be old pages."""
        self._file.require_writable()

    def after_commit(self) -> None:
        """Start to look after the journal if it has become large."""
        if self._thread is None:
            with suppress(OSError):
                if os.stat(self._file.journal).st_size >= self.large_bytes:  # noqa: PTH116  hot
                    self._start()

    def look(self) -> None:
        """Copy the journal if it is large; whatever stands in the way is told, and tried again."""
        with self._lock, suppress(StoreUnavailable):
            self._mark_again()
            found = journal.measure(self._file.journal)
            if found.size_bytes < self.large_bytes:
                self._told.clear()
                return
            if found == self._copied:
                return
            done = self._copy("PASSIVE", 0.0)
            if not done and found.size_bytes >= RESTART_TIMES * self.large_bytes:
                done = self._copy("RESTART", RESTART_TIMEOUT_S)
            left = journal.measure(self._file.journal)
            if done and left == found:
                self._copied = found
            elif left.salt == found.salt and left.size_bytes >= self.held_bytes:
                self._tell_once("journal_held", None, size_bytes=left.size_bytes)

    def empty(self) -> bool:
        """Leave nothing in the journal; False where somebody reads from it.

        `StoreUnavailable` where the disk does not let it.
        """
        for attempt in range(EMPTY_ATTEMPTS):
            time.sleep(EMPTY_PAUSE_S if attempt else 0)
            with self._lock:
                self._file.require_writable()
                if self._copy("TRUNCATE", EMPTY_TIMEOUT_S):
                    return True
        return False

    def close(self) -> None:
        """End; whoever is the last to have the file leaves nothing in the journal."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT_S)
        with self._lock:
            with suppress(StoreUnavailable):
                self._mark_again()
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if not self.has_failed and self.size_bytes:
                self._settle()

    def restore(self) -> None:
        """After a failure, copy all of the journal, check the file, and let it be written again.

        Nothing is done while another process has the file open: it goes on being read only.
        `StoreUnfit` where the disk fails again, or the file is damaged.
        """
        if not self._file.has_failed:
            return
        try:
            with ExitStack() as later, _alone(self._file) as connection:
                if connection is None:
                    return
                _copy_all(connection)
                later.callback(os.close, _read_anew(self._file))
                wrong = _damages(connection)
            if wrong:
                raise _damaged(wrong)
            self._file.mark_sound()
        except (pysqlite3.Error, OSError) as error:
            if any(words in str(error) for words in _DAMAGED):
                raise _damaged([str(error)]) from error
            raise _still_failing() from error

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._ended.wait(LOOK_EVERY_S):
            self.look()

    def _copy(self, mode: str, timeout_s: float) -> bool:
        """Copy what can be; True where all of it is in the file."""
        with self._turn() as is_ours:
            if not is_ours or self._file.has_failed:
                return False
            try:
                connection = self._own()
                connection.execute(f"PRAGMA busy_timeout={timeout_s * 1_000:.0f}")
                row = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            except pysqlite3.Error as error:
                if _is_passing(error):
                    self._tell_once("checkpoint_put_off", error)
                    raise StoreUnavailable("the journal cannot be copied now") from error
                self._stop_all(error)
                raise StoreUnavailable(DISK_FAILED) from error
        self._told.discard("checkpoint_put_off")
        busy, frames, copied = row
        return not busy and frames == copied

    @contextmanager
    def _turn(self) -> Iterator[bool]:
        """Be the one who copies, of all processes: until a failure is told, nobody else may.

        A lock on the journal does for it: SQLite has none there, that closing it would drop.
        """
        try:
            descriptor = os.open(self._file.journal, os.O_RDONLY)
        except FileNotFoundError:
            yield True  # there is nothing to copy
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except BlockingIOError:
            is_ours = False
        try:
            yield is_ours
        finally:
            if not self._is_untold:  # else it is kept, and with it the others from copying
                os.close(descriptor)

    def _own(self) -> Connection:
        if self._connection is None:
            self._connection = opened_exactly(self._file)
            for pragma in ("synchronous=FULL", "wal_autocheckpoint=0"):
                self._connection.execute(f"PRAGMA {pragma}")
        return self._connection

    def _stop_all(self, error: Exception) -> None:
        """Have every process stop writing."""
        try:
            self._file.mark_failed()
        except OSError:
            self._is_untold = True
            if self._connection is not None:
                with suppress(pysqlite3.Error):  # as long as this process lives, none can write
                    self._connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_S * 1_000:.0f}")
                    self._connection.execute("BEGIN IMMEDIATE")
        self.tell("checkpoint_failed", error, message=DISK_FAILED, hint=DISK_FAILED_HINT)

    def _mark_again(self) -> None:
        """Try again to tell the others, where that could not be done."""
        if self._is_untold:
            with suppress(OSError):
                self._file.mark_failed()
                self._is_untold = False

    def _settle(self) -> None:
        """Copy all there is, if nobody else has the file: nothing else will, for a while."""
        try:
            with _alone(self._file) as connection:
                if connection is not None:
                    _copy_all(connection)
        except pysqlite3.Error as error:
            if not _is_passing(error):
                self._stop_all(error)
        except StoreUnavailable:
            pass  # it is not in its place any more

    def _tell_once(self, event: str, error: Exception | None, **fields: object) -> None:
        if event not in self._told:
            self._told.add(event)
            self.tell(event, error, **fields)


@contextmanager
def _alone(file: SqliteFile) -> Iterator[Connection | None]:
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


def _read_anew(file: SqliteFile) -> int:
    """Have the system forget the file, so that it is read from its disk; give what is to be closed.

    Not before the connection is: to close a file drops the locks of this process on it.
    """
    descriptor = os.open(file.path, os.O_RDONLY)
    if sys.platform == "linux":
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return descriptor


def _copy_all(connection: Connection) -> None:
    busy, frames, copied = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
    assert not busy, "nobody else is there"
    assert frames == copied, "nobody else is there"


def _damages(connection: Connection) -> list[str]:
    """Give what is wrong with a file, in the words of SQLite."""
    try:
        found = connection.execute(f"PRAGMA integrity_check({FINDINGS_MAX})").fetchall()
    except pysqlite3.DatabaseError as error:
        return [str(error)]
    wrong = [str(line) for (line,) in found if line != "ok"]
    orphans = connection.execute("PRAGMA foreign_key_check").fetchmany(FINDINGS_MAX)
    return [*wrong, *(f"{table}: row {row} names no row of {to}" for table, row, to, _ in orphans)]


def _is_passing(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return is_locked(error)
    return code in _PASSING_EXACTLY or code & 0xFF in _PASSING


def _tell_nobody(event: str, error: Exception | None = None, **fields: object) -> None:
    """Keep it to oneself: a command tells by what it cannot do."""


def _still_failing() -> StoreUnfit:
    return StoreUnfit(
        "the disk of the database fails still: its journal cannot be copied into the file",
        hint="copy the file and the one that ends in -wal together to another disk, and name the "
        "copy in ALAMA_DATABASE; nothing that was acknowledged is lost with the two",
    )


def _damaged(wrong: list[str]) -> StoreUnfit:
    return StoreUnfit(
        f"the disk of the database has failed, and the file is damaged: {wrong[0]}",
        hint="keep a copy of the file as it is, move it away with its companions, and restore the "
        "newest backup: alama db restore FILE",
    )
