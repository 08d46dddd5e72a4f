"""The application: which path leads where, and the frame around every endpoint.

The frame is an id, a clock, an answer to every error, one line of log. `/api/v1/...` is the same as
`/v1/...`, and so are all other paths that callers use. What is for whoever runs the service has no
second path: a proxy that closes the first would have to know of it.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote

import msgspec
from starlette.routing import Route, Router

from alama.core.application import looks_personal
from alama.core.errors import AlamaError
from alama.platform import ids
from alama.platform.errors import ModelUnavailable, StoreUnavailable
from alama.platform.http import guide, problems
from alama.platform.http.compression import LONG_BYTES, packed_for
from alama.platform.http.exchange import Arrival, Call, ClientLeft, Handler, Reply
from alama.platform.http.operation import operations_of
from alama.platform.ids import RandomPool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

    from alama.platform.book import Book
    from alama.platform.clock import Clock


PREFIX: Final = "/api"

_WITHOUT_BODY: Final = frozenset({204, 304})
_NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")

_CALLERS_ID: Final = re.compile(rb"(?!req_|alama_)[A-Za-z0-9_.:/+=-]{1,128}")
"""What a caller may name a request by: nothing that could be taken for an id or a key of ours, and
nothing that a log has to escape."""

_chance: Final = RandomPool(ids.RANDOM_BYTES)


class Exchanged(msgspec.Struct, frozen=True):
    """What may be told about a finished request: nothing in it was made up by the caller.

    But for the `request_id`, if it came with one that may be told.
    """

    request_id: str
    own_request_id: str
    """The one that we gave it, which names its score."""
    route: str
    method: str
    status: int
    seconds: float
    code: str | None
    """Of the problem, if there was one."""
    lender: str | None
    """Whose key it was, if it was recognised."""
    key_id: str | None


class RequestWatch(Protocol):
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
        watch: RequestWatch,
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
        callers_id = _callers_id(call)
        known_as = callers_id or request_id
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
            reply = problems.reply(failure, quote(scope["path"]), known_as)
            reply.headers.extend(call.rate)
        if len(reply.body) >= LONG_BYTES:
            reply = await packed_for(call, reply)
        await _send(send, reply, request_id, callers_id)
        caller = call.caller
        exchange = Exchanged(
            known_as,
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


def _callers_id(call: Call) -> str | None:
    """Give what the caller names the request by, if that may stand in a log."""
    sent = call.headers.get(b"x-request-id")
    if sent is None or not _CALLERS_ID.fullmatch(sent):
        return None
    callers_id = sent.decode()
    return None if looks_personal(callers_id) else callers_id


async def _send(send: Send, reply: Reply, request_id: str, callers_id: str | None) -> None:
    headers = [
        *reply.headers,
        (b"request-id", request_id.encode()),
        _NO_SNIFFING,
    ]
    if callers_id is not None:
        headers.append((b"x-request-id", callers_id.encode()))
    if reply.status not in _WITHOUT_BODY:  # it speaks of a body that is not sent
        headers.append((b"content-length", b"%d" % len(reply.body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


# ------------------------------------------------------------------------------ the application


def application(
    served: Sequence[object],
    clock: Clock,
    watch: RequestWatch,
    lifespan: Lifespan[Router] | None = None,
) -> ASGIApp:
    """Serve the operations of these endpoints."""
    operations = [one for endpoints in served for _, one in operations_of(type(endpoints))]
    elsewhere = {one.path: one.elsewhere for one in operations if one.elsewhere}
    endpoints = {
        path: Endpoint(path, handlers, clock, watch, elsewhere.get(path))
        for path, handlers in routes(served).items()
    }
    router = Router(
        routes=[Route(path, endpoint) for path, endpoint in endpoints.items()],
        redirect_slashes=False,
        default=_Nowhere(clock, watch),
        lifespan=lifespan,
    )
    unprefixed = frozenset(one.path for one in operations if one.for_operators)
    return _Front(router, endpoints, unprefixed)


def routes(served: Sequence[object]) -> Mapping[str, Mapping[str, Handler]]:
    """Give the paths and their methods; the guide is last, and no part of the contract."""
    paths: dict[str, dict[str, Handler]] = {"/": {"GET": _front}}
    for endpoints in served:
        for name, operation in operations_of(type(endpoints)):
            paths.setdefault(operation.path, {})[operation.method] = getattr(endpoints, name)
    return paths | guide.Guide(guide.FOLDER).routes()


async def _front(_: Call) -> Reply:
    """Lead people to the page. No part of the contract: a program asks for /docs."""
    # Seen from where one is: the service may stand below any prefix.
    return Reply(302, [(b"location", b"docs")], b"")


class _Front:
    """Takes the prefix away, and knows the way to plain paths without a search."""

    def __init__(
        self, router: Router, served: Mapping[str, Endpoint], unprefixed: frozenset[str]
    ) -> None:
        self._router = router
        self._unprefixed = unprefixed
        self._plain = {path: served[path] for path in served if "{" not in path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        path: str = scope["path"]
        if path.startswith(PREFIX + "/"):
            plain = path.removeprefix(PREFIX)
            if plain not in self._unprefixed:
                path = plain
                scope = {**scope, "path": path}
        await self._plain.get(path, self._router)(scope, receive, send)


class _Nowhere:
    """Answers what leads nowhere."""

    def __init__(self, clock: Clock, watch: RequestWatch) -> None:
        self._clock = clock
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handlers = {scope["method"]: _not_found}
        await Endpoint("unknown", handlers, self._clock, self._watch)(scope, receive, send)


async def _not_found(_: Call) -> Reply:
    raise problems.NoSuchPath("nothing is served at this path", hint="/docs lists what is")
