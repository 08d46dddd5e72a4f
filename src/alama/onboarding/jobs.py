"""Jobs: asked for, leased to a worker, done.

Who asks gets a job at once and reads how far it has come. A worker that has the training libraries
claims jobs one at a time:

    turn = take(jobs, clock, "worker_1")
    if turn is not None:
        with turn: ...  train, calling turn.advance(share, step) now and then
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec
from sqlalchemy import and_, func, insert, or_, select, update

from alama.core.errors import AlamaError
from alama.lenders.records import UnknownLender, require_person
from alama.lenders.store import lock_lender
from alama.onboarding import acts, schema
from alama.onboarding.records import (
    ATTEMPTS_MAX,
    JOB_PREFIX,
    LEASE_US,
    Job,
    JobKind,
    JobState,
    JobUnderWay,
    UnknownJob,
)
from alama.platform import ids
from alama.platform.errors import MasterKeyMissing, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from sqlalchemy import ColumnElement, Connection, Row

    from alama.platform.acts import ActLog
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database


LEASE_US_MAX: Final = 2 * LEASE_US
"""No lease of a clock that is nearly right ends later than this from now."""

GIVEN_UP: Final = (
    f"{ATTEMPTS_MAX} workers ended in the middle of it, perhaps for want of memory: see their logs"
)

JOB_S_MAX: Final = 4 * 3_600.0
"""A training run on a million loans takes minutes; one that takes hours holds others up."""

ADVANCE_US: Final = 1_000_000
"""How often at most progress is written down: a person cannot read faster."""

WAITS: Final = "it waits for a worker"

WAITS_US: Final = 60 * 1_000_000
"""Workers look for jobs every second: one that has waited for so long may wait for ever."""

WAITS_BEHIND: Final = "it waits for a worker: another job is being done first"

WAITS_IN_VAIN: Final = (
    "no worker takes it: one has to run where the training libraries are, on PostgreSQL or on a "
    "SQLite that is safe for several processes; the log of a worker says why it takes none"
)

UNHEARD: Final = "its worker has not been heard of, and another is to begin it anew"

UNEXPECTED: Final = "it ended by a mistake of the program; the worker's log has it"


_OPEN: Final = schema.jobs.c.ended_us.is_(None)


class JobTooLong(AlamaError):
    """The job has taken as long as any may, and holds others up."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"it was ended after {seconds / 3_600:.3g} hours, the longest that a job may take",
            hint="hand in fewer loans or columns, or have it done by a command",
        )


class JobOutOfMemory(AlamaError):
    """The job needs more memory than any may have."""

    def __init__(self) -> None:
        super().__init__(
            "it needs more memory than a job may take, half of what its worker has",
            hint="hand in fewer loans or columns, or give the worker more memory",
        )


class JobLost(AlamaError):
    """The job is not this worker's any more: it was silent for too long, and another has it."""

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"{job_id} was given to another worker, for this one was silent for too long"
        )


