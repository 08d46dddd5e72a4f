"""Receivers of webhooks, good and bad: `python -m bench.webhooks.receiver PORT`.

Each path is one, and behaves as it begins: `/good` takes everything as cheaply as it can, `/fail`
answers 500, `/stall` never, `/crawl` after seconds, and `/reset` hangs up.

GET answers what the good ones have taken. PUT brings the secrets of endpoints, by their paths; what
comes to these is verified.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from typing import Final

from standardwebhooks import Webhook, WebhookVerificationError

HOST: Final = "127.0.0.1"
CRAWL_S: Final = 3.0

_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: a close is a reset


class Taken:
    """What the good ones have taken."""

    def __init__(self) -> None:
        self.count = 0
        self.forged = 0
        self.different: set[tuple[str, str]] = set()
        self.verifiers: dict[str, Webhook] = {}

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """Count a delivery."""
        self.count += 1
        self.different.add((path, headers["webhook-id"]))
        if (verifier := self.verifiers.get(path)) is not None:
            try:
                verifier.verify(body, headers)
            except WebhookVerificationError:
                self.forged += 1

    def told(self) -> bytes:
        """Give the counts as JSON."""
        counts = {"taken": self.count, "different": len(self.different), "forged": self.forged}
        return json.dumps(counts).encode()


class Connection(asyncio.Protocol):
    """One connection; all of them count together."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._pending = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember whom to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what has come, once it is whole."""
        self._pending += data
        head, end, rest = self._pending.partition(b"\r\n\r\n")
        if not end:
            return
        line, *lines = head.decode("ascii").split("\r\n")
        headers = {name.lower(): value for name, value in (one.split(": ", 1) for one in lines)}
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return
        self._pending = rest[length:]
        method, path, _ = line.split(" ")
        if method == "POST":
            self._receive(path, headers, rest[:length])
        elif method == "PUT":
            secrets: dict[str, str] = json.loads(rest[:length])
            self._taken.verifiers = {path: Webhook(secret) for path, secret in secrets.items()}
            self._answer("200 OK")
        else:
            self._answer("200 OK", self._taken.told())

    def _receive(self, path: str, headers: dict[str, str], body: bytes) -> None:
        match path.split("/")[1]:
            case "good":
                self._taken.take(path, headers, body)
                self._answer("200 OK")
            case "fail":
                self._answer("500 Internal Server Error")
            case "crawl":
                asyncio.get_running_loop().call_later(CRAWL_S, self._answer, "200 OK")
            case "reset":
                raw = self._transport.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                self._transport.abort()
            case behaviour:
                assert behaviour == "stall"

    def _answer(self, status: str, body: bytes = b"") -> None:
        head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


async def main(port: int) -> None:
    """Serve until killed."""
    taken = Taken()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(taken), HOST, port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
