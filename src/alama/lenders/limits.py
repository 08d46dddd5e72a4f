"""How often a key may ask: one rate, however many processes on however many hosts it asks.

A process decides by itself and at once. What it lets through it tells the others now and then, and
hears what they did.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec
from sqlalchemy import (
    BigInteger,
    bindparam,
    cast,
    extract,
    func,
)
from sqlalchemy.dialects import postgresql, sqlite

from alama.lenders.schema import rates
from alama.platform.errors import TooManyRequests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from alama.platform.clock import Clock, Stopwatch
    from alama.platform.database.database import Database


_US_PER_SECOND: Final = 1_000_000

_PARTS: Final = 16
"""A burst is told of in so many parts or more: what others do not know of is less than one."""


NO_FLOOR_US: Final = -3_600 * _US_PER_SECOND
"""So long ago that it is never the larger of two."""


class Standing(msgspec.Struct, frozen=True):
    """How a key stands after a request: requests left right now, seconds until all are back."""

    remaining: int
    full_in_s: int


class Use(NamedTuple):
    """What a process let through for a key since it told of it the last time.

    `cost_us` is the time that these requests are worth, `owed_us` the time until the bucket is full
    again, as far as this process knows; less than nothing where it has been for a while.
    `floor_us` is the least of that, whatever others did: as much, where the bucket was full when
    one of these requests came, and else `NO_FLOOR_US`.
    """

    key_id: str
    cost_us: int
    owed_us: int
    floor_us: int


class _Bucket:
    __slots__ = ("full_at", "untold", "untold_part", "was_full")

    def __init__(self, full_at: int) -> None:
        self.full_at = full_at
        self.untold = 0
        self.untold_part = 0  # of a microsecond
        self.was_full = False


def _nobody() -> None:
    """Hear of nothing: a process that is alone."""


class RateLimit:
    """Counts the requests of each key.

    The bucket of a key is kept as one number, the time at which it will be full again: each request
    moves it by the time that one request is worth, and a key that would owe more than a burst has
    to wait.

    Times are whole numbers of `per_second`-ths of a microsecond, so that a request is worth exactly
    a million of them. As fractions of a second they would not add up to a burst.
    """

    def __init__(self, per_second: int, burst: int) -> None:
        self.per_second = per_second
        self.burst = burst
        self.on_first: Callable[[], None] = _nobody
        """Called when there is something to tell of."""
        self.on_many: Callable[[], None] = _nobody
        """Called when there is so much of it that it should be told soon."""
        self._depth = burst * _US_PER_SECOND
        self._second = per_second * _US_PER_SECOND
        self._many = -(-burst // _PARTS)
        self._buckets: dict[str, _Bucket] = {}
        self._untold: list[str] = []

    def take(self, key_id: str, now_us: int) -> Standing:
        """Count one request, or raise `TooManyRequests`, which counts nothing.

        The time is of a stopwatch: a clock that is set back would keep a key waiting for the step.
        """
        now = now_us * self.per_second
        bucket = self._buckets.get(key_id)
        if bucket is None:
            bucket = self._buckets[key_id] = _Bucket(now)
        full_at = bucket.full_at
        if full_at <= now:
            full_at = now
            bucket.was_full = True
        full_at += _US_PER_SECOND
        owed = full_at - now
        if owed > self._depth:
            raise TooManyRequests(self._whole_seconds(owed - self._depth))
        bucket.full_at = full_at
        bucket.untold += 1
        if bucket.untold == 1:
            self._first_of(key_id)
        if bucket.untold == self._many:
            self.on_many()
        return Standing((self._depth - owed) // _US_PER_SECOND, self._whole_seconds(owed))

    def collect(self, now_us: int) -> list[Use]:
        """Give what was let through since this was asked the last time, in the order of the keys.

        For each of them `settle` or `keep_to_itself` has to be called before this is again.
        """
        now = now_us * self.per_second
        told, self._untold = self._untold, []
        return [self._use(key_id, self._buckets[key_id], now) for key_id in sorted(told)]

    def settle(self, key_id: str, asked_us: int, owed_us: int) -> None:
        """Take over what a key owes by what all processes have let through.

        `asked_us` is when `collect` was: what came since comes on top. To take the time of asking,
        not of the answer, leaves nobody waiting for how long the answer took.
        """
        bucket = self._buckets[key_id]
        known = (asked_us + owed_us) * self.per_second + bucket.untold_part
        known += bucket.untold * _US_PER_SECOND
        bucket.full_at = max(known, bucket.full_at) if bucket.was_full else known

    def keep_to_itself(self, key_id: str) -> None:
        """Go on alone where the others could not be told.

        What was let through is not told later: after an hour without a database, keys would have to
        pay for that hour. But what is owed then is.
        """
        self._buckets[key_id].was_full = True

    def forget(self, now_us: int) -> None:
        """Let go of keys that owe nothing."""
        now = now_us * self.per_second
        self._buckets = {
            key_id: bucket
            for key_id, bucket in self._buckets.items()
            if bucket.untold or bucket.full_at > now
        }

    def _first_of(self, key_id: str) -> None:
        self._untold.append(key_id)
        if len(self._untold) == 1:
            self.on_first()

    def _use(self, key_id: str, bucket: _Bucket, now: int) -> Use:
        worth = bucket.untold * _US_PER_SECOND + bucket.untold_part
        cost_us, bucket.untold_part = divmod(worth, self.per_second)
        owed_us = -(-(bucket.full_at - now) // self.per_second)
        use = Use(key_id, cost_us, owed_us, owed_us if bucket.was_full else NO_FLOOR_US)
        bucket.untold = 0
        bucket.was_full = False
        return use

    def _whole_seconds(self, owed: int) -> int:
        """Give whole seconds, rounded up; what is owed is never nothing."""
        return -(-owed // self._second)


CHORE: Final = "share_rates"
AWAY_S: Final = 1.0
"""Until others are told again, after they could not be."""

FORGET_EVERY_US: Final = 600 * 1_000_000
PAUSE_EACH_S: Final = 0.005
"""How long no other exchange follows, for each key of one: it takes us up to 0.3 ms of a core."""


class Rates(Protocol):
    """What all processes know together of the rates of keys. Both may raise `StoreUnavailable`."""

    def exchange(self, uses: Sequence[Use]) -> Mapping[str, int]:
        """Add what one process let through; give what each of these keys owes now, in microseconds.

        Less than nothing, or nothing: it may send a whole burst.
        """
        ...

    def forget(self) -> None:
        """Drop keys that have owed nothing for long."""


class Pace(NamedTuple):
    """How often a process exchanges, in seconds: by itself, and with much to tell of."""

    every_s: float
    hurried_s: float


class Sharing:
    """Exchanges what a process let through with the others, until it is cancelled.

    Soon after the first request of a key, then every now and then, sooner the more of a burst was
    let through. No request waits for it.

    No failure ends it: while others cannot be told, the process keeps the rate by itself. Only the
    first failure in a row is told. One instance lives in one event loop.
    """

    def __init__(
        self,
        limit: RateLimit,
        rates: Rates,
        pace: Pace,
        stopwatch: Stopwatch,
        tell: Callable[[str, Exception], None],
    ) -> None:
        self._limit = limit
        self._rates = rates
        self._pace = pace
        self._stopwatch = stopwatch
        self._tell = tell
        self._is_failing = False
        self._forget_us = stopwatch() + FORGET_EVERY_US
        self._some = asyncio.Event()
        self._many = asyncio.Event()
        limit.on_first = self._some.set
        limit.on_many = self._many.set

    async def run(self) -> None:
        while True:
            await self._some.wait()
            await self._pause(await self.exchange())

    async def exchange(self) -> int:
        """Tell what was let through since the last time, and take over what all did.

        Gives of how many keys.
        """
        self._some.clear()
        self._many.clear()
        asked_us = self._stopwatch()
        uses = self._limit.collect(asked_us)
        try:
            owed_us = await asyncio.to_thread(self._rates.exchange, uses)
            for key_id, owed in owed_us.items():
                self._limit.settle(key_id, asked_us, owed)
            await self._forget(asked_us)
        except Exception as error:  # noqa: BLE001  see the class
            for use in uses:
                self._limit.keep_to_itself(use.key_id)
            if not self._is_failing:
                self._tell(CHORE, error)
            self._is_failing = True
        else:
            self._is_failing = False
        return len(uses)

    async def _forget(self, now_us: int) -> None:
        if now_us >= self._forget_us:
            self._forget_us = now_us + FORGET_EVERY_US
            await asyncio.to_thread(self._rates.forget)
            self._limit.forget(self._stopwatch())

    async def _pause(self, keys: int) -> None:
        """Wait until it is time, or, for a moment at least, until there is much to tell of."""
        least_s = max(self._pace.hurried_s, keys * PAUSE_EACH_S)
        await asyncio.sleep(AWAY_S if self._is_failing else least_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pace.every_s - least_s):
                await self._many.wait()


OWED_US_MAX: Final = 60 * 1_000_000
"""A clock that is set back keeps no key waiting for longer than this."""

FORGOTTEN_US: Final = 3_600 * 1_000_000
AT_ONCE: Final = 100
"""Keys of one transaction: others who want the same wait for its end."""


class SqlRates:
    """The rates of keys, on SQLite and PostgreSQL.

    Hosts may disagree about the time, so none of them is asked for it. A row says when the bucket
    of its key is full again; a process that let requests through moves it on by what they are
    worth.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        """Take an open database; the clock stands in for that of a file, which has none."""
        self._database = database
        self._clock = clock

    def exchange(self, uses: Sequence[Use]) -> Mapping[str, int]:
        """Add what one process let through; see `Rates`."""
        # In one order everywhere: two processes that each want what the other has would both wait.
        ordered = sorted(uses)
        owed_us: dict[str, int] = {}
        for start in range(0, len(ordered), AT_ONCE):
            with self._database.writing() as connection:
                for use in ordered[start : start + AT_ONCE]:
                    owed_us[use.key_id] = self._add(connection, use)
        return owed_us

    def forget(self) -> None:
        """Drop keys that have owed nothing for an hour."""
        long_full = rates.c.full_at_us < self._now - FORGOTTEN_US
        with self._database.writing() as connection:
            connection.execute(rates.delete().where(long_full), self._time())

    def _add(self, connection: Connection, use: Use) -> int:
        told = {
            "key_id": use.key_id,
            "cost_us": use.cost_us,
            "owed_us": use.owed_us,
            "floor_us": use.floor_us,
        }
        owed_us: int = connection.execute(self._adding, told | self._time()).scalar_one()
        return owed_us

    @cached_property
    def _adding(self) -> Any:  # noqa: ANN401  an insert of either dialect
        largest, least = (
            (func.max, func.min) if self._database.embedded else (func.greatest, func.least)
        )
        cost, owed, floor = (
            bindparam(name, type_=BigInteger) for name in ("cost_us", "owed_us", "floor_us")
        )
        # What a process knows to be owed counts where nothing else is known: the row of a new key,
        # or of any key after PostgreSQL has crashed.
        added = largest(rates.c.full_at_us + cost, self._now + floor)
        dialect = sqlite if self._database.embedded else postgresql
        return (
            dialect.insert(rates)
            .values(key_id=bindparam("key_id"), full_at_us=self._now + owed)
            .on_conflict_do_update(
                index_elements=[rates.c.key_id],
                set_={"full_at_us": least(added, self._now + OWED_US_MAX)},
            )
            .returning(rates.c.full_at_us - self._now)
        )

    @cached_property
    def _now(self) -> ColumnElement[int]:
        """The time in SQL; not that of the transaction, which may have waited since it began."""
        if self._database.embedded:
            return bindparam("now_us", type_=BigInteger)
        return cast(extract("epoch", func.clock_timestamp()) * 1_000_000, BigInteger)

    def _time(self) -> dict[str, int]:
        return {"now_us": self._clock()} if self._database.embedded else {}
