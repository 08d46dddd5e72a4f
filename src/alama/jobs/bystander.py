"""Where no job can be done: looks for them all the same, so that none waits in silence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from alama.service.errors import StoreUnavailable

if TYPE_CHECKING:
    from alama.service.onboarding.ports import Jobs
    from alama.service.ports import Clock

LOOK_EVERY_S: Final = 60.0


class Watch(Protocol):
    """Whom the bystander tells that jobs wait."""

    def jobs_wait(self, why: str, hint: str) -> None: ...
    def jobs_failed(self, exit_code: int | None, error: Exception | None = None) -> None: ...


class Bystander:
    """Looks until cancelled. Lives in one event loop.

    Elsewhere there may be a worker that does jobs: one is told of when two looks have found some,
    and then not again until a look finds none.
    """

    def __init__(
        self,
        jobs: Jobs,
        clock: Clock,
        watch: Watch,
        why: str,
        hint: str,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        """Take where jobs are, why none is done here, and what to do about it."""
        self._jobs = jobs
        self._clock = clock
        self._watch = watch
        self._why = why
        self._hint = hint
        self._look_every_s = look_every_s

    async def run(self) -> None:
        """Look, and tell what is found, until cancelled."""
        found = 0
        while True:
            try:
                waits = await asyncio.to_thread(lambda: self._jobs.is_any_free(self._clock()))
                found = found + 1 if waits else 0
                if found == 2:  # noqa: PLR2004  the second look in a row
                    self._watch.jobs_wait(self._why, self._hint)
            except StoreUnavailable:
                pass  # whoever delivers has told of it
            except Exception as error:  # noqa: BLE001  whatever it was, another time it may go well
                self._watch.jobs_failed(None, error)
            await asyncio.sleep(self._look_every_s)
