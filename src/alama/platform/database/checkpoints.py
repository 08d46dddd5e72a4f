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

import errno
import fcntl
import os
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.platform.database import sqlite
from alama.platform.database.sqlite import (
    BUSY_TIMEOUT_S,
    DISK_FAILED,
    DISK_FAILED_HINT,
    Connection,
    SqliteFile,
    is_locked,
    opened_exactly,
)
from alama.platform.database.sqlite_driver import pysqlite3
from alama.platform.errors import StoreUnavailable, StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Iterator


_HEAD_BYTES: Final = 32
_FRAME_HEAD_BYTES: Final = 24
_PAGE_AT: Final = slice(8, 12)
_SALT_AT: Final = slice(16, 24)
_FRAME_SALT_AT: Final = 8
_SALT_BYTES: Final = 8


class Journal(NamedTuple):
    """What a journal holds: which round of it, and how many bytes."""

    salt: bytes
    size_bytes: int


EMPTY: Final = Journal(b"", 0)


def measure(path: str) -> Journal:
    """Look at the journal at a path; one that is not there is empty.

    It may be opened beside SQLite: no lock of SQLite's is on it, that closing it would drop.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return EMPTY
    try:
        return _measured(descriptor)
    finally:
        os.close(descriptor)


def _measured(descriptor: int) -> Journal:
    head = os.pread(descriptor, _HEAD_BYTES, 0)
    if len(head) < _HEAD_BYTES:
        return EMPTY
    salt = head[_SALT_AT]
    frame_bytes = _FRAME_HEAD_BYTES + int.from_bytes(head[_PAGE_AT], "big")
    least, most = 0, (os.fstat(descriptor).st_size - _HEAD_BYTES) // frame_bytes
    while least < most:
        middle = (least + most + 1) // 2
        place = _HEAD_BYTES + (middle - 1) * frame_bytes + _FRAME_SALT_AT
        if os.pread(descriptor, _SALT_BYTES, place) == salt:
            least = middle
        else:
            most = middle - 1
    return Journal(salt, least * frame_bytes)


LARGE_BYTES: Final = 8 << 20
"""From here on a journal is copied: about the thousand pages at which SQLite would do it."""

RESTART_TIMES: Final = 2
"""How many times as large it is waited for that nobody writes, so that it can begin anew."""

HELD_TIMES: Final = 8
"""How many times as large somebody is in the way who reads, and it is told."""

LOOK_EVERY_S: Final = 0.05
HELD_PAUSE_S: Final = 0.2
"""How often the journal is looked at, and how often while somebody who reads is in the way."""

RESTART_ATTEMPTS: Final = 10
RESTART_TIMEOUT_S: Final = 0.02
"""How often it is tried to come between those who write, and how long they wait for readers then,
so that the journal can begin anew."""

EMPTY_ATTEMPTS: Final = 10
EMPTY_TIMEOUT_S: Final = 0.2
EMPTY_PAUSE_S: Final = 0.3
"""How often it is tried to empty it, for how long each time, when nobody can write, and with which
pause."""

STOP_TIMEOUT_S: Final = 10.0

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


class _Copied(NamedTuple):
    """What came of a copy."""

    is_all: bool
    is_held: bool
    """Somebody reads what is older, and has to end first."""


class Checkpoints:
    """Copies the journal of a file, for one process. Several processes take turns.

    A thread of its own looks at it, from the first time that a commit cannot copy all of it.
    """

    def __init__(self, file: SqliteFile) -> None:
        self.large_bytes = LARGE_BYTES
        self.tell: Tell = _tell_nobody
        self.was_restored = False
        """Whether `restore` has put a file in order whose disk had failed."""
        self._file = file
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._copied = EMPTY  # what the file has as well
        self._tried_bytes = 0  # how large it has to be before it is copied in passing again
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._is_untold = False  # that the disk has failed, by this process
        self._told: set[str] = set()

    @property
    def size_bytes(self) -> int:
        """How much there is in the journal."""
        return measure(self._file.journal).size_bytes

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
        """Copy the journal if it has become large, as SQLite would in passing, but see errors.

        Here, and not on the thread: nobody of this process writes meanwhile, so it is copied whole.
        What somebody who reads keeps from being copied is left to the thread.
        """
        with suppress(OSError):
            if os.stat(self._file.journal).st_size < self.large_bytes:  # noqa: PTH116  hot
                return
        if not self._lock.acquire(blocking=False):
            return  # the thread is at it
        try:
            with suppress(StoreUnavailable), self._telling():
                self._copy_in_passing()
        except Exception as error:  # noqa: BLE001  what was committed is kept all the same
            self._tell_once("checkpoint_put_off", error)
        finally:
            self._lock.release()

    def _copy_in_passing(self) -> None:
        found = measure(self._file.journal)
        if found.size_bytes < max(self.large_bytes, self._tried_bytes) or self._file.has_failed:
            return
        if not self._copy("PASSIVE", 0.0).is_all:
            self._tried_bytes = found.size_bytes + self.large_bytes
            if self._thread is None:
                self._start()

    def look(self) -> bool:
        """Copy the journal if commits do not keep up; what is in the way is told, and tried again.

        True where somebody who reads is in the way: those who write have waited for them.
        """
        with self._lock, suppress(StoreUnavailable), self._telling():
            self._mark_again()
            return not self._file.has_failed and self._look()
        return False

    def _look(self) -> bool:
        found = measure(self._file.journal)
        if found.size_bytes < self.large_bytes:
            self._told.clear()
            return False
        if found.size_bytes < RESTART_TIMES * self.large_bytes or found == self._copied:
            return False  # a commit copies it, and is quicker at it than somebody beside it
        copied = self._copy("PASSIVE", 0.0)
        left = measure(self._file.journal)
        if copied.is_all and left == found:
            self._copied = found  # whoever writes next begins anew
            return False
        for _ in range(RESTART_ATTEMPTS):
            copied = self._copy("RESTART", RESTART_TIMEOUT_S)
            if copied.is_all or copied.is_held:
                break
        if copied.is_held and left.size_bytes >= self.held_bytes:
            self._tell_once("journal_held", None, size_bytes=left.size_bytes)
        return copied.is_held

    def empty(self) -> bool:
        """Leave nothing in the journal; False where somebody reads from it.

        `StoreUnavailable` where the disk does not let it.
        """
        for attempt in range(EMPTY_ATTEMPTS):
            time.sleep(EMPTY_PAUSE_S if attempt else 0)
            with self._lock, self._telling():
                self._file.require_writable()
                if self._copy("TRUNCATE", EMPTY_TIMEOUT_S).is_all:
                    return True
        return False

    def close(self) -> None:
        """End; whoever is the last to have the file leaves nothing in the journal."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT_S)
        with self._lock, suppress(StoreUnavailable), self._telling():
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
            with ExitStack() as later, sqlite.alone(self._file) as connection:
                if connection is None:
                    return
                sqlite.copy_all(connection)
                later.callback(os.close, sqlite.read_anew(self._file))
                wrong = sqlite.damages(connection)
            if wrong:
                raise _damaged(wrong)
            self._file.mark_sound()
            self.was_restored = True
        except (pysqlite3.Error, OSError) as error:
            if any(words in str(error) for words in _DAMAGED):
                raise _damaged([str(error)]) from error
            raise _still_failing() from error

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        pause_s = LOOK_EVERY_S
        while not self._ended.wait(pause_s):
            try:
                pause_s = HELD_PAUSE_S if self.look() else LOOK_EVERY_S
            except Exception as error:  # noqa: BLE001  who else would copy?
                with suppress(Exception):
                    self._tell_once("checkpoint_put_off", error)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Tell of an error of the system; where it is the disk's, have everybody stop."""
        try:
            yield
        except OSError as error:
            if error.errno != errno.EIO:
                self._tell_once("checkpoint_put_off", error)
                raise StoreUnavailable("the journal cannot be copied now") from error
            with ExitStack() as turn:
                with suppress(OSError):
                    turn.enter_context(self._turn())
                self._stop_all(error)
            raise StoreUnavailable(DISK_FAILED) from error

    def _copy(self, mode: str, timeout_s: float) -> _Copied:
        """Copy what can be."""
        with self._turn() as is_ours:
            if not is_ours or self._file.has_failed:
                return _Copied(is_all=False, is_held=False)
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
        # Beside those who write it is all that was there before. Only who reads leaves a part.
        is_all = not busy and frames == copied
        if is_all:
            self._tried_bytes = 0  # whoever writes next begins anew
        return _Copied(is_all, is_held=copied < frames)

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
            yield _is_locked(descriptor)
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
            if self._thread is None:
                self._start()  # which tries again to tell the others
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
            with sqlite.alone(self._file) as connection:
                if connection is not None:
                    sqlite.copy_all(connection)
        except pysqlite3.Error as error:
            if not _is_passing(error):
                self._stop_all(error)
        except StoreUnavailable:
            pass  # it is not in its place any more

    def _tell_once(self, event: str, error: Exception | None, **fields: object) -> None:
        if event not in self._told:
            self._told.add(event)
            self.tell(event, error, **fields)


def _is_locked(descriptor: int) -> bool:
    """Lock a file for this process; False where another has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
