"""Names of receivers, looked up so that no name keeps another one waiting.

A name server that does not answer holds whoever asks it for half a minute, and nothing in Python
can call them back. So each name is asked for on a thread of its own, by one thread at a time, and
each lender has so many of them: one whose names are all silent holds some sleeping threads, and
nobody else's deliveries.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from aiohttp.abc import AbstractResolver, ResolveResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ADDRESSES_MAX: Final = 4
"""Of one name, in the order the system prefers: one with hundreds would have us knock at all."""

UNDER_WAY_MAX: Final = 512
OF_LENDER_MAX: Final = 64
"""Names that are looked up at once, in all and for one lender: more than its endpoints can have.

A silent name is looked up for longer than anybody waits for it, also when it is no longer wanted.
"""

PATIENCE_S: Final = 10.0
"""For one name. Less than an attempt has, so that its outcome says that it was the name."""

_asking: ContextVar[str] = ContextVar("asking")

_NUMERIC: Final = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

Lookup: TypeAlias = "Callable[[str], Sequence[str]]"
"""Gives the addresses that a name has now, or raises `OSError`. May take its time."""


def system_lookup(name: str) -> Sequence[str]:
    """Ask the system for the addresses of a name."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@contextmanager
def on_behalf_of(lender: str) -> Iterator[None]:
    """Have names that are looked up within be those of a lender.

    aiohttp, which asks for them, has no argument for it.
    """
    before = _asking.set(lender)
    try:
        yield
    finally:
        _asking.reset(before)


class TooManyNames(OSError):
    """No more names can be looked up now, which says nothing of the one that was asked for."""

    def __init__(self) -> None:
        """Say always the same."""
        super().__init__("too many names are being looked up")


class _Asked(NamedTuple):
    """A name that is being looked up, for whom, and until when by the loop's clock they wait."""

    lender: str
    answer: Future[Sequence[str]]
    until_s: float


class Names(AbstractResolver):
    """Looks names up for aiohttp. Lives in one event loop."""

    def __init__(self, lookup: Lookup, patience_s: float = PATIENCE_S) -> None:
        """Take how names are looked up; it may be called on many threads at once."""
        self._lookup = lookup
        self._patience_s = patience_s
        self._under_way: dict[str, _Asked] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._addresses(host)
        if not found:  # aiohttp takes it for granted that there is one
            raise OSError("this name has no address")
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=family, proto=0, flags=_NUMERIC
            )
            for address in found[:ADDRESSES_MAX]
        ]

    async def close(self) -> None:
        """Wait for nobody: the threads end with their lookups, or with the process."""

    async def _addresses(self, name: str) -> Sequence[str]:
        """Wait for the lookup of a name that is under way, or begin one.

        Where one has been under way for too long already, this fails at once.
        """
        asked = self._under_way.get(name) or self._ask(name)
        try:
            async with asyncio.timeout_at(asked.until_s):
                return await asyncio.wrap_future(asked.answer)
        except TimeoutError:
            # Not a `TimeoutError` itself: aiohttp would not say that it was the name.
            raise OSError("the name server does not answer") from None

    def _ask(self, name: str) -> _Asked:
        lender = _asking.get("")
        # A copy: threads take theirs out meanwhile.
        others = [asked.lender for asked in list(self._under_way.values())]
        if len(others) >= UNDER_WAY_MAX or others.count(lender) >= OF_LENDER_MAX:
            raise TooManyNames
        answer: Future[Sequence[str]] = Future()
        answer.set_running_or_notify_cancel()  # from here on, who stops waiting ends it for nobody
        asked = _Asked(lender, answer, asyncio.get_running_loop().time() + self._patience_s)
        self._under_way[name] = asked
        # A daemon: the process may end while a name server is silent.
        thread = threading.Thread(
            target=self._look_up, args=(name, answer), name="name", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the system has none left
            del self._under_way[name]
            raise TooManyNames from None
        return asked

    def _look_up(self, name: str, answer: Future[Sequence[str]]) -> None:
        try:
            found = self._lookup(name)
        except Exception as error:  # noqa: BLE001  whatever it is, it is raised where it is awaited
            del self._under_way[name]
            answer.set_exception(error)
        else:
            del self._under_way[name]
            answer.set_result(found)
