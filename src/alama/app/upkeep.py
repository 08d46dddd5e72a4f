"""What has to be done now and then, off the hot path."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.monitoring.drift import Drift, finished_day
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnavailable
from alama.platform.timeouts import run_with_timeout
from alama.scoring.records import IDEMPOTENCY_KEPT_US

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.lenders.store import Registry
    from alama.onboarding.histories import Histories
    from alama.platform.clock import Time
    from alama.protection.audit.chain_checkpoint import ChainCheckpoint
    from alama.protection.retention import Plan, Retention
    from alama.scoring.directory import Directory
    from alama.scoring.store import Scores
    from alama.scoring.telemetry import ServiceWatch


KEY_USE_EVERY_S: Final = 10.0
FORGET_EVERY_S: Final = 600.0
RETAIN_EVERY_S: Final = 3_600.0
NOTE_HEADS_EVERY_S: Final = 600.0
FORGET_PAUSE_S: Final = 0.05
"""Between two batches: SQLite lets those who wait to write ask again only every now and then."""


class Keepers(NamedTuple):
    """Those who have something to let go of or to note, each in their own way."""

    scores: Scores
    retention: Retention
    histories: Histories
    drift: Drift
    checkpoint: ChainCheckpoint


class Upkeep:
    """Notes how keys are used and chains grow, and lets go of what is old, until it is cancelled.

    No failure ends it: a chore that fails is done the next time. That the database is away is told
    by those who wait for it; any other failure is told here. While a leap of the clock stands,
    nothing is let go of.
    """

    def __init__(
        self,
        directory: Directory,
        registry: Registry,
        keepers: Keepers,
        clock: Time,
        watch: ServiceWatch,
    ) -> None:
        self._directory = directory
        self._registry = registry
        self._keepers = keepers
        self._clock = clock
        self._watch = watch
        self._leaves_traces = False  # of what was deleted, in the journal
        self._looked_day: int | None = None

    async def run(self) -> None:
        await asyncio.gather(
            self._note_key_use(), self._forget(), self._retain(), self._note_heads()
        )

    async def note_key_use(self) -> None:
        """Write down when keys were last used; what cannot be written now comes next time."""
        used = self._directory.take_key_use()
        try:
            await run_with_timeout(lambda: self._registry.note_key_use(used))
        except Exception as error:  # noqa: BLE001  see the class
            self._directory.give_back_key_use(used)
            self._failed("note_key_use", error)

    async def forget(self) -> None:
        """Drop idempotency keys whose time is over."""
        if self._clock.leap is not None:
            return
        before_us = self._clock.trusted() - IDEMPOTENCY_KEPT_US
        await self._in_batches(
            "forget_idempotency", lambda: self._keepers.scores.forget_idempotency(before_us)
        )

    async def retain(self) -> None:
        """Delete scores whose time is over, where the law says when that is.

        Where that is more than goes on any day, it waits for a person.
        """
        if self._clock.leap is not None:
            return
        waiting = {}
        try:
            for plan in await run_with_timeout(self._keepers.retention.due):
                if not await run_with_timeout(partial(self._keepers.retention.is_usual, plan)):
                    waiting[plan.book] = plan.scores
                    continue
                self._leaves_traces = True
                await self._carry_out(plan)
            self._watch.retention_waits(waiting)
            if self._leaves_traces:
                self._leaves_traces = not await run_with_timeout(self._keepers.retention.finish)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("retain", error)

    async def fold_counts(self) -> None:
        """Put the counts of finished days together, so that none of them are one person's."""
        if self._clock.leap is not None:
            return
        # Yesterday's last scores may be on their way.
        before_day = self._clock.trusted() // DAY_US - 1
        await self._in_batches("fold_counts", lambda: self._keepers.scores.fold_counts(before_day))

    async def look_for_drift(self) -> None:
        """Look in every book whether applicants have changed, once for each day that is over."""
        now_us = self._clock()
        day = finished_day(now_us)
        if day == self._looked_day:
            return
        is_done = True
        try:
            books = await run_with_timeout(self._keepers.drift.books)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("look_for_drift", error)
            return
        for book in books:
            try:
                await run_with_timeout(partial(self._keepers.drift.look_in, book, now_us))
            except Exception as error:  # noqa: BLE001  see the class
                is_done = False  # and no other book has to wait for this one
                self._failed("look_for_drift", error)
            await asyncio.sleep(FORGET_PAUSE_S)
        if is_done:
            self._looked_day = day

    async def sweep(self) -> None:
        """Erase what is left of loan histories of which nothing came."""
        if self._clock.leap is not None:
            return
        now_us = self._clock.trusted()
        await self._in_batches("sweep_histories", lambda: self._keepers.histories.sweep(now_us))

    async def note_heads(self) -> None:
        try:
            await run_with_timeout(self._keepers.checkpoint.note_heads)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("note_heads", error)

    async def close_chain(self) -> None:
        """Have it noted where the chain of this process ends: the last thing that it writes."""
        try:
            await run_with_timeout(self._keepers.checkpoint.close_chain)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("close_chain", error)

    async def _in_batches(self, chore: str, batch: Callable[[], bool]) -> None:
        """Do a chore batch by batch, for as long as one says that some is left."""
        try:
            some_left = True
            while some_left:
                some_left = await run_with_timeout(batch)
                await asyncio.sleep(FORGET_PAUSE_S)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed(chore, error)

    async def _carry_out(self, plan: Plan) -> None:
        batches = self._keepers.retention.carry_out(plan)
        total, gone = 0, 1
        try:
            while gone:
                gone = await run_with_timeout(lambda: next(batches, 0))
                total += gone
                await asyncio.sleep(FORGET_PAUSE_S)
        finally:  # also where it is cut short: what is gone is told
            if total:
                self._watch.retained(plan.book, total)

    def _failed(self, chore: str, error: Exception) -> None:
        if not isinstance(error, StoreUnavailable):
            self._watch.chore_failed(chore, error)

    async def _note_key_use(self) -> None:
        while True:
            await asyncio.sleep(KEY_USE_EVERY_S)
            await self.note_key_use()

    async def _forget(self) -> None:
        while True:
            # Several processes share the work, each at a time of its own.
            await asyncio.sleep(FORGET_EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311  no secret
            await self.forget()

    async def _retain(self) -> None:
        while True:
            # The first process that looks after midnight, UTC, does all there is to do that day.
            await asyncio.sleep(RETAIN_EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311  no secret
            await self.retain()
            await self.fold_counts()
            await self.look_for_drift()
            await self.sweep()

    async def _note_heads(self) -> None:
        while True:
            await asyncio.sleep(NOTE_HEADS_EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311  no secret
            await self.note_heads()
