"""Ids: sortable by time, unique without asking anyone, from a pool of random bytes."""

from __future__ import annotations

import os
import re
from struct import Struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


PREFIX: Final = "req_"
RANDOM_BYTES: Final = 7
_TIME_BYTES: Final = 7
RAW_BYTES: Final = _TIME_BYTES + RANDOM_BYTES
TIME_MAX_US: Final = 2 ** (8 * _TIME_BYTES - 1)
"""The year 3111: well before an id has no room for the time."""
_SHAPE: Final = re.compile(r"req_[0-9a-f]{28}")
_DIGITS: Final = re.compile(rf"[0-9a-f]{{{2 * RAW_BYTES}}}")


def request_id(now_us: int, random: bytes) -> str:
    """Give 14 digits of time in microseconds and 14 of chance, in hexadecimal.

    Ids sort by the time they carry. Two of the same microsecond sort by chance, out of 2^56, which
    is also what keeps them apart.
    """
    return PREFIX + (now_us.to_bytes(_TIME_BYTES, "big") + random).hex()


def sortable(prefix: str, now_us: int, random: bytes) -> str:
    """Give an id of another kind, made as request ids are."""
    return prefix + (now_us.to_bytes(_TIME_BYTES, "big") + random).hex()


def is_sortable(prefix: str, text: str) -> bool:
    """Say whether a text could be an id of this kind."""
    return text.startswith(prefix) and _DIGITS.fullmatch(text, len(prefix)) is not None


def beginning(prefix: str, at_us: int) -> str:
    """Give what the ids of a moment begin with."""
    return f"{prefix}{at_us:0{2 * _TIME_BYTES}x}"


def later(prefix: str, text: str, by_us: int) -> str:
    """Give what ids begin with that are so much later than one, be it only the beginning of one."""
    digits = text.removeprefix(prefix)[: 2 * _TIME_BYTES].ljust(2 * _TIME_BYTES, "0")
    return beginning(prefix, min(int(digits, 16) + by_us, 256**_TIME_BYTES - 1))


def first_of(at_us: int) -> str:
    """Give the id before which none of this moment or a later one sorts."""
    return request_id(at_us, bytes(RANDOM_BYTES))


def raw(request_id: str) -> bytes:
    """Give the 14 bytes of a request id."""
    return bytes.fromhex(request_id.removeprefix(PREFIX))


def time_us(request_id: str) -> int:
    """Give the time that a request id carries, in microseconds since 1970, UTC."""
    return made_us(PREFIX, request_id)


def made_us(prefix: str, text: str) -> int:
    """Give the time that an id of another kind carries."""
    return int(text.removeprefix(prefix)[: 2 * _TIME_BYTES], 16)


def is_request_id(text: str) -> bool:
    return _SHAPE.fullmatch(text) is not None


_AT_ONCE: Final = 512
"""Asked of the system at once: each question costs a microsecond."""


class RandomPool:
    """Gives so many random bytes at a time, for ids and salts. Any thread may ask.

    A process that was forked starts anew: no two of them ever get the same. Keys and nonces are
    not drawn here; `alama.vault.envelope` says why.
    """

    __slots__ = ("_cut", "_pool", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._cut: Callable[[bytes], Iterator[tuple[bytes]]] = Struct(f"{size}s").iter_unpack
        self._pool: Iterator[tuple[bytes]]
        self._empty()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._empty)

    def draw(self) -> bytes:
        """Give bytes that nobody else has got, or will."""
        try:
            return next(self._pool)[0]  # one step in C, so no two threads get the same
        except StopIteration:
            self._pool = pool = self._cut(os.urandom(self._size * _AT_ONCE))
            return next(pool)[0]

    def _empty(self) -> None:
        self._pool = iter(())
