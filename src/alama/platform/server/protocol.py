"""HTTP/1.1 as uvicorn speaks it, within bounds, and what is refused in the head of a request.

What is refused here is answered as everything else is, with a problem, in its turn, and the
connection is closed. `Limits` says what is too much.

Java's client offers to go on in HTTP/2 with its first request (`Upgrade: h2c`). A server may pass
over that (RFC 9110, section 7.8), but the parser takes everything after such a head for the other
protocol: the body would be lost. Here the head is read again without its offer.
"""

from __future__ import annotations

import asyncio
import typing
from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from alama.core.errors import AlamaError
from alama.platform.errors import Busy
from alama.platform.http import endpoint as endpoints
from alama.platform.http.endpoint import Endpoint
from alama.platform.http.problems import HeadTooLarge, MalformedHttp, RequestTimeout
from alama.platform.server import connections as open_connections
from alama.platform.server.connections import Connections, place_of
from alama.platform.telemetry.log import OTHER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvicorn import Config
    from uvicorn._types import ASGI3Application
    from uvicorn.server import ServerState

    from alama.platform.clock import Clock
    from alama.platform.http.exchange import Call, Handler, Reply


Headers = list[tuple[bytes, bytes]]

SINGLE: Final = frozenset(
    {
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"host",
        b"transfer-encoding",
    }
)
"""Headers that stand for nothing if they come twice: two programs might take another of them."""

CODING: Final = b"transfer-encoding"
OFFER: Final = b"upgrade"

_CURRENT: Final = "1.1"


def check(headers: Sequence[tuple[bytes, bytes]], version: str) -> Mapping[bytes, bytes]:
    """Give the headers by their names, in lower case, or raise `MalformedHttp`."""
    names = dict(headers)
    if len(names) != len(headers):
        _require_single(headers)
    if version != _CURRENT:
        if is_offered(headers):
            raise MalformedHttp("HTTP/1.0 has no upgrade to another protocol")
    elif b"host" not in names:
        raise MalformedHttp("the header host is missing")
    # What else a body may be coded in, nobody here undoes.
    if CODING in names and (names[CODING].strip().lower() != b"chunked" or version != _CURRENT):
        raise MalformedHttp("the header transfer-encoding is not chunked, or not for HTTP/1.0")
    return names


def check_number(headers: Sequence[tuple[bytes, bytes]], most: int) -> None:
    """Raise `HeadTooLarge` where there are too many, of a head that may not be whole yet."""
    if len(headers) > most:
        raise HeadTooLarge(f"a request has at most {most} headers")


