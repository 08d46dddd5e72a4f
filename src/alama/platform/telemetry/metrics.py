"""Metrics for Prometheus, of the whole service, on a port of their own.

One process keeps its figures in memory and shows them itself. Several write theirs into files of a
shared folder, and their supervisor adds them up; prometheus_client chooses between the two when it
is imported, by a variable of the environment, which `alama serve` sets before.
"""

from __future__ import annotations

import functools
from typing import Final, NamedTuple, Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from alama import __version__
from alama.core.errors import AlamaError
from alama.platform.telemetry.log import Exchange, known_method


class ClockGauges:
    """The figures of the clock of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.leap = Gauge(
            "alama_clock_leap_seconds",
            "By how much the time is off from what is trusted; 0 where nothing waits for a person.",
            multiprocess_mode="livemax",
            registry=registry,
        )
        self.host = Gauge(
            "alama_clock_host_seconds",
            "By how much the clock of this host is off from that of the database; 0 up to 30.",
            multiprocess_mode="livemax",
            registry=registry,
        )


@functools.cache
def clock_gauges(registry: CollectorRegistry) -> ClockGauges:
    """Give those of a registry: what serves and what delivers may share a process."""
    return ClockGauges(registry)


REQUEST_S: Final = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
COMMIT_S: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
ENTRIES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500)


class Commit(Protocol):
    """A finished group, as `alama.scoring.group_commit.Commit` is one."""

    @property
    def entries(self) -> int: ...
    @property
    def replayed(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def failed(self) -> bool: ...


class MetricsUnavailable(AlamaError):
    """The port of the metrics cannot be listened on."""


class _Meters(NamedTuple):
    """What one kind of request moves. `labels()` is slow, so it is called once a kind."""

    requests: Counter
    seconds: Histogram


class _RetentionMeters:
    """What retention moves."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.deleted = Counter(
            "alama_retention_deleted",
            "Scores deleted because their time is over.",
            registry=registry,
        )
        # Of the whole database, whichever process looks.
        self.waiting = Gauge(
            "alama_retention_waiting",
            "Scores whose time is over, more than go by themselves: they wait for a person.",
            multiprocess_mode="livemax",
            registry=registry,
        )


class Metrics:
    """The figures of this process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "alama_requests",
            "Requests answered.",
            ("route", "method", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "alama_request_seconds",
            "From the head of a request to its reply.",
            ("route",),
            buckets=REQUEST_S,
            registry=registry,
        )
        self._unavailable = Counter(
            "alama_unavailable",
            "Requests refused because the database was away.",
            registry=registry,
        )
        self._dropped = Counter(
            "alama_connections_dropped",
            "Connections closed before their time.",
            ("reason",),
            registry=registry,
        )
        self._commit_entries = Histogram(
            "alama_commit_entries",
            "Scores kept in one transaction.",
            buckets=ENTRIES,
            registry=registry,
        )
        self._commit_replays = Counter(
            "alama_commit_replays",
            "Requests whose idempotency key had kept a score before.",
            registry=registry,
        )
        self._commit_seconds = Histogram(
            "alama_commit_seconds",
            "Duration of a transaction, failed ones included.",
            buckets=COMMIT_S,
            registry=registry,
        )
        self._commit_failures = Counter(
            "alama_commit_failures",
            "Transactions that could not be kept.",
            registry=registry,
        )
        self._waiting = Gauge(
            "alama_commit_waiting",
            "Scores that wait to be kept.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._journal_bytes, self._disk_failed = _of_file(registry)
        self._retention = _RetentionMeters(registry)
        self.clock = clock_gauges(registry)
        _show_process(registry)
        self._meters: dict[tuple[str, str, int], _Meters] = {}

    def request(self, exchange: Exchange) -> None:
        kind = (exchange.route, exchange.method, exchange.status)
        meters = self._meters.get(kind)
        if meters is None:
            meters = self._meters[kind] = self._meters_of(*kind)
        meters.requests.inc()
        meters.seconds.observe(exchange.seconds)

    def unavailable(self) -> None:
        self._unavailable.inc()

    def dropped(self, reason: str) -> None:
        self._dropped.labels(reason).inc()

    def commit(self, commit: Commit) -> None:
        self._commit_seconds.observe(commit.seconds)
        if commit.failed:
            self._commit_failures.inc()
        else:
            self._commit_entries.observe(commit.entries - commit.replayed)
            if commit.replayed:
                self._commit_replays.inc(commit.replayed)

    def waiting(self, entries: int) -> None:
        self._waiting.set(entries)

    def journal(self, size_bytes: int, *, has_failed: bool) -> None:
        self._journal_bytes.set(size_bytes)
        self._disk_failed.set(has_failed)

    def retained(self, scores: int) -> None:
        self._retention.deleted.inc(scores)

    def retention_waits(self, scores: int) -> None:
        self._retention.waiting.set(scores)

    def _meters_of(self, route: str, method: str, status: int) -> _Meters:
        requests = self._requests.labels(route, known_method(method), str(status))
        return _Meters(requests, self._seconds.labels(route))


def _of_file(registry: CollectorRegistry) -> tuple[Gauge, Gauge]:
    """Make what shows how it is with a SQLite file, which all processes see alike."""
    size = Gauge(
        "alama_journal_bytes",
        "What is in the journal of a SQLite file.",
        multiprocess_mode="livemax",
        registry=registry,
    )
    failed = Gauge(
        "alama_disk_failed",
        "1 where the disk of a SQLite file has failed, and nothing is written.",
        multiprocess_mode="livemax",
        registry=registry,
    )
    return size, failed


def _show_process(registry: CollectorRegistry) -> None:
    """Count this process, and tell which version it is."""
    processes = Gauge(
        "alama_processes",
        "Processes that serve.",
        multiprocess_mode="livesum",
        registry=registry,
    )
    processes.set(1)
    starts = Counter(
        "alama_process_starts",
        "Processes that have begun to serve, those that died included.",
        registry=registry,
    )
    starts.inc()
    build = Gauge(
        "alama_build_info",
        "Always 1; the label tells the version.",
        ("version",),
        multiprocess_mode="max",
        registry=registry,
    )
    build.labels(__version__).set(1)


@functools.cache
def process_registry() -> CollectorRegistry:
    return CollectorRegistry()


class Exposition:
    """/metrics of the whole service, from its construction until `close`."""

    def __init__(self, registry: CollectorRegistry, host: str, port: int) -> None:
        # A second series for each one, which several processes would lack.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            raise MetricsUnavailable(
                f"port {port} of {host}, for metrics, cannot be listened on: {error.strerror}",
                hint="set ALAMA_METRICS_PORT to a free port, or to 0 for no metrics; `alama serve` "
                "and `alama worker` on one machine need two",
            ) from error
        self.port: int = self._server.server_port

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def expose_process(host: str, port: int) -> Exposition:
    """Show the figures of this process, the only one."""
    return Exposition(process_registry(), host, port)


def expose_workers(folder: str, host: str, port: int) -> Exposition:
    """Show the sum over all processes that write into a folder."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    return Exposition(registry, host, port)


def forget_process(folder: str, pid: int) -> None:
    """Drop what a dead process was doing. What it has done still counts."""
    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
