"""A SQLite file as Alama uses it: made for its owner alone, locked, opened, read alone."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.platform.database.sqlite_driver import pysqlite3
from alama.platform.errors import StoreUnavailable
from alama.platform.files import promise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine.interfaces import DBAPICursor


BUSY_TIMEOUT_S: Final = 5.0
"""How long a SQLite writer waits for another process before it gives up."""

BEGIN_WRITING: Final = "BEGIN IMMEDIATE"

_LOOK_AGAIN_S: Final = 0.001


class Busy(Exception):
    """Another process is writing, and nobody wanted to wait for it."""


def begin_when_free(cursor: DBAPICursor, timeout_s: float) -> None:
    """Begin to write, or raise `Busy` once the time is over; the driver itself does not wait."""
    try:
        when_free(lambda: cursor.execute(BEGIN_WRITING), timeout_s)
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


def when_free(work: Callable[[], object], timeout_s: float) -> None:
    """Do something as soon as no other process holds the file, or raise as SQLite does."""
    given_up_at = time.monotonic() + timeout_s
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


FAILED: Final = "-failed"
"""How the name of the mark ends which says that the disk failed: then no process writes."""

_MARK: Final = b"""\
A disk has failed under the database that this file is named for. Nothing is written until Alama
has been stopped everywhere and started again. Remove neither this file nor the one with -wal.
"""


DISK_FAILED: Final = "the disk of the database has failed, so nothing is written any more"
DISK_FAILED_HINT: Final = (
    "look at the disk; then stop every process of Alama that uses the file, and start again: the "
    "start restores the file from its journal and checks it. Keep all files beside it"
)
"""What callers are told, and what to do for whoever runs the service."""


class SqliteFile:
    """The file that stood at a path when this was made. An empty one is made where there is none.

    It is recognised by its number on its disk, which no other file can get while it is open. So
    connections stay open while it is away, and serve again if it is put back. Whoever removes a
    file does not take it from those who have it open: they would go on writing into one that nobody
    can find any more, and every commit would succeed.
    """

    def __init__(self, path: Path) -> None:
        """Raise `OSError` where it cannot be made."""
        self._path = os.fspath(path)
        real = path.resolve()  # behind a link, if it is one
        if not path.exists():
            _make(real)
        found = path.stat()
        self._disk, self._number = found.st_dev, found.st_ino
        self.uri = f"{path.as_uri()}?mode=rw"
        """How SQLite opens it; it never makes another in its place."""
        self.path = real
        self.folder = real.parent
        self.journal = os.fspath(real.with_name(real.name + "-wal"))
        self.memory = real.with_name(real.name + "-shm")
        self._mark = os.fspath(real.with_name(real.name + FAILED))
        self._has_failed = False

    def require(self) -> None:
        """Raise `StoreUnavailable` unless the file is still in its place."""
        try:
            found = os.stat(self._path)  # noqa: PTH116  in every commit: a Path is slower
        except OSError as error:
            raise StoreUnavailable("the file of the database is gone") from error
        if found.st_ino != self._number or found.st_dev != self._disk:
            raise StoreUnavailable("another file stands in the place of the database")

    def require_writable(self) -> None:
        """Raise `StoreUnavailable` unless the file is in its place, and its disk has not failed."""
        self.require()
        if self.has_failed:
            raise StoreUnavailable(DISK_FAILED)

    @property
    def has_failed(self) -> bool:
        """Say whether some process has seen the disk fail.

        Who has seen the mark once goes by it until the next start, though somebody removes it.
        """
        if not self._has_failed:
            self._has_failed = os.access(self._mark, os.F_OK)
        return self._has_failed

    def mark_failed(self) -> None:
        """Tell every process that the disk has failed; `OSError` where it lets nobody do that."""
        self._has_failed = True
        with suppress(FileExistsError):
            descriptor = os.open(self._mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with suppress(OSError), os.fdopen(descriptor, "wb") as file:
                file.write(_MARK)
        # It is for those who run now. After a power cut nobody does, and whoever starts first has
        # SQLite copy the journal from its beginning.
        with suppress(OSError):
            promise.sync(self.folder)

    def mark_sound(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._mark)  # noqa: PTH108  as above
        promise.sync(self.folder)
        self._has_failed = False

    def keep_names(self) -> None:
        """Have its name and that of its journal outlive a power cut.

        SQLite does so when it makes a journal, and does not look whether that went well.
        """
        try:
            promise.sync(self.folder)
        except OSError as error:
            raise StoreUnavailable("the folder of the database cannot be synced") from error


def require_there(path: Path) -> None:
    """Raise `StoreUnavailable` where no file is at a path, and make none.

    For a process that takes the place of another: were the file moved aside for a moment, an empty
    one would stand in its way when it comes back.
    """
    if not path.exists():
        raise StoreUnavailable("the file of the database is gone")


def _make(path: Path) -> None:
    """Make an empty file, readable by its owner alone; its companions take after it.

    It is closed before it appears: closing a file that SQLite has open in this process, through
    another connection, would drop the locks of that connection.
    """
    promise.make_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}-")
    os.close(descriptor)
    try:
        with suppress(FileExistsError):  # another process has been quicker
            os.link(name, path)
    finally:
        Path(name).unlink()
    promise.sync(path.parent)


_PAGE_BYTES: Final = 8_192
"""Of a SQLite file: about four scores a page, and fewer writes a commit than by default."""


class Connection(pysqlite3.Connection):  # type: ignore[misc] # no driver has types
    """Leaves the journal to `checkpoints`, also when it is the last to be closed.

    SQLite copies the journal into the file then, tells nobody of an error, and removes it. Told to
    stop, it gives up before the first page, and removes only what has been copied before.
    """

    def close(self) -> None:
        """Close it, and copy nothing."""
        with suppress(pysqlite3.ProgrammingError):  # it is closed
            self.interrupt()
        super().close()

    def __del__(self) -> None:
        """Do the same where nobody has closed it."""
        with suppress(pysqlite3.ProgrammingError):
            self.interrupt()


_EXACT_ERRORS: Final = 0x02000000 | 0x40 | 0x2
"""To SQLite: tell which kind of an error it was; the name is a URI; read and write."""


def opened(file: SqliteFile, busy_s: float, **options: int) -> Connection:
    """Open a file, with how long to wait for others who write; `StoreUnavailable` if it is gone."""
    connection: Connection = pysqlite3.connect(
        file.uri, uri=True, check_same_thread=False, timeout=busy_s, factory=Connection, **options
    )
    try:
        connection.isolation_level = None
        file.require()  # a connection to another file would stay where it is kept
    except BaseException:
        connection.close()
        raise
    return connection


def opened_exactly(file: SqliteFile) -> Connection:
    """Open a file so that an error says which kind it was, and wait for nobody.

    Python's own driver always says so, and knows no such option.
    """
    if pysqlite3.__name__ == "sqlite3":
        return opened(file, 0.0)
    return opened(file, 0.0, flags=_EXACT_ERRORS)


def prepare(connection: Connection, file: SqliteFile) -> None:
    """Set what holds for a connection, and have what it will write found again after a cut."""
    connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")  # of a new file; others keep theirs
    # Once for each file. SQLite waits for no other process here: we do.
    when_free(lambda: connection.execute("PRAGMA journal_mode=WAL"), BUSY_TIMEOUT_S)
    # What is deleted is overwritten; a row that is moved must leave no copy, and no key, behind.
    # Nothing is copied in passing, by a commit: see `checkpoints`.
    for pragma in (
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",
        "wal_autocheckpoint=0",
    ):
        connection.execute(f"PRAGMA {pragma}")
    file.keep_names()


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
