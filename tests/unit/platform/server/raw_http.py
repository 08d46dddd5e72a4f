"""The protocol that the service speaks, on a port of this process, and callers who speak bytes."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import uvicorn

from alama.platform.server import processes
from alama.platform.server.connections import Connections, Limits
from tests.ports import HOST

WAIT_S = 120.0

QUICK = Limits(head_s=1.0, body_s=1.0, reply_s=1.0, sweep_s=0.05)
"""Of those that a test waits for: more than a caller needs who is not slow, on any machine."""

PATIENT = QUICK._replace(head_s=30.0, body_s=30.0, reply_s=30.0)


class Noted:
    """A watch that remembers."""

    def __init__(self) -> None:
        self.exchanges: list[Any] = []
        self.reasons: list[str] = []
        self.lines: list[str] = []

    def exchanged(self, exchange: Any) -> None:
        self.exchanges.append(exchange)

    def broke(self, _: Any, error: Exception) -> None:
        raise AssertionError from error

    def unavailable(self, error: Exception) -> None:
        raise AssertionError from error

    def dropped(self, reason: str) -> None:
        self.reasons.append(reason)

    def connections_used_up(self, reason: str, *_: int) -> None:
        self.lines.append(reason)


class Spoken:
    """What is served, and what it was told. Who asks for /held is answered when all may go on."""

    def __init__(self, port: int, noted: Noted) -> None:
        self.port = port
        self.noted = noted
        self.held = 0
        self.go_on = threading.Event()

    def connect(self) -> socket.socket:
        return socket.create_connection((HOST, self.port), timeout=WAIT_S)

    def say(self, *parts: bytes) -> bytes:
        """Send, one packet each, and give all that comes until the other side closes."""
        with self.connect() as caller:
            for part in parts:
                caller.sendall(part)
                time.sleep(0.02)
            return rest(caller)


def until(reached: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def rest(caller: socket.socket) -> bytes:
    said = b""
    try:
        while more := caller.recv(65_536):
            said += more
    except ConnectionResetError:
        pass
    return said


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the headers and the body of a request; /slow takes a moment, /large is large."""
    if scope["path"] == "/slow":
        await asyncio.sleep(QUICK.head_s + 0.5)
    body, more = b"", scope["path"] != "/unread"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        more = message["more_body"]
    names = b",".join(name for name, _ in scope["headers"])
    said = b"x" * 20_000_000 if scope["path"] == "/large" else names + b"|" + body
    length = (b"content-length", b"%d" % len(said))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": said})


async def _application(served: Spoken, scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "lifespan":
        if scope["path"] == "/held":
            served.held += 1
            while not served.go_on.is_set():  # noqa: ASYNC110  it is set in another thread
                await asyncio.sleep(0.01)
        await echo(scope, receive, send)
        return
    await receive()
    scope["state"] |= {"watch": served.noted, "clock": lambda: time.time_ns() // 1_000}
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


@contextmanager
def spoken(
    limits: Limits = QUICK, descriptors: int | None = None, keep_alive_s: int = 75
) -> Iterator[Spoken]:
    """Serve `echo` as the service is served."""
    config = processes.configuration(1, 2)
    config.http = cast(
        "type[asyncio.Protocol]", processes.Protocols(Connections(limits, descriptors))
    )
    config.timeout_keep_alive = keep_alive_s
    with socket.create_server((HOST, 0)) as listener:
        served = Spoken(listener.getsockname()[1], Noted())
        config.app, config.factory = cast("Any", partial(_application, served)), False
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline_s = time.monotonic() + WAIT_S
        while not server.started and time.monotonic() < deadline_s:
            time.sleep(0.01)
        try:
            yield served
        finally:
            served.go_on.set()
            server.should_exit = True
            thread.join()


def statuses(said: bytes) -> list[int]:
    """The statuses of all replies in what was said."""
    return [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]


def fields(said: bytes) -> Mapping[str, str]:
    """The headers of the last reply."""
    head = said.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")[0].decode()
    return dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
