"""Whether the service can serve: asked of the database itself, at most once a second."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.service.errors import StoreUnavailable
from alama.service.patience import in_time

if TYPE_CHECKING:
    from alama.service.ports import Clock

FRESH_US: Final = 1_000_000


class Pulse(Protocol):
    """A database that can be asked how it is; both raise `StoreUnavailable` if it is not well."""

    def ping(self) -> None:
        """Read something."""

    def write_something(self) -> None:
        """Write something, durably."""


class Keeping(Protocol):
    """Whoever keeps scores."""

    @property
    def failing(self) -> bool:
        """Whether the last scores could not be kept."""
        ...


class Report(NamedTuple):
    """How it is; no reason means that all is well."""

    reason: str | None


class Health:
    """Watches what scoring depends on. One instance lives in one event loop."""

    def __init__(self, pulse: Pulse, keeping: Keeping, clock: Clock) -> None:
        """Know whom to ask."""
        self._pulse = pulse
        self._keeping = keeping
        self._clock = clock
        self._report = Report("starting")
        self._asked_us = 0
        self._asking: asyncio.Task[Report] | None = None

    async def report(self) -> Report:
        """Say whether scores can be given and kept right now."""
        now_us = self._clock()
        if self._asking is None and now_us - self._asked_us >= FRESH_US:
            self._asked_us = now_us
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(self._answered)
        # Whoever asks meanwhile waits for the same answer: an older one might be too good.
        return self._report if self._asking is None else await asyncio.shield(self._asking)

    def _answered(self, asking: asyncio.Task[Report]) -> None:
        self._asking = None
        if not asking.cancelled():
            self._report = asking.result()

    async def _ask(self) -> Report:
        # A full disk still reads well. Where keeping has failed, only a write can tell.
        ask = self._pulse.write_something if self._keeping.failing else self._pulse.ping
        try:
            await in_time(ask)
        except StoreUnavailable as error:
            return Report(str(error))
        return Report(None)
