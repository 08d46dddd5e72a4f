"""Files that are there only if all went well, and folders whose names outlive a power cut.

The content goes to a hidden file beside the target, which takes the target's name only when its
last byte is safely on disk. A crash, an error or Ctrl-C therefore leaves the old file, or none,
never a half. A symbolic link stays one: its target is what is written.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.errors import FileProblem

if TYPE_CHECKING:
    from collections.abc import Iterator


_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


class Output:
    """The content of a file to be; it waits in a hidden file, `part`, beside its place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.target = Path(os.path.realpath(path))
        self.part = self.target.with_name(f".{self.target.name}.{secrets.token_hex(4)}.part")

    def write(self, content: bytes) -> None:
        with told_as_file_problem(self.path):
            self.part.write_bytes(content)


@contextmanager
def promised(path: Path, mode: int = 0o666) -> Iterator[Output]:
    """Hold a place beside the target at once: a run of minutes must not fail at its last line.

    The target appears or changes only if the block succeeds; nothing is left behind otherwise.
    """
    if path.is_dir():
        raise FileProblem(f"cannot write {path}: it is a folder")
    output = Output(path)
    if (path.exists() and not path.is_file()) or output.target.is_symlink():
        message = f"cannot write {path}: it is not a regular file"
        raise FileProblem(message, hint="give the name of a file; devices and pipes are none")
    folder = output.target.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise FileProblem(f"cannot write {path}: the folder {folder} does not exist")
    try:
        with told_as_file_problem(path):
            output.part.touch(mode, exist_ok=False)
        yield output
        with told_as_file_problem(path):
            sync(output.part)
            output.part.replace(output.target)
            sync(output.target.parent)
    finally:
        output.part.unlink(missing_ok=True)


@contextmanager
def promised_in_private(path: Path) -> Iterator[Output]:
    """Promise a file that only its owner will be able to read: it holds somebody's data."""
    with promised(path, 0o600) as output:
        yield output


@contextmanager
def told_as_file_problem(path: Path) -> Iterator[None]:
    """Translate the disk's troubles."""
    try:
        yield
    except OSError as error:
        # A library may put the hidden file's name into its message; the system's words are enough.
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise FileProblem(f"cannot write {path}: {reason}") from error


def make_folder(folder: Path) -> None:
    """Make a folder that its owner alone can enter, and those above it, where there is none."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for one in missing:
        sync(one.parent)


def sync(place: Path) -> None:
    """Have the names in a folder, or the content of a file, outlive a power cut.

    Some mounts cannot sync a folder, and say so: that is no fault of the disk.
    """
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED or not place.is_dir():
            raise
    finally:
        os.close(descriptor)
