"""Courtesy: leaving a file that has one writer at a time to others, for most of the time."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PAUSE_S_MAX: Final = 1.0


class Courtesy:
    """Turns at writing, each followed by a pause that is as much longer as the share is small.

    So whoever writes behind others takes no more than its share of the time from them, however
    slow the machine is at that moment; where nobody else writes, turns are short, and so are the
    pauses. A share of 1, which all begin with, has no pauses.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self.share = 1.0
        self._lock = threading.Lock()
        self._free_s = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and have it; what it waits for meanwhile counts as well."""
        if self.share >= 1:
            yield
            return
        with self._lock:
            time.sleep(max(self._free_s - time.monotonic(), 0))
            began_s = time.monotonic()
            try:
                yield
            finally:
                ended_s = time.monotonic()
                pause_s = (ended_s - began_s) * (1 / self.share - 1)
                self._free_s = ended_s + min(pause_s, PAUSE_S_MAX)
