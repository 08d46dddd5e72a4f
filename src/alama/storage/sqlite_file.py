"""The file of a SQLite database: made for its owner alone, and known again by more than its name.

Whoever removes a file, or moves another over it, does not take it from those who have it open. They
would go on writing into a file that nobody can find any more, and every commit would succeed.

A mark beside it says that its disk has failed: then no process writes (see `checkpoints`).
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from alama.service.errors import StoreUnavailable
from alama.storage import folders

FAILED: Final = "-failed"
"""How the name of the mark ends."""

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
    connections stay open while it is away, and serve again if it is put back.
    """

    def __init__(self, path: Path) -> None:
        """Remember which file it is; raises `OSError` where it cannot be made."""
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
            folders.sync(self.folder)

    def mark_sound(self) -> None:
        """Take the mark away."""
        with suppress(FileNotFoundError):
            os.unlink(self._mark)  # noqa: PTH108  as above
        folders.sync(self.folder)
        self._has_failed = False

    def keep_names(self) -> None:
        """Have its name and that of its journal outlive a power cut.

        SQLite does so when it makes a journal, and does not look whether that went well.
        """
        try:
            folders.sync(self.folder)
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
    folders.make(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}-")
    os.close(descriptor)
    try:
        with suppress(FileExistsError):  # another process has been quicker
            os.link(name, path)
    finally:
        Path(name).unlink()
    folders.sync(path.parent)
