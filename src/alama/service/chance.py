"""Random bytes, asked of the system many at once: each question costs a microsecond."""

from __future__ import annotations

import os
from struct import Struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_AT_ONCE: Final = 512


class Chance:
    """Gives so many random bytes at a time, for ids and salts. Any thread may ask.

    A process that was forked starts anew: no two of them ever get the same. Keys and nonces are
    not drawn here; `alama.service.vault.envelope` says why.
    """

    __slots__ = ("_cut", "_pool", "_size")

    def __init__(self, size: int) -> None:
        """Ask the system when the first bytes are drawn, not before."""
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
