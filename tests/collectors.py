"""A collector of traces on this machine: takes OTLP over HTTP, and keeps what it was sent."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.ports import HOST

Value = str | int | bool | float


class Told(NamedTuple):
    """One span, as the collector was told of it."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    took_ns: int
    attributes: dict[str, Value]
    links: tuple[str, ...]
    """The spans that it points to."""
    failed: bool
    sender: dict[str, Value]
    raw: bytes


class Collector:
    """Answers every batch with a status, after a while if asked to; from `with` to its end."""

    def __init__(self, status: int = 200, after_s: float = 0.0, port: int = 0) -> None:
        self.status = status
        self.batches = 0
        self._after_s = after_s
        self._told: list[Told] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector._take(self)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer((HOST, port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{HOST}:{self.port}"}
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def told(self) -> Sequence[Told]:
        """Give every span so far."""
        return tuple(self._told)

    def wait(self, enough: Callable[[Sequence[Told]], bool], seconds: float = 60.0) -> None:
        """Wait until it has been told enough."""
        until_s = time.monotonic() + seconds
        while not enough(self.told()):
            assert time.monotonic() < until_s, [one.name for one in self.told()]
            time.sleep(0.02)

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["content-length"]))
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        assert request.path == "/v1/traces"
        self.batches += 1
        time.sleep(self._after_s)
        if self.status == 200:
            self._told += _spans(body)
        request.send_response(self.status)
        request.send_header("content-length", "0")
        request.end_headers()


def _spans(body: bytes) -> list[Told]:
    batch = ExportTraceServiceRequest.FromString(body)
    return [
        Told(
            span.name,
            Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            span.end_time_unix_nano - span.start_time_unix_nano,
            _values(span.attributes),
            tuple(link.span_id.hex() for link in span.links),
            span.status.code == 2,
            _values(of.resource.attributes),
            span.SerializeToString(),
        )
        for of in batch.resource_spans
        for scope in of.scope_spans
        for span in scope.spans
    ]


def _values(pairs: Sequence[KeyValue]) -> dict[str, Value]:
    return {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
        for pair in pairs
    }
