from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from alama import __version__
from alama.platform.telemetry import metrics
from alama.platform.telemetry.metrics import Metrics, MetricsUnavailable
from tests.ports import HOST, free_port
from tests.unit.platform.telemetry.test_formats import Finished

# What a worker does: counts two requests and says that three scores wait, then dies.
WORKER = """
import os, sys
from prometheus_client import CollectorRegistry
from alama.platform.telemetry.metrics import Metrics
from tests.unit.platform.telemetry.test_formats import Finished
figures = Metrics(CollectorRegistry())
figures.request(Finished())
figures.request(Finished())
figures.waiting(3)
print(os.getpid())
"""


class Done(NamedTuple):
    entries: int
    seconds: float
    error: Exception | None = None
    replayed: int = 0

    @property
    def failed(self) -> bool:
        return self.error is not None


def shown(registry: CollectorRegistry) -> list[str]:
    return generate_latest(registry).decode().splitlines()


def asked(port: int) -> list[str]:
    with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=60) as reply:
        return reply.read().decode().splitlines()  # type: ignore[no-any-return]


def test_requests_are_counted_by_route_method_and_status() -> None:
    registry = CollectorRegistry()
    figures = Metrics(registry)
    figures.request(Finished())
    figures.request(Finished())
    figures.request(Finished(status=401))
    figures.request(Finished(route="unknown", method="BREW", status=404))
    lines = shown(registry)
    series = 'alama_requests_total{{method="{}",route="{}",status="{}"}} {}'
    assert series.format("POST", "/v1/score", 200, "2.0") in lines
    assert series.format("POST", "/v1/score", 401, "1.0") in lines
    assert series.format("OTHER", "unknown", 404, "1.0") in lines


def test_latencies_are_told_by_route() -> None:
    registry = CollectorRegistry()
    Metrics(registry).request(Finished(seconds=0.0018))
    lines = shown(registry)
    assert 'alama_request_seconds_bucket{le="0.001",route="/v1/score"} 0.0' in lines
    assert 'alama_request_seconds_bucket{le="0.002",route="/v1/score"} 1.0' in lines
    assert 'alama_request_seconds_sum{route="/v1/score"} 0.0018' in lines


def test_commits_are_measured_and_failed_ones_counted() -> None:
    registry = CollectorRegistry()
    figures = Metrics(registry)
    figures.commit(Done(entries=7, seconds=0.003))
    figures.commit(Done(entries=9, seconds=8.0, error=TimeoutError()))
    figures.waiting(4)
    lines = shown(registry)
    assert "alama_commit_entries_count 1.0" in lines
    assert "alama_commit_entries_sum 7.0" in lines
    assert "alama_commit_seconds_count 2.0" in lines
    assert "alama_commit_failures_total 1.0" in lines
    assert "alama_commit_waiting 4.0" in lines
    assert f'alama_build_info{{version="{__version__}"}} 1.0' in lines


def test_a_replay_is_not_counted_as_a_score_that_was_kept() -> None:
    registry = CollectorRegistry()
    figures = Metrics(registry)
    figures.commit(Done(entries=7, seconds=0.003, replayed=2))
    figures.commit(Done(entries=1, seconds=0.003, replayed=1))
    lines = shown(registry)
    assert "alama_commit_entries_sum 5.0" in lines
    assert "alama_commit_entries_count 2.0" in lines
    assert "alama_commit_replays_total 3.0" in lines


def test_requests_that_an_outage_refuses_are_counted() -> None:
    registry = CollectorRegistry()
    Metrics(registry).unavailable()
    assert "alama_unavailable_total 1.0" in shown(registry)


def test_one_process_shows_its_own_figures() -> None:
    figures = Metrics(metrics.process_registry())
    figures.request(Finished())
    port = free_port()
    with closing(metrics.expose_process(HOST, port)):
        lines = asked(port)
    assert any(line.startswith("alama_requests_total{") for line in lines)
    assert not any("_created" in line for line in lines)


def test_a_port_that_is_taken_is_told_with_the_way_out() -> None:
    port = free_port()
    with (
        closing(metrics.Exposition(CollectorRegistry(), HOST, port)),
        pytest.raises(MetricsUnavailable, match=f"port {port} of {HOST}") as info,
    ):
        metrics.Exposition(CollectorRegistry(), HOST, port)
    assert "ALAMA_METRICS_PORT" in (info.value.hint or "")


def test_several_processes_are_added_up_and_the_dead_no_longer_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    command = [sys.executable, "-c", WORKER]
    root = Path(__file__).parents[4]
    workers = [
        json.loads(subprocess.check_output(command, cwd=root, env=dict(os.environ)))
        for _ in range(2)
    ]
    port = free_port()
    with closing(metrics.expose_workers(str(tmp_path), HOST, port)):
        before = asked(port)
        metrics.forget_process(str(tmp_path), workers[0])
        after = asked(port)
    requests = 'alama_requests_total{method="POST",route="/v1/score",status="200"} 4.0'
    assert requests in before
    assert "alama_commit_waiting 6.0" in before
    assert "alama_processes 2.0" in before
    assert "alama_processes 1.0" in after
    assert "alama_process_starts_total 2.0" in after
    assert f'alama_build_info{{version="{__version__}"}} 1.0' in before
    assert requests in after
    assert "alama_commit_waiting 3.0" in after


def test_processes_that_serve_are_counted_and_so_are_their_starts() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    assert "alama_processes 1.0" in shown(registry)
    assert "alama_process_starts_total 1.0" in shown(registry)
