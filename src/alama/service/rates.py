"""One rate for a key, however many processes on however many hosts it asks.

Each process decides by what it knows (`alama.service.limits`), and exchanges that with the others
through the database: soon after the first request of a key, then every now and then, sooner the
more of a burst it has let through. No request waits for it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from alama.service.limits import RateLimit, Use
    from alama.service.ports import Stopwatch

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
        """Know what to share; the stopwatch is that by which requests are timed."""
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
        """Go on for ever."""
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
