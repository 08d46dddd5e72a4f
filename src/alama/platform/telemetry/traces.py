"""The spans of this process, on their way to a collector. To be imported where they are wanted.

A collector that is slow or away costs spans, and nothing else: they are sent behind everything, by
a thread, from a queue that forgets what does not fit. Nothing that was sent by a caller or said by
an applicant is told, but the ids of the caller's own trace.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from typing import TYPE_CHECKING, Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from alama import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Span, SpanContext, Tracer
    from opentelemetry.util.types import AttributeValue

    from alama.platform.telemetry.log import Log


FLUSH_S: Final = 0.5
"""What a stop waits for the last spans to be sent: it has a second for all that it puts away."""

LINKS_MAX: Final = 16
"""Requests of one group that its commit points to."""

_FAILED: Final = Status(StatusCode.ERROR)
_PARENT: Final = "traceparent"
_NOWHERE: Final = Context()


class Trace:
    """One request that is traced: its span, and the stage of it that is under way."""

    __slots__ = ("_began_ns", "_context", "_stage", "_tracer", "commit", "span")

    def __init__(self, tracer: Tracer, span: Span) -> None:
        self._tracer = tracer
        self.span = span
        self._context = set_span_in_context(span)
        self._stage: str | None = None
        self._began_ns = 0
        self.commit: SpanContext | None = None
        """That of the commit that kept what came of it."""

    @property
    def id(self) -> str:
        """The trace that it belongs to, as logs and collectors write it."""
        return f"{self.span.get_span_context().trace_id:032x}"

    def enter(self, stage: str) -> None:
        """Begin a stage; the one before, if it lasts, ends with it."""
        self.leave()
        self._stage, self._began_ns = stage, time.time_ns()

    def leave(self) -> None:
        """End the stage under way, if there is one."""
        if self._stage is None:
            return
        links = () if self.commit is None else (Link(self.commit),)
        span = self._tracer.start_span(
            self._stage, self._context, links=links, start_time=self._began_ns
        )
        span.end()
        self._stage = None

    def end(self, name: str, attributes: Mapping[str, AttributeValue], error: str | None) -> None:
        """End the whole of it; `error` is the kind of what went wrong here, if something did."""
        self.leave()
        self.span.update_name(name)
        self.span.set_attributes(attributes)
        _end(self.span, error)

    def committed(
        self, others: Sequence[Trace], began_ns: int, entries: int, error: str | None
    ) -> None:
        """Tell of a commit that kept this request, the first of its group, and others."""
        span = self._tracer.start_span(
            "commit",
            self._context,
            SpanKind.CLIENT,
            {"alama.commit.entries": entries},
            [Link(other.span.get_span_context()) for other in others[: LINKS_MAX - 1]],
            began_ns,
        )
        _end(span, error)
        for one in (self, *others):
            one.commit = span.get_span_context()


class Traces:
    """Makes spans, as the variables of OpenTelemetry say, until `close`."""

    def __init__(self, log: Log) -> None:
        self._collector = Collector(log)
        self._processor = BatchSpanProcessor(self._collector)
        provider = TracerProvider(resource=resource(), shutdown_on_exit=False)
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer("alama", __version__)
        self._parents = TraceContextTextMapPropagator()

    def request(self, method: str, scheme: str, parent: str | None) -> Trace | None:
        """Begin the span of a request; None where the sampler leaves it out.

        `parent` is the header traceparent. One that is malformed is none.
        """
        # No `tracestate`, which is free text of whoever sent it.
        context = None if parent is None else self._parents.extract({_PARENT: parent})
        attributes = {"http.request.method": method, "url.scheme": scheme}
        span = self._tracer.start_span(method, context, SpanKind.SERVER, attributes)
        return Trace(self._tracer, span) if span.is_recording() else None

    def sent(
        self,
        name: str,
        times_ns: tuple[int, int],
        attributes: Mapping[str, AttributeValue],
        error: str | None,
    ) -> None:
        """Tell of a request of ours, which is over."""
        began_ns, ended_ns = times_ns
        # A trace of its own: what it belongs to was answered before, perhaps by another process.
        span = self._tracer.start_span(name, _NOWHERE, SpanKind.CLIENT, attributes, (), began_ns)
        _end(span, error, ended_ns)

    def close(self) -> None:
        """Send what waits, but not for long."""
        # Not by this thread: the library waits for as long as a collector takes to answer.
        flushing = threading.Thread(target=self._processor.shutdown, name="traces", daemon=True)
        flushing.start()
        flushing.join(FLUSH_S)
        if flushing.is_alive():
            self._collector.give_up()


def _end(span: Span, error: str | None, at_ns: int | None = None) -> None:
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(_FAILED)
    span.end(at_ns)


SERVICE: Final = "alama"

EXPORTS: Final = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
QUEUE: Final = "opentelemetry.sdk._shared_internal"
"""Loggers that repeat themselves with each batch, for as long as a collector is away."""

INDISCREET: Final = ("opentelemetry.util.re", "urllib3.connectionpool")
"""Loggers that repeat a header or an address as it was given, token and all. Nobody listens: what
comes of it, a collector that refuses or is away, is told above."""


class Collector(SpanExporter):
    """Sends spans where the environment says. Of a collector that is away the log is told once."""

    def __init__(self, log: Log) -> None:
        for name in INDISCREET:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._log = log
        self._exporter = OTLPSpanExporter()
        self._trouble = _Trouble()
        # Its library has a word for each batch that is late, and for each span without a place.
        for name in (EXPORTS, QUEUE):
            logger = logging.getLogger(name)
            for known in [one for one in logger.filters if isinstance(one, _Trouble)]:
                logger.removeFilter(known)
            logger.addFilter(self._trouble)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS and self._trouble.since_s is not None:
            seconds = round(time.monotonic() - self._trouble.since_s, 1)
            self._log.note("traces_recovered", seconds=seconds)
            self._trouble.since_s = None
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def give_up(self) -> None:
        """Let go of a collector that does not answer; a stop is not worth a line."""
        self._trouble.since_s = self._trouble.since_s or time.monotonic()
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


class _Trouble(logging.Filter):
    """Lets the first word of a trouble through, and no other until it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.since_s: float | None = None
        """When it began, by the stopwatch; None where there is none."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        is_first = self.since_s is None
        self.since_s = self.since_s or time.monotonic()
        return is_first


def resource() -> Resource:
    """Say who sends; what the environment says of it comes first."""
    ours = {
        "service.name": SERVICE,
        "service.version": __version__,
        "service.instance.id": str(uuid.uuid4()),  # of this process
    }
    return Resource.create({**ours, **OTELResourceDetector().detect().attributes})


def try_out() -> None:
    """Have OpenTelemetry read its variables before anything serves; `ValueError` as it says."""
    TracerProvider(shutdown_on_exit=False)
    BatchSpanProcessor(SpanExporter()).shutdown()  # type: ignore[no-untyped-call]
