"""Watches the process that does jobs: for the log.

A line names a job by its id, and tells nothing of what is in a history.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from alama.onboarding import work
from alama.onboarding.job_bounds import JOB_S_MAX
from alama.onboarding.records import LEASE_US, Job
from alama.platform.errors import MasterKeyMissing, StoreUnavailable
from alama.platform.telemetry.log import Log, gather_libraries, log_on_stderr

if TYPE_CHECKING:
    from alama.onboarding.job_store import Jobs
    from alama.onboarding.work import Turn
    from alama.platform.clock import Clock

ADVANCE_EVERY_S: Final = 1.0

Told = Callable[[float, str], None]
Do = Callable[["Job", Told], None]
"""Does a job, and tells the share of it that is done and what is being done."""


class Stopped(BaseException):
    """The process is to end: what it does is for another to do."""


class Watch(Protocol):
    """Whom a runner tells what it does. Jobs are named by their ids."""

    def job_started(self, job: Job) -> None: ...
    def job_ended(self, job: Job) -> None: ...
    def job_given_back(self, job: Job) -> None: ...
    def job_broke(self, job: Job, error: Exception) -> None: ...


class Runner:
    """Takes a job. `name` is that of no other worker."""

    def __init__(
        self,
        name: str,
        jobs: Jobs,
        clock: Clock,
        do: Do,
        watch: Watch,
        every_s: float = ADVANCE_EVERY_S,
        seconds_max: float = JOB_S_MAX,
    ) -> None:
        """Take what it works with, and how long a job may take."""
        self._name = name
        self._jobs = jobs
        self._clock = clock
        self._do = do
        self._watch = watch
        self._every_s = every_s
        self._seconds_max = seconds_max
        self._news = threading.Event()
        self._stopping = False
        self._is_overdue = False

    def stop(self) -> None:
        """Have it end at once, from any thread or from a signal."""
        self._stopping = True
        self._news.set()

    def run(self) -> None:
        """Do a job, if there is one; `Stopped` where it was told to, or a job took too long.

        `StoreUnavailable` or `MasterKeyMissing` where it can do none: its job is for another.
        """
        turn = None if self._stopping else work.take(self._jobs, self._clock, self._name)
        if turn is not None:
            self._take(turn)

    def _take(self, turn: Turn) -> None:
        self._watch.job_started(turn.job)
        try:
            with turn:
                self._work(turn)
        except Stopped:
            self._watch.job_given_back(turn.job)
            raise
        except (StoreUnavailable, MasterKeyMissing):
            self._give_back(turn)
            self._watch.job_given_back(turn.job)
            if self._stopping:  # the thread of the job may not have ended
                raise Stopped from None
            raise
        except Exception as error:  # noqa: BLE001  one job that breaks is not all of them
            self._watch.job_broke(turn.job, error)
            return
        self._watch.job_ended(self._jobs.find(turn.job.lender, turn.job.id))
        if self._is_overdue:  # the thread of it cannot be ended but with the process
            raise Stopped

    def _give_back(self, turn: Turn) -> None:
        """Have it not counted as an attempt, if the database is back before the lease is over."""
        until_us = self._clock() + LEASE_US
        self._news.clear()
        while not self._stopping and self._clock() < until_us:
            try:
                return turn.give_back()
            except StoreUnavailable:
                self._news.wait(self._every_s)
        return None

    def _work(self, turn: Turn) -> None:
        """Have the job done by a thread, and raise here what it raises there."""
        self._news.clear()
        told, failures = (0.0, ""), list[BaseException]()

        def note(share: float, step: str) -> None:
            nonlocal told
            told = (share, step)

        def do() -> None:
            try:
                self._do(turn.job, note)
            except BaseException as error:  # noqa: BLE001  raised again where it can be told
                failures.append(error)
            finally:
                self._news.set()

        # A daemon: whoever is told to stop does not wait for it.
        thread = threading.Thread(target=do, name="job", daemon=True)
        thread.start()
        until_s = time.monotonic() + self._seconds_max
        while thread.is_alive():
            if self._stopping:
                raise Stopped
            if time.monotonic() > until_s:
                self._is_overdue = True
                raise work.JobTooLong(self._seconds_max)
            self._news.wait(self._every_s)
            self._advance(turn, *told)
            if self._news.is_set() and not self._stopping:
                thread.join()
        if failures:
            raise failures[0]

    def _advance(self, turn: Turn, share: float, step: str) -> None:
        try:
            turn.advance(share, step)
        except work.JobLost:  # and the thread of it cannot be ended but with the process
            self._stopping = True
            raise Stopped from None


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
