"""Receivers of webhooks on this machine, well-behaved and not: each path is one."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple, Self

from tests.ports import HOST

SLOW_S = 0.1
CRAWL_S = 3.0

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a close is a reset


class Received(NamedTuple):
    """One request."""

    path: str
    event_id: str
    head: bytes
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """Its headers, by their names in lower case."""
        return _headers(self.head)


class Receivers:
    """A server with a receiver for each path, which behaves as the path begins.

    `/ok` takes everything, `/slow` after a moment, `/flaky` some events not before they come again:
    what these took is kept. `/fail` takes nothing, `/stall` never answers, `/crawl` does so after
    seconds, `/reset` hangs up.
    """

    def __init__(self) -> None:
        self.taken: defaultdict[str, list[Received]] = defaultdict(list)
        self.seen: defaultdict[str, set[str]] = defaultdict(set)
        """The ids of all events that came, taken or not, by path."""
        self.arrived = 0
        """How many events were taken, by how many receivers; again does not count."""
        self._arrived: set[tuple[str, str]] = set()
        self._open: set[asyncio.Transport] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._news = threading.Condition()
        self._server: asyncio.Server | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def wait_for(self, reached: Callable[[], bool], within_s: float) -> bool:
        """Wait until something is true of what has come, and say whether it ever was."""
        with self._news:
            return self._news.wait_for(reached, within_s)

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(lambda: _Connection(self), HOST, 0)
        self.url = f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    async def _close(self) -> None:
        assert self._server is not None
        # Whom a closed server is still taking in, it drops without closing the socket.
        while accepting := asyncio.all_tasks(self._loop) - {asyncio.current_task()}:
            await asyncio.gather(*accepting, return_exceptions=True)
        self._server.close()
        # Whoever sends may have ended a moment ago, so that nobody has heard of it yet.
        for transport in tuple(self._open):
            transport.abort()
        while self._open:  # noqa: ASYNC110  they are told in the next turns of the loop
            await asyncio.sleep(0)

    def connected(self, transport: asyncio.Transport) -> None:
        self._open.add(transport)

    def disconnected(self, transport: asyncio.Transport) -> None:
        self._open.discard(transport)

    def receive(self, request: Received, connection: _Connection) -> None:
        behaviour = request.path.split("/")[1]
        with self._news:
            refuses = request.event_id not in self.seen[request.path] and _is_disliked(request)
            self.seen[request.path].add(request.event_id)
            if behaviour in {"ok", "slow"} or (behaviour == "flaky" and not refuses):
                self.taken[request.path].append(request)
                self._arrived.add((request.path, request.event_id))
                self.arrived = len(self._arrived)
            self._news.notify_all()
        match behaviour:
            case "ok":
                connection.answer("200 OK")
            case "slow":
                self._loop.call_later(SLOW_S, connection.answer, "200 OK")
            case "crawl":
                self._loop.call_later(CRAWL_S, connection.answer, "200 OK")
            case "fail":
                connection.answer("500 Internal Server Error")
            case "flaky":
                connection.answer("503 Service Unavailable" if refuses else "200 OK")
            case "reset":
                connection.reset()
            case "stall":
                pass
            case _:
                raise AssertionError(behaviour)


class _Connection(asyncio.Protocol):
    """Just enough HTTP for what the worker sends: a head, and a body of a known length."""

    def __init__(self, receivers: Receivers) -> None:
        self._receivers = receivers
        self._pending = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._receivers.connected(transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._receivers.disconnected(self._transport)

    def data_received(self, data: bytes) -> None:
        self._pending += data
        head, end, rest = self._pending.partition(b"\r\n\r\n")
        if not end:
            return
        headers = _headers(head)
        length = int(headers["content-length"])
        if len(rest) < length:
            return
        self._pending = rest[length:]
        path = head.split(b" ", 2)[1].decode("ascii")
        self._receivers.receive(Received(path, headers["webhook-id"], head, rest[:length]), self)

    def answer(self, status: str) -> None:
        self._transport.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())

    def reset(self) -> None:
        raw = self._transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()


def _is_disliked(request: Received) -> bool:
    return request.event_id.endswith("0")


def _headers(head: bytes) -> dict[str, str]:
    _, *lines = head.decode("ascii").split("\r\n")
    return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
