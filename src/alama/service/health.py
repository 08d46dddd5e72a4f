"""Whether the service can serve: asked of the database itself, at most once a second.

It is written to as well as read: a full disk still reads well, and a process that has kept nothing
yet has not met it. Whoever asks without a key can cause one small write a second, and no more.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, Protocol

from alama.service.errors import MasterKeyMissing, StoreUnavailable
from alama.service.patience import FRESH_US, in_time

if TYPE_CHECKING:
    from alama.service.ports import Stopwatch


class Pulse(Protocol):
    """A database that can be asked how it is; both raise `StoreUnavailable` if it is not well."""

    def ping(self) -> None:
        """Read something."""

    def write_something(self) -> None:
        """Write something, durably; scores that were refused a moment ago say enough."""


class Keeping(Protocol):
    """Whoever keeps scores."""

    @property
    def failing(self) -> bool:
        """Whether the last scores could not be kept."""
        ...


class Unlocking(Protocol):
    """Whoever has the keys."""

    def own_master(self) -> object:
        """Look for the master key of the database; `MasterKeyMissing` if it is not at hand."""
        ...


class Report(NamedTuple):
    """How it is; no reason means that all is well."""

    reason: str | None


class Health:
    """Watches what scoring depends on. One instance lives in one event loop."""

    def __init__(
        self, pulse: Pulse, keeping: Keeping, keys: Unlocking, stopwatch: Stopwatch
    ) -> None:
        """Know whom to ask."""
        self._pulse = pulse
        self._keeping = keeping
        self._keys = keys
        self._stopwatch = stopwatch
        self._report = Report("starting")
        self._asked_us: int | None = None
        self._asking: asyncio.Task[Report] | None = None

    async def report(self) -> Report:
        """Say whether scores can be given and kept right now."""
        now_us = self._stopwatch()
        stale = self._asked_us is None or now_us - self._asked_us >= FRESH_US
        if self._asking is None and stale:
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
        # Where keeping has failed, it is only the write that can tell whether it would again.
        ask = self._pulse.write_something if self._keeping.failing else self._read_and_write
        try:
            await in_time(ask)
        except (StoreUnavailable, MasterKeyMissing) as error:
            return Report(str(error))
        return Report(None)

    def _read_and_write(self) -> None:
        self._pulse.ping()
        self._keys.own_master()
        self._pulse.write_something()
