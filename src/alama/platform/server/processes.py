"""The processes that serve: this one alone, or several under it, at one address.

uvicorn runs them. What is added here: a stop has an end and a clean exit code, new connections are
refused as soon as one is asked for, and the death of a worker is told.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from alama.core.errors import AlamaError
from alama.platform.server.connections import Connections, Limits, take_descriptors

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from alama.platform.telemetry.log import Log


BACKLOG: Final = 2048
"""Connections that the system accepts for us while every worker is busy."""


class CannotListen(AlamaError):
    """The address is taken, is not ours, or may not be used."""


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address, port 0 standing for any that is free; or raise `CannotListen`.

    Connections queue up from now on, so nobody is refused while the workers start.
    """
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except OSError as error:
        raise CannotListen(f"{host} is not an address", hint="--host 127.0.0.1") from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        # The last server's connections may linger for a minute; they are no reason to wait.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot(host, port, error) from error
    return listener


def url(listener: socket.socket) -> str:
    """Give the address as a browser on this machine would reach it."""
    host, port = listener.getsockname()[:2]
    return address(host, port)


def address(host: str, port: int) -> str:
    """Give where a browser on this machine finds what listens on a host and port."""
    # Listening on every address includes this machine's own, which can be clicked on.
    near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def _cannot(host: str, port: int, error: OSError) -> CannotListen:
    place = f"port {port} of {host}"
    match error.errno:
        case errno.EADDRINUSE:
            hint = (
                "stop what listens there, or choose another port: "
                f"--port {port + 1}, or ALAMA_PORT={port + 1} make run"
            )
            return CannotListen(f"{place} is in use", hint=hint)
        case errno.EACCES:
            hint = "ports below 1024 are for root; choose a higher one: --port 8000"
            return CannotListen(f"{place} may not be used", hint=hint)
        case errno.EADDRNOTAVAIL:
            hint = "--host 127.0.0.1 serves this machine, --host 0.0.0.0 everyone who reaches it"
            return CannotListen(f"{host} is not an address of this machine", hint=hint)
        case code:
            reason = os.strerror(code or 0)
            return CannotListen(f"{place} cannot be listened on: {reason}")


APPLICATION: Final = "alama.app.serving:service"

KEEP_ALIVE_S: Final = 75
"""Longer than the 60 s after which load balancers let go: the one who sends must be the first."""

HUNG_S: Final = 5
"""A worker that does not answer its supervisor for so long is replaced. No longer than this: the
supervisor does nothing else meanwhile, and one that dies just when it is asked never answers."""

PUT_AWAY_S: Final = 1
"""Of the time for a stop, what is kept for closing the database once requests are answered."""

EXIT_FAILED: Final = 1


def run_alone(config: uvicorn.Config, listener: socket.socket, host: Host) -> int:
    """Serve in this process until a signal asks to stop; give the exit code."""
    take_descriptors()
    server = _Server(config, host)
    # uvicorn raises the signals again that it was stopped by. This way the first of them counts
    # even before it has looked, and none of them ends the process with another code than 0.
    for asked in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked, server.handle_exit)
    server.run(sockets=[listener])
    return 0 if server.started else EXIT_FAILED


def run_several(config: uvicorn.Config, listener: socket.socket, host: Host) -> int:
    """Serve in several processes until a signal asks to stop; give the exit code."""
    take_descriptors()
    supervisor = _Supervisor(config, listener, host)
    supervisor.run()
    return EXIT_FAILED if supervisor.failed else 0


def configuration(workers: int, stop_s: int, limits: Limits = Limits()) -> uvicorn.Config:  # noqa: B008  a tuple
    """Say how uvicorn is to serve; `stop_s` is all the time that a stop may take."""
    return uvicorn.Config(
        APPLICATION,
        factory=True,
        workers=workers,
        # Named, so that no machine is quietly slower than another.
        loop="asyncio" if sys.platform == "win32" else "uvloop",
        http=cast("type[asyncio.Protocol]", Protocols(Connections(limits))),
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(stop_s - PUT_AWAY_S, 1),
        timeout_worker_healthcheck=HUNG_S,
    )


def _nothing_more() -> None:
    """Do no more than the processes do themselves."""


class Host(NamedTuple):
    """What the processes need from the command that starts them."""

    log: Log
    stop_s: int
    """All the time that a stop may take."""
    up: Callable[[], None]
    """Called once, when the service answers."""
    forget: Callable[[int], None]
    """Called with the pid of a worker that is gone, while the others serve on."""
    down: Callable[[], None] = _nothing_more
    """Called once, when the stop begins."""


class Protocols:
    """Makes the protocol of each new connection, as uvicorn asks for one."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections

    def __call__(self, **given: Any) -> asyncio.Protocol:  # noqa: ANN401  uvicorn's own
        # Not at the top: a worker gets this object before it can say that it lives, and what the
        # protocol imports takes longer on a busy machine than its supervisor waits for that.
        from alama.platform.server.protocol import Protocol  # noqa: PLC0415

        return Protocol(self.connections, **given)


class _Server(uvicorn.Server):
    """The server of the only process."""

    def __init__(self, config: uvicorn.Config, host: Host) -> None:
        super().__init__(config)
        self._host = host

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._host.up()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._host.log.note("stopping")
        self._host.down()
        limit = threading.Timer(self._host.stop_s, self._give_up)
        limit.daemon = True
        limit.start()
        await super().shutdown(sockets)
        limit.cancel()

    def _give_up(self) -> None:
        """End, whatever hangs. Nothing is lost: what was acknowledged is in the database."""
        self._host.log.fail("stop_timed_out", seconds=self._host.stop_s)
        os._exit(EXIT_FAILED)


class _Supervisor(Multiprocess):
    """Keeps the workers running, and ends with them."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, host: Host) -> None:
        super().__init__(config, [listener])
        self._host = host
        self._is_up = False
        self._pids: set[int | None] = set()
        self.failed = False

    def keep_subprocess_alive(self) -> None:
        before = list(self.processes)
        super().keep_subprocess_alive()
        for worker in before:
            if worker.exitcode is not None:
                self._host.log.fail("worker_died", pid=worker.pid, exit_code=worker.exitcode)
                self.failed = self.failed or worker.exitcode == STARTUP_FAILURE
        self._notice_changes()

    def _notice_changes(self) -> None:
        pids = {worker.pid for worker in self.processes}
        for pid in self._pids - pids:
            if pid is not None:
                self._host.forget(pid)
        self._pids = pids
        if not self._is_up and any(worker.is_ready() for worker in self.processes):
            self._is_up = True
            self._host.up()

    def terminate_all(self) -> None:
        self._host.log.note("stopping")
        self._host.down()
        # A listening socket is open for as long as one process holds it.
        for listener in self.sockets:
            listener.close()
        super().terminate_all()

    def join_all(self) -> None:
        deadline_s = time.monotonic() + self._host.stop_s
        for worker in self.processes:
            worker.process.join(max(deadline_s - time.monotonic(), 0))
            if worker.process.is_alive():
                self._host.log.fail("stop_timed_out", seconds=self._host.stop_s, pid=worker.pid)
                worker.process.kill()
                worker.process.join()
                self.failed = True
