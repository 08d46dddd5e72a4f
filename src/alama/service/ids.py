"""Request ids: sortable by time, unique without asking anyone."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX: Final = "req_"
RANDOM_BYTES: Final = 7
_TIME_BYTES: Final = 7
_AT_ONCE: Final = 512
_SHAPE: Final = re.compile(r"req_[0-9a-f]{28}")


def request_id(now_us: int, random: bytes) -> str:
    """Give 14 digits of time in microseconds and 14 of chance, in hexadecimal.

    Ids sort by the time they carry. Two of the same microsecond sort by chance, out of 2^56, which
    is also what keeps them apart.
    """
    return PREFIX + (now_us.to_bytes(_TIME_BYTES, "big") + random).hex()


def chances() -> Iterator[bytes]:
    """Give the random part of one id after another, without an end.

    The system is asked for many at once, because each question costs a microsecond. To be started
    in the process that uses it: a fork would go on with the same ones. Ids are no secrets.
    """
    while True:
        pool = os.urandom(RANDOM_BYTES * _AT_ONCE)
        for start in range(0, len(pool), RANDOM_BYTES):
            yield pool[start : start + RANDOM_BYTES]


def is_request_id(text: str) -> bool:
    """Say whether a text could be one of ours."""
    return _SHAPE.fullmatch(text) is not None
