"""What has to be done now and then, off the hot path."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from alama.service.errors import StoreUnavailable
from alama.service.patience import in_time
from alama.service.records import IDEMPOTENCY_KEPT_US

if TYPE_CHECKING:
    from alama.service.directory import Directory
    from alama.service.ports import Clock, Registry

KEY_USE_EVERY_S: Final = 10.0
FORGET_EVERY_S: Final = 600.0
FORGET_PAUSE_S: Final = 0.05
"""Between two batches: SQLite lets those who wait to write ask again only every now and then."""

Tell = Callable[[str, Exception], None]
"""Told which chore has failed, and how."""


class Forgetting(Protocol):
    """Whoever keeps idempotency keys."""

    def forget_idempotency(self, before_us: int) -> bool:
        """Drop some of those that are older than a time; say whether some are left."""
        ...


class Upkeep:
    """Notes when keys were used and forgets old idempotency keys, until it is cancelled.

    No failure ends it: a chore that fails is done the next time. That the database is away is told
    by those who wait for it; any other failure is told here.
    """

    def __init__(
        self,
        directory: Directory,
        registry: Registry,
        forgetting: Forgetting,
        clock: Clock,
        tell: Tell,
    ) -> None:
        """Know what to look after, and whom to tell if it fails."""
        self._directory = directory
        self._registry = registry
        self._forgetting = forgetting
        self._clock = clock
        self._tell = tell

    async def run(self) -> None:
        """Go on for ever."""
        await asyncio.gather(self._note_key_use(), self._forget())

    async def note_key_use(self) -> None:
        """Write down when keys were last used; what cannot be written now comes next time."""
        used = self._directory.take_key_use()
        try:
            await in_time(lambda: self._registry.note_key_use(used))
        except Exception as error:  # noqa: BLE001  see the class
            self._directory.give_back_key_use(used)
            self._failed("note_key_use", error)

    async def forget(self) -> None:
        """Drop idempotency keys whose time is over."""
        before_us = self._clock() - IDEMPOTENCY_KEPT_US
        try:
            some_left = True
            while some_left:
                some_left = await in_time(lambda: self._forgetting.forget_idempotency(before_us))
                await asyncio.sleep(FORGET_PAUSE_S)
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("forget_idempotency", error)

    def _failed(self, chore: str, error: Exception) -> None:
        if not isinstance(error, StoreUnavailable):
            self._tell(chore, error)

    async def _note_key_use(self) -> None:
        while True:
            await asyncio.sleep(KEY_USE_EVERY_S)
            await self.note_key_use()

    async def _forget(self) -> None:
        while True:
            # Several processes share the work, each at a time of its own.
            await asyncio.sleep(FORGET_EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311  no secret
            await self.forget()
