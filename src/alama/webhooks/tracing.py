"""Spans of deliveries. Without traces nothing here is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.platform.telemetry.traces import Traces
from alama.webhooks.telemetry import DeliveryWatch

if TYPE_CHECKING:
    from alama.platform.telemetry.log import Log
    from alama.webhooks.metrics import DeliveryMetrics
    from alama.webhooks.records import Due, Settled

_US_NS: Final = 1_000
_MS_NS: Final = 1_000_000


class TracedDeliveryWatch(DeliveryWatch):
    """Watches one worker, and makes a span of each attempt.

    Receivers are not told of it: they are others, whom the inside of this house does not concern.
    """

    def __init__(self, log: Log, metrics: DeliveryMetrics | None, traces: Traces) -> None:
        super().__init__(log, metrics)
        self._traces = traces

    def attempted(self, due: Due, settled: Settled) -> None:
        super().attempted(due, settled)
        attempt = settled.attempt
        began_ns = attempt.started_us * _US_NS
        status = {} if attempt.status is None else {"http.response.status_code": attempt.status}
        failed = None if settled.verdict.delivered else str(attempt.status or attempt.error)
        # Without the address: it may hold what its owner keeps to himself.
        self._traces.sent(
            "webhook attempt",
            (began_ns, began_ns + attempt.took_ms * _MS_NS),
            {
                "http.request.method": "POST",
                "alama.lender": due.endpoint.book.lender,
                "alama.mode": due.endpoint.book.mode.value,
                "alama.endpoint_id": attempt.endpoint_id,
                "alama.event_id": attempt.event_id,
                "alama.attempt": attempt.number,
                **status,
            },
            failed,
        )

    def stopped(self) -> None:
        self._traces.close()
        super().stopped()


def traced_delivery_watch(log: Log, metrics: DeliveryMetrics | None) -> TracedDeliveryWatch:
    """Give the watch of a worker that sends spans where the environment says."""
    return TracedDeliveryWatch(log, metrics, Traces(log))
