"""One request to an ASGI application, without a server in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from starlette.types import ASGIApp, Message

from alama.core.errors import AlamaError
from alama.platform.book import Book
from alama.platform.http.endpoint import Exchanged


class Received(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Notes:
    """A watch that remembers."""

    def __init__(self) -> None:
        self.exchanges: list[Exchanged] = []
        self.defects: list[Exception] = []
        self.outages: list[Exception] = []
        self.unusable: list[tuple[Book, str]] = []

    def exchanged(self, exchange: Exchanged) -> None:
        self.exchanges.append(exchange)

    def broke(self, exchange: Exchanged, error: Exception) -> None:
        assert exchange.status == 500
        self.defects.append(error)

    def unavailable(self, error: Exception) -> None:
        self.outages.append(error)

    def model_unavailable(self, book: Book, reason: AlamaError) -> None:
        self.unusable.append((book, str(reason)))


class Silent:
    """A watch that keeps nothing; a defect fails the test."""

    def exchanged(self, exchange: Exchanged) -> None:
        pass

    def broke(self, exchange: Exchanged, error: Exception) -> None:
        raise AssertionError(exchange) from error

    def unavailable(self, error: Exception) -> None:
        raise AssertionError from error

    def model_unavailable(self, book: Book, reason: AlamaError) -> None:
        raise AssertionError(book) from reason


async def ask(
    application: ASGIApp,
    method: str = "GET",
    target: str = "/",
    headers: dict[str, str] | None = None,
    body: Sequence[bytes | None] = (b"",),
) -> Received | None:
    """Send a body in parts; a part that is None is a caller who has left. None: no answer came."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "scheme": "http",
        "method": method,
        "path": path,
        "query_string": query.encode("latin-1"),
        "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in (headers or {}).items()],
    }
    parts = list(body)
    sent: list[Message] = []

    async def receive() -> Message:
        part = parts.pop(0)
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    await application(scope, receive, send)
    if not sent:
        return None
    start, end = sent
    names = [name.decode() for name, _ in start["headers"]]
    assert len(set(names)) == len(names), "a header stands twice"
    values = {name.decode(): value.decode() for name, value in start["headers"]}
    return Received(start["status"], values, end["body"])
