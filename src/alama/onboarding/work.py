"""Jobs: what was asked for and takes minutes, and the worker that does it.

Who asks gets a job at once and reads how far it has come. A worker that has the training libraries
claims jobs one at a time:

    turn = work.take(jobs, clock, "worker_1")
    if turn is not None:
        with turn: ...  train, calling turn.advance(share, step) now and then
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

import msgspec

from alama.core.errors import AlamaError
from alama.onboarding.records import JOB_PREFIX, LEASE_US, Job, JobKind, JobState, require_person
from alama.platform import ids
from alama.platform.errors import MasterKeyMissing, StoreUnavailable

if TYPE_CHECKING:
    from types import TracebackType

    from alama.onboarding.job_store import Jobs
    from alama.platform.clock import Clock


ADVANCE_US: Final = 1_000_000
"""How often at most progress is written down: a person cannot read faster."""

WAITS: Final = "it waits for a worker"
WAITS_US: Final = 60 * 1_000_000
"""Workers look for jobs every second: one that has waited for so long may wait for ever."""

WAITS_BEHIND: Final = "it waits for a worker: another job is being done first"
WAITS_IN_VAIN: Final = (
    "no worker takes it: `alama worker` has to run where alama[train] is installed, on "
    "PostgreSQL or on a SQLite that is safe for several processes; the log of a worker says why it "
    "takes none"
)
UNHEARD: Final = "its worker has not been heard of, and another is to begin it anew"

UNEXPECTED: Final = "it ended by a mistake of the program; the worker's log has it"


class JobTooLong(AlamaError):
    """The job has taken as long as any may, and holds others up."""

    def __init__(self, seconds: float) -> None:
        """Say what would do."""
        super().__init__(
            f"it was ended after {seconds / 3_600:.3g} hours, the longest that a job may take",
            hint="hand in fewer loans or columns, or have it done by a command: alama onboard",
        )


class JobOutOfMemory(AlamaError):
    """The job needs more memory than any may have."""

    def __init__(self) -> None:
        """Say what would do."""
        super().__init__(
            "it needs more memory than a job may take, half of what its worker has",
            hint="hand in fewer loans or columns, or give the worker more memory",
        )


class JobLost(AlamaError):
    """The job is not this worker's any more: it was silent for too long, and another has it."""

    def __init__(self, job_id: str) -> None:
        """Say that nothing is to be kept of it."""
        super().__init__(
            f"{job_id} was given to another worker, for this one was silent for too long"
        )


def ask_for_training(
    jobs: Jobs, clock: Clock, chance: bytes, lender: str, order: bytes, by: str
) -> Job:
    """Ask for a training run; `order` is JSON that the worker understands.

    `JobUnderWay` where one is open for this lender, `UnknownLender`, `InvalidName`.
    """
    now_us = clock()
    job_id = ids.sortable(JOB_PREFIX, now_us, chance)
    return ask_for(jobs, job_id, JobKind.TRAIN, now_us, lender, order, by)


def ask_for(
    jobs: Jobs, job_id: str, kind: JobKind, now_us: int, lender: str, order: bytes, by: str
) -> Job:
    """Ask for a job of either kind; raises as `ask_for_training` does."""
    job = Job(
        id=job_id,
        lender=lender,
        kind=kind,
        order=order,
        state=JobState.WAITING,
        created_us=now_us,
        asked_by=require_person(by),
    )
    jobs.add(job)
    return job


def worded(jobs: Jobs, job: Job, now_us: int) -> Job:
    """Give a job whose `step` also says what is in its way while nobody does it."""
    if job.state is JobState.WAITING:
        return msgspec.structs.replace(job, step=_why_it_waits(jobs, job, now_us))
    if job.state is JobState.RUNNING and job.lease_us is not None and job.lease_us <= now_us:
        return msgspec.structs.replace(job, step=UNHEARD)
    return job


def _why_it_waits(jobs: Jobs, job: Job, now_us: int) -> str:
    if now_us - job.created_us < WAITS_US:
        return WAITS
    return WAITS_BEHIND if jobs.is_any_under_way(now_us) else WAITS_IN_VAIN


def take(jobs: Jobs, clock: Clock, worker: str) -> Turn | None:
    """Claim a job that nobody does, of the lender whose turn it is; None: there is none."""
    now_us = clock()
    job = jobs.claim(worker, tuple(JobKind), now_us, now_us + LEASE_US)
    return None if job is None else Turn(jobs, clock, worker, job)


class Turn:
    """One worker at one job, from `with` to its end.

    Left in order, the job is done; left by an `AlamaError`, it has failed with the words of that
    error, which goes no further; so it has where memory ran out. Left by a mistake of ours it has
    failed, and the mistake goes on. Left because the worker has to stop, it is for another to do.
    So it is where the database or the master key is away: the worker says so with `give_back`, or
    its lease ends by itself.
    """

    def __init__(self, jobs: Jobs, clock: Clock, worker: str, job: Job) -> None:
        """Take what `take` has claimed."""
        self.job = job
        self._jobs = jobs
        self._clock = clock
        self._worker = worker
        self._advanced_us = 0

    def advance(self, share: float, step: str) -> None:
        """Say how far it has come, as often as one likes; `JobLost`, and then stop at once.

        To say nothing for two minutes is to be taken for dead.
        """
        now_us = self._clock()
        if 0 <= now_us - self._advanced_us < ADVANCE_US:
            return
        self._advanced_us = now_us
        with suppress(StoreUnavailable):  # it may be back before the lease is over
            if not self._jobs.advance(self._worker, self.job.id, share, step, now_us + LEASE_US):
                raise JobLost(self.job.id)

    def give_back(self) -> None:
        """Let another do it, as if this worker had not tried."""
        self._jobs.give_back(self._worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> bool:
        now_us, job_id = self._clock(), self.job.id
        if error is None:
            self._jobs.finish(self._worker, job_id, now_us)
        elif isinstance(error, StoreUnavailable | MasterKeyMissing):
            return False  # which is nothing of the job
        elif isinstance(error, MemoryError):
            self._jobs.fail(self._worker, job_id, _words(JobOutOfMemory()), now_us)
            return True
        elif isinstance(error, AlamaError):
            self._jobs.fail(self._worker, job_id, _words(error), now_us)
            return True
        elif isinstance(error, Exception):
            self._jobs.fail(self._worker, job_id, UNEXPECTED, now_us)
        else:
            self.give_back()
        return False


def _words(error: AlamaError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)
