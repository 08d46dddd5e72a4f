"""The scores that were given, read one by one or in pages, and written in batches."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, literal_column, select, tuple_

from alama.service.errors import StoreUnavailable, UnknownScore
from alama.service.holds import Approved
from alama.service.outcomes.records import LEFT_OPEN
from alama.service.records import (
    ApplicantKey,
    IdempotencyRow,
    ScoreRow,
    ScoreSummary,
    StoredScore,
)
from alama.storage import schema
from alama.storage.approvals import Approvals, approved_since
from alama.storage.bundles import Bundle, bundles
from alama.storage.database import Clash
from alama.storage.earlier import EarlierAnswers, identity
from alama.storage.inserts import Inserts
from alama.storage.sealing import Sealing
from alama.storage.sqlite_locks import BUSY_TIMEOUT_S, Busy
from alama.storage.tallies import Tallies, fold_counts, tally_of_days

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Row, Select

    from alama.core.tally import Tally
    from alama.service.book import Book
    from alama.service.records import Entry, Fate
    from alama.service.vault.vault import Vault
    from alama.storage.database import Database
    from alama.storage.score_chain import ScoreChain

FORGOTTEN_AT_ONCE: Final = 1_000
"""Idempotency keys that are dropped in one transaction, which takes some 10 ms."""

_ATTEMPTS: Final = 3

_SUMMARY: Final = [schema.scores.c[name] for name in ScoreSummary._fields]
_ROW: Final = [schema.scores.c[name] for name in ScoreRow._fields]
_KEY: Final = [schema.applicant_keys.c[name] for name in ApplicantKey._fields]


class SqlScores:
    """The scores in a database; see `alama.service.ports.Scores`."""

    def __init__(self, database: Database, vault: Vault, chain: ScoreChain) -> None:
        """Write the statements of the hot path once: a row is then a tuple, no more."""
        self._database = database
        self._chain = chain
        mark = database.parameter_mark
        self._score_rows = Inserts(schema.scores.name, ScoreRow._fields, mark)
        self._idempotency_rows = Inserts(schema.idempotency.name, IdempotencyRow._fields, mark)
        self._bundle_rows = Inserts(schema.bundles.name, Bundle._fields, mark)
        self._earlier = EarlierAnswers(mark)
        self._approvals = Approvals(mark, writer=secrets.token_hex(8))
        self._tallies = Tallies(mark)
        self._sealing = Sealing(database, vault)

    # -------------------------------------------------------------------------------- reading

    def find(self, book: Book, request_id: str) -> StoredScore:
        table = schema.scores
        query = whole_scores().where(
            table.c.lender == book.lender,
            table.c.mode == book.mode.value,
            table.c.request_id == request_id,
        )
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise UnknownScore
        return stored_score(row)

    def page(self, book: Book, before: str | None, limit: int) -> Sequence[ScoreSummary]:
        query = _newest_first(select(*_SUMMARY), book, before, limit)
        with self._database.reading() as connection:
            return [ScoreSummary._make(row) for row in connection.execute(query)]

    def waiting(self, book: Book, before: str | None, limit: int) -> Sequence[ScoreSummary]:
        query = _newest_first(select(*_SUMMARY), book, before, limit).where(*still_waiting())
        with self._database.reading() as connection:
            return [ScoreSummary._make(row) for row in connection.execute(query)]

    def applications(self, book: Book, before: str | None, limit: int) -> Sequence[StoredScore]:
        query = _newest_first(whole_scores(), book, before, limit)
        with self._database.reading() as connection:
            return [stored_score(row) for row in connection.execute(query)]

    def approved(self, book: Book, since_hour: int) -> Approved:
        with self._database.reading() as connection:
            return Approved._make(connection.execute(approved_since(book, since_hour)).one())

    def tally(self, book: Book, first_day: int, last_day: int) -> Mapping[str, Tally]:
        with self._database.reading() as connection:
            return tally_of_days(connection, book, first_day, last_day)

    # -------------------------------------------------------------------------------- writing

    def commit(self, entries: Sequence[Entry]) -> Sequence[Fate]:
        """Keep all entries in one transaction.

        Another process may be answering the same idempotency key at this moment. The database lets
        one of the two in; the other starts over, and then finds the answer of the first.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._commit_once(entries, BUSY_TIMEOUT_S)
            except Clash:
                continue
            except Busy:
                raise StoreUnavailable("another process keeps the database to itself") from None
        raise StoreUnavailable("another process keeps writing the same rows")

    def commit_now(self, entries: Sequence[Entry]) -> Sequence[Fate] | None:
        """Keep all entries if that takes no more than the disk; None where it would be a wait."""
        if not self._database.embedded:
            return None
        try:
            return self._commit_once(entries, 0.0)
        except (Busy, Clash):
            return None

    def _commit_once(self, entries: Sequence[Entry], patience_s: float) -> Sequence[Fate]:
        keyed = [entry.idempotency for entry in entries if entry.idempotency is not None]
        with self._chain.extending(), self._database.driving(patience_s) as cursor:
            earlier = self._earlier.find(cursor, keyed) if keyed else {}
            fates: list[Fate] = [
                earlier.get(identity(entry.idempotency)) if entry.idempotency else None
                for entry in entries
            ]
            asked = zip(entries, fates, strict=True)
            new, unfit = self._sealing.seal(
                cursor, [entry for entry, found in asked if found is None]
            )
            scores = [entry.score for entry in new]
            self._score_rows.run(cursor, scores)
            self._approvals.add(cursor, scores)
            events = [entry.event for entry in new if entry.event is not None]
            self._bundle_rows.run(cursor, bundles(events))
            if keyed:
                rows = [entry.idempotency for entry in new if entry.idempotency is not None]
                # Two processes that take the same keys in different orders wait for each other.
                rows.sort(key=identity)
                self._idempotency_rows.run(cursor, rows)
            # Last, after all that another process can clash with: what fails is counted anew.
            self._tallies.add(cursor, new)
            self._chain.add(cursor, new)
        self._tallies.kept()
        if unfit:
            ids = [entry.score.request_id for entry in entries]
            return [fate or unfit.get(one) for one, fate in zip(ids, fates, strict=True)]
        return fates

    def fold_counts(self, before_day: int) -> bool:
        """Put the counts of some days before one together; say whether some are left."""
        return fold_counts(self._database, before_day)

    def forget_idempotency(self, before_us: int) -> bool:
        """Drop some idempotency keys that nobody will retry any more; say whether some are left.

        Not all at once: while they go, SQLite lets nobody else write, and a score would wait.
        """
        table = schema.idempotency
        key = tuple_(*table.primary_key.columns)
        some = (
            select(*table.primary_key.columns)
            .where(table.c.created_us < before_us)
            .order_by(table.c.created_us)
            .limit(FORGOTTEN_AT_ONCE)
        )
        with self._database.writing() as connection:
            gone = connection.execute(delete(table).where(key.in_(some)))
        return gone.rowcount == FORGOTTEN_AT_ONCE


