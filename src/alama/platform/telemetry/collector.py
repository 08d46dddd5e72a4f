"""The collector that spans are sent to, and what the log hears of it: one line an outage."""

from __future__ import annotations

import logging
import time
import uuid
from typing import TYPE_CHECKING, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from alama import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

    from alama.platform.telemetry.log import Log


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
        """Take where it is told that a collector answers again; the rest says its library."""
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
