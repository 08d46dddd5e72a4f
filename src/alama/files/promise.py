"""Files that are promised: found writable at the start, there only if all went well.

The content goes to a hidden file beside the target, which takes the target's name only when its
last byte is safely on disk. A crash, an error or Ctrl-C therefore leaves the old file, or none,
never a half. A symbolic link stays one: its target is what is written.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from alama.core.errors import FileProblem

if TYPE_CHECKING:
    from collections.abc import Iterator


class Output:
    """The content of a file to be; it waits in a hidden file, `part`, beside its place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.target = Path(os.path.realpath(path))
        self.part = self.target.with_name(f".{self.target.name}.{secrets.token_hex(4)}.part")

    def write(self, content: bytes) -> None:
        """Replace the content."""
        with told_as_file_problem(self.path):
            self.part.write_bytes(content)


@contextmanager
def promised(path: Path) -> Iterator[Output]:
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
            output.part.touch(exist_ok=False)
        yield output
        with told_as_file_problem(path):
            _sync(output.part)
            output.part.replace(output.target)
            _sync(output.target.parent)
    finally:
        output.part.unlink(missing_ok=True)


@contextmanager
def promised_in_private(path: Path) -> Iterator[Output]:
    """Promise a file that only its owner will be able to read: it holds somebody's data."""
    with promised(path) as output:
        with told_as_file_problem(path):
            output.part.chmod(0o600)
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


def _sync(place: Path) -> None:
    """Make a file's content, or a folder's names, survive a power cut."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