def whole_scores() -> Select[Any]:
    """Select scores with the keys of their applicants."""
    scores, keys = schema.scores, schema.applicant_keys
    named = scores.outerjoin(keys, keys.c.id == scores.c.applicant_key_id)
    return select(*_ROW, *_KEY).select_from(named)


def stored_score(row: Row[Any]) -> StoredScore:
    score, key = ScoreRow._make(row[: len(_ROW)]), row[len(_ROW) :]
    if score.applicant_key_id is None:
        return StoredScore(score, None)
    if key[0] is None:  # its row is not there: nothing opens the record
        return StoredScore(score, ApplicantKey(score.applicant_key_id, "", None, None))
    return StoredScore(score, ApplicantKey._make(key))


def _newest_first(query: Select[Any], book: Book, before: str | None, limit: int) -> Select[Any]:
    """Narrow a query to the scores of a book, from just before a request id on."""
    table = schema.scores
    narrowed = (
        query.where(table.c.lender == book.lender, table.c.mode == book.mode.value)
        .order_by(table.c.request_id.desc())
        .limit(limit)
    )
    return narrowed if before is None else narrowed.where(table.c.request_id < before)


def still_waiting() -> list[ColumnElement[bool]]:
    """Give what is true of scores on which a person has to decide yet, and can.

    The decision stands in the statement itself: an index of those that were left open is used only
    where the planner can see that it holds them all. What else there is of a score is looked up for
    each: as a join, PostgreSQL may read all keys for a page.
    """
    scores, reviews, keys = schema.scores, schema.reviews, schema.applicant_keys
    same = (reviews.c[column.name] == column for column in scores.primary_key.columns)
    reviewed_us = select(reviews.c.reviewed_us).where(*same).scalar_subquery()
    its_key = keys.c.id == scores.c.applicant_key_id
    erased_us = select(keys.c.erased_us).where(its_key).scalar_subquery()
    left_open = scores.c.decision == literal_column(f"'{LEFT_OPEN}'")
    return [left_open, reviewed_us.is_(None), erased_us.is_(None)]
