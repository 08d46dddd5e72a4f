"""Who watches a process: for the log, for metrics and for traces.

A line names endpoints and events by their ids: an address may hold what its owner keeps to himself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from alama.platform.telemetry import tracing
from alama.platform.telemetry.log import gather_libraries, log_on_stderr
from alama.scoring.telemetry import Watch
from alama.webhooks.telemetry import DeliveryWatch

if TYPE_CHECKING:
    from alama.platform.telemetry.metrics import Metrics
    from alama.webhooks.metrics import DeliveryMetrics


def watching(style: str, metrics_port: int) -> Watch:
    """Open the log of this process, its metrics where a port for them is set, and its traces.

    Those where the environment names a collector; see `alama.platform.telemetry.tracing.check`.
    """
    log = log_on_stderr(style)
    gather_libraries(log)
    metrics = _serving_metrics() if metrics_port else None
    if not tracing.are_wanted(os.environ):
        return Watch(log, metrics)
    from alama.scoring.tracing import traced_watch  # noqa: PLC0415  see `_metrics`

    return traced_watch(log, metrics)


def _serving_metrics() -> Metrics:
    # Not at the top: nobody waits for a library that is not used.
    from alama.platform.telemetry.metrics import Metrics, process_registry  # noqa: PLC0415

    return Metrics(process_registry())


def watching_deliveries(style: str, metrics_port: int) -> DeliveryWatch:
    """Open the log of this process, and metrics and traces as `alama.scoring.telemetry` does."""
    log = log_on_stderr(style)
    gather_libraries(log)
    metrics = _delivery_metrics() if metrics_port else None
    if not tracing.are_wanted(os.environ):
        return DeliveryWatch(log, metrics)
    from alama.webhooks.tracing import traced_delivery_watch  # noqa: PLC0415  see `_metrics`

    return traced_delivery_watch(log, metrics)


def _delivery_metrics() -> DeliveryMetrics:
    # Not at the top: nobody waits for a library that is not used.
    from alama.platform.telemetry.metrics import process_registry  # noqa: PLC0415
    from alama.webhooks.metrics import DeliveryMetrics  # noqa: PLC0415

    return DeliveryMetrics(process_registry())
