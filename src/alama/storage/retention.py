"""Scores whose time is over, deleted in batches, with all that became of them.

So are the keys that nothing is left of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, cast, delete, exists, func, or_, select

from alama.service import ids
from alama.service.audit import acts
from alama.service.days import DAY_US
from alama.storage import schema
from alama.storage.applicants import lock_keys, same_applicant, under_hold
from alama.storage.deploying import in_book

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from alama.service.book import Book
    from alama.service.retention import Plan
    from alama.storage.acts import ActLog
    from alama.storage.database import Database

DELETED_AT_ONCE: Final = 1_000
"""Scores that go in one transaction: meanwhile SQLite lets nobody else write."""


class SqlRetention:
    """What retention needs of a database; see `alama.service.ports.RetentionStore`."""

    def __init__(self, database: Database, log: ActLog) -> None:
        """Use an open database; every run is written down."""
        self._database = database
        self._log = log

    def outlived(self, book: Book, before_us: int) -> int:
        old = _outlived(book, before_us).subquery()
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(old)).scalar_one()

    def kept(self, book: Book) -> int:
        query = select(func.count()).where(in_book(schema.scores, book))
        with self._database.reading() as connection:
            return connection.execute(query).scalar_one()

    def delete_outlived(self, plan: Plan, by: str | None) -> int:
        some = _outlived(plan.book, plan.before_us).order_by(schema.scores.c.request_id)
        with self._database.writing() as connection:
            found = connection.execute(some.limit(DELETED_AT_ONCE)).all()
            gone = _free(connection, found)
            request_ids = [row.request_id for row in gone]
            _delete_scores(connection, plan, request_ids)
            _delete_keys(connection, _keys_of(gone))
            if gone:
                self._log.append(connection, acts.retention_run(plan, request_ids, by))
        return len(gone)

    def policies(self, book: Book, before_us: int) -> Sequence[str]:
        table = schema.scores
        query = select(table.c.policy_id).distinct().where(*_given_before(book, before_us))
        with self._database.reading() as connection:
            return connection.execute(query).scalars().all()

    def finish(self) -> bool:
        return self._database.empty_journal()


def _outlived(book: Book, before_us: int) -> Select[Any]:
    """Select the scores whose loans would have been due before a time, unless a hold stands."""
    scores, keys, holds = schema.scores, schema.applicant_keys, schema.legal_holds
    held = exists(
        select(keys.c.id)
        .join(holds, same_applicant())
        .where(keys.c.id == scores.c.applicant_key_id, holds.c.released_us.is_(None))
    )
    return select(scores.c.request_id, scores.c.applicant_key_id).where(
        *_given_before(book, before_us),
        scores.c.created_us + cast(scores.c.recommended_term_days, BigInteger) * DAY_US < before_us,
        ~held,
    )


def _given_before(book: Book, before_us: int) -> Sequence[ColumnElement[bool]]:
    """Choose the scores of a book by the index: an id begins with the time of its score."""
    scores = schema.scores
    return (
        scores.c.lender == book.lender,
        scores.c.mode == book.mode.value,
        scores.c.request_id < ids.request_id(before_us, bytes(ids.RANDOM_BYTES)),
    )


def _free(connection: Connection, found: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Leave out the scores of applicants on whom a hold was placed since they were found.

    From here on nobody can place one, nor seal a score under a key that is about to go.
    """
    key_ids = _keys_of(found)
    lock_keys(connection, schema.applicant_keys.c.id.in_(key_ids))
    held = under_hold(connection, key_ids)
    return [row for row in found if row.applicant_key_id not in held]


def _keys_of(rows: Sequence[Row[Any]]) -> list[str]:
    return sorted({row.applicant_key_id for row in rows if row.applicant_key_id is not None})


def _delete_scores(connection: Connection, plan: Plan, request_ids: Sequence[str]) -> None:
    _lock_scores(connection, plan.book, request_ids)
    for table in (schema.scores, schema.idempotency):
        connection.execute(
            delete(table).where(
                table.c.lender == plan.book.lender,
                table.c.mode == plan.book.mode.value,
                table.c.created_us < plan.before_us,
                table.c.request_id.in_(request_ids),
            )
        )
    # After the scores: whoever records what became of one has locked it, and we have waited.
    _delete_aftermath(connection, plan.book, request_ids)


def _lock_scores(connection: Connection, book: Book, request_ids: Sequence[str]) -> None:
    """Take scores in the order of their ids, as all do: a deletion takes them as they lie."""
    scores = schema.scores
    query = (
        select(scores.c.request_id)
        .where(in_book(scores, book), scores.c.request_id.in_(request_ids))
        .order_by(scores.c.request_id)
    )
    connection.execute(query.with_for_update())


def _delete_aftermath(connection: Connection, book: Book, request_ids: Sequence[str]) -> None:
    """Delete what became of scores, and what other models would have said."""
    shadows, challengers = schema.shadow_scores, schema.challengers
    for table in (schema.outcomes, schema.reviews, shadows):
        gone = delete(table).where(in_book(table, book), table.c.request_id.in_(request_ids))
        if table is shadows:
            # Their key has the model before the score: without it the whole book would be read.
            asked = select(challengers.c.model_id).where(in_book(challengers, book))
            gone = gone.where(table.c.model_id.in_(asked))
        connection.execute(gone)


def _delete_keys(connection: Connection, key_ids: Sequence[str]) -> None:
    """Delete the keys under which nothing is left, and what was noted of their applicants."""
    keys, holds = schema.applicant_keys, schema.legal_holds
    used = [
        exists(select(table.c.request_id).where(table.c.applicant_key_id == keys.c.id))
        for table in (schema.scores, schema.reviews)
    ]
    unused = keys.c.id.in_(key_ids) & ~or_(*used)
    query = select(keys.c.id, keys.c.lender, keys.c.mode, keys.c.subject).where(unused)
    for key in connection.execute(query).all():
        connection.execute(
            delete(holds).where(
                holds.c.lender == key.lender,
                holds.c.mode == key.mode,
                holds.c.subject == key.subject,
            )
        )
        connection.execute(delete(keys).where(keys.c.id == key.id))
