"""The file of a SQLite database: made for its owner alone, and known again by more than its name.

Whoever removes a file, or moves another over it, does not take it from those who have it open. They
would go on writing into a file that nobody can find any more, and every commit would succeed.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from alama.service.errors import StoreUnavailable


class SqliteFile:
    """The file that stood at a path when this was made. An empty one is made where there is none.

    It is recognised by its number on its disk, which no other file can get while it is open. So
    connections stay open while it is away, and serve again if it is put back.
    """

    def __init__(self, path: Path) -> None:
        """Remember which file it is; raises `OSError` where it cannot be made."""
        self._path = os.fspath(path)
        if not path.exists():
            _make(path.resolve())  # behind a link, if it is one
        found = path.stat()
        self._disk, self._number = found.st_dev, found.st_ino
        self.uri = f"{path.as_uri()}?mode=rw"
        """How SQLite opens it; it never makes another in its place."""

    def require(self) -> None:
        """Raise `StoreUnavailable` unless the file is still in its place."""
        try:
            found = os.stat(self._path)  # noqa: PTH116  in every commit: a Path is slower
        except OSError as error:
            raise StoreUnavailable("the file of the database is gone") from error
        if found.st_ino != self._number or found.st_dev != self._disk:
            raise StoreUnavailable("another file stands in the place of the database")


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
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}-")
    os.close(descriptor)
    try:
        with suppress(FileExistsError):  # another process has been quicker
            os.link(name, path)
    finally:
        Path(name).unlink()
