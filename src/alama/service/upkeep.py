"""What has to be done now and then, off the hot path."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final, Protocol

from alama.service.errors import StoreUnavailable
from alama.service.patience import in_time
from alama.service.records import IDEMPOTENCY_KEPT_US

if TYPE_CHECKING:
    from alama.service.directory import Directory
    from alama.service.ports import Clock, Registry

KEY_USE_EVERY_S: Final = 10.0
FORGET_EVERY_S: Final = 600.0


class Forgetting(Protocol):
    """Whoever keeps idempotency keys."""

    def forget_idempotency(self, before_us: int) -> None:
        """Drop those that are older than a time."""


class Upkeep:
    """Notes when keys were used and forgets old idempotency keys, until it is cancelled."""

    def __init__(
        self, directory: Directory, registry: Registry, forgetting: Forgetting, clock: Clock
    ) -> None:
        """Know what to look after."""
        self._directory = directory
        self._registry = registry
        self._forgetting = forgetting
        self._clock = clock

    async def run(self) -> None:
        """Go on for ever."""
        await asyncio.gather(self._note_key_use(), self._forget())

    async def note_key_use(self) -> None:
        """Write down when keys were last used; what cannot be written now comes next time."""
        used = self._directory.take_key_use()
        try:
            await in_time(lambda: self._registry.note_key_use(used))
        except StoreUnavailable:
            self._directory.give_back_key_use(used)

    async def _note_key_use(self) -> None:
        while True:
            await asyncio.sleep(KEY_USE_EVERY_S)
            await self.note_key_use()

    async def _forget(self) -> None:
        while True:
            # Several processes share the work, each at a time of its own.
            await asyncio.sleep(FORGET_EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311  no secret
            before_us = self._clock() - IDEMPOTENCY_KEPT_US
            try:
                await in_time(lambda: self._forgetting.forget_idempotency(before_us))  # noqa: B023
            except StoreUnavailable:
                continue
