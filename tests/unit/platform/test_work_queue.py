"""What takes long has a thread of its own: one thing after the other, and not too many waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from alama.platform.book import Book, Mode
from alama.platform.errors import Busy, StoreUnavailable
from alama.platform.timeouts import WorkQueue

DEMO, OTHER, THIRD = (Book(name, Mode.TEST) for name in ("demo", "other", "third"))


def tell(story: Callable[[WorkQueue], Awaitable[None]]) -> None:
    async def told() -> None:
        turns = WorkQueue("reports", 4, 2)
        try:
            await story(turns)
        finally:
            turns.close()

    asyncio.run(told())


def ask(turns: WorkQueue, book: Book = DEMO, timeout_s: float = 60.0) -> asyncio.Future[str]:
    return asyncio.ensure_future(
        turns.take(book, lambda: threading.current_thread().name, timeout_s)
    )


@contextmanager
def held(turns: WorkQueue) -> Iterator[None]:
    """Keep the thread busy with something that nobody waits for."""
    go = threading.Event()
    turns._thread.submit(go.wait)
    try:
        yield
    finally:
        go.set()


def test_it_is_done_on_a_thread_that_nothing_else_waits_for() -> None:
    async def story(turns: WorkQueue) -> None:
        with held(turns):
            waiting = [ask(turns), ask(turns), ask(turns, OTHER)]
            await asyncio.sleep(0)
            # The threads that look up keys are all free.
            assert await asyncio.to_thread(lambda: "free") == "free"
            assert not any(one.done() for one in waiting)
        assert set(await asyncio.gather(*waiting)) == {"reports_0"}

    tell(story)


def test_who_comes_when_too_many_wait_is_refused_and_the_others_are_answered() -> None:
    async def story(turns: WorkQueue) -> None:
        with held(turns):
            waiting = [ask(turns, book) for book in (DEMO, DEMO, OTHER, OTHER)]
            await asyncio.sleep(0)
            with pytest.raises(Busy, match="too many reports"):
                await ask(turns, THIRD)
        assert len(await asyncio.gather(*waiting)) == 4
        await ask(turns, THIRD)

    tell(story)


def test_one_book_does_not_take_the_places_of_others() -> None:
    async def story(turns: WorkQueue) -> None:
        with held(turns):
            waiting = [ask(turns), ask(turns)]
            await asyncio.sleep(0)
            with pytest.raises(Busy):
                await ask(turns)
            waiting.append(ask(turns, OTHER))
            await asyncio.sleep(0)
        assert len(await asyncio.gather(*waiting)) == 3

    tell(story)


def test_what_takes_too_long_gives_its_place_back() -> None:
    async def story(turns: WorkQueue) -> None:
        with held(turns):
            for _ in range(3):
                with pytest.raises(StoreUnavailable):
                    await ask(turns, timeout_s=0.001)
        assert await ask(turns) == "reports_0"

    tell(story)
