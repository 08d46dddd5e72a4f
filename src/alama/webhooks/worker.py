"""The worker: makes deliveries of events, sends what is due, and notes what came of it.

One event loop sends; one thread speaks with the database, in small transactions, so that a worker
that is killed repeats no more than what the last of them did not hold. Several may run at once.
"""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from alama.platform import ids
from alama.platform.errors import StoreUnavailable
from alama.webhooks import schedule
from alama.webhooks.records import (
    ATTEMPT_PREFIX,
    KEPT_US,
    LEASE_US,
    Attempt,
    Backlog,
    DeliveryResult,
    Due,
    Endpoint,
    Forgotten,
    Listed,
    SendError,
    Settled,
    Verdict,
)
from alama.webhooks.schedule import Tried
from alama.webhooks.sender import SEND_TIMEOUT_S
from alama.webhooks.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.platform.clock import Time
    from alama.webhooks.courier import Ready
    from alama.webhooks.outbox import Outbox


DISPATCH_MIN: Final = 40
"""Events in one transaction, where there are so many, and a few more at most: each may become
twenty deliveries, and a thousand take SQLite 15 ms."""

CARRY_MAX: Final = 50
"""Deliveries that are made again in one transaction, at somebody's wish."""

_SECOND_US: Final = 1_000_000
_CHANCE_MAX: Final = 256**ids.RANDOM_BYTES - 1
_Done = TypeVar("_Done")


class Pace(NamedTuple):
    """How long the worker waits for what."""

    lease_s: float = LEASE_US / _SECOND_US
    """For which a claim is nobody else's: what is claimed begins in the first half of it."""
    send_timeout_s: float = SEND_TIMEOUT_S
    """For an attempt: less than half a lease, so that it is noted before another may begin."""
    idle_s: float = 0.5
    """Until it looks again where there was nothing to do."""
    gather_s: float = 0.005
    """After an answer, for others that are noted in the same transaction."""
    dispatch_s: float = 0.1
    """Between two looks for new events: scoring, which makes them, waits for each of these."""
    endpoints_s: float = 1.0
    """For which it believes what it has read of endpoints."""
    away_s: float = 1.0
    """Until it tries again after the database did not answer."""
    drain_s: float = 15.0
    """For what is under way when it is to stop."""


class Deliverer(Protocol):
    """Whoever signs and sends."""

    def prepare(self, claimed: Sequence[Due]) -> Sequence[Ready]:
        """Give each with what signs for it; may ask the database, and raise `StoreUnavailable`."""
        ...

    async def deliver(self, ready: Ready) -> DeliveryResult:
        """Try once; what goes wrong on the way is a result too."""
        ...


class WorkerWatch(Protocol):
    """What the worker reports to: no payload, and no secret."""

    def attempted(self, due: Due, settled: Settled) -> None: ...
    def disabled(self, endpoint: Endpoint) -> None: ...
    def broke(self, due: Due, error: Exception) -> None: ...
    def unreadable(self, endpoint_id: str) -> None: ...
    def unavailable(self, error: StoreUnavailable) -> None: ...
    def available(self) -> None: ...


class _Held(NamedTuple):
    """What was claimed and has not begun, and until when it may, by the clock of the loop."""

    claimed: Sequence[Due]
    until_s: float


