"""Applicants in a database: found by their subject, held, taken out, erased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import delete, insert, null, select, update

from alama.service.applicants import Erasure, Held, Hold, TakenOut
from alama.service.audit import acts
from alama.service.book import Book, Mode
from alama.service.errors import (
    StoreUnavailable,
    UnderHold,
    UnknownApplicant,
    UnknownHold,
)
from alama.storage import schema
from alama.storage.scores import stored_score, whole_scores
from alama.storage.sequels import sequels_of, shadows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from alama.service.ports import RequireTheirs
    from alama.service.records import StoredScore
    from alama.storage.acts import ActLog
    from alama.storage.database import Database

_FORGOTTEN: Final = bytes(32)
"""In the place of the hash of a request, by which a guess at its body could be confirmed."""


class LockedKey(NamedTuple):
    """The key of an applicant that nobody else can use until the transaction is over."""

    id: str
    created_us: int


class SqlApplicants:
    """The applicants in a database; see `alama.service.ports.ApplicantStore`."""

    def __init__(self, database: Database, log: ActLog) -> None:
        """Use an open database; every act is written down."""
        self._database = database
        self._log = log

    def look_up(self, book: Book, subject: bytes) -> Held:
        table = schema.applicant_keys
        query = select(table.c.id, table.c.created_us).where(_on(table, book, subject))
        with self._database.reading() as connection:
            key = connection.execute(query).first()
            if key is None:
                raise UnknownApplicant(book)
            holds = _holds(connection, _on(schema.legal_holds, book, subject))
            return Held(key.id, key.created_us, _scores_of(connection, key.id), holds)

    def take_out(
        self, book: Book, subject: bytes, require_theirs: RequireTheirs, by: str | None
    ) -> TakenOut:
        with self._database.writing() as connection:
            key = _known(connection, book, subject)
            found = _scores_of(connection, key.id)
            require_theirs(found)
            holds = _holds(connection, _on(schema.legal_holds, book, subject))
            request_ids = [stored.row.request_id for stored in found]
            sequels = sequels_of(connection, book, request_ids)
            shadows = shadows_of(connection, book, request_ids)
            self._log.append(connection, acts.applicant_exported(book, key.id, len(found), by))
        return TakenOut(Held(key.id, key.created_us, found, holds), sequels, shadows)

    def erase(
        self,
        book: Book,
        subject: bytes,
        require_theirs: RequireTheirs,
        now_us: int,
        by: str | None,
    ) -> Erasure:
        try:
            with self._database.writing() as connection:
                key = _known(connection, book, subject)
                _require_no_hold(connection, book, subject)
                found = _scores_of(connection, key.id)
                require_theirs(found)
                replies = _forget_replies(connection, key.id)
                _destroy(connection, key.id, now_us)
                # Those that stood once: the audit says so, by the id of the key.
                holds = schema.legal_holds
                connection.execute(delete(holds).where(_on(holds, book, subject)))
                erasure = Erasure(key.id, now_us, len(found), replies, journal_emptied=False)
                self._log.append(connection, acts.applicant_erased(book, erasure, by))
        except UnknownApplicant:
            # It may be the second time, because the journal could not be emptied the first time.
            if not self._database.empty_journal():
                raise StoreUnavailable("the journal still holds what was erased") from None
            raise
        return erasure._replace(journal_emptied=self._database.empty_journal())

    def place_hold(
        self, book: Book, subject: bytes, reason: str, now_us: int, by: str | None
    ) -> Hold:
        row = {
            "lender": book.lender,
            "mode": book.mode.value,
            "subject": subject,
            "reason": reason,
            "placed_us": now_us,
        }
        with self._database.writing() as connection:
            key = _known(connection, book, subject)
            placed = connection.execute(insert(schema.legal_holds), row).inserted_primary_key
            assert placed is not None
            hold = Hold(placed[0], book, key.id, reason, now_us, None)
            self._log.append(connection, acts.hold_placed(hold, by))
        return hold

    def release_hold(self, number: int, now_us: int, by: str | None) -> Hold:
        table = schema.legal_holds
        standing = (table.c.id == number) & table.c.released_us.is_(None)
        with self._database.writing() as connection:
            ended = connection.execute(update(table).where(standing).values(released_us=now_us))
            if not ended.rowcount:
                raise UnknownHold(number)
            hold = _holds(connection, table.c.id == number)[0]
            self._log.append(connection, acts.hold_released(hold, by))
        return hold

    def holds(self) -> Sequence[Hold]:
        with self._database.reading() as connection:
            return _holds(connection, schema.legal_holds.c.released_us.is_(None))


def under_hold(connection: Connection, key_ids: Sequence[str]) -> set[str]:
    """Give those of some applicants, by the ids of their keys, on whom a hold stands."""
    holds, keys = schema.legal_holds, schema.applicant_keys
    query = select(keys.c.id).join(holds, same_applicant())
    standing = holds.c.released_us.is_(None) & keys.c.id.in_(key_ids)
    return set(connection.execute(query.where(standing)).scalars())


def lock_keys(connection: Connection, condition: ColumnElement[bool]) -> list[LockedKey]:
    """Give the keys of applicants, and keep everybody else from using them until the end.

    A score that is being sealed under one is waited for: on PostgreSQL it shares the lock.
    """
    table = schema.applicant_keys
    query = select(table.c.id, table.c.created_us).where(condition).order_by(table.c.id)
    return [LockedKey._make(row) for row in connection.execute(query.with_for_update())]


def _known(connection: Connection, book: Book, subject: bytes) -> LockedKey:
    """Give the key of an applicant, locked, or raise `UnknownApplicant`."""
    found = lock_keys(connection, _on(schema.applicant_keys, book, subject))
    if not found:
        raise UnknownApplicant(book)
    return found[0]


def _require_no_hold(connection: Connection, book: Book, subject: bytes) -> None:
    table = schema.legal_holds
    standing = _holds(connection, _on(table, book, subject) & table.c.released_us.is_(None))
    if standing:
        raise UnderHold(standing)


def _scores_of(connection: Connection, key_id: str) -> list[StoredScore]:
    table = schema.scores
    query = whole_scores().where(table.c.applicant_key_id == key_id).order_by(table.c.request_id)
    return [stored_score(row) for row in connection.execute(query)]


def _forget_replies(connection: Connection, key_id: str) -> int:
    """Take everything out of the replies kept for retries but that they were erased.

    A reply has the time of its score, by which the index finds it.
    """
    table, scores = schema.idempotency, schema.scores
    times = select(scores.c.created_us).where(scores.c.applicant_key_id == key_id)
    of_applicant = table.c.created_us.in_(times) & (table.c.applicant_key_id == key_id)
    emptied = update(table).where(of_applicant).values(reply=b"", request_digest=_FORGOTTEN)
    return connection.execute(emptied).rowcount


def _destroy(connection: Connection, key_id: str, now_us: int) -> None:
    table = schema.applicant_keys
    gone = {"subject": null(), "wrapped": null(), "erased_us": now_us}
    connection.execute(update(table).where(table.c.id == key_id).values(gone))


def _holds(connection: Connection, condition: ColumnElement[bool]) -> list[Hold]:
    """Give holds, oldest first. While one stands its applicant cannot be erased, and has a key."""
    table, keys = schema.legal_holds, schema.applicant_keys
    query = (
        select(table, keys.c.id.label("key_id"))
        .join(keys, same_applicant())
        .where(condition)
        .order_by(table.c.id)
    )
    return [
        Hold(
            row.id,
            Book(row.lender, Mode(row.mode)),
            row.key_id,
            row.reason,
            row.placed_us,
            row.released_us,
        )
        for row in connection.execute(query)
    ]


def same_applicant() -> ColumnElement[bool]:
    """Match holds with the keys of those they stand on."""
    holds, keys = schema.legal_holds, schema.applicant_keys
    same_book = (keys.c.lender == holds.c.lender) & (keys.c.mode == holds.c.mode)
    return same_book & (keys.c.subject == holds.c.subject)


def _in(table: Table, book: Book) -> ColumnElement[bool]:
    return (table.c.lender == book.lender) & (table.c.mode == book.mode.value)


def _on(table: Table, book: Book, subject: bytes) -> ColumnElement[bool]:
    return _in(table, book) & (table.c.subject == subject)
