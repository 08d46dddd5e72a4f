"""A worker at work, over a real outbox and receivers that behave as a test says."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count

from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.webhooks.courier import Ready
from alama.webhooks.records import DeliveryResult, Due
from alama.webhooks.worker import Pace, Worker
from tests.clocks import HandClock
from tests.outboxes import BROKEN, OK, Told, WatchedOutbox
from tests.webhooked import an_event

PACE = Pace(lease_s=110.0, idle_s=0.01, gather_s=0.001, dispatch_s=0.0, away_s=0.01, drain_s=0.2)
"""Its leases are the longest that are believed, nearly: what is slow is not to run out of one."""

WITHIN_S = PACE.lease_s / 2
"""Until a test gives up: half a lease, so that what was claimed and forgotten is not forgiven."""

Behaviour = Callable[[], Awaitable[DeliveryResult]]


_drawn = count()


def now_us() -> int:
    return time.time_ns() // 1_000


class RunningClock(HandClock):
    """Goes on until it is stopped, ahead of everybody else's by what a test says."""

    ahead_us = 0
    _stopped_us: int | None = None

    def __call__(self) -> int:
        return (self._stopped_us or now_us()) + self.ahead_us

    def stop(self) -> None:
        self._stopped_us = now_us()

    def stopwatch_s(self) -> float:
        return self() / 1_000_000


def draw() -> bytes:
    """No chance: the wait after a failure is the shortest there is."""
    return next(_drawn).to_bytes(ids.RANDOM_BYTES, "big")


async def answers() -> DeliveryResult:
    await asyncio.sleep(0.001)
    return OK


async def fails() -> DeliveryResult:
    await asyncio.sleep(0.001)
    return BROKEN


async def stalls() -> DeliveryResult:
    await asyncio.Event().wait()
    raise AssertionError


class Receivers:
    """Whoever is delivered to; notes how many deliveries were under way at once to each."""

    def __init__(self, **behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.received: Counter[str] = Counter()
        self.under_way: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.prepared: Counter[str] = Counter()
        self.order: list[str] = []

    def prepare(self, claimed: Sequence[Due]) -> Sequence[Ready]:
        self.prepared.update({due.endpoint.book.lender for due in claimed})
        return [Ready(due, [b"secret"]) for due in claimed]

    async def deliver(self, ready: Ready) -> DeliveryResult:
        lender = ready.due.endpoint.book.lender
        self.order.append(lender)
        self.under_way[lender] += 1
        self.most[lender] = max(self.most[lender], self.under_way[lender])
        try:
            outcome = await self.behaviour[lender]()
        finally:
            self.under_way[lender] -= 1
        self.received[lender] += outcome is OK
        return outcome


class Setting:
    """A worker at work, and what a test looks at. It has no time but that of its clock."""

    def __init__(self, receivers: Receivers, outbox: WatchedOutbox, pace: Pace = PACE) -> None:
        self.receivers = receivers
        self.told = Told()
        self.outbox = outbox
        self.clock = RunningClock()
        self.worker = Worker("worker_1", outbox, receivers, self.told, self.clock, draw, pace)

    def announce(self, lender: str, count: int) -> None:
        book = Book(lender, Mode.TEST)
        self.outbox.announce(*(an_event(book, at_us=now_us()) for _ in range(count)))

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN_S):
            while not reached():  # noqa: ASYNC110  nobody tells a test
                await asyncio.sleep(0.002)

    async def until_it_has_looked(self) -> None:
        """Wait until whatever is due by now has been found."""
        looks = self.outbox.looks
        await self.until(lambda: self.outbox.looks > looks + 2)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.worker.run())
        yield
        self.worker.stop()
        async with asyncio.timeout(WITHIN_S):
            await task


Given = Callable[..., Setting]