class Worker:
    """Delivers until it is stopped. Lives in one event loop."""

    def __init__(
        self,
        name: str,
        outbox: Outbox,
        courier: Deliverer,
        watch: WorkerWatch,
        clock: Time,
        chance: Callable[[], bytes],
        pace: Pace = Pace(),  # noqa: B008  a tuple
    ) -> None:
        """Take a name that no other worker has; `chance` gives `ids.RANDOM_BYTES` random bytes."""
        self._name = name
        self._outbox = outbox
        self._courier = courier
        self._watch = watch
        self._clock = clock
        self._chance = chance
        self._pace = pace
        self._slots = Slots()
        self._endpoints = Listed((), frozenset())
        # When to read endpoints and to look for new events, by the clock of the loop: it is never
        # set back.
        self._read_s = self._look_s = 0.0
        self._is_more = False
        self._held = _Held((), 0.0)
        self._under_way: set[asyncio.Task[None]] = set()
        self._answered: list[Settled] = []
        # Made with the worker, so that `stop` may come before `run`.
        self._news = asyncio.Event()
        self._stopping = False
        self._thread = ThreadPoolExecutor(1, "deliveries")

    def stop(self) -> None:
        """Have it finish: nothing new begins, what is under way gets its time."""
        self._stopping = True
        self._news.set()

    async def run(self) -> None:
        """Deliver until `stop`, then put away what is left."""
        try:
            while not self._stopping:
                try:
                    await self._work()
                except StoreUnavailable as error:
                    self._watch.unavailable(error)
                    await self._wait_for_database()
                else:
                    self._watch.available()
                    await self._rest()
            await self._finish()
        finally:
            self._thread.shutdown(wait=False)

    async def _work(self) -> None:
        """Do what there is to do now."""
        await self._settle()
        await self._dispatch()
        await self._settle()  # what was answered meanwhile, so that a kill repeats less
        await self._claim()

    async def _rest(self) -> None:
        """Wait for an answer, and a moment longer for those that come with it."""
        if not self._answered:
            until_look_s = max(self._look_s - _now_s(), 0)
            await self._sleep(until_look_s if self._is_more else self._pace.idle_s)
        if self._answered and not self._stopping:
            await asyncio.sleep(self._pace.gather_s)
        self._news.clear()

    async def _wait_for_database(self) -> None:
        self._news.clear()  # what was answered waits as well
        if not self._stopping:
            await self._sleep(self._pace.away_s)

    async def _sleep(self, seconds: float) -> None:
        """Sleep until something is answered, or for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    # ------------------------------------------------------------------------------- the database

    async def _settle(self) -> None:
        """Note what came of deliveries; what cannot be noted now is kept for the next time."""
        settled, self._answered = self._answered, []
        if not settled:
            return
        try:
            disabled = await self._in_thread(lambda: self._outbox.settle(self._name, settled))
        except StoreUnavailable:
            self._answered = settled + self._answered
            raise
        for endpoint in disabled:
            self._watch.disabled(endpoint)
        if disabled:
            self._read_s = 0.0

    async def _dispatch(self) -> None:
        """Make deliveries of new events, now and then, and of what somebody wants once more."""
        if _now_s() < self._look_s:
            return
        now_us = self._clock()
        new = await self._in_thread(lambda: self._outbox.dispatch(now_us, DISPATCH_MIN))
        self._is_more = new >= DISPATCH_MIN
        if self._is_more:
            return
        # After what is new, and no faster: those who have waited for hours can wait a little more.
        again = await self._in_thread(lambda: self._outbox.carry_on(now_us, CARRY_MAX))
        self._is_more = again > 0
        self._look_s = _now_s() + self._pace.dispatch_s

    async def _claim(self) -> None:
        """Begin as many deliveries as there are slots, of those that are due."""
        if not self._held.claimed and not self._stopping:
            self._held = await self._claimed()
        if self._held.claimed:
            ready = await self._in_thread(lambda: self._courier.prepare(self._held.claimed))
            if _now_s() < self._held.until_s:  # or they are due again, for whoever comes first
                for one in ready:
                    self._begin(one)
            self._held = _Held((), 0.0)

    async def _read_endpoints(self) -> None:
        before, self._endpoints = self._endpoints, await self._in_thread(self._outbox.endpoints)
        for endpoint_id in self._endpoints.unreadable - before.unreadable:
            self._watch.unreadable(endpoint_id)
        self._slots.forget_all_but(self._endpoints.known)

    async def _claimed(self) -> _Held:
        """Take what is due, as far as there are slots for it."""
        if _now_s() >= self._read_s:
            await self._read_endpoints()
            self._read_s = _now_s() + self._pace.endpoints_s
        now_us = self._clock()
        due = set(await self._in_thread(lambda: self._outbox.due(now_us)))
        waiting = [endpoint for endpoint in self._endpoints.known if endpoint.id in due]
        offered = self._slots.offer(waiting, _now_us())
        if not offered:
            return _Held((), 0.0)
        until_s = _now_s() + self._pace.lease_s / 2
        until_us = now_us + int(self._pace.lease_s * _SECOND_US)
        claimed = await self._in_thread(
            lambda: self._outbox.claim(self._name, offered, now_us, until_us)
        )
        return _Held(claimed, until_s)

    def _begin(self, ready: Ready) -> None:
        self._slots.take(ready.due.endpoint)
        task = asyncio.create_task(self._deliver(ready))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _in_thread(self, work: Callable[[], _Done]) -> _Done:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # ------------------------------------------------------------------------------- one delivery

    async def _deliver(self, ready: Ready) -> None:
        due, started_us = ready.due, self._clock()
        try:
            result = await self._courier.deliver(ready)
        except Exception as error:  # noqa: BLE001  one delivery that breaks is not all of them
            self._watch.broke(due, error)
            result = DeliveryResult(None, SendError.DEFECT, "", 0)
        attempt = self._attempt(due, result, started_us)
        tried = Tried(
            attempt.number,
            result.status,
            result.retry_after_s,
            # By a time that has leapt nobody has failed for days.
            due.endpoint.failing_since_us if self._clock.leap is None else None,
            result.error,
        )
        jitter = int.from_bytes(self._chance(), "big") / _CHANCE_MAX
        judged = schedule.verdict(tried, self._clock(), jitter)
        settled = Settled(attempt, judged, due.endpoint.url, due.endpoint.generation)
        self._free_slot(due, settled.verdict, schedule.asked_s(tried))
        self._watch.attempted(due, settled)
        self._answered.append(settled)
        self._news.set()

    def _attempt(self, due: Due, result: DeliveryResult, started_us: int) -> Attempt:
        return Attempt(
            id=ids.sortable(ATTEMPT_PREFIX, started_us, self._chance()),
            lender=due.event.lender,
            mode=due.event.mode,
            endpoint_id=due.endpoint.id,
            event_id=due.event.id,
            number=due.attempts + 1,
            started_us=started_us,
            took_ms=result.took_ms,
            status=result.status,
            error=result.error,
            answer=result.text,
        )

    def _free_slot(self, due: Due, verdict: Verdict, asked_s: int) -> None:
        if verdict.delivered:
            self._slots.delivered(due.endpoint)
        elif verdict.ours:
            self._slots.spoiled(due.endpoint, _now_us())
        else:
            self._slots.failed(due.endpoint, asked_s, _now_us())

    async def _finish(self) -> None:
        """Wait for what is under way, as long as a stop may take, and give the rest back."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._pace.drain_s
        try:
            while self._under_way and (left_s := until_s - loop.time()) > 0:
                await asyncio.wait(
                    self._under_way, timeout=left_s, return_when=asyncio.FIRST_COMPLETED
                )
                await self._settle()
            await self._cancel()
            await self._settle()
            await self._in_thread(lambda: self._outbox.give_back(self._name, self._clock()))
        except StoreUnavailable as error:
            self._watch.unavailable(error)  # what it has claimed comes due by itself
            await self._cancel()

    async def _cancel(self) -> None:
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _now_us() -> int:
    return int(_now_s() * _SECOND_US)


