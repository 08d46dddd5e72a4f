"""Spans of what goes wrong, and what the log hears of a collector that is not there."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from alama.platform.http.endpoint import Endpoint
from alama.platform.telemetry.log import JsonLines, Log, _ToLog, gather_libraries
from alama.platform.telemetry.traces import INDISCREET, Traces
from alama.scoring.tracing import TracedWatch, traced_watch
from tests.collectors import Collector, Told
from tests.entries import NOON_US
from tests.exchanges import ask
from tests.ports import HOST, free_port
from tests.unit.platform.http.test_endpoint import MARK, break_down, fail, greet, measure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def log(path: Path) -> Iterator[Log]:
    """A log that the libraries speak into."""
    root = logging.getLogger()
    with path.open("wb") as file:
        gather_libraries(found := Log(JsonLines(), file.fileno()))
        yield found
    for handler in [known for known in root.handlers if isinstance(known, _ToLog)]:
        root.removeHandler(handler)
    for name in INDISCREET:
        logging.getLogger(name).setLevel(logging.NOTSET)


def spans(
    log: Log,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    body: Sequence[bytes | None] = (b"",),
) -> dict[str, Told]:
    """Serve one request, stop, and give what the collector was told."""
    with Collector() as collector:
        for name, value in collector.environment.items():
            monkeypatch.setenv(name, value)
        watch: TracedWatch = traced_watch(log, None)
        handlers = {"GET": greet, "POST": measure, "PUT": fail, "DELETE": break_down}
        endpoint = Endpoint("/v1/score", handlers, lambda: NOON_US, watch)
        asyncio.run(ask(watch.around(endpoint), method, "/v1/score", body=body))
        watch.close()
        assert not [one for one in collector.told() if MARK.encode() in one.raw]
        return {span.name: span for span in collector.told()}


def test_a_defect_is_told_by_the_kind_of_its_exception_and_not_by_its_words(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = spans(log, monkeypatch, "DELETE")["DELETE /v1/score"]
    assert span.failed
    assert span.attributes["error.type"] == "ValueError"
    assert span.attributes["http.response.status_code"] == 500
    assert span.attributes["alama.problem"] == "internal_error"


def test_what_is_refused_for_want_of_the_database_is_told_by_its_problem(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = spans(log, monkeypatch, "PUT")["PUT /v1/score"]
    assert (span.failed, span.attributes["error.type"]) == (True, "unavailable")


def test_a_caller_who_leaves_halfway_ends_its_span_all_the_same(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = spans(log, monkeypatch, "POST", (b"half", None))
    assert set(found) == {"POST"}
    assert found["POST"].attributes["error.type"] == "client_left"
    assert "http.response.status_code" not in found["POST"].attributes


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://me:Zq7marked@{away}/?token=Zq7marked"},
        {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20Zq7marked%0Amore"},
        {"OTEL_EXPORTER_OTLP_HEADERS": "Bearer Zq7marked"},
    ],
    ids=["address", "header", "malformed"],
)
def test_a_collector_that_cannot_be_reached_makes_a_line_without_what_leads_there(
    log: Log, path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    away = f"{HOST}:{free_port()}"
    usual = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{away}", "OTEL_EXPORTER_OTLP_TIMEOUT": "5"}
    for name, value in (usual | variables).items():
        monkeypatch.setenv(name, value.format(away=away))
    traces = Traces(log)
    trace = traces.request("GET", "http", None)
    assert trace is not None
    trace.end("GET", {}, None)
    traces.close()
    text = path.read_text("utf-8")
    (line,) = map(json.loads, text.splitlines())
    assert line["logger"].startswith("opentelemetry.exporter")
    assert "Zq7marked" not in text
