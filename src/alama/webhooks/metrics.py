"""Metrics of a worker: what is sent to webhooks, and what challengers are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Counter, Gauge, Histogram

from alama.platform.telemetry.metrics import clock_gauges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client import CollectorRegistry

    from alama.monitoring.shadowing import Round
    from alama.webhooks.records import Backlog, Forgotten


ATTEMPT_S: Final = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0)


class DeliveryMetrics:
    """The figures of one worker."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._attempts = Counter(
            "alama_webhook_attempts",
            "Attempts to deliver an event to a webhook: delivered, failed, or given_up for good.",
            ("outcome",),
            registry=registry,
        )
        self._seconds = Histogram(
            "alama_webhook_attempt_seconds",
            "Duration of an attempt, failed ones included.",
            buckets=ATTEMPT_S,
            registry=registry,
        )
        self._disabled = Counter(
            "alama_webhook_endpoints_disabled",
            "Endpoints that are sent nothing more.",
            registry=registry,
        )
        self._forgotten = Counter(
            "alama_webhook_forgotten",
            "What was dropped after 30 days though nobody had it: events that no delivery was made "
            "of, and deliveries not over.",
            ("of",),
            registry=registry,
        )
        # Of the whole database, whichever worker looks.
        self._backlog = Gauge(
            "alama_webhook_backlog",
            "Events that no delivery was made of, and deliveries not over.",
            ("of",),
            multiprocess_mode="livemax",
            registry=registry,
        )
        self.clock = clock_gauges(registry)
        self._challenged = Counter(
            "alama_challenger_scores",
            "Scores that a challenger was asked about: scored, or failed where it had no answer.",
            ("outcome",),
            registry=registry,
        )
        self._challenger_lag = Gauge(
            "alama_challenger_lag_seconds",
            "Age of the scores that a challenger is asked about next; 0 where none waits.",
            multiprocess_mode="livemax",
            registry=registry,
        )

    def attempt(self, outcome: str, seconds: float) -> None:
        self._attempts.labels(outcome).inc()
        self._seconds.observe(seconds)

    def disabled(self) -> None:
        self._disabled.inc()

    def backlog(self, backlog: Backlog) -> None:
        self._backlog.labels("events").set(backlog.events)
        self._backlog.labels("deliveries").set(backlog.deliveries)

    def challenged(self, rounds: Sequence[Round]) -> None:
        self._challenged.labels("scored").inc(sum(one.scored for one in rounds))
        self._challenged.labels("failed").inc(sum(one.failed for one in rounds))
        lag_us = max((one.lag_us for one in rounds), default=0)
        self._challenger_lag.set(lag_us / 1_000_000)

    def forgot(self, forgotten: Forgotten) -> None:
        self._forgotten.labels("events").inc(forgotten.undispatched)
        self._forgotten.labels("deliveries").inc(forgotten.undelivered)
