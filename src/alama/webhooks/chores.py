"""What a worker does now and then: forget what is old, and count what is on its way."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final, Protocol

from alama.service.errors import StoreUnavailable
from alama.service.webhooks.records import KEPT_US, Forgotten

if TYPE_CHECKING:
    from alama.service.clock import Time
    from alama.service.webhooks.ports import Outbox
    from alama.service.webhooks.records import Backlog

FORGET_FIRST_S: Final = 60.0
"""After the start: also a service that is started every night forgets."""
FORGET_EVERY_S: Final = 3_600.0
FORGET_AT_ONCE: Final = 250
"""Events in one transaction, each with up to twenty deliveries: some 30 ms on SQLite."""
FORGET_PAUSE_S: Final = 0.1
"""Between two transactions, in which scores can be kept."""
COUNT_EVERY_S: Final = 10.0


class Watch(Protocol):
    """Whom the chores tell what they find."""

    @property
    def counts(self) -> bool: ...
    def backlog(self, backlog: Backlog) -> None: ...
    def forgot(self, forgotten: Forgotten) -> None: ...
    def chore_failed(self, chore: str, error: Exception) -> None: ...


class Chores:
    """Done in turns, each in its own time; what fails is told, and tried again the next time.

    What fails again is told no more until it has gone well. A database that is away is no news:
    whoever delivers has told of it.
    """

    def __init__(self, outbox: Outbox, watch: Watch, clock: Time) -> None:
        """Take what they are done on."""
        self._outbox = outbox
        self._watch = watch
        self._clock = clock
        self._failing: set[str] = set()

    async def run(self) -> None:
        """Do them until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._forget())
            if self._watch.counts:
                group.create_task(self._count())

    async def forget(self) -> None:
        """Drop everything that was kept for long enough, and tell what nobody has heard of.

        Nothing while a leap of the clock stands.
        """
        if self._clock.leap is not None:
            return
        before_us = self._clock.trusted() - KEPT_US
        gone = Forgotten(0, 0, 0, some_left=True)
        try:
            while gone.some_left:
                some = await asyncio.to_thread(self._outbox.forget, before_us, FORGET_AT_ONCE)
                gone = gone.with_more(some)
                await asyncio.sleep(FORGET_PAUSE_S)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("forget_events", error)
        else:
            self._failing.discard("forget_events")
        if gone.undispatched or gone.undelivered:
            self._watch.forgot(gone)

    async def count(self) -> None:
        """Tell how much is on its way."""
        try:
            self._watch.backlog(await asyncio.to_thread(self._outbox.backlog))
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("count_deliveries", error)
        else:
            self._failing.discard("count_deliveries")

    def _failed(self, chore: str, error: Exception) -> None:
        if isinstance(error, StoreUnavailable):
            return
        if chore not in self._failing:
            self._watch.chore_failed(chore, error)
        self._failing.add(chore)

    async def _forget(self) -> None:
        wait_s = FORGET_FIRST_S
        while True:
            # Several workers share it, each at a time of its own.
            await asyncio.sleep(wait_s * random.uniform(0.5, 1.5))  # noqa: S311  no secret
            await self.forget()
            wait_s = FORGET_EVERY_S

    async def _count(self) -> None:
        while True:
            await self.count()
            await asyncio.sleep(COUNT_EVERY_S)
