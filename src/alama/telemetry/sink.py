"""Where log lines go: straight to a file descriptor, most of them a fifth of a second late.

A system call for each of five thousand lines a second would cost as much as scoring. So lines that
can wait are gathered and written together. What cannot wait takes the gathered lines along, so that
the order stays.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from typing import Final

LATE_S_MAX: Final = 0.2
"""How long a line may wait. A process that is killed takes these last lines with it."""

TOGETHER_MAX: Final = 4096
"""Bytes in one write: the most that a pipe takes whole, so that lines of workers never mix."""


class Sink:
    """Writes lines to a descriptor. What cannot be written is lost: a log stops no service."""

    def __init__(self, descriptor: int) -> None:
        """Take an open descriptor, which stays the caller's."""
        self._descriptor = descriptor
        self._waiting: list[str] = []
        self._size = 0
        self._timed = False
        # Not a plain lock: a signal handler may log in the middle of anything.
        self._lock = threading.RLock()

    def later(self, line: str) -> None:
        """Take a line of ASCII that can wait; to be called in an event loop."""
        with self._lock:
            if self._size + len(line) > TOGETHER_MAX:
                self.flush()
            self._waiting.append(line)
            self._size += len(line)
            if not self._timed:
                self._timed = True
                asyncio.get_running_loop().call_later(LATE_S_MAX, self._in_time)

    def now(self, line: str) -> None:
        """Write a line at once, after all that came before it; from any thread."""
        with self._lock:
            self.flush()
            self._write(line.encode())

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            if self._waiting:
                gathered = "".join(self._waiting)
                self._waiting = []
                self._size = 0
                self._write(gathered.encode())

    def _in_time(self) -> None:
        self._timed = False
        self.flush()

    def _write(self, data: bytes) -> None:
        with suppress(OSError):
            while data:
                data = data[os.write(self._descriptor, data) :]
