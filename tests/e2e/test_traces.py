"""Traces as a collector receives them, from processes as an operator starts them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from alama.lenders import installation
from alama.platform import settings
from alama.platform.addresses import DEVELOPMENT
from alama.platform.book import Book, Mode
from alama.platform.events import EventKind
from alama.webhooks.endpoints import Endpoints, NewEndpoint
from tests.collectors import Collector, Told
from tests.databases import sqlite_url
from tests.e2e.service import COMPACT, FULL, Service
from tests.ports import HOST, free_port
from tests.receivers import Receivers
from tests.server import ALAMA
from tests.workers import install, worker

pytestmark = [
    pytest.mark.xdist_group("traces"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at other processes"),
]

MARK = "Zq7marked"
PARENT = "b7ad6b7169203331"
QUICK = {"OTEL_BSP_SCHEDULE_DELAY": "100"}
HOOK = "/ok/Zq7marked"


class Traced(NamedTuple):
    """A service of two processes with a worker beside it, and the collector of its traces."""

    service: Service
    collector: Collector
    receivers: Receivers

    def send(self, method: str, path: str, trace_id: str, **request: Any) -> httpx.Response:
        """Send a request as a caller that traces its own work does."""
        sent = {"traceparent": f"00-{trace_id}-{PARENT}-01", "tracestate": f"a={MARK}"}
        headers = {**self.service.credentials(), **sent}
        return self.service.send(method, path, headers=headers, **request)

    def trace(self, trace_id: str, spans: int) -> dict[str, Told]:
        """Give the spans of a trace by name, once there are so many."""

        def found(told: Sequence[Told]) -> dict[str, Told]:
            return {span.name: span for span in told if span.trace_id == trace_id}

        self.collector.wait(lambda told: len(found(told)) >= spans)
        return found(self.collector.told())

    def lines(self, trace_id: str) -> list[dict[str, Any]]:
        """Give the lines of the log that name a trace."""
        lines = self.service.server.output().splitlines()
        return [json.loads(line) for line in lines if trace_id in line]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    home = tmp_path_factory.mktemp("traced")
    with Receivers() as receivers, Collector() as collector:
        more = {"ALAMA_DELIVERY": "inside", "ALAMA_DEVELOPMENT": "yes"}
        unstarted = Service(
            sqlite_url(home), home, 2, None, **more, **QUICK, **collector.environment
        )
        with unstarted.running() as service:
            new = NewEndpoint(f"{receivers.url}{HOOK}", (EventKind.SCORE_CREATED,))
            endpoints = Endpoints.at(service.installed, DEVELOPMENT)
            endpoints.add(Book("demo", Mode.TEST), new)
            yield Traced(service, collector, receivers)
            # Whatever the tests have sent: no value of it went to the collector or into the log.
            assert service.server.stop() == 0
            assert not [one for one in collector.told() if MARK.encode() in one.raw]
            assert MARK not in service.server.output()
            assert '"logger":"opentelemetry' not in service.server.output()


def test_a_score_is_a_span_below_that_of_its_caller_with_what_took_its_time(
    traced: Traced,
) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    scored = traced.send("POST", "/v1/score", trace_id, json={**COMPACT, "region": MARK}).json()
    spans = traced.trace(trace_id, 4)
    assert set(spans) == {"POST /v1/score", "assess", "keep", "commit"}
    whole = spans["POST /v1/score"]
    assert (whole.kind, whole.parent_id, whole.failed) == ("SERVER", PARENT, False)
    assert whole.attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/score",
        "http.response.status_code": 200,
        "url.scheme": "http",
        "alama.request_id": scored["request_id"],
        "alama.lender": "demo",
    }
    assert {spans[name].parent_id for name in ("assess", "keep", "commit")} == {whole.span_id}
    assert spans["commit"].attributes == {"alama.commit.entries": 1}
    assert spans["keep"].links == (spans["commit"].span_id,)
    assert spans["assess"].took_ns + spans["keep"].took_ns <= whole.took_ns
    assert spans["commit"].took_ns <= spans["keep"].took_ns
    assert whole.sender["service.name"] == "alama"
    assert whole.sender["service.version"]


def test_the_line_of_a_request_names_its_trace_and_other_lines_none(traced: Traced) -> None:
    trace_id = "1af7651916cd43dd8448eb211c80319c"
    traced.send("GET", "/v1/scores", trace_id)
    traced.trace(trace_id, 1)
    traced.collector.wait(lambda _: bool(traced.lines(trace_id)))  # they are written late
    (line,) = traced.lines(trace_id)
    assert (line["event"], line["route"], line["trace_id"]) == ("request", "/v1/scores", trace_id)
    probes = [one for one in traced.service.server.output().splitlines() if "/v1/health" in one]
    assert probes
    assert not [one for one in probes if "trace_id" in one]


def test_an_explanation_tells_how_long_its_search_took(traced: Traced) -> None:
    trace_id = "2af7651916cd43dd8448eb211c80319c"
    assert traced.send("POST", "/api/v1/explain", trace_id, json=FULL).status_code == 200
    spans = traced.trace(trace_id, 2)
    assert set(spans) == {"POST /v1/explain", "explain"}


def test_what_a_caller_did_wrong_is_told_by_its_code_and_is_no_error(traced: Traced) -> None:
    trace_id = "3af7651916cd43dd8448eb211c80319c"
    traced.send("POST", f"/v1/{MARK}?{MARK}={MARK}", trace_id, json={MARK: MARK})
    (span,) = traced.trace(trace_id, 1).values()
    assert (span.name, span.failed) == ("POST", False)
    assert span.attributes["alama.problem"] == "not_found"
    assert "http.route" not in span.attributes


def test_a_caller_that_does_not_want_a_trace_gets_none_and_a_malformed_one_is_ignored(
    traced: Traced,
) -> None:
    unwanted = "4af7651916cd43dd8448eb211c80319c"
    malformed = "5af7651916cd43dd8448eb211c80319c"
    for value in (f"00-{unwanted}-{PARENT}-00", f"00-{malformed}-{MARK}-01", MARK, "00-\xff"):
        headers = {**traced.service.credentials(), "traceparent": value}
        encoded = {name: text.encode("latin-1") for name, text in headers.items()}
        replied = traced.service.send("GET", "/v1/events", headers=encoded)
        assert replied.status_code == 200

    def fresh(told: Sequence[Told]) -> list[Told]:
        return [one for one in told if one.name == "GET /v1/events"]

    traced.collector.wait(lambda told: len(fresh(told)) == 3)
    assert not {unwanted, malformed} & {one.trace_id for one in traced.collector.told()}
    assert {one.parent_id for one in fresh(traced.collector.told())} == {""}


def test_a_caller_who_leaves_halfway_is_told_as_such(traced: Traced) -> None:
    trace_id = "6af7651916cd43dd8448eb211c80319c"
    head = [
        "POST /v1/score HTTP/1.1",
        "host: here",
        "content-type: application/json",
        "content-length: 100",
        f"traceparent: 00-{trace_id}-{PARENT}-01",
        *(f"{name}: {value}" for name, value in traced.service.credentials().items()),
    ]
    with socket.create_connection((HOST, traced.service.server.port)) as caller:
        caller.sendall("\r\n".join([*head, "", MARK]).encode())
    (span,) = traced.trace(trace_id, 1).values()
    assert (span.name, span.failed, span.attributes["error.type"]) == ("POST", True, "client_left")


def test_requests_that_are_kept_together_point_to_one_commit(traced: Traced) -> None:
    before = len(traced.collector.told())
    with ThreadPoolExecutor(16) as many:
        list(many.map(lambda _: traced.service.score(), range(200)))

    def new(told: Sequence[Told], name: str) -> list[Told]:
        return [span for span in told[before:] if span.name == name]

    traced.collector.wait(lambda told: len(new(told, "keep")) >= 200)
    told = traced.collector.told()
    commits = {span.span_id: span for span in new(told, "commit")}
    keeps = new(told, "keep")
    assert len(keeps) == 200
    assert all(len(keep.links) == 1 and keep.links[0] in commits for keep in keeps)
    shares = {one: sum(keep.links[0] == one for keep in keeps) for one in commits}
    assert max(shares.values()) > 1
    for span_id, commit in commits.items():
        assert commit.attributes["alama.commit.entries"] == shares[span_id]
        assert len(commit.links) == min(shares[span_id], 16) - 1
    assert len({span.sender["service.instance.id"] for span in keeps}) == 2  # of two processes


def test_an_attempt_to_tell_a_receiver_is_a_span_of_the_worker(traced: Traced) -> None:
    traced.service.score()

    def attempts(told: Sequence[Told]) -> list[Told]:
        return [span for span in told if span.name == "webhook attempt"]

    traced.collector.wait(lambda told: len(attempts(told)) > 0)
    span = attempts(traced.collector.told())[0]
    assert (span.kind, span.parent_id, span.failed) == ("CLIENT", "", False)
    assert span.attributes["http.response.status_code"] == 200
    assert span.attributes["alama.lender"] == "demo"
    assert span.attributes["alama.attempt"] == 1
    assert traced.receivers.taken[HOOK]
    assert "traceparent" not in traced.receivers.taken[HOOK][0].headers


@pytest.mark.long
def test_a_collector_that_is_away_costs_one_line_and_no_request(tmp_path: Path) -> None:
    port = free_port()
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{HOST}:{port}", "OTEL_BSP_MAX_QUEUE_SIZE": "64"}
    sizes = {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "16", "OTEL_EXPORTER_OTLP_TIMEOUT": "0.1"}
    unstarted = Service(sqlite_url(tmp_path), tmp_path, 1, None, **away, **sizes, **QUICK)
    with unstarted.running() as service:
        assert {service.score().status_code for _ in range(100)} == {200}
        time.sleep(0.5)  # some exports fail meanwhile, one a tenth of a second
        assert service.server.output().count('"logger":"opentelemetry') == 1
        with Collector(port=port) as collector:
            deadline_s = time.monotonic() + 60
            while "traces_recovered" not in service.server.output():
                service.score()
                assert time.monotonic() < deadline_s, service.server.output()
                time.sleep(0.1)
            assert collector.told()
        began_s = time.monotonic()
        service.score()
        assert service.server.stop() == 0
        assert time.monotonic() - began_s < 30.0
        assert '"event":"stop_timed_out"' not in service.server.output()
        assert "Traceback" not in service.server.output()


@pytest.mark.long
def test_a_collector_that_hangs_keeps_no_stop_waiting(tmp_path: Path) -> None:
    with Collector(after_s=60.0) as collector:
        unstarted = Service(
            sqlite_url(tmp_path), tmp_path, 1, None, **QUICK, **collector.environment
        )
        with unstarted.running() as service:
            assert service.score().status_code == 200
            deadline_s = time.monotonic() + 60
            while not collector.batches:
                assert time.monotonic() < deadline_s
                time.sleep(0.02)
            service.score()
            began_s = time.monotonic()
            assert service.server.stop() == 0
            assert time.monotonic() - began_s < 30.0
            assert '"event":"stop_timed_out"' not in service.server.output()


@pytest.mark.long
def test_a_worker_by_itself_tells_what_it_did_just_before_a_stop(tmp_path: Path) -> None:
    install(tmp_path)
    with Receivers() as receivers, Collector() as collector:
        late = {"OTEL_BSP_SCHEDULE_DELAY": "60000", "ALAMA_DEVELOPMENT": "yes"}
        installed = installation.open_installation(settings.Settings(home=str(tmp_path)))
        try:
            new = NewEndpoint(f"{receivers.url}{HOOK}", (EventKind.SCORE_CREATED,))
            endpoints = Endpoints.at(installed, DEVELOPMENT)
            book = Book("demo", Mode.TEST)
            _secret, endpoint = endpoints.add(book, new)
            endpoints.test(book, endpoint.id)
        finally:
            installed.close()
        environment = late | collector.environment
        with worker(tmp_path, stdin=subprocess.DEVNULL, **environment) as process:
            assert receivers.wait_for(lambda: receivers.arrived > 0, 15.0)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        (span,) = collector.told()
    assert (span.name, span.kind, span.failed) == ("webhook attempt", "CLIENT", False)
    assert MARK.encode() not in span.raw


@pytest.mark.long
def test_what_is_traced_just_before_a_stop_still_arrives(tmp_path: Path) -> None:
    with Collector() as collector:
        late = {"OTEL_BSP_SCHEDULE_DELAY": "60000"}
        unstarted = Service(
            sqlite_url(tmp_path), tmp_path, 1, None, **late, **collector.environment
        )
        with unstarted.running() as service:
            service.score()
            assert not collector.told()
            assert service.server.stop() == 0
        assert {span.name for span in collector.told()} == {
            "POST /v1/score",
            "assess",
            "keep",
            "commit",
        }


def bare(home: Path) -> dict[str, str]:
    """The environment of a command, without a setting of whoever runs the tests but its home."""
    foreign = {k: v for k, v in os.environ.items() if not k.startswith(("ALAMA_", "OTEL_"))}
    return foreign | {"ALAMA_HOME": str(home)}


UNWANTED: tuple[dict[str, str], ...] = (
    {},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
    {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "True"},
    {"OTEL_TRACES_SAMPLER": "always_on"},
)
"""Environments that ask for no traces."""

LOADED = """
import json, os, sys
from alama.app.serving import service
for environment in json.loads(sys.argv[1]):
    os.environ.update(environment)
    service()
    print([name for name in sys.modules if name.startswith("opentelemetry")])
    for name in environment:
        del os.environ[name]
"""


@pytest.mark.long
def test_without_a_collector_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    install(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(UNWANTED)],
        env=bare(tmp_path),
        capture_output=True,
        check=True,
        timeout=180,
    )
    assert done.stdout.splitlines() == [b"[]"] * len(UNWANTED)


@pytest.mark.long
def test_without_the_libraries_a_start_says_what_to_install(tmp_path: Path) -> None:
    # In their place a package that holds nothing.
    hidden = tmp_path / "hidden" / "opentelemetry"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").touch()
    base = bare(tmp_path)
    path = os.pathsep.join([str(hidden.parent), *filter(None, [base.get("PYTHONPATH")])])
    named = {"PYTHONPATH": path, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    for command in ("serve", "worker"):
        done = subprocess.run(
            [*ALAMA, command],
            env=base | named,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        assert done.returncode == 2
        assert "pip install '.[traces]'" in done.stderr
