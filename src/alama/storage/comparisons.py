"""Sums over what two models said; see `alama.service.monitoring.comparing.Comparisons`.

What the champion said stands beside what the challenger did, so no sealed record is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, select

from alama.service.monitoring.comparing import CrossRow, LoanRow
from alama.storage import schema
from alama.storage.deploying import in_book

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from alama.service.book import Book
    from alama.storage.database import Database

_S: Any = schema.shadow_scores.c
_LOAN: Any = schema.outcomes.c
_ENDS: Any = (func.min(_S.request_id), func.max(_S.request_id))
_SUMS: Any = (func.sum(_S.given_default_probability), func.sum(_S.default_probability))


class SqlComparisons:
    """What a database can tell of two models in sums."""

    def __init__(self, database: Database) -> None:
        """Use an open database."""
        self._database = database

    def crossed(self, book: Book, challenger_id: str) -> Sequence[CrossRow]:
        groups = (_S.given_model_id, _S.given_decision, _S.decision, _S.given_tier, _S.tier)
        query = (
            select(*groups, func.count(), *_ENDS, *_SUMS)
            .where(_of(book, challenger_id))
            .group_by(*groups)
            .order_by(*groups)
        )
        with self._database.reading() as connection:
            return [CrossRow._make(row) for row in connection.execute(query)]

    def loans(
        self, book: Book, challenger_id: str, champion_id: str, due_before: int
    ) -> Sequence[LoanRow]:
        groups = (
            *(_S.given_score, _S.score, _S.given_decision, _S.decision),
            *(_S.given_tier, _S.tier),
        )
        same_score = and_(
            _LOAN.lender == _S.lender,
            _LOAN.mode == _S.mode,
            _LOAN.request_id == _S.request_id,
        )
        query = (
            select(*groups, func.count(), func.count(_LOAN.defaulted_on), *_SUMS)
            .select_from(schema.outcomes.join(schema.shadow_scores, same_score))
            .where(
                in_book(schema.outcomes, book),
                _of(book, challenger_id),
                _S.given_model_id == champion_id,
                _LOAN.due_day < due_before,
            )
            .group_by(*groups)
            .order_by(*groups)
        )
        with self._database.reading() as connection:
            return [LoanRow._make(row) for row in connection.execute(query)]

    def waiting(self, book: Book, after: str, before: str, limit: int) -> int:
        request_id = schema.scores.c.request_id
        # The bound is inside: counted is no more than what was read.
        some = (
            select(request_id)
            .where(in_book(schema.scores, book), request_id > after, request_id < before)
            .limit(limit)
            .subquery()
        )
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(some)).scalar_one()


def _of(book: Book, challenger_id: str) -> ColumnElement[bool]:
    return and_(in_book(schema.shadow_scores, book), _S.model_id == challenger_id)
