"""Beside deliveries: asks challengers about what was scored, a little at a time.

On a thread of its own, and with a rest after each round: whatever a challenger costs is taken from
what scoring leaves over.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Protocol

from alama.service.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.service.book import Book
    from alama.service.monitoring.challengers import Challenger
    from alama.service.monitoring.shadowing import Round

LOOK_EVERY_S: Final = 5.0
"""Where nothing waits: a score is asked about half a minute after it was given anyway."""

REST_TURNS: Final = 19.0
"""After each round: so many times as long as it took. All challengers together have a twentieth of
a core, however many and however far behind, for some hundred scores a second: what a database does
for them is not behind everything else, as a worker is. With a tenth, PostgreSQL had 8 % less left
for scoring."""

REST_S_MAX: Final = 5.0
"""A round may have waited for its turn at a file that scores are written into. One that has not
takes a small part of what earns this."""

LOOK_S_MIN: Final = 0.2
"""From the beginning of a look to that of the next, where rounds are short."""


class Asking(Protocol):
    """Who asks challengers; `alama.service.monitoring.shadowing.Shadowing` does."""

    def running(self) -> Sequence[Challenger]: ...
    def round(self, challenger: Challenger) -> Round: ...


class Watch(Protocol):
    """Whom the shadow tells how it goes."""

    def challenged(self, rounds: Sequence[Round]) -> None: ...
    def challenger_failed(self, challenger: Challenger, error: Exception) -> None: ...
    def chore_failed(self, chore: str, error: Exception) -> None: ...


class Shadow:
    """Asks until cancelled. Lives in one event loop.

    A challenger that cannot be asked is told of once until it can, and tried again at every look. A
    database that is away is no news: whoever delivers has told of it.
    """

    def __init__(
        self,
        asking: Asking,
        watch: Watch,
        look_every_s: float = LOOK_EVERY_S,
        look_s_min: float = LOOK_S_MIN,
    ) -> None:
        """Take who asks, and whom to tell."""
        self._asking = asking
        self._watch = watch
        self._look_every_s = look_every_s
        self._look_s_min = look_s_min
        self._failing: set[tuple[Book, str]] = set()
        self._is_blind = False

    async def run(self) -> None:
        """Ask, until cancelled."""
        while True:
            began_s = time.monotonic()
            some_left = await self.look()
            short_s = began_s + self._look_s_min - time.monotonic()
            await asyncio.sleep(max(short_s, 0.0) if some_left else self._look_every_s)

    async def look(self) -> bool:
        """Have a round of each challenger and rest after it; say whether one of them left some."""
        try:
            challengers = await asyncio.to_thread(self._asking.running)
        except StoreUnavailable:
            return False
        except Exception as error:  # noqa: BLE001  whatever it was, another time it may go well
            if not self._is_blind:
                self._watch.chore_failed("find_challengers", error)
            self._is_blind = True
            return False
        self._is_blind = False
        # One round of each: nobody's backlog keeps the others waiting.
        found = [await self._round_and_rest(challenger) for challenger in challengers]
        rounds = [one for one in found if one is not None]
        self._watch.challenged(rounds)
        return any(one.some_left for one in rounds)

    async def _round_and_rest(self, challenger: Challenger) -> Round | None:
        # Also where none are left: forty that are asked about little are asked about much.
        began_s = time.monotonic()
        found = await self._round(challenger)
        rest_s = REST_TURNS * (time.monotonic() - began_s)
        await asyncio.sleep(min(rest_s, REST_S_MAX))
        return found

    async def _round(self, challenger: Challenger) -> Round | None:
        """Have a round; None where it failed."""
        who = (challenger.book, challenger.model_id)
        try:
            found = await asyncio.to_thread(self._asking.round, challenger)
        except StoreUnavailable:
            return None
        except Exception as error:  # noqa: BLE001  see the class
            if who not in self._failing:
                self._watch.challenger_failed(challenger, error)
            self._failing.add(who)
            return None
        self._failing.discard(who)
        return found
