"""The frame around every endpoint: an id, a clock, an answer to every error, one line of log."""

from __future__ import annotations

import os
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote

from alama.api import problems
from alama.api.exchange import Call, ClientLeft
from alama.service import ids
from alama.service.scoring import Arrival

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from alama.api.exchange import Handler, Reply
    from alama.service.ports import Clock


class Exchanged(NamedTuple):
    """What may be told about a finished request: nothing in it comes from the caller."""

    request_id: str
    route: str
    method: str
    status: int
    seconds: float


class Watch(Protocol):
    """Whoever keeps logs and metrics."""

    def exchanged(self, exchange: Exchanged) -> None:
        """Note a finished request."""

    def broke(self, exchange: Exchanged, error: Exception) -> None:
        """Note a defect of ours, with its traceback, before its request is noted."""


class Endpoint:
    """The methods of one path, as an ASGI application."""

    def __init__(
        self, route: str, handlers: Mapping[str, Handler], clock: Clock, watch: Watch
    ) -> None:
        """Take a handler for each method; HEAD is GET without its body, which the server drops."""
        self._route = route
        self._handlers = dict(handlers)
        if "GET" in handlers:
            self._handlers.setdefault("HEAD", handlers["GET"])
        self._clock = clock
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_s = time.perf_counter()
        now_us = self._clock()
        request_id = ids.request_id(now_us, os.urandom(ids.RANDOM_BYTES))
        method: str = scope["method"]
        failure: Exception | None = None
        try:
            handler = self._handlers.get(method)
            if handler is None:
                raise problems.MethodNotAllowed(", ".join(self._handlers))  # noqa: TRY301
            reply = await handler(Call(scope, receive, Arrival(request_id, now_us, started_s)))
        except ClientLeft:
            return
        except Exception as error:  # noqa: BLE001  every request gets an answer
            failure = error
            reply = problems.reply(error, quote(scope["path"]), request_id)
        await _send(send, reply, request_id)
        seconds = time.perf_counter() - started_s
        exchange = Exchanged(
            request_id,
            self._route,
            method if method in self._handlers else "OTHER",
            reply.status,
            seconds,
        )
        if failure is not None and type(failure) not in problems.KINDS:
            self._watch.broke(exchange, failure)
        self._watch.exchanged(exchange)


async def _send(send: Send, reply: Reply, request_id: str) -> None:
    headers = [
        *reply.headers,
        (b"request-id", request_id.encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    if reply.status != HTTPStatus.NOT_MODIFIED:  # it speaks of a body that is not sent again
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
