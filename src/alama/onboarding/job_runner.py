"""The process that does a job: what it may take of its machine, and how it works.

Its limits hold for it and for each process that it starts. A file that would take more ends its own
job; nothing else on the machine has to make room for it.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from alama.onboarding.jobs import JOB_S_MAX, JobLost, Jobs, JobTooLong, Turn, take
from alama.onboarding.records import LEASE_US, Job
from alama.platform.errors import MasterKeyMissing, StoreUnavailable
from alama.platform.process_limits import blame_first, leave_no_picture, lower
from alama.platform.telemetry.log import Log, gather_libraries, log_on_stderr

if TYPE_CHECKING:
    from alama.platform.clock import Clock

ADVANCE_EVERY_S: Final = 1.0

Told = Callable[[float, str], None]
Do = Callable[["Job", Told], None]
"""Does a job, and tells the share of it that is done and what is being done."""


class Stopped(BaseException):
    """The process is to end: what it does is for another to do."""


class RunnerWatch(Protocol):
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
        watch: RunnerWatch,
        every_s: float = ADVANCE_EVERY_S,
        seconds_max: float = JOB_S_MAX,
    ) -> None:
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
        turn = None if self._stopping else take(self._jobs, self._clock, self._name)
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
                raise JobTooLong(self._seconds_max)
            self._news.wait(self._every_s)
            self._advance(turn, *told)
            if self._news.is_set() and not self._stopping:
                thread.join()
        if failures:
            raise failures[0]

    def _advance(self, turn: Turn, share: float, step: str) -> None:
        try:
            turn.advance(share, step)
        except JobLost:  # and the thread of it cannot be ended but with the process
            self._stopping = True
            raise Stopped from None


class JobWatch:
    """Logs what a process that does jobs does: a job by its id, and nothing of its history."""

    def __init__(self, log: Log) -> None:
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
        self.log.note("job_given_back", **_named(job))

    def job_broke(self, job: Job, error: Exception) -> None:
        """Note a defect of ours: which kind and where, but no message, which could hold a value."""
        self.log.fail("defect", error, **_named(job))


def watching_jobs(style: str) -> JobWatch:
    log = log_on_stderr(style)
    gather_libraries(log)
    return JobWatch(log)


def _named(job: Job) -> dict[str, str]:
    return {"lender": job.lender, "job_id": job.id, "kind": job.kind.value}


MEMORY_BYTES_MIN: Final = 1 << 30
"""The training libraries and a history of fifty thousand loans take two thirds of it: 652 MB as
the limit counts, 438 MB of them in use."""

_GROUPS: Final = Path("/sys/fs/cgroup")

_OWN_GROUP: Final = Path("/proc/self/cgroup")

_POOL: Final = "ARROW_DEFAULT_MEMORY_POOL"

_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def bound_process(memory_bytes: int, cores: int) -> None:
    """Have this process refused memory beyond a limit, and leave no picture of it on the disk.

    Before Arrow and NumPy are loaded: the pool of the one claims a gigabyte that it does not use,
    the other a buffer for each core of the machine, and the limit counts both.
    """
    os.environ.setdefault(_POOL, "system")
    for name in _THREADS:
        os.environ.setdefault(name, str(cores))
    blame_first()
    leave_no_picture()
    lower(resource.RLIMIT_DATA, memory_bytes)


def memory_for_a_job() -> int:
    """Give how many bytes a job may take: half of what its machine or container has."""
    return max(memory_there() // 2, MEMORY_BYTES_MIN)


def memory_there(groups: Path = _GROUPS, own_group: Path = _OWN_GROUP) -> int:
    """Give how many bytes of memory there are for this process and those beside it.

    A container shows its limit at the root of its groups, a unit of systemd in a group of its own.
    """
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    files = [groups / "memory.max", groups / "memory" / "memory.limit_in_bytes"]
    with suppress(OSError, UnicodeDecodeError):
        named = [line.rpartition(":")[2] for line in own_group.read_text("utf-8").splitlines()]
        files += [groups / name.lstrip("/") / "memory.max" for name in named]
    for path in files:
        with suppress(OSError, ValueError):  # not there, or the word "max"
            found.append(int(path.read_text("ascii")))
    return min(found)