# ------------------------------------------------------------------------------- now and then


FORGET_FIRST_S: Final = 60.0
"""After the start: also a service that is started every night forgets."""
FORGET_EVERY_S: Final = 3_600.0
FORGET_AT_ONCE: Final = 250
"""Events in one transaction, each with up to twenty deliveries: some 30 ms on SQLite."""
FORGET_PAUSE_S: Final = 0.1
"""Between two transactions, in which scores can be kept."""
COUNT_EVERY_S: Final = 10.0


class ChoresWatch(Protocol):
    """What the chores report to."""

    @property
    def counts(self) -> bool: ...
    def backlog(self, backlog: Backlog) -> None: ...
    def forgot(self, forgotten: Forgotten) -> None: ...
    def chore_failed(self, chore: str, error: Exception) -> None: ...


class Chores:
    """Forgets what is old and counts what is on its way; what fails is tried again the next time.

    A failure is reported once until it has gone well. A database that is away is no news: the
    worker has reported it.
    """

    def __init__(self, outbox: Outbox, watch: ChoresWatch, clock: Time) -> None:
        self._outbox = outbox
        self._watch = watch
        self._clock = clock
        self._failing: set[str] = set()

    async def run(self) -> None:
        """Forget and count, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._forget())
            if self._watch.counts:
                group.create_task(self._count())

    async def forget(self) -> None:
        """Drop everything that was kept for long enough, and report what nobody has received.

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
        """Report how much is on its way."""
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
