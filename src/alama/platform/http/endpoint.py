"""The frame around every endpoint: an id, a clock, an answer to every error, one line of log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote

import msgspec

from alama.core.errors import AlamaError
from alama.platform import ids
from alama.platform.errors import ModelUnavailable, StoreUnavailable
from alama.platform.http import problems
from alama.platform.http.exchange import Arrival, Call, ClientLeft, Handler, Reply
from alama.platform.ids import RandomPool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from alama.platform.book import Book
    from alama.platform.clock import Clock


_WITHOUT_BODY: Final = frozenset({204, 304})
_NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")

_chance: Final = RandomPool(ids.RANDOM_BYTES)


class Exchanged(msgspec.Struct, frozen=True):
    """What may be told about a finished request: nothing in it was made up by the caller."""

    request_id: str
    route: str
    method: str
    status: int
    seconds: float
    code: str | None
    """Of the problem, if there was one."""
    lender: str | None
    """Whose key it was, if it was recognised."""
    key_id: str | None


class Watch(Protocol):
    """Whoever keeps logs and metrics."""

    def exchanged(self, exchange: Exchanged) -> None:
        """Note a finished request."""

    def broke(self, exchange: Exchanged, error: Exception) -> None:
        """Note a defect of ours, with its traceback, before its request is noted."""

    def unavailable(self, error: Exception) -> None:
        """Note that a request is refused because the database is away, before it is noted."""

    def model_unavailable(self, book: Book, reason: AlamaError) -> None:
        """Note that one is refused because a model or a policy of its book cannot be used."""


class Endpoint:
    """The methods of one path, as an ASGI application."""

    def __init__(
        self,
        route: str,
        handlers: Mapping[str, Handler],
        clock: Clock,
        watch: Watch,
        elsewhere: str | None = None,
    ) -> None:
        """Take a handler for each method; HEAD is GET without its body, which the server drops.

        `elsewhere` tells where to go with the other methods.
        """
        self._route = route
        self._handlers = dict(handlers)
        if "GET" in handlers:
            self._handlers.setdefault("HEAD", handlers["GET"])
        self._clock = clock
        self._watch = watch
        self._elsewhere = elsewhere

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_s = time.perf_counter()
        now_us = self._clock()
        request_id = ids.request_id(now_us, _chance.draw())
        method: str = scope["method"]
        call = Call(scope, receive, Arrival(request_id, now_us, started_s))
        failure: Exception | None = None
        try:
            handler = self._handlers.get(method)
            if handler is None:
                raise self._wrong_method()  # noqa: TRY301
            reply = await handler(call)
        except ClientLeft:
            return
        except Exception as error:  # noqa: BLE001  every request gets an answer
            failure = _as_told(error)
            reply = problems.reply(failure, quote(scope["path"]), request_id)
            reply.headers.extend(call.rate)
        await _send(send, reply, request_id)
        caller = call.caller
        exchange = Exchanged(
            request_id,
            self._route,
            method if method in self._handlers else "OTHER",
            reply.status,
            time.perf_counter() - started_s,
            None if failure is None else problems.kind_of(failure).code,
            None if caller is None else caller.book.lender,
            None if caller is None else caller.key_id,
        )
        if failure is not None:
            self._note(exchange, failure)
        if caller is not None and isinstance(failure, ModelUnavailable):
            self._watch.model_unavailable(caller.book, failure.reason)
        self._watch.exchanged(exchange)

    def _wrong_method(self) -> problems.MethodNotAllowed:
        error = problems.MethodNotAllowed(", ".join(self._handlers))
        error.hint = self._elsewhere
        return error

    def _note(self, exchange: Exchanged, failure: Exception) -> None:
        if problems.kind_of(failure) is problems.INTERNAL:
            self._watch.broke(exchange, failure)
        elif isinstance(failure, StoreUnavailable):
            self._watch.unavailable(failure)


def _as_told(error: Exception) -> Exception:
    """Give an error as callers hear of it: they cannot help what is missing here, or damaged.

    Whoever runs the service reads of the cause in its log.
    """
    return error.to_callers() if isinstance(error, AlamaError) else error


async def _send(send: Send, reply: Reply, request_id: str) -> None:
    headers = [
        *reply.headers,
        (b"request-id", request_id.encode()),
        _NO_SNIFFING,
    ]
    if reply.status not in _WITHOUT_BODY:  # it speaks of a body that is not sent
        headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
