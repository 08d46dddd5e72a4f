"""Request ids: sortable by time, unique without asking anyone."""

from __future__ import annotations

import re
from typing import Final

PREFIX: Final = "req_"
RANDOM_BYTES: Final = 7
_SHAPE: Final = re.compile(r"req_[0-9a-f]{28}")


def request_id(now_us: int, random: bytes) -> str:
    """Give 14 digits of time in microseconds and 14 of chance, in hexadecimal.

    Ids sort by the time they carry. Two of the same microsecond sort by chance, out of 2^56, which
    is also what keeps them apart.
    """
    return f"{PREFIX}{now_us:014x}{random.hex()}"


def is_request_id(text: str) -> bool:
    """Say whether a text could be one of ours."""
    return _SHAPE.fullmatch(text) is not None
