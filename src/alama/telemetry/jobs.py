"""Watches the process that does jobs: for the log.

A line names a job by its id, and tells nothing of what is in a history.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from alama.telemetry.log import gather_libraries, log_on_stderr

if TYPE_CHECKING:
    from alama.service.onboarding.records import Job
    from alama.telemetry.log import Log


class JobWatch:
    """What a process that does jobs reports to."""

    def __init__(self, log: Log) -> None:
        """Take a log."""
        self.log = log
        self._began_s = 0.0

    def job_started(self, job: Job) -> None:
        self._began_s = time.monotonic()
        self.log.note("job_started", **_named(job), attempt=job.attempts)

    def job_ended(self, job: Job) -> None:
        """Note the end; why one has failed is told to its lender, in words of their file."""
        seconds = round(time.monotonic() - self._began_s, 1)
        self.log.note("job_ended", **_named(job), state=job.state.value, seconds=seconds)

    def job_given_back(self, job: Job) -> None:
        """Note that another has to do it."""
        self.log.note("job_given_back", **_named(job))

    def job_broke(self, job: Job, error: Exception) -> None:
        """Note a defect of ours: which kind and where, but no message, which could hold a value."""
        self.log.fail("defect", error, **_named(job))


def watching_jobs(style: str) -> JobWatch:
    """Open the log of this process."""
    log = log_on_stderr(style)
    gather_libraries(log)
    return JobWatch(log)


def _named(job: Job) -> dict[str, str]:
    return {"lender": job.lender, "job_id": job.id, "kind": job.kind.value}
