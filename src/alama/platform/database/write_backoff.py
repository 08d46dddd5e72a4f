"""Courtesy: leaving a file that has one writer at a time to others who want it more."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


PAUSE_S_MAX: Final = 1.0


class WriteBackoff:
    """Turns at writing. One that had to wait for somebody is followed by a pause, many turns long.

    The busier others are, the more turns have to wait, and the less of the time is taken from them,
    however slow the machine is at that moment. Where nobody else writes there are no pauses.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self.pause_turns = 0.0
        """How many times as long as the turn its pause is; 0: there are none."""
        self._waited = False
        self._lock = threading.Lock()
        self._free_s = 0.0

    @property
    def wanted(self) -> bool:
        """Say whether there is to be any."""
        return self.pause_turns > 0

    def note_wait(self) -> None:
        """Somebody else was writing when this turn began."""
        self._waited = True

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and have it; what it waits for meanwhile counts as well."""
        if not self.wanted:
            yield
            return
        with self._lock:
            time.sleep(max(self._free_s - time.monotonic(), 0))
            began_s, self._waited = time.monotonic(), False
            try:
                yield
            finally:
                ended_s = time.monotonic()
                pause_s = (ended_s - began_s) * self.pause_turns if self._waited else 0.0
                self._free_s = ended_s + min(pause_s, PAUSE_S_MAX)
