"""Where spans come from: wrapped around what they tell of, so that none of it knows of them.

Without traces nothing is wrapped, and nothing here is loaded. A request passes these stages, each a
span below its own: `assess` from its last byte to the ledger, `keep` in the ledger; or `explain`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from alama.platform.telemetry.log import FAILED, OTHER, Exchange, Log, kind, known_method
from alama.platform.telemetry.traces import Trace, Traces
from alama.scoring.records import Question
from alama.scoring.telemetry import ServiceWatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from alama.platform.telemetry.metrics import Metrics
    from alama.scoring.group_commit import LivingLedger, ScoreWriter
    from alama.scoring.records import Entry, Fate, Told


PREFIX: Final = "/api"

PROBES: Final = frozenset({"/livez", "/readyz", "/v1/health"})
"""Asked every few seconds by machines: not worth a trace."""

STAGES: Final = {"/v1/score": "assess", "/v1/explain": "explain"}
"""What begins with the last byte of a request, by path."""

UNKNOWN: Final = "unknown"
"""The route of a path that nothing is served at."""

_current: Final[ContextVar[Trace | None]] = ContextVar("trace", default=None)


class TracedWatch(ServiceWatch):
    """Watches one serving process, and makes spans of its requests and commits."""

    def __init__(self, log: Log, metrics: Metrics | None, traces: Traces) -> None:
        super().__init__(log, metrics)
        self._request = self._traced_line
        self._traces = traces
        self._live: dict[str, Trace] = {}
        self._broken: str | None = None

    def around(self, application: ASGIApp) -> ASGIApp:
        return _Application(application, self._traces)

    def ledger(self, ledger: LivingLedger) -> LivingLedger:
        return _Ledger(ledger, self._live)

    def writer(self, writer: ScoreWriter) -> ScoreWriter:
        return _Writer(writer, self._live)

    def close(self) -> None:
        self._traces.close()
        super().close()

    def broke(self, exchange: Exchange, error: Exception) -> None:
        super().broke(exchange, error)
        self._broken = kind(error)  # `exchanged` follows at once

    def exchanged(self, exchange: Exchange) -> None:
        super().exchanged(exchange)
        trace, broken = _current.get(), self._broken
        self._broken = None
        if trace is not None:
            _current.set(None)
            trace.end(_name(exchange), _told(exchange), _error(exchange, broken))

    def _traced_line(self, exchange: Exchange) -> None:
        trace = _current.get()
        if trace is None:
            self.log.request(exchange)
        else:
            self.log.traced(exchange, trace.id)


def traced_watch(log: Log, metrics: Metrics | None) -> TracedWatch:
    """Give a watch that sends spans where the environment says."""
    return TracedWatch(log, metrics, Traces(log))


class _Application:
    """Begins the span of each request; whoever watches ends it, and knows more of it."""

    def __init__(self, application: ASGIApp, traces: Traces) -> None:
        self._application = application
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removeprefix(PREFIX)
        if scope["type"] != "http" or path in PROBES:
            await self._application(scope, receive, send)
            return
        method = _method(scope["method"])
        trace = self._traces.request(method, scope["scheme"], _parent(scope))
        if trace is None:
            await self._application(scope, receive, send)
            return
        _current.set(trace)
        stage = STAGES.get(path)
        if stage is not None:
            receive, send = _staged(trace, stage, receive, send)
        try:
            await self._application(scope, receive, send)
        finally:
            if _current.get() is not None:  # the caller left, and nobody noted it
                trace.end(method, {}, "client_left")
                _current.set(None)


def _staged(trace: Trace, stage: str, receive: Receive, send: Send) -> tuple[Receive, Send]:
    async def received() -> Message:
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            trace.enter(stage)
        return message

    async def sent(message: Message) -> None:
        trace.leave()
        await send(message)

    return received, sent


class _Ledger:
    """Tells how long an entry waits until it is durable."""

    def __init__(self, ledger: LivingLedger, live: dict[str, Trace]) -> None:
        self._ledger = ledger
        self._live = live

    @property
    def failing(self) -> bool:
        return self._ledger.failing

    def start(self) -> None:
        self._ledger.start()

    async def close(self) -> None:
        await self._ledger.close()

    def append(self, entry: Entry | Question) -> Awaitable[Told]:
        trace = _current.get()
        if trace is None or isinstance(entry, Question):
            return self._ledger.append(entry)
        request_id = entry.score.request_id
        self._live[request_id] = trace  # before it can be kept
        try:
            kept = self._ledger.append(entry)
        except BaseException:
            del self._live[request_id]
            raise
        trace.enter("keep")
        return self._until(kept, request_id, trace)

    async def _until(self, kept: Awaitable[Told], request_id: str, trace: Trace) -> Told:
        try:
            return await kept
        finally:
            del self._live[request_id]
            trace.leave()


class _Writer:
    """Tells how long a group takes to be kept, in the trace of the first request that it serves."""

    def __init__(self, writer: ScoreWriter, live: dict[str, Trace]) -> None:
        self._writer = writer
        self._live = live

    def commit(self, entries: Sequence[Entry | Question]) -> Sequence[Fate]:
        began_ns = time.time_ns()
        try:
            fates = self._writer.commit(entries)
        except Exception as error:
            self._note(entries, began_ns, kind(error))
            raise
        self._note(entries, began_ns, None)
        return fates

    def commit_now(self, entries: Sequence[Entry | Question]) -> Sequence[Fate] | None:
        began_ns = time.time_ns()
        try:
            fates = self._writer.commit_now(entries)
        except Exception as error:
            self._note(entries, began_ns, kind(error))
            raise
        if fates is not None:
            self._note(entries, began_ns, None)
        return fates

    def _note(self, asked: Sequence[Entry | Question], began_ns: int, error: str | None) -> None:
        # What is kept is kept, whatever becomes of a span.
        with suppress(Exception):
            entries = [entry for entry in asked if not isinstance(entry, Question)]
            live = (self._live.get(entry.score.request_id) for entry in entries)
            served = [trace for trace in live if trace is not None]
            if served:
                served[0].committed(served[1:], began_ns, len(entries), error)


def _method(method: str) -> str:
    known = known_method(method)
    return "_OTHER" if known == OTHER else known


def _parent(scope: Scope) -> str | None:
    """Give the header traceparent; none where there are several."""
    found = [value for name, value in scope["headers"] if name == b"traceparent"]
    return found[0].decode("latin-1") if len(found) == 1 else None


def _name(exchange: Exchange) -> str:
    method = _method(exchange.method)
    return method if exchange.route == UNKNOWN else f"{method} {exchange.route}"


def _told(exchange: Exchange) -> dict[str, str | int]:
    told: dict[str, str | int] = {
        "http.response.status_code": exchange.status,
        "alama.request_id": exchange.request_id,
    }
    if exchange.own_request_id != exchange.request_id:
        told["alama.own_request_id"] = exchange.own_request_id
    if exchange.route != UNKNOWN:
        told["http.route"] = exchange.route
    if exchange.code is not None:
        told["alama.problem"] = exchange.code
    if exchange.lender is not None:
        told["alama.lender"] = exchange.lender
    return told


def _error(exchange: Exchange, broken: str | None) -> str | None:
    """Say what went wrong here; what a caller did wrong is no error of ours."""
    if exchange.status < FAILED:
        return None
    return broken or exchange.code or str(exchange.status)
