"""A server as a process group: started, waited for, looked at, ended with all its children."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.environment import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HOST: Final = "127.0.0.1"
START_S_MAX: Final = 90.0
STOP_S_MAX: Final = 20.0
_POLL_S: Final = 0.005
_LOG_LINES: Final = 15


class ServerFailed(Exception):
    """A server did not start, or does not score; the message shows the end of its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers; `start_s` from its spawning to its first answer."""

    name: str
    port: int
    key: str
    bodies: Path
    pid: int
    start_s: float
    log: Path

    @property
    def url(self) -> str:
        """Give the address that scores."""
        return f"http://{HOST}:{self.port}/v1/score"

    def failed(self, how: str) -> ServerFailed:
        """Make the error of this server, with what it said last."""
        return ServerFailed(f"{self.name} {how}\n{_end_of(self.log)}")

    def processor_s(self) -> float:
        """Give the processor time of all its processes so far; 0 where it is unknown."""
        return sum(_processor_s(pid) for pid in family(self.pid))

    def memory_mb(self) -> float | None:
        """Give the resident memory of its largest process, the worker; None where unknown."""
        sizes = [_resident_bytes(pid) for pid in family(self.pid)]
        return round(max(sizes) / 2**20, 1) if sizes else None


@contextmanager
def started(
    name: str,
    command: Sequence[str],
    variables: dict[str, str],
    *,
    bodies: Path,
    log: Path,
    health: str = "/v1/health",
    key: str = "none",
) -> Iterator[Server]:
    """Start a command (`{port}` in it is filled in) and give it once its health answers 200.

    `bodies` is what it will be asked.
    """
    port = free_port()
    line = [part.format(port=port) for part in command]
    with log.open("ab") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            line, cwd=ROOT, env=variables, stdout=output, stderr=output, start_new_session=True
        )
    try:
        _wait(name, process, port, health, log)
        yield Server(name, port, key, bodies, process.pid, time.perf_counter() - began, log)
    finally:
        _end(process)


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(name: str, process: subprocess.Popen[bytes], port: int, health: str, log: Path) -> None:
    deadline = time.perf_counter() + START_S_MAX
    while not _answers(port, health):
        if process.poll() is not None:
            message = f"{name} ended with code {process.returncode} before it answered"
            raise ServerFailed(f"{message}\n{_end_of(log)}")
        if time.perf_counter() > deadline:
            message = f"{name} did not answer {health} within {START_S_MAX:.0f} s"
            raise ServerFailed(f"{message}\n{_end_of(log)}")
        time.sleep(_POLL_S)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the leader to stop, then make sure that nobody it has started is left."""
    members = {pid: _started_at(pid) for pid in family(process.pid)}
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S_MAX)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid, started_at in members.items():
        # A worker may have a session of its own; a number may be somebody else's by now.
        with suppress(ProcessLookupError):
            if started_at is not None and _started_at(pid) == started_at:
                os.kill(pid, signal.SIGKILL)
    process.wait()


def _end_of(log: Path) -> str:
    lines = log.read_text("utf-8", errors="replace").splitlines()[-_LOG_LINES:]
    return "\n".join(f"  | {line}" for line in lines) or "  | (it said nothing)"


def family(leader: int) -> list[int]:
    """List a process and all that descend from it; empty where the system has no /proc."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(folder.name)] = int(_stat(int(folder.name))[1])
    found = [leader] if leader in parents else []
    for member in found:  # it grows on the way
        found += [pid for pid, parent in parents.items() if parent == member]
    return found


def _started_at(pid: int) -> str | None:
    """Give when a process started, in ticks; None where there is none."""
    try:
        return _stat(pid)[19]
    except OSError:
        return None


def _processor_s(pid: int) -> float:
    try:
        user, system = _stat(pid)[11:13]
    except OSError:  # it has ended meanwhile
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    """Give the fields of /proc/PID/stat after the name, which may itself hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _resident_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:  # it has ended meanwhile
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
