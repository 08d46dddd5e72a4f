"""The processes of a running service, as the system sees them (Linux)."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

ZOMBIE = "Z"

log = logging.getLogger(__name__)


def group(leader: int) -> list[int]:
    """Every process of a group that still runs."""
    return [pid for pid, state, group_id in _processes() if group_id == leader and state != ZOMBIE]


def workers(supervisor: int) -> list[int]:
    """The processes that serve; the supervisor and multiprocessing's own helper do not."""
    return [pid for pid in group(supervisor) if "--multiprocessing-fork" in _command(pid)]


def taker(client_port: int, candidates: Iterable[int]) -> int | None:
    """The process that holds the other end of a local connection, if it is one of these."""
    for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]:
        _, _, there, *_, inode = line.split()[:10]
        if int(there.rpartition(":")[2], 16) == client_port and inode != "0":
            return next((pid for pid in candidates if f"socket:[{inode}]" in _open_by(pid)), None)
    return None


def resident_bytes(pid: int) -> int:
    """How much memory a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def wait_until(reached: Callable[[], bool], within_s: float, what: str) -> None:
    """Wait for something that happens by itself; the log at DEBUG says how long it took."""
    started = time.monotonic()
    while not reached():
        assert time.monotonic() - started < within_s, f"not {what} after {within_s} s"
        time.sleep(0.02)
    log.debug("%s after %.2f s", what, time.monotonic() - started)


def _processes() -> list[tuple[int, str, int]]:
    """The id, state and group of each process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it has just ended
                # The name of a program stands in parentheses and may hold anything.
                state, _, group_id = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                found.append((int(entry.name), state, int(group_id)))
    return found


def _open_by(pid: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it has just been closed
            found.add(str(entry.readlink()))
    return found


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""
