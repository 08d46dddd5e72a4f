"""Sums of what became of loans, never the loans themselves.

The database does the sums: of a million loans some hundred rows leave it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, case, false, func, or_, select

from alama.core.lending.policy import Decision
from alama.monitoring import schema
from alama.monitoring.records import (
    AmountRow,
    DayScore,
    DayTally,
    GrantedRow,
    KnownRow,
    LotRow,
    OverrideRow,
    ProductRow,
    RateRow,
    ReviewRow,
    ScoreCount,
)
from alama.platform import ids
from alama.platform.database import tables
from alama.platform.database.books import in_book
from alama.platform.days import DAY_US
from alama.scoring import schema as scoring_schema
from alama.scoring.counts import decoded
from alama.scoring.store import still_waiting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement

    from alama.platform.book import Book
    from alama.platform.database.database import Database


_LOAN: Any = schema.outcomes.c
_REVIEW: Any = tables.reviews.c
_GRANTED: Any = scoring_schema.approvals.c
_DAY_HOURS: Final = 24
_COUNTS: Any = scoring_schema.daily_counts.c

_DEFAULTS: Any = func.count(_LOAN.defaulted_on)
_SCORE_DAY: Any = _LOAN.score_us // DAY_US
_PREDICTED: Any = func.coalesce(func.sum(_LOAN.default_probability), 0.0)
_BOTH: Any = and_(_LOAN.disbursed_amount > 0.0, _LOAN.repaid_amount.is_not(None))
_VALUED: Any = and_(
    _LOAN.defaulted_on.is_not(None),
    _LOAN.disbursed_amount.is_not(None),
    _LOAN.repaid_amount.is_not(None),
)


class SqlMonitoring:
    """What a database can tell of a book in sums."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rates(self, book: Book, due_before: Mapping[str, int]) -> Sequence[RateRow]:
        groups = (_LOAN.model_id, _LOAN.score_month, _LOAN.tier)
        mature = (_mature(model_id, day) for model_id, day in due_before.items())
        query = (
            select(
                *groups,
                func.count(),
                _DEFAULTS,
                _PREDICTED,
                func.count(case((_VALUED, 1))),
                _sum_valued(_LOAN.disbursed_amount),
                _sum_valued(_LOAN.repaid_amount),
                _sum_valued(_LOAN.disbursed_amount * _LOAN.disbursed_amount),
                _sum_valued(_LOAN.repaid_amount * _LOAN.repaid_amount),
                _sum_valued(_LOAN.disbursed_amount * _LOAN.repaid_amount),
            )
            .where(in_book(schema.outcomes, book), or_(false(), *mature))
            .group_by(*groups)
            .order_by(*groups)
        )
        with self._database.reading() as connection:
            return [RateRow(*row) for row in connection.execute(query)]

    def amounts(self, book: Book, model_id: str, due_before: int) -> Sequence[AmountRow]:
        groups = (_LOAN.score_month, _LOAN.due_day - _SCORE_DAY, _LOAN.product)
        given, back = _LOAN.disbursed_amount, _LOAN.repaid_amount
        sums = (given, back, given * given, back * back, given * back)
        unpriced = and_(_BOTH, _LOAN.defaulted_on.is_(None), back <= given)
        query = (
            select(
                *groups[:2],
                func.count(case((_BOTH, None), else_=1)),
                func.count(case((_BOTH, 1))),
                func.count(case((unpriced, 1))),
                *(func.coalesce(func.sum(case((_BOTH, one))), 0.0) for one in sums),
                _LOAN.product,
            )
            .where(in_book(schema.outcomes, book), _mature(model_id, due_before))
            .group_by(*groups)
            .order_by(*groups)
        )
        with self._database.reading() as connection:
            return [AmountRow(*row) for row in connection.execute(query)]

    def by_product(self, book: Book, model_id: str, due_before: int) -> Sequence[ProductRow]:
        query = (
            select(_LOAN.product, func.count(), _DEFAULTS, _PREDICTED)
            .where(
                in_book(schema.outcomes, book),
                _mature(model_id, due_before),
                _LOAN.product.is_not(None),
            )
            .group_by(_LOAN.product)
            .order_by(_LOAN.product)
        )
        with self._database.reading() as connection:
            return [ProductRow(*row) for row in connection.execute(query)]

    def granted(self, book: Book, first_day: int) -> Sequence[GrantedRow]:
        query = (
            select(_GRANTED.product, func.sum(_GRANTED.number), func.sum(_GRANTED.volume))
            .where(
                in_book(scoring_schema.approvals, book),
                _GRANTED.hour >= first_day * _DAY_HOURS,
                _GRANTED.product.is_not(None),
            )
            .group_by(_GRANTED.product)
            .order_by(_GRANTED.product)
        )
        with self._database.reading() as connection:
            return [GrantedRow(one, int(n), sum_) for one, n, sum_ in connection.execute(query)]

    def by_lot(self, book: Book, model_id: str, due_before: int) -> LotRow:
        weight = 1.0 / _LOAN.propensity
        bad = _LOAN.defaulted_on.is_not(None)
        sums = (
            weight,
            weight * weight,
            case((bad, weight)),
            case((bad, weight * weight)),
            weight * _LOAN.default_probability,
        )
        query = select(
            func.count(), _DEFAULTS, *(func.coalesce(func.sum(one), 0.0) for one in sums)
        ).where(
            in_book(schema.outcomes, book),
            _mature(model_id, due_before),
            _LOAN.propensity > 0.0,
            # A person who lends where the lot did not fall has chosen.
            _LOAN.decision == Decision.APPROVED.value,
        )
        with self._database.reading() as connection:
            return LotRow(*connection.execute(query).one())

    def by_score(self, book: Book, model_id: str, due_before: int) -> Sequence[ScoreCount]:
        query = (
            select(_LOAN.score, func.count(), _DEFAULTS, _PREDICTED)
            .where(in_book(schema.outcomes, book), _mature(model_id, due_before))
            .group_by(_LOAN.score)
            .order_by(_LOAN.score)
        )
        with self._database.reading() as connection:
            return [ScoreCount(*row) for row in connection.execute(query)]

    def by_day(
        self, book: Book, model_id: str, due_before: int, first_day: int
    ) -> Sequence[DayScore]:
        groups = (_SCORE_DAY, _LOAN.score)
        query = (
            select(*groups, func.count(), _DEFAULTS, _PREDICTED)
            .where(
                in_book(schema.outcomes, book),
                _mature(model_id, due_before),
                _LOAN.score_us >= first_day * DAY_US,
            )
            .group_by(*groups)
            .order_by(*groups)
        )
        with self._database.reading() as connection:
            return [DayScore(*row) for row in connection.execute(query)]

    def known(self, book: Book) -> Sequence[KnownRow]:
        groups = (_LOAN.model_id, _LOAN.score_month, _LOAN.decision, _LOAN.state)
        query = (
            select(*groups, func.count(), _DEFAULTS)
            .where(in_book(schema.outcomes, book))
            .group_by(*groups)
            .order_by(*groups)
        )
        with self._database.reading() as connection:
            return [KnownRow(*row) for row in connection.execute(query)]

    def terms(self, book: Book, model_id: str) -> Mapping[int, int]:
        days = _LOAN.due_day - _SCORE_DAY
        query = (
            select(days, func.count())
            .where(in_book(schema.outcomes, book), _LOAN.model_id == model_id)
            .group_by(days)
        )
        with self._database.reading() as connection:
            return {int(term): count for term, count in connection.execute(query)}

    def reviewed(self, book: Book, since_us: int) -> Sequence[ReviewRow]:
        groups = (_REVIEW.given_decision, _REVIEW.decision, _REVIEW.reason)
        query = (
            select(*groups, func.count())
            .where(in_book(tables.reviews, book), _REVIEW.score_us >= since_us)
            .group_by(*groups)
            .order_by(*groups)
        )
        with self._database.reading() as connection:
            return [ReviewRow(*row) for row in connection.execute(query)]

    def waiting(self, book: Book) -> int:
        count = select(func.count()).select_from(scoring_schema.scores)
        query = count.where(in_book(scoring_schema.scores, book), *still_waiting())
        with self._database.reading() as connection:
            return connection.execute(query).scalar_one()

    def overridden(self, book: Book, model_id: str, due_before: int) -> Sequence[OverrideRow]:
        groups = (_REVIEW.given_decision, _REVIEW.decision)
        same_score = and_(
            _LOAN.lender == _REVIEW.lender,
            _LOAN.mode == _REVIEW.mode,
            _LOAN.request_id == _REVIEW.request_id,
        )
        query = (
            select(*groups, func.count(), _DEFAULTS, _PREDICTED)
            .select_from(tables.reviews.join(schema.outcomes, same_score))
            .where(in_book(tables.reviews, book), _mature(model_id, due_before))
            .group_by(*groups)
            .order_by(*groups)
        )
        with self._database.reading() as connection:
            return [OverrideRow(*row) for row in connection.execute(query)]

    def days(self, book: Book, first_day: int, last_day: int) -> Iterator[DayTally]:
        query = (
            select(_COUNTS.day, _COUNTS.model_id, _COUNTS.counts)
            .where(
                in_book(scoring_schema.daily_counts, book), _COUNTS.day.between(first_day, last_day)
            )
            .order_by(_COUNTS.day, _COUNTS.model_id)
        )
        # All rows at once, some kilobytes each; opened, a tally takes twenty times as much.
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return (DayTally(day, model_id, decoded(counts)) for day, model_id, counts in rows)

    def oldest_day(self, book: Book) -> int | None:
        scores = scoring_schema.scores
        query = select(func.min(scores.c.request_id)).where(in_book(scores, book))
        with self._database.reading() as connection:
            oldest = connection.execute(query).scalar()
        return None if oldest is None else ids.time_us(oldest) // DAY_US


def _mature(model_id: str, due_before: int) -> ColumnElement[bool]:
    return and_(_LOAN.model_id == model_id, _LOAN.due_day < due_before)


def _sum_valued(amount: ColumnElement[float]) -> ColumnElement[float]:
    return func.coalesce(func.sum(case((_VALUED, amount))), 0.0)