class Jobs:
    """Jobs in a database."""

    def __init__(self, database: Database, log: ActLog) -> None:
        self._database = database
        self._log = log

    def add(self, job: Job) -> None:
        """Keep a job; `JobUnderWay` where one of its kind is open, `UnknownLender`."""
        table = schema.jobs
        same = select(table.c.id).where(
            table.c.lender == job.lender, table.c.kind == job.kind.value, _OPEN
        )
        with self._database.writing() as connection:
            if not lock_lender(connection, job.lender):
                raise UnknownLender(job.lender)
            under_way = connection.execute(same).scalar()
            if under_way is not None:
                raise JobUnderWay(under_way)
            connection.execute(insert(table), _row(job))
            self._log.append(connection, acts.job_asked(job))

    def of(self, lender: str) -> Sequence[Job]:
        """Those of a lender, newest first."""
        table = schema.jobs
        query = select(table).where(table.c.lender == lender).order_by(table.c.id.desc())
        with self._database.reading() as connection:
            return [_job(row) for row in connection.execute(query)]

    def find(self, lender: str, job_id: str) -> Job:
        """One of them, or `UnknownJob`."""
        table = schema.jobs
        query = select(table).where(table.c.lender == lender, table.c.id == job_id)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise UnknownJob
        return _job(row)

    # -------------------------------------------------------------------------------- workers

    def is_any_free(self, now_us: int) -> bool:
        """Say whether a worker would get something, without a lock: scores are kept meanwhile."""
        return self._is_there(select(schema.jobs.c.id).where(_OPEN, _is_free(now_us)))

    def is_any_under_way(self, now_us: int) -> bool:
        """Say whether a worker does a job at this moment, of whatever lender."""
        return self._is_there(select(schema.jobs.c.id).where(_OPEN, ~_is_free(now_us)))

    def claim(
        self, worker: str, kinds: Sequence[JobKind], now_us: int, until_us: int
    ) -> Job | None:
        """Take a job that waits or whose worker is taken to be dead; None: there is none.

        Lenders take turns: it is the oldest job of the lender for whom least lately something was
        done. Nobody else gets it before `until_us`. One that has cost `ATTEMPTS_MAX` workers is
        given up instead, and has failed.
        """
        table = schema.jobs
        chosen = and_(_OPEN, table.c.kind.in_([kind.value for kind in kinds]), _is_free(now_us))
        turn = select(table).where(chosen).order_by(_served_us(), table.c.id).limit(1)
        # Looked for before anything is locked: nearly always there is none, and scores are kept.
        while self._is_there(turn):
            with self._database.writing() as connection:
                row = connection.execute(turn.with_for_update(skip_locked=True)).first()
                if row is None:
                    return None
                if row.attempts < ATTEMPTS_MAX:
                    return _take(connection, row, worker, until_us)
                _end(connection, table.c.id == row.id, now_us, GIVEN_UP)
        return None

    def _is_there(self, query: Any) -> bool:  # noqa: ANN401  any select
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def advance(self, worker: str, job_id: str, share: float, step: str, until_us: int) -> bool:
        """Say how far a job has come, and keep it for longer; False where it is not one's own."""
        values = {"share": share, "step": step, "lease_us": until_us}
        with self._database.writing() as connection:
            return _change(connection, _own(worker, job_id), values)

    def finish(self, worker: str, job_id: str, at_us: int) -> bool:
        """End a job that was done; False where it is not one's own any more."""
        with self._database.writing() as connection:
            return _end(connection, _own(worker, job_id), at_us, None)

    def fail(self, worker: str, job_id: str, error: str, at_us: int) -> bool:
        """End a job in vain, with what to tell; False where it is not one's own any more."""
        with self._database.writing() as connection:
            return _end(connection, _own(worker, job_id), at_us, error)

    def give_back(self, worker: str) -> None:
        """Let others have what this worker will not do any more."""
        table = schema.jobs
        waiting = {
            "state": JobState.WAITING.value,
            "worker": None,
            "lease_us": None,
            "share": 0.0,
            "step": "",
            # It did not cost this worker: whoever stops in order says so.
            "attempts": table.c.attempts - 1,
        }
        with self._database.writing() as connection:
            _change(connection, (table.c.worker == worker) & _OPEN, waiting)


def _is_free(now_us: int) -> ColumnElement[bool]:
    """Choose what nobody does: it waits, or whoever did it has not been heard of.

    Or their clock ran ahead, and the lease would end in a year.
    """
    lease_us = schema.jobs.c.lease_us
    return or_(lease_us.is_(None), lease_us <= now_us, lease_us > now_us + LEASE_US_MAX)


def _served_us() -> ColumnElement[int]:
    """Say when a worker last did something for the lender of a job; 0 where none ever has."""
    jobs, before = schema.jobs, schema.jobs.alias()
    latest = func.max(func.coalesce(before.c.ended_us, before.c.lease_us))
    query = select(latest).where(before.c.lender == jobs.c.lender).correlate(jobs)
    return func.coalesce(query.scalar_subquery(), 0)


def _own(worker: str, job_id: str) -> ColumnElement[bool]:
    table = schema.jobs
    return and_(table.c.id == job_id, table.c.worker == worker, _OPEN)


def _take(connection: Connection, row: Row[Any], worker: str, until_us: int) -> Job:
    table = schema.jobs
    taken = {
        "state": JobState.RUNNING.value,
        "worker": worker,
        "lease_us": until_us,
        "attempts": row.attempts + 1,
        "share": 0.0,
        "step": "",
    }
    _change(connection, table.c.id == row.id, taken)
    return _job(connection.execute(select(table).where(table.c.id == row.id)).one())


def _end(
    connection: Connection, chosen: ColumnElement[bool], at_us: int, error: str | None
) -> bool:
    """End a job; what was done is whole, and what failed stays where it had come to."""
    ended: dict[str, Any] = {"ended_us": at_us, "error": error, "worker": None, "lease_us": None}
    ended["state"] = (JobState.DONE if error is None else JobState.FAILED).value
    if error is None:
        ended["share"] = 1.0
    return _change(connection, chosen, ended)


def _change(connection: Connection, chosen: ColumnElement[bool], values: Mapping[str, Any]) -> bool:
    changed = update(schema.jobs).where(chosen).values(**values)
    return connection.execute(changed).rowcount == 1


def _row(job: Job) -> dict[str, Any]:
    row = msgspec.structs.asdict(job)
    row["wanted"] = row.pop("order")
    return row | {"kind": job.kind.value, "state": job.state.value}


def _job(row: Row[Any]) -> Job:
    fields = dict(row._mapping)  # noqa: SLF001  public in spite of it
    fields["order"] = fields.pop("wanted")
    return Job(**fields | {"kind": JobKind(row.kind), "state": JobState(row.state)})


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
