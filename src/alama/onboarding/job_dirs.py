"""Folders for what jobs write to disk: histories lie there in clear for a moment.

Each is removed by whoever made it. One whose processes were all killed at once is removed by the
next worker: every process that belongs to a folder holds the lock in it, and no dead one does.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOM: Final = "alama-jobs-"
"""How the names of these folders begin."""

LOCK: Final = ".lock"


class Room(NamedTuple):
    """A folder, and the open file of its lock, which every process that uses it must inherit."""

    folder: Path
    lock: int


@contextmanager
def room() -> Iterator[Room]:
    """Make a folder that is gone in the end, with all that is in it."""
    made = _make()
    try:
        yield made
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)
        os.close(made.lock)


def sweep() -> None:
    """Remove what was left by processes of this user that are no more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{ROOM}*"):
        with suppress(OSError):  # somebody uses it, or it is gone already
            _remove_unless_held(folder)


def _make() -> Room:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=ROOM))
        # Until it is locked, whoever sweeps may take it for what is left of others.
        with suppress(BlockingIOError, FileNotFoundError):
            lock = _locked(folder, fcntl.LOCK_SH)
            if (folder / LOCK).exists():
                return Room(folder, lock)
            os.close(lock)


def _remove_unless_held(folder: Path) -> None:
    seen = folder.lstat()
    # Where everybody can write, others may have put there what only looks like ours.
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid():
        return
    lock = _locked(folder, fcntl.LOCK_EX)
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _locked(folder: Path, how: int) -> int:
    """Open the lock of a folder and hold it, or raise `OSError`."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock
