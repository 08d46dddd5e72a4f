"""What may be told of an exception: its kind and the way it took, never its words.

The message of an exception can hold anything: the value that could not be converted, the SQL
parameters of the row that was refused. Types, places in the code and the codes of databases and
systems cannot, and they are enough to find a defect.
"""

from __future__ import annotations

import errno
import re
import traceback
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPTH_MAX: Final = 8
"""Exceptions in a chain of causes."""

FRAMES_MAX: Final = 40
"""Places of one exception, those nearest to where it was raised."""

_CODE: Final = re.compile("[A-Z0-9_]{1,40}")


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """One exception of a chain. Frames read `module:line function`, the place of the raise last."""

    type: str
    code: str | None = None
    """SQLSTATE, the name of SQLite's code or of the system's: `53100`, `SQLITE_FULL`, `ENOSPC`."""
    frames: tuple[str, ...] = ()


def anatomy(error: BaseException) -> list[Fault]:
    """Give an exception and its causes, the one that surfaced first."""
    return [Fault(kind(link), _code(link), _frames(link)) for link in _chain(error)]


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen and len(seen) < DEPTH_MAX:
        seen.add(id(link))
        yield link
        context = None if link.__suppress_context__ else link.__context__
        link = link.__cause__ or context


def kind(error: BaseException) -> str:
    """Give the type of an exception, by its whole name."""
    found = type(error)
    return (
        found.__qualname__
        if found.__module__ == "builtins"
        else f"{found.__module__}.{found.__qualname__}"
    )


def _code(error: BaseException) -> str | None:
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0)
    for attribute in ("sqlstate", "sqlite_errorname"):
        code = getattr(error, attribute, None)
        # Whatever it is called, it is told only if it cannot be anything but a code.
        if isinstance(code, str) and _CODE.fullmatch(code):
            return code
    return None


def _frames(error: BaseException) -> tuple[str, ...]:
    walked = list(traceback.walk_tb(error.__traceback__))[-FRAMES_MAX:]
    return tuple(
        f"{frame.f_globals.get('__name__', '?')}:{line} {frame.f_code.co_name}"
        for frame, line in walked
    )
