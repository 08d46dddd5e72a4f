"""Jobs in a database: asked for, leased, done.

A job belongs to whoever has claimed it for as long as they go on saying so. Nothing waits for a
worker that died: when its lease is over another takes the job, from its beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import and_, func, insert, or_, select, update

from alama.lenders.records import UnknownLender
from alama.lenders.store import lock_lender
from alama.onboarding import acts, schema
from alama.onboarding.errors import JobUnderWay, UnknownJob
from alama.onboarding.records import ATTEMPTS_MAX, LEASE_US, Job, JobKind, JobState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from alama.platform.acts import ActLog
    from alama.platform.database.database import Database


LEASE_US_MAX: Final = 2 * LEASE_US
"""No lease of a clock that is nearly right ends later than this from now."""

_OPEN: Final = schema.jobs.c.ended_us.is_(None)

GIVEN_UP: Final = (
    f"{ATTEMPTS_MAX} workers ended in the middle of it, perhaps for want of memory: see their logs"
)


class Jobs:
    """Jobs in a database."""

    def __init__(self, database: Database, log: ActLog) -> None:
        """Use an open database; who asks is written to the log of acts."""
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
