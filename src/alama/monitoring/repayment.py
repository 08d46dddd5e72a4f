"""What became of the loans of one model: rates, ranking, what is known, and what officers did."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.lending.policy import Decision
from alama.core.monitoring.figures import (
    COUNT_MIN,
    CellRate,
    MonthRate,
    OutcomeFigures,
    Ranking,
    Rates,
    ReasonCount,
    ReviewFigures,
    TierRate,
)
from alama.core.monitoring.rates import Amounts, Loans, lost, proportion, ranked, rate, together
from alama.platform.days import first_day_of, last_day_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.model import Model
    from alama.monitoring.records import KnownRow, MonitoringStore, OverrideRow, RateRow, ReviewRow
    from alama.platform.book import Book


MONTHS_MAX: Final = 24
MATURE_SHARE: Final = 0.95
"""Of the loans of a month's last day, for it to be young no longer: the longest term may be one."""

_APPROVED: Final = Decision.APPROVED.value
_DECLINED: Final = Decision.DECLINED.value
_REVIEW: Final = Decision.REVIEW.value


class RepaymentFigures(NamedTuple):
    """The parts of a report that come from outcomes."""

    rates: Rates
    ranking: Ranking
    outcomes: OutcomeFigures
    overrides: Sequence[OverrideRow]

    def reviews(self, left: int, waiting: int, rows: Sequence[ReviewRow]) -> ReviewFigures:
        """Tell what officers decided, given how often it was left to them, and what waits."""
        counts = Counter[tuple[str, str]]()
        for row in rows:
            counts[row.given_decision, row.decision] += row.count
        approved, declined = counts[_REVIEW, _APPROVED], counts[_REVIEW, _DECLINED]
        return ReviewFigures(
            left=left,
            decided=approved + declined,
            waiting=waiting,
            approved=approved,
            declined=declined,
            confirmed=counts[_APPROVED, _APPROVED] + counts[_DECLINED, _DECLINED],
            to_approved=counts[_DECLINED, _APPROVED],
            to_declined=counts[_APPROVED, _DECLINED],
            reasons=tuple(
                ReasonCount(row.reason, row.given_decision, row.decision, row.count)
                for row in sorted(rows, key=lambda row: (-row.count, row.reason))
            ),
            reviewed=rate(self._loans_of(_REVIEW)),
            overridden=rate(self._loans_of(_DECLINED)),
        )

    def _loans_of(self, given: str) -> Loans:
        return together(
            Loans(row.count, row.defaults, row.predicted)
            for row in self.overrides
            if row.given_decision == given and row.decision == _APPROVED
        )


def no_repayment() -> RepaymentFigures:
    """Give what is said where there is no model."""
    return RepaymentFigures(
        Rates(rate(Loans()), (), (), ()),
        Ranking(None, None, None, 0, 0),
        OutcomeFigures(0, 0, {}, proportion(0, 0), lost(Amounts())),
        (),
    )


class Repayment:
    """The mature loans of one model in a book, as of a day."""

    def __init__(self, store: MonitoringStore, book: Book, model: Model, today: int) -> None:
        self._store = store
        self._book = book
        self._model = model
        self._due_before = due_before(model, today)

    def figures(
        self, known: Sequence[KnownRow], approved: Mapping[int, int], whole_from: int
    ) -> RepaymentFigures:
        """Work out what there is to tell; `approved` has how many were, by the month.

        Of days before `whole_from` scores were deleted, and what became of them with them.
        """
        rows = self._store.rates(self._book, {self._model.id: self._due_before})
        months = self._months(rows, known, approved, whole_from)
        return RepaymentFigures(
            Rates(
                overall=rate(together(map(loans_of, rows))),
                tiers=_by_tier(rows),
                months=months,
                cells=_by_cell(rows),
            ),
            self._ranking(),
            _outcomes(rows, known, months),
            self._store.overridden(self._book, self._model.id, self._due_before),
        )

    def _months(
        self,
        rows: Sequence[RateRow],
        known: Sequence[KnownRow],
        approved: Mapping[int, int],
        whole_from: int,
    ) -> tuple[MonthRate, ...]:
        term_days = self._usual_term_days()
        of_approved = Counter[int]()
        for row in known:
            of_approved[row.month] += row.count if row.decision == _APPROVED else 0
        met = {month for month, count in approved.items() if count}
        months = sorted({*met, *of_approved})[-MONTHS_MAX:]
        return tuple(
            MonthRate(
                month=_written(month),
                approved=approved.get(month, 0),
                known=of_approved[month],
                young=last_day_of(month) + term_days >= self._due_before,
                partial=first_day_of(month) < whole_from,
                rate=rate(together(loans_of(row) for row in rows if row.month == month)),
            )
            for month in months
        )

    def _usual_term_days(self) -> int:
        """Give the term that all but one in twenty loans are within."""
        terms = self._store.terms(self._book, self._model.id)
        within, enough = 0, MATURE_SHARE * sum(terms.values())
        for days in sorted(terms):
            within += terms[days]
            if within >= enough:
                return days
        return self._model.outcome.longest_term_days or 0

    def _ranking(self) -> Ranking:
        found = self._store.by_score(self._book, self._model.id, self._due_before)
        bads = sum(one.defaults for one in found)
        goods = sum(one.count for one in found) - bads
        if min(goods, bads) < COUNT_MIN:
            return Ranking(None, None, None, goods, bads)
        area = ranked({one.score: (one.count - one.defaults, one.defaults) for one in found})
        assert area is not None
        return Ranking(area.auc, area.low, area.high, goods, bads)


def due_before(model: Model, today: int) -> int:
    """Give the day before which a loan was due if it is mature today.

    It is mature once its due day and the days past due that make a default have passed, whatever
    became of it sooner.
    """
    return today - model.outcome.days_past_due + 1


def loans_of(row: RateRow) -> Loans:
    """Give the loans of a row."""
    return Loans(row.count, row.defaults, row.predicted)


def _by_tier(rows: Sequence[RateRow]) -> tuple[TierRate, ...]:
    ordered = sorted(rows, key=lambda row: row.tier)
    return tuple(
        TierRate(tier, rate(together(map(loans_of, of_tier))))
        for tier, of_tier in groupby(ordered, key=lambda row: row.tier)
    )


def _by_cell(rows: Sequence[RateRow]) -> tuple[CellRate, ...]:
    shown = sorted({row.month for row in rows})[-MONTHS_MAX:]
    ordered = sorted((row for row in rows if row.month in shown), key=lambda r: (r.tier, r.month))
    return tuple(CellRate(row.tier, _written(row.month), rate(loans_of(row))) for row in ordered)


def _outcomes(
    rows: Sequence[RateRow], known: Sequence[KnownRow], months: Sequence[MonthRate]
) -> OutcomeFigures:
    states = Counter[str]()
    for row in known:
        states[row.state] += row.count
    over = [month for month in months if not (month.young or month.partial)]
    approved = sum(month.approved for month in over)
    return OutcomeFigures(
        known=states.total(),
        mature=sum(row.count for row in rows),
        states=dict(sorted(states.items())),
        # Scores may be of before they were counted: then more are known than were approved.
        expected=proportion(min(sum(month.known for month in over), approved), approved),
        loss=lost(
            Amounts(
                sum(row.valued for row in rows),
                sum(row.disbursed for row in rows),
                sum(row.repaid for row in rows),
                sum(row.disbursed_squared for row in rows),
                sum(row.repaid_squared for row in rows),
                sum(row.crossed for row in rows),
            )
        ),
    )


def _written(month: int) -> str:
    return f"{month // 100:04d}-{month % 100:02d}"