def is_offered(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Say whether a caller would go on in another protocol, or says that it would."""
    return any(
        name == OFFER or (name == b"connection" and OFFER in value.lower())
        for name, value in headers
    )


def _require_single(headers: Sequence[tuple[bytes, bytes]]) -> None:
    counts = Counter(name for name, _ in headers)
    twice = sorted(name for name in SINGLE if counts[name] > 1)
    if twice:
        raise MalformedHttp(f"the header {twice[0].decode()} came more than once")


class NoTrailers(Headers):
    """Stands where the parser puts trailers: what reads them as headers takes a key from there."""

    def append(self, _: tuple[bytes, bytes]) -> None:
        """Refuse them."""
        raise MalformedHttp("headers after the body are not taken")


WATCH: Final = "watch"
CLOCK: Final = "clock"
"""Under these names the lifespan of the application gives whom to tell, and the time."""

HEALTH: Final = frozenset({b"/livez", b"/readyz", b"/v1/health", b"/api/v1/health"})
"""Answered where nothing else is."""

READ_MIN_BYTES: Final = 16 * 1024
"""That a caller has read at least, each time its reply is looked at."""

PIECE_BYTES: Final = 4 * 1024
"""That are parsed at once. A head that follows something else in a piece may be longer by it."""

_NO_HTTP: Final = "what came is not a request of HTTP/1.1"


_GO_ON: Final = b"HTTP/1.1 100 "


class Replies:
    """The transport, as the replies of a connection are written to it: in one piece if they can be.

    The head of a reply waits for the first part of its body. Apart they take two calls of the
    system, and a client two to read them: a twentieth of all that a score costs.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self._is_begun = False

    def write(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        elif not self._is_begun and not data.startswith(_GO_ON):
            self._head, self._is_begun = data, True
            return
        if not self._transport.is_closing():  # nobody is there to read it
            self._transport.write(data)

    def end(self) -> None:
        """Write what has waited, where a reply has no body; another reply may follow."""
        self._is_begun = False
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """Close the connection, after what has waited."""
        self.end()
        self._transport.close()

    def is_closing(self) -> bool:
        """Say whether nothing more can be written."""
        return self._transport.is_closing()


class ServerWatch(endpoints.RequestWatch, open_connections.ConnectionWatch, typing.Protocol):
    """Whoever keeps logs and metrics, of requests and of connections."""


class Protocol(HttpToolsProtocol):
    """One connection."""

    def __init__(
        self,
        connections: Connections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.watch: ServerWatch = app_state[WATCH]
        self._clock: Clock = app_state[CLOCK]
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.place = ""
        self.due_s = inf
        self._all = connections
        self._limits = connections.limits
        self._unfinished = 0
        """Bytes that came since a head was whole, or a part of a body."""
        self._has_moved = False
        self._is_in_body = False
        self._timed: RequestResponseCycle | None = None
        """Whose body has a deadline."""
        self._is_fresh = True
        self._is_spare = False
        self._is_refused = False
        self._unsent: int | None = None

    # ---------------------------------------------------------------------------- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._replies = Replies(transport)
        self.place = place_of(self.client)
        self._is_spare = not self._all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.closed(self)
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether it is the caller's turn: to send a request, the rest of one, or to read."""
        return self._is_between or self._is_in_body or self.flow.write_paused

    @property
    def _is_between(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    @property
    def _is_in_head(self) -> bool:
        """Whether a head has begun: its scope is not yet that of a request."""
        cycle: RequestResponseCycle | None = self.cycle
        return self.scope is not (None if cycle is None else cycle.scope)

    def cut(self) -> None:
        """Close at once, and write no more."""
        self._is_refused = True
        self.pipeline.clear()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None:
            cycle.disconnected = True
        self.transport.abort()

    def expire(self) -> None:
        """End what has taken too long; called when `due_s` has come."""
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            if self._unsent is not None and unsent > self._unsent - READ_MIN_BYTES:
                self._drop("reply")
            self._unsent = unsent
            self.due_s = self._all.now_s + self._limits.reply_s
            return
        self._unsent = None
        if self.transport.is_closing():
            self.cut()
        elif not self._is_in_body and not self._is_in_head:
            self._expire_between()
        elif self.flow.read_paused:  # it is we who do not read on
            self.due_s = self._all.now_s + self._limits.head_s
        else:
            part = "body" if self._is_in_body else "head"
            self.watch.dropped(part)
            self._refuse(RequestTimeout(f"the {part} of the request did not come in time"))

    def _expire_between(self) -> None:
        if not self._is_between:
            self.due_s = inf
            return
        if self._is_fresh:
            self.watch.dropped("head")
        self.due_s = self._all.now_s + self._limits.reply_s
        self.transport.close()

    def _drop(self, reason: str) -> None:
        self.watch.dropped(reason)
        self.cut()

    # ---------------------------------------------------------------------------- what comes in

    def data_received(self, data: bytes) -> None:
        """Parse what came; stands for the method of the same name, which drops bodies."""
        if self._is_refused:
            return
        try:
            if len(data) <= PIECE_BYTES and not self._unfinished:  # nearly always
                self._take(data)
            else:
                self._take_in_pieces(memoryview(data))
        except httptools.HttpParserError as error:
            known = error.__context__
            self._refuse(known if isinstance(known, AlamaError) else MalformedHttp(_NO_HTTP))
        except HeadTooLarge as error:
            self.watch.dropped("size")
            self._refuse(error)
        else:
            cycle: RequestResponseCycle | None = self.cycle
            if self._is_in_body:
                self._time_body(len(data))
            elif cycle is not None and cycle.scope is self.scope:
                # Nearly always: the request is whole. Else nothing has begun, and the time runs on.
                if not cycle.response_complete:
                    self.due_s = inf
            elif self.scope is not None:
                self.due_s = min(self.due_s, self._all.now_s + self._limits.head_s)

    def _time_body(self, came: int) -> None:
        """Set the deadline of a body, and put it off for what has come, until it is answered."""
        if self._timed is not self.cycle:
            self._timed = self.cycle
            self.due_s = self._all.now_s + self._limits.body_s
        if not self.cycle.response_complete:
            self.due_s += came / self._limits.body_bytes_s

    def _take_in_pieces(self, data: memoryview) -> None:
        """Parse a little at once, so that no head is whole before it was seen to be too large."""
        while data and not self._is_refused:
            room = self._limits.head_bytes - self._unfinished
            if not room:
                most = self._limits.head_bytes
                raise HeadTooLarge(f"the head of a request has at most {most:,} bytes")
            size = min(room, PIECE_BYTES)
            self._take(data[:size])
            data = data[size:]

    def _take(self, data: bytes | memoryview) -> None:
        self._has_moved = False
        to_parse: list[bytes | memoryview] = [data]
        while to_parse:  # no recursion: one packet may hold thousands of offers
            to_parse += self._parse(to_parse.pop())
        if self._has_moved:
            self._unfinished = 0
        else:
            check_number(self.headers, self._limits.headers)
            self._unfinished += len(data)

    def _parse(self, data: bytes | memoryview) -> list[bytes | memoryview]:
        """Parse; give what is to be parsed yet, the last part first."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            # CONNECT stops it too, but makes no offer: whatever comes after it is for nobody.
            if self._should_upgrade():
                (end,) = stopped.args
                head = self._head_without_offer()
                # A new one: where the connection is to be closed, the old one reads no more.
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                return [memoryview(data)[end:], head]
        return []

    def _should_upgrade(self) -> bool:
        """Keep uvicorn from answering what will be read again."""
        return any(name == OFFER for name, _ in self.headers)

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode()
        kept = [name + b": " + value for name, value in self.headers if name != OFFER]
        start = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)
        return b"\r\n".join([start, *kept, b"", b""])

    # ---------------------------------------------------------------------------- what is parsed

    def on_headers_complete(self) -> None:
        check_number(self.headers, self._limits.headers)
        names = check(self.headers, self.parser.get_http_version())
        if self._is_spare and self.url.partition(b"?")[0] not in HEALTH:
            raise Busy("connections")
        if len(self.pipeline) >= self._limits.ahead:
            raise MalformedHttp(f"more than {self._limits.ahead} requests wait for their answers")
        super().on_headers_complete()
        if not self._is_in_head:
            self.cycle.transport = self._replies  # type: ignore[assignment]  # all it asks for
        self._has_moved = self._is_in_body = True
        if self._is_fresh:
            self._is_fresh = False
            self._all.settled(self)
        if self._is_spare and not self._is_in_head:
            self.cycle.keep_alive = False
        if CODING in names and not self.parser.should_upgrade():
            self.headers = NoTrailers()

    def on_body(self, body: bytes) -> None:
        self._has_moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_body = False
        super().on_message_complete()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.response_complete:  # before its body had come
            self._rest()

    # ---------------------------------------------------------------------------- what goes out

    def on_response_complete(self) -> None:
        """Go on with the next request; stands for uvicorn's, which sets a timer each time."""
        self.server_state.total_requests += 1
        self._replies.end()
        if self.transport.is_closing():
            self.due_s = self._all.now_s + self._limits.reply_s
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif not self._is_in_body and self.cycle.scope is self.scope:
            self._rest()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.due_s = min(self.due_s, self._all.now_s + self._limits.reply_s)

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self._is_in_body and not self._is_in_head and not self._is_between:
            self.due_s = inf
        elif not self._is_in_body and not self._is_in_head:
            self.due_s = self._all.now_s + self.timeout_keep_alive

    def _rest(self) -> None:
        """Set the deadline that holds between requests."""
        if not self.cycle.response_complete:
            self.due_s = inf
        elif self.flow.write_paused:
            self.due_s = self._all.now_s + self._limits.reply_s
        else:
            self.due_s = self._all.now_s + self.timeout_keep_alive

    # ---------------------------------------------------------------------------- what is refused

    def _refuse(self, error: AlamaError) -> None:
        """Answer the request that is being read with a problem, in its turn, and close."""
        self._is_refused = True
        path = _path(self.url) if self._is_in_head else "/"
        method, under_way = OTHER, not self._is_between
        if self._is_in_body:
            if self.cycle.response_started:  # there is nothing more to say
                self._replies.close()
                self.due_s = self._all.now_s + self._limits.reply_s
                return
            if self.pipeline and self.pipeline[0][0] is self.cycle:
                self.pipeline.popleft()
            else:
                self.cycle.disconnected, under_way = True, False
                self.cycle.message_event.set()
            path, method = self.scope["path"], self.scope["method"]
        self._is_in_body, self.due_s = False, inf
        self.on_message_begin()  # makes a new scope
        self.scope["method"], self.scope["path"], self.scope["query_string"] = method, path, b""
        self.cycle = self._last_cycle()
        answer = Endpoint("unknown", {method: _raising(error)}, self._clock, self.watch)
        endpoint = cast("ASGI3Application", answer)  # uvicorn's name for the same
        if under_way:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, endpoint))
        else:
            self._start_asgi_task(self.cycle, endpoint)

    def _last_cycle(self) -> RequestResponseCycle:
        return RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=False,
            on_response=self.on_response_complete,
        )


def _raising(error: AlamaError) -> Handler:
    async def refuse(_: Call) -> Reply:
        raise error

    return refuse


def _path(url: bytes) -> str:
    """Give the path of what was asked for; / where it is none."""
    try:
        return unquote(httptools.parse_url(url).path.decode("ascii"))
    except (httptools.HttpParserError, UnicodeDecodeError, AttributeError):
        return "/"
