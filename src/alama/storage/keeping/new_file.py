"""A file that appears whole, for its owner alone, and takes the place of no other.

What is written waits in a hidden file beside it. It gets its name when its last byte is on the
disk, so that nobody who is killed, and no full disk, leaves half of it under that name.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from alama.core.errors import FileProblem
from alama.files.promise import told_as_file_problem
from alama.storage import folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""What disks say that know no second name of a file: those that are carried about, often."""


_PART: Final = re.compile(r"\..+\.[0-9a-f]{8}\.part")


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Give the hidden file to write to; it gets its name at the end of the block, or none at all.

    Its folder must be there. `FileProblem` where something has that name already, before the block
    or by its end.
    """
    target = path.absolute()
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    _hold(part, target, path)
    try:
        yield part
        with told_as_file_problem(path):
            folders.sync(part)
            _name(part, target, path)
            folders.sync(target.parent)
    finally:
        part.unlink(missing_ok=True)


def _hold(part: Path, target: Path, path: Path) -> None:
    """Make the hidden file, or say why it cannot be."""
    try:
        is_folder = target.parent.is_dir()
    except PermissionError as error:
        raise _not_allowed(target.parent) from error
    if not is_folder:
        raise FileProblem(
            f"cannot write {path}: there is no folder {target.parent}", hint="make it first"
        )
    if os.path.lexists(target):
        raise _taken(path)
    try:
        with told_as_file_problem(path):
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileProblem as error:
        if isinstance(error.__cause__, PermissionError):
            raise _not_allowed(target.parent) from error
        raise


def leftovers(folder: Path) -> Sequence[Path]:
    """Give what waits in a folder to get its name, whatever it is to be.

    Of somebody who is at work there, or was killed: who was killed cannot remove it.
    """
    with suppress(OSError):
        return sorted(one for one in folder.iterdir() if _PART.fullmatch(one.name))
    return []


def _name(part: Path, target: Path, path: Path) -> None:
    try:
        os.link(part, target)
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise _taken(path) from None
        part.rename(target)


def _not_allowed(folder: Path) -> FileProblem:
    import pwd  # noqa: PLC0415  only here

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # as in a container whose user has no name
        name = str(os.geteuid())
    return FileProblem(
        f"cannot write to {folder} as user {name}",
        hint="name a folder that this user may write to",
    )


def _taken(path: Path) -> FileProblem:
    return FileProblem(
        f"{path} is there already, and is not overwritten",
        hint="give another name, or move that one away",
    )
