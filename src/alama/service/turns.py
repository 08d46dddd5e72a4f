"""What takes long, one after the other on a thread of its own: scores are not to wait for it.

Keys are looked up, and scores read, on the threads that asyncio shares out. A dozen slow questions
would take all of them, and a score would wait for its key until the first of them is answered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from alama.service.errors import Busy, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.service.book import Book

T = TypeVar("T")


class Turns:
    """A thread that does one thing after the other. One instance lives in one event loop."""

    def __init__(self, what: str, at_most: int, at_most_each: int) -> None:
        """Say what is asked for, how many may be under way, and how many of them of one book."""
        self._what = what
        self._at_most = at_most
        self._at_most_each = at_most_each
        self._thread = ThreadPoolExecutor(1, what)
        self._under_way: Counter[Book] = Counter()

    async def take(self, book: Book, do: Callable[[], T], patience_s: float) -> T:
        """Do something for a book when its turn comes.

        `Busy` where too many wait already; `StoreUnavailable` if it takes longer than the patience,
        the wait for the turn included. What nobody waits for any more is not begun.
        """
        with self._a_place_for(book):
            waiting = asyncio.get_running_loop().run_in_executor(self._thread, do)
            try:
                return await asyncio.wait_for(waiting, patience_s)
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
