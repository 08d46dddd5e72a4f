"""The file of a backup: it appears whole, and says in a few figures what is in it."""

from __future__ import annotations

import errno
import os
import re
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import func, inspect, select

from alama.core.errors import FileProblem
from alama.platform.book import Mode
from alama.platform.database import tables
from alama.platform.database.migrate import found_in
from alama.platform.files import promise
from alama.platform.files.promise import told_as_file_problem
from alama.scoring import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection


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
    try:
        _hold(part, target, path)
        yield part
        with told_as_file_problem(path):
            promise.sync(part)
            _name(part, target, path)
            promise.sync(target.parent)
    finally:
        with suppress(OSError):  # of a folder that is closed to us, which was told already
            part.unlink()


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


class Contents(NamedTuple):
    """The schema that it stands at, how many scores there are, and when the newest was given.

    The time is in microseconds since 1970, UTC; None where there is no score.
    """

    version: str | None
    scores: int
    newest_us: int | None


def contents(connection: Connection) -> Contents:
    """Count within the transaction of a connection, be its schema an older one."""
    version = found_in(connection)
    if not inspect(connection).has_table(schema.scores.name):
        return Contents(version, 0, None)
    count = connection.execute(select(func.count()).select_from(schema.scores)).scalar_one()
    lenders = connection.execute(select(tables.lenders.c.id)).scalars().all()
    newest = [_newest(connection, lender, mode.value) for lender in lenders for mode in Mode]
    return Contents(version, count, max(filter(None, newest), default=None))


def _newest(connection: Connection, lender: str, mode: str) -> int | None:
    """Give the time of the last score of a book: its id is the greatest, and has an index."""
    table = schema.scores
    query = (
        select(table.c.created_us)
        .where(table.c.lender == lender, table.c.mode == mode)
        .order_by(table.c.request_id.desc())
        .limit(1)
    )
    found: int | None = connection.execute(query).scalar()
    return found
