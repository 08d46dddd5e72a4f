"""One request and its reply, as endpoints see them: plain ASGI, without a copy in between.

An endpoint is a function from a `Call` to a `Reply`. It raises what goes wrong; whoever called it
turns that into a problem.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Final, Protocol

import msgspec

from alama.platform.http.negotiation import prefers_page, takes_gzip

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

    from alama.platform.book import Book


Headers = list[tuple[bytes, bytes]]

BODY_MAX: Final = 64 * 1024
"""Bytes of a body. An application has some twenty short fields."""

JSON: Final = (b"content-type", b"application/json")
PRIVATE: Final = (b"cache-control", b"no-store")
VARIES: Final = (b"vary", b"accept")

_ONLY_ITSELF: Final = (
    b"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'"
)
_PAGE: Final = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", _ONLY_ITSELF),
    (b"referrer-policy", b"no-referrer"),
]


encode_json: Final = msgspec.json.Encoder().encode

Utc = Annotated[datetime, msgspec.Meta(tz=True)]
Moment = Annotated[Utc, msgspec.Meta(description="In UTC.")]

INT32: Final = {"format": "int32"}
"""Of a number without a bound of its own that no client needs more than 32 bits for."""


class ClientLeft(Exception):
    """The caller closed the connection before the request was whole."""


class Reply(msgspec.Struct, frozen=True):
    """What goes back."""

    status: int
    headers: Headers
    body: bytes


def private_json(body: bytes, headers: Headers, status: int = 200) -> Reply:
    """Give a reply that nobody on the way may keep."""
    return Reply(status, [JSON, PRIVATE, *headers], body)


def created_json(body: bytes, headers: Headers, place: str) -> Reply:
    """Give the reply to what has made something that can be read at a place."""
    return private_json(body, [(b"location", place.encode()), *headers], HTTPStatus.CREATED)


def private_page(page: bytes, headers: Headers) -> Reply:
    """Give a page that needs nothing from elsewhere, and that nobody on the way may keep."""
    return Reply(200, [*_PAGE, PRIVATE, VARIES, *headers], page)


class Caller(Protocol):
    """Whose key came with a request."""

    @property
    def key_id(self) -> str: ...

    @property
    def book(self) -> Book: ...


class Call:
    """What came in."""

    __slots__ = ("_receive", "arrival", "caller", "headers", "rate", "scope")

    def __init__(self, scope: Scope, receive: Receive, arrival: Arrival) -> None:
        """Take a request whose body has not been read; header names are in lower case."""
        self.scope = scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.arrival = arrival
        self.caller: Caller | None = None
        """Whose key it is, as soon as that is known."""
        self.rate: Headers = []
        """How the key stands with its rate, as soon as that is known; problems carry it too."""
        self._receive = receive

    @property
    def path(self) -> str:
        """The path that was asked for."""
        path: str = self.scope["path"]
        return path

    @property
    def query(self) -> bytes:
        """The query string, as it was sent."""
        query: bytes = self.scope["query_string"]
        return query

    def path_part(self, name: str) -> str:
        """Give a named part of the path."""
        part: str = self.scope["path_params"][name]
        return part

    @property
    def wants_page(self) -> bool:
        """Whether the caller would rather have a page than JSON, where the path has both."""
        return prefers_page(self._listed(b"accept"))

    @property
    def takes_gzip(self) -> bool:
        """Whether the caller would have a long reply packed."""
        return takes_gzip(self._listed(b"accept-encoding"))

    def _listed(self, header: bytes) -> bytes:
        """Give a header that is a list, which may come in several lines."""
        return b",".join([value for name, value in self.scope["headers"] if name == header])

    async def body(self, bytes_max: int = BODY_MAX) -> bytes | None:
        """Read the body; None where it is larger than `bytes_max`."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        body: bytes = message.get("body", b"")
        while message.get("more_body", False) and len(body) <= bytes_max:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            body += message.get("body", b"")
        return body if len(body) <= bytes_max else None

    async def pieces(self) -> AsyncIterator[bytes]:
        """Read the body as it comes, of whatever length."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            yield message.get("body", b"")
            more = message.get("more_body", False)


Handler = Callable[[Call], Awaitable[Reply]]


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A request as it came in: its id, the time, and the same time on the stopwatch, in seconds."""

    request_id: str
    at_us: int
    started_s: float


def taken_ms(arrival: Arrival) -> int:
    """Give the milliseconds since a request came in, rounded up, at least one."""
    return math.ceil((time.perf_counter() - arrival.started_s) * 1000.0) or 1
