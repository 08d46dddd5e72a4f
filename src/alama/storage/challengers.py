"""Challengers in a database; see `alama.service.monitoring.challengers.Challengers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, insert, select, update

from alama.service.audit.acts import REASON, Kind, in_book
from alama.service.book import Book, Mode
from alama.service.errors import UnknownLender
from alama.service.monitoring.challengers import (
    Challenger,
    ChallengerThere,
    NoChallenger,
    none_to_end,
)
from alama.storage import deploying, schema
from alama.storage.scores import stored_score, whole_scores
from alama.storage.upserts import insert_into

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from alama.service.audit.acts import Detail
    from alama.service.monitoring.challengers import Step
    from alama.service.records import StoredScore
    from alama.storage.acts import ActLog
    from alama.storage.database import Database

_C: Any = schema.challengers.c


class SqlChallengers:
    """Challengers in a database."""

    def __init__(self, database: Database, log: ActLog) -> None:
        """Use an open database; who begins and who ends one is written to the log of acts."""
        self._database = database
        self._log = log

    def begin(self, challenger: Challenger, document: bytes) -> None:
        book, model_id, since_us = challenger.book, challenger.model_id, challenger.since_us
        row = _columns(challenger)
        with self._database.writing() as connection:
            _lock(connection, book)
            there = _open_in(connection, book)
            if there is not None:
                raise ChallengerThere(book, there.model_id)
            deploying.keep_document(connection, schema.models, model_id, document, since_us)
            connection.execute(insert(schema.challengers), deploying.of_book(book) | row)
            details: dict[str, Detail] = {REASON: challenger.reason, "since_us": since_us}
            act = in_book(Kind.CHALLENGER_SET, book, model_id, details, challenger.set_by)
            self._log.append(connection, act)

    def end(self, book: Book, ended_us: int, by: str, reason: str) -> Challenger:
        with self._database.writing() as connection:
            _lock(connection, book)
            there = _open_in(connection, book)
            if there is None:
                raise NoChallenger(book, hint=none_to_end(book))
            ending = update(schema.challengers).where(_is(there)).values(ended_us=ended_us)
            connection.execute(ending)
            details: dict[str, Detail] = {
                REASON: reason,
                "scored": there.scored,
                "failed": there.failed,
            }
            act = in_book(Kind.CHALLENGER_ENDED, book, there.model_id, details, by)
            self._log.append(connection, act)
        return there._replace(ended_us=ended_us)

    def of(self, book: Book) -> Sequence[Challenger]:
        query = (
            select(schema.challengers)
            .where(deploying.in_book(schema.challengers, book))
            .order_by(_C.since_us.desc())
        )
        with self._database.reading() as connection:
            return [_challenger(row) for row in connection.execute(query)]

    def running(self) -> Sequence[Challenger]:
        query = select(schema.challengers).where(_C.ended_us.is_(None)).order_by(_C.lender, _C.mode)
        with self._database.reading() as connection:
            return [_challenger(row) for row in connection.execute(query)]

    def waiting(self, challenger: Challenger, before: str, limit: int) -> Sequence[StoredScore]:
        request_id = schema.scores.c.request_id
        query = (
            whole_scores()
            .where(
                deploying.in_book(schema.scores, challenger.book),
                request_id > challenger.reached,
                request_id < before,
            )
            .order_by(request_id)
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [stored_score(row) for row in connection.execute(query)]

    def advance(self, challenger: Challenger, step: Step) -> bool:
        # Whoever has read the same place and comes second finds another one there.
        from_here = and_(_is(challenger), _C.reached == challenger.reached, _C.ended_us.is_(None))
        moved = {
            "reached": step.reached,
            "scored": _C.scored + len(step.shadows),
            "failed": _C.failed + step.failed,
        }
        if step.error is not None:
            moved["error"] = step.error
        whose = deploying.of_book(challenger.book) | {"model_id": challenger.model_id}
        shadows = {shadow.request_id: shadow for shadow in step.shadows}
        with self._database.writing() as connection:
            moving = update(schema.challengers).where(from_here).values(moved)
            if connection.execute(moving).rowcount != 1:
                return False
            there = _still_there(connection, challenger.book, [*shadows])
            rows = [whose | shadows[one]._asdict() for one in there]
            if rows:
                # One that was ended and begun again may meet a score that it has answered, where
                # the clock was set back meanwhile.
                new = insert_into(connection, schema.shadow_scores).on_conflict_do_nothing()
                connection.execute(new, rows)
        return True


def _still_there(connection: Connection, book: Book, request_ids: Sequence[str]) -> Sequence[str]:
    """Give those of some scores that were not deleted meanwhile, and cannot be until the commit.

    In the order of their ids, so that no two wait for each other.
    """
    scores = schema.scores
    query = (
        select(scores.c.request_id)
        .where(deploying.in_book(scores, book), scores.c.request_id.in_(request_ids))
        .order_by(scores.c.request_id)
        .with_for_update(read=True, key_share=True)
    )
    return connection.execute(query).scalars().all()


def _lock(connection: Connection, book: Book) -> None:
    if not deploying.lock_lender(connection, book.lender):
        raise UnknownLender(book.lender)


def _open_in(connection: Connection, book: Book) -> Challenger | None:
    query = select(schema.challengers).where(
        deploying.in_book(schema.challengers, book), _C.ended_us.is_(None)
    )
    row = connection.execute(query).first()
    return None if row is None else _challenger(row)


def _is(challenger: Challenger) -> ColumnElement[bool]:
    return and_(
        deploying.in_book(schema.challengers, challenger.book),
        _C.model_id == challenger.model_id,
        _C.since_us == challenger.since_us,
    )


def _columns(challenger: Challenger) -> dict[str, object]:
    columns = challenger._asdict()
    del columns["book"]
    return columns


def _challenger(row: Row[Any]) -> Challenger:
    columns = dict(row._mapping)  # noqa: SLF001  public in spite of it
    return Challenger(Book(columns.pop("lender"), Mode(columns.pop("mode"))), **columns)
