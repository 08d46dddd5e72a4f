"""Who watches a process: for the log, for metrics and for traces.

The libraries of metrics and traces are loaded only where they are wanted. A line names endpoints
and events by their ids: an address may hold what its owner keeps to himself.
"""

from __future__ import annotations

import os
from typing import Final

from alama.platform.telemetry import tracing
from alama.platform.telemetry.log import gather_libraries, log_on_stderr
from alama.scoring.telemetry import ServiceWatch
from alama.webhooks.telemetry import DeliveryWatch

BROKE: Final = "the worker that sends webhooks broke"
BROKE_HINT: Final = "another takes its place; please report this line"


def watching(style: str, metrics_port: int) -> ServiceWatch:
    """Open the log of this process, its metrics where a port for them is set, and its traces.

    Those where the environment names a collector; see `alama.platform.telemetry.tracing.check`.
    """
    log = log_on_stderr(style)
    gather_libraries(log)
    metrics = None
    if metrics_port:
        from alama.platform.telemetry.metrics import Metrics, process_registry  # noqa: PLC0415

        metrics = Metrics(process_registry())
    if not tracing.are_wanted(os.environ):
        return ServiceWatch(log, metrics)
    from alama.scoring.tracing import traced_watch  # noqa: PLC0415

    return traced_watch(log, metrics)


def watching_deliveries(style: str, metrics_port: int) -> DeliveryWatch:
    """Open the log, the metrics and the traces of a worker, as `watching` does."""
    log = log_on_stderr(style)
    gather_libraries(log)
    metrics = None
    if metrics_port:
        from alama.platform.telemetry.metrics import process_registry  # noqa: PLC0415
        from alama.webhooks.metrics import DeliveryMetrics  # noqa: PLC0415

        metrics = DeliveryMetrics(process_registry())
    if not tracing.are_wanted(os.environ):
        return DeliveryWatch(log, metrics)
    from alama.webhooks.tracing import traced_delivery_watch  # noqa: PLC0415

    return traced_delivery_watch(log, metrics)
