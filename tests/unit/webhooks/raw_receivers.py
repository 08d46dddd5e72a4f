"""Receivers of webhooks that answer byte for byte as a test says, and traps that nobody may enter.

All of them are real sockets, in the event loop of the test; `tests.receivers` has proper ones.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Self

from tests.ports import HOST

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
OK_AND_CLOSE = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"


class Trap:
    """A socket that listens. The system takes connections for it, and it counts them at the end.

    It hears IPv4 and IPv6, where there is IPv6: whatever address of this machine was connected to.
    """

    def __init__(self, host: str = "", port: int = 0) -> None:
        if host or not socket.has_dualstack_ipv6():
            self._socket = socket.create_server((host, port))
        else:
            self._socket = socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True
            )
        self._socket.settimeout(0)
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def connections(self) -> int:
        """How many have connected since this was asked before."""
        count = 0
        with suppress(BlockingIOError):
            while True:
                self._socket.accept()[0].close()
                count += 1
        return count


class Receiver:
    """A server whose answers a test writes. `requests` holds all that came, byte for byte."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._busy: set[asyncio.Task[None]] = set()
        self.port = 0
        self.connections = 0
        self.requests: list[bytes] = []

    def url(self, name: str = HOST, scheme: str = "http") -> str:
        return f"{scheme}://{name}:{self.port}/hooks"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request after another, until one of both sides closes."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        # Who sends hangs up on an answer that goes on for too long; a test that ends, on all.
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while not writer.is_closing():
                self.requests.append(await _request(reader))
                await self._answer(writer)
        writer.close()
        self._busy.discard(task)

    async def end(self) -> None:
        """Hang up on everybody."""
        busy = tuple(self._busy)
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy)


@asynccontextmanager
async def receiving(
    answer: Answer | bytes, host: str = HOST, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """Run a receiver that answers so, or with the same bytes each time."""
    receiver = Receiver(saying(answer) if isinstance(answer, bytes) else answer)
    server = await asyncio.start_server(receiver.serve, host, port, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        await receiver.end()


def saying(answer: bytes) -> Answer:
    """Give these bytes to every request; the connection ends where they say so."""

    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        if b"connection: close" in answer:
            writer.close()

    return say


def breaking_off_after(answer: bytes) -> Answer:
    """Give these bytes, whatever they are, and close the connection."""

    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    return say


def dripping(beginning: bytes, drip: bytes, pause_s: float) -> Answer:
    """Begin an answer, and go on with a drip at a time, for ever."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        while True:
            await writer.drain()
            await asyncio.sleep(pause_s)
            writer.write(drip)

    return answer


async def resetting(writer: asyncio.StreamWriter) -> None:
    """Have the connection end with a reset instead of an answer."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
    return head + await reader.readexactly(int(lengths[0].partition(b":")[2]))
