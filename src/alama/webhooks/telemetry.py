"""What a worker reports of deliveries, jobs and challengers: to the log, and to metrics.

A line names endpoints and events by their ids: an address may hold what its owner keeps to himself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from alama.platform.telemetry.trouble import ClockWatch, Outage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.monitoring.challengers import Challenger
    from alama.monitoring.shadowing import Round
    from alama.platform.telemetry.log import Log
    from alama.webhooks.metrics import DeliveryMetrics
    from alama.webhooks.records import Backlog, Due, Endpoint, Forgotten, Settled


UNREADABLE: Final = "the row of a webhook endpoint is damaged, and nothing is sent to it"
UNREADABLE_HINT: Final = "restore it from a backup, or delete it from webhook_endpoints"


class DeliveryWatch:
    """What a worker reports to. Lives in one event loop."""

    def __init__(self, log: Log, metrics: DeliveryMetrics | None = None) -> None:
        self.log = log
        self._metrics = metrics
        self._outage = Outage(log)
        self.clock = ClockWatch(log, None if metrics is None else metrics.clock)

    @property
    def counts(self) -> bool:
        """Whether anybody wants to know how much is on its way."""
        return self._metrics is not None

    def started(self, database: str) -> None:
        """Note the start; `database` is the kind of it."""
        self.log.note("deliveries_started", pid=os.getpid(), database=database)

    def stopped(self) -> None:
        self.log.note("deliveries_stopped", pid=os.getpid())

    def attempted(self, due: Due, settled: Settled) -> None:
        """Note an attempt; one that went well is counted, and not worth a line."""
        attempt = settled.attempt
        result = _result(settled)
        if self._metrics is not None:
            self._metrics.attempt(result, attempt.took_ms / 1_000)
        if not settled.verdict.delivered:
            self.log.doubt(
                f"delivery_{result}",
                **_whose(due.endpoint),
                event_id=attempt.event_id,
                attempt=attempt.number,
                ms=attempt.took_ms,
                **({"error": attempt.error} if attempt.status is None else {}),
                **({"status": attempt.status} if attempt.status is not None else {}),
            )

    def disabled(self, endpoint: Endpoint) -> None:
        """Note that an endpoint is sent nothing more."""
        if self._metrics is not None:
            self._metrics.disabled()
        self.log.doubt("endpoint_disabled", **_whose(endpoint), reason=endpoint.disabled_reason)

    def broke(self, due: Due, error: Exception) -> None:
        """Note a defect of ours: which kind and where, but no message, which could hold a value."""
        self.log.fail("defect", error, **_whose(due.endpoint), event_id=due.event.id)

    def unreadable(self, endpoint_id: str) -> None:
        """Note that the row of an endpoint is damaged."""
        self.log.fail("defect", endpoint_id=endpoint_id, message=UNREADABLE, hint=UNREADABLE_HINT)

    def chore_failed(self, chore: str, error: Exception) -> None:
        """Note that something done now and then has failed; it will be tried again."""
        self.log.fail("chore_failed", error, chore=chore)

    def backlog(self, backlog: Backlog) -> None:
        """Note how much is on its way."""
        if self._metrics is not None:
            self._metrics.backlog(backlog)

    def forgot(self, forgotten: Forgotten) -> None:
        """Note that some of what was dropped for its age had reached nobody."""
        if self._metrics is not None:
            self._metrics.forgot(forgotten)
        self.log.doubt(
            "events_forgotten",
            undispatched=forgotten.undispatched,
            undelivered=forgotten.undelivered,
        )

    def jobs_failed(self, exit_code: int | None, error: Exception | None = None) -> None:
        """Note that the process that does jobs ended badly, or could not be started."""
        known = {} if exit_code is None else {"exit_code": exit_code}
        self.log.fail("jobs_failed", error, **known)

    def jobs_wait(self, why: str, hint: str) -> None:
        """Note that jobs are there which are not done here."""
        self.log.doubt("jobs_wait", message=why, hint=hint)

    def challenged(self, rounds: Sequence[Round]) -> None:
        """Note what challengers were asked, a round of each."""
        if self._metrics is not None:
            self._metrics.challenged(rounds)

    def challenger_failed(self, challenger: Challenger, error: Exception) -> None:
        """Note that a challenger cannot be asked at all; it is tried again, and reported once."""
        book = challenger.book
        self.log.fail(
            "challenger_failed",
            error,
            lender=book.lender,
            mode=book.mode.value,
            model_id=challenger.model_id,
        )

    def unavailable(self, error: Exception) -> None:
        """Note that the database does not answer; only the beginning of it is noted."""
        self._outage.request_refused(error)

    def available(self) -> None:
        """Note that it does."""
        if self._outage.lasts:
            self._outage.request_answered()


def _result(settled: Settled) -> str:
    if settled.verdict.delivered:
        return "delivered"
    return "failed" if settled.verdict.next_us is not None else "given_up"


def _whose(endpoint: Endpoint) -> dict[str, str]:
    return {
        "lender": endpoint.book.lender,
        "mode": endpoint.book.mode.value,
        "endpoint_id": endpoint.id,
    }
