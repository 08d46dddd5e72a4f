"""What has to be done now and then, off the hot path."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.monitoring.drift import finished_day
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnavailable
from alama.platform.timeouts import run_with_timeout
from alama.scoring.records import IDEMPOTENCY_KEPT_US

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from alama.lenders.store import Registry
    from alama.platform.book import Book
    from alama.platform.clock import Time
    from alama.protection.retention import Plan
    from alama.scoring.directory import Directory


KEY_USE_EVERY_S: Final = 10.0
FORGET_EVERY_S: Final = 600.0
RETAIN_EVERY_S: Final = 3_600.0
NOTE_HEADS_EVERY_S: Final = 600.0
FORGET_PAUSE_S: Final = 0.05
"""Between two batches: SQLite lets those who wait to write ask again only every now and then."""


class Watch(Protocol):
    """Whom the chores tell what they find. No score is named."""

    def chore_failed(self, chore: str, error: Exception) -> None:
        """Note which chore has failed, and how."""

    def retained(self, book: Book, scores: int) -> None:
        """Note how many scores of a book were deleted because their time is over."""

    def retention_waits(self, waiting: Mapping[Book, int]) -> None:
        """Note how many scores wait for a person to delete them; of no book if none do."""


class Forgetting(Protocol):
    """Whoever keeps idempotency keys and the counts of each day."""

    def forget_idempotency(self, before_us: int) -> bool:
        """Drop some of those that are older than a time; say whether some are left."""
        ...

    def fold_counts(self, before_day: int) -> bool:
        """Put the counts of some finished days together; say whether some are left."""
        ...


class Retaining(Protocol):
    """Whoever knows for how long scores are kept."""

    def due(self) -> Sequence[Plan]:
        """Say what there is to delete."""
        ...

    def is_usual(self, plan: Plan) -> bool:
        """Say whether it is as little as goes on any day; else a person has to say so."""
        ...

    def carry_out(self, plan: Plan) -> Iterator[int]:
        """Delete it, in batches."""
        ...

    def finish(self) -> bool:
        """Leave no trace of it; False where that has to be done again later."""
        ...


class Sweeping(Protocol):
    """Whoever keeps the files of loan histories."""

    def sweep(self, now_us: int) -> bool:
        """Erase some of what nobody will ever read; say whether some is left."""
        ...


class Watching(Protocol):
    """Whoever looks whether applicants are still those whom a model was made for."""

    def books(self) -> Sequence[Book]:
        """Give the books in which there may be something to look at."""
        ...

    def look_in(self, book: Book, now_us: int) -> Sequence[object]:
        """Keep what is new in a book, and tell of it."""
        ...


class Witnessing(Protocol):
    """Whoever bears witness to how far the chains of the audit have come."""

    def note_heads(self) -> None:
        """Note it for those that have grown."""

    def close_chain(self) -> None:
        """Note where the chain of this process ends."""


class Keepers(NamedTuple):
    """Those who have something to let go of or to note, each in their own way."""

    forgetting: Forgetting
    retaining: Retaining
    sweeping: Sweeping
    watching: Watching
    witness: Witnessing


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
        watch: Watch,
    ) -> None:
        """Know what to look after, and whom to tell if it fails."""
        self._directory = directory
        self._registry = registry
        self._forgetting, self._retaining, self._sweeping, self._watching, self._witness = keepers
        self._clock = clock
        self._watch = watch
        self._leaves_traces = False  # of what was deleted, in the journal
        self._looked_day: int | None = None

    async def run(self) -> None:
        """Go on for ever."""
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
            "forget_idempotency", lambda: self._forgetting.forget_idempotency(before_us)
        )

    async def retain(self) -> None:
        """Delete scores whose time is over, where the law says when that is.

        Where that is more than goes on any day, it waits for a person.
        """
        if self._clock.leap is not None:
            return
        waiting = {}
        try:
            for plan in await run_with_timeout(self._retaining.due):
                if not await run_with_timeout(partial(self._retaining.is_usual, plan)):
                    waiting[plan.book] = plan.scores
                    continue
                self._leaves_traces = True
                await self._carry_out(plan)
            self._watch.retention_waits(waiting)
            if self._leaves_traces:
                self._leaves_traces = not await run_with_timeout(self._retaining.finish)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("retain", error)

    async def fold_counts(self) -> None:
        """Put the counts of finished days together, so that none of them are one person's."""
        if self._clock.leap is not None:
            return
        # Yesterday's last scores may be on their way.
        before_day = self._clock.trusted() // DAY_US - 1
        await self._in_batches("fold_counts", lambda: self._forgetting.fold_counts(before_day))

    async def look_for_drift(self) -> None:
        """Look in every book whether applicants have changed, once for each day that is over."""
        now_us = self._clock()
        day = finished_day(now_us)
        if day == self._looked_day:
            return
        is_done = True
        try:
            books = await run_with_timeout(self._watching.books)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("look_for_drift", error)
            return
        for book in books:
            try:
                await run_with_timeout(partial(self._watching.look_in, book, now_us))
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
        await self._in_batches("sweep_histories", lambda: self._sweeping.sweep(now_us))

    async def note_heads(self) -> None:
        """Have it noted how far the chains of the audit have come."""
        try:
            await run_with_timeout(self._witness.note_heads)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("note_heads", error)

    async def close_chain(self) -> None:
        """Have it noted where the chain of this process ends: the last thing that it writes."""
        try:
            await run_with_timeout(self._witness.close_chain)
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
        batches = self._retaining.carry_out(plan)
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
