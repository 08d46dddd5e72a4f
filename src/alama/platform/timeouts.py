"""How long the database is waited for, and a thread for what takes long.

Keys are looked up, and scores read, on the threads that asyncio shares out. A dozen slow questions
would take all of them, and a score would wait for its key until the first of them is answered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from alama.platform.errors import Busy, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.platform.book import Book


ANSWER_TIMEOUT_S: Final = 8.0
"""Beyond this a caller would rather hear that the database is not there."""

FRESH_US: Final = 1_000_000
"""How long an answer stands before it is asked for again."""


async def run_with_timeout(ask: Callable[[], T], timeout_s: float = ANSWER_TIMEOUT_S) -> T:
    """Ask the database on another thread; `StoreUnavailable` if it takes too long."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(ask), timeout_s)
    except TimeoutError:
        raise StoreUnavailable("the database did not answer in time") from None


T = TypeVar("T")


class WorkQueue:
    """A thread that does one thing after the other. One instance lives in one event loop."""

    def __init__(self, what: str, at_most: int, at_most_each: int) -> None:
        """Say what is asked for, how many may be under way, and how many of them of one book."""
        self._what = what
        self._at_most = at_most
        self._at_most_each = at_most_each
        self._thread = ThreadPoolExecutor(1, what)
        self._under_way: Counter[Book] = Counter()

    async def take(self, book: Book, do: Callable[[], T], timeout_s: float | None = None) -> T:
        """Do something for a book when its turn comes.

        `Busy` where too many wait already; `StoreUnavailable` if it takes longer than that,
        the wait for the turn included. What nobody waits for any more is not begun.
        """
        with self._a_place_for(book):
            waiting = asyncio.get_running_loop().run_in_executor(self._thread, do)
            try:
                return await asyncio.wait_for(waiting, timeout_s)
            except TimeoutError:
                raise StoreUnavailable("the database did not answer in time") from None

    def close(self) -> None:
        """Let the thread go, when nobody asks any more; what it still works on is for nobody."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _a_place_for(self, book: Book) -> Iterator[None]:
        under_way = self._under_way
        if under_way.total() >= self._at_most or under_way[book] >= self._at_most_each:
            raise Busy(self._what)
        under_way[book] += 1
        try:
            yield
        finally:
            under_way[book] -= 1
