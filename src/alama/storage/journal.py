"""The journal of a SQLite file: how much is in it that the file may not have yet.

The size of its file does not tell. SQLite writes from its beginning again once all of it is in the
database, over what was there before. Each frame carries the salt of the round that it belongs to;
those of this round come first. https://www.sqlite.org/fileformat2.html#walformat
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

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
