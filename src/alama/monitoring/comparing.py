"""Champion and challenger side by side, on the scores that both have given.

What they would decide is known of all of them. What became of it is known where somebody lent: of
those whom the champion declined nobody knows, be the challenger right about them or not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import and_, func, select

from alama.core import model as models
from alama.core.monitoring import rates
from alama.core.monitoring.rates import ranked, wilson
from alama.monitoring import schema
from alama.monitoring.challengers import (
    Challenger,
    Challengers,
    NoChallenger,
)
from alama.monitoring.records import (
    Area,
    Comparison,
    Crossed,
    Judged,
    Rate,
    Realised,
    Swap,
    TierRate,
    answering,
)
from alama.monitoring.repayment import due_before
from alama.monitoring.shadowing import SETTLED_US
from alama.platform import ids
from alama.platform.database.books import in_book
from alama.platform.days import DAY_US, date_of, moment
from alama.platform.files.packaged import builtin
from alama.scoring import schema as scoring_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import ColumnElement

    from alama.core.model import Model
    from alama.lenders.installation import Installation
    from alama.lenders.store import Registry
    from alama.platform.book import Book
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database


SELECTED: Final = (
    "Outcomes exist where somebody lent, so where the champion or an officer said yes: how those"
    " whom the champion declined would have repaid, no figure here tells. And these loans were"
    " chosen by the champion's score, which takes more from its AUC than from the challenger's."
)
OTHERS: Final = "{:,} scores that other models decided on are left out."
FAILED: Final = "To {:,} applications the challenger gave no answer (the latest: {})."
ITSELF: Final = "The challenger answers here itself now, so nothing more is compared."
WAITING: Final = "Scores that wait are asked about by the worker, beside `alama serve` or alone."
WAITING_MAX: Final = 100_000
"""Scores that wait are counted up to here: nobody waits for a longer count."""

UNKNOWN: Final = "Of no loan that both have scored is it known yet what became of it."


class CrossRow(NamedTuple):
    """How many scores a champion and the challenger gave alike, and the first and the last id.

    And the sums of both probabilities over them.
    """

    champion_id: str
    decision: str
    shadow_decision: str
    tier: str
    shadow_tier: str
    scores: int
    earliest: str
    latest: str
    predicted: float
    shadow_predicted: float


class LoanRow(NamedTuple):
    """The same of mature loans, by both scores, with how many of them have ever been a default."""

    score: int
    shadow_score: int
    decision: str
    shadow_decision: str
    tier: str
    shadow_tier: str
    loans: int
    defaults: int
    predicted: float
    shadow_predicted: float


_S: Any = schema.shadow_scores.c
_LOAN: Any = schema.outcomes.c
_ENDS: Any = (func.min(_S.request_id), func.max(_S.request_id))
_SUMS: Any = (func.sum(_S.given_default_probability), func.sum(_S.default_probability))


class Comparisons:
    """What a database can tell of two models in sums.

    What the champion said stands beside what the challenger did, so no sealed record is read.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def crossed(self, book: Book, challenger_id: str) -> Sequence[CrossRow]:
        """Count what a challenger said beside those that decided."""
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
        """Count the loans that were due before a day by what both said."""
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
        """Count the scores of a book between two ids, up to a limit."""
        request_id = scoring_schema.scores.c.request_id
        # The bound is inside: counted is no more than what was read.
        some = (
            select(request_id)
            .where(in_book(scoring_schema.scores, book), request_id > after, request_id < before)
            .limit(limit)
            .subquery()
        )
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(some)).scalar_one()


def _of(book: Book, challenger_id: str) -> ColumnElement[bool]:
    return and_(in_book(schema.shadow_scores, book), _S.model_id == challenger_id)


class Comparing:
    """Compares the challenger of a book, or the last that it had, with the model that decides."""

    def __init__(
        self,
        challengers: Challengers,
        comparisons: Comparisons,
        registry: Registry,
        clock: Clock,
        builtin: Callable[[], Model],
    ) -> None:
        self._challengers = challengers
        self._comparisons = comparisons
        self._registry = registry
        self._clock = clock
        self._builtin = builtin  # answers where no other does

    @classmethod
    def at(cls, installed: Installation) -> Comparing:
        """Who compares the challengers of an installation with what decides there."""
        return cls(
            Challengers(installed.database, installed.log),
            Comparisons(installed.database),
            installed.registry,
            installed.clock,
            builtin,
        )

    def compare(self, book: Book) -> Comparison:
        """Compare; `NoChallenger` where the book never had one, `UnknownLender`.

        A model that has challenged several times is compared on all that it ever said in the book,
        and since when and what it broke on are of all of it too. The champion is the model whose
        scores it was asked about last. A loan counts once it is mature for both: due, and the days
        past due of either model over.
        """
        self._registry.lender(book.lender)
        known = self._challengers.of(book)
        if not known:
            raise NoChallenger(book, hint="begin with one")
        challenger = _altogether(known)
        found = self._compared(challenger)
        answers = answering(self._registry, book, self._builtin)
        if challenger.ended_us is None and challenger.model_id == answers:
            return msgspec.structs.replace(found, notes=(ITSELF, *found.notes))
        return found

    def _compared(self, challenger: Challenger) -> Comparison:
        book = challenger.book
        model = self._model(challenger.model_id)
        begun = _begun(challenger, model.name, self._waiting(challenger))
        rows = self._comparisons.crossed(book, challenger.model_id)
        if not rows:
            return begun
        champion = self._model(max(rows, key=lambda row: row.latest).champion_id)
        crossed = [row for row in rows if row.champion_id == champion.id]
        count = sum(row.scores for row in crossed)
        others = sum(row.scores for row in rows) - count
        # The stricter of the two: its loans are mature for the other as well.
        last = max((champion, model), key=_days_past_due)
        mature = due_before(last, self._clock() // DAY_US)
        loans = self._comparisons.loans(book, challenger.model_id, champion.id, mature)
        realised = _realised(loans)
        return msgspec.structs.replace(
            begun,
            champion=champion.id,
            champion_name=champion.name,
            scores_from=date_of(ids.time_us(min(row.earliest for row in crossed)) // DAY_US),
            count=count,
            champion_probability=sum(row.predicted for row in crossed) / count,
            challenger_probability=sum(row.shadow_predicted for row in crossed) / count,
            decisions=_counts((row.decision, row.shadow_decision, row.scores) for row in crossed),
            tiers=_counts((row.tier, row.shadow_tier, row.scores) for row in crossed),
            days_past_due=_days_past_due(last),
            realised=realised,
            notes=_notes(challenger, others, begun.waiting, realised),
        )

    def _waiting(self, challenger: Challenger) -> int:
        """Count what a worker would ask it about by now; nothing once it is ended."""
        if challenger.ended_us is not None:
            return 0
        settled = ids.first_of(self._clock() - SETTLED_US)
        return self._comparisons.waiting(challenger.book, challenger.reached, settled, WAITING_MAX)

    def _model(self, model_id: str) -> Model:
        return models.stored(self._registry.model(model_id), model_id)


def _altogether(known: Sequence[Challenger]) -> Challenger:
    """Give the newest challenger of a book with all that its model has done there, newest first."""
    newest = known[0]
    same = [one for one in known if one.model_id == newest.model_id]
    return newest._replace(
        since_us=min(one.since_us for one in same),
        scored=sum(one.scored for one in same),
        failed=sum(one.failed for one in same),
        error=next((one.error for one in same if one.error is not None), None),
    )


def _days_past_due(model: Model) -> int:
    return model.outcome.days_past_due


def _begun(challenger: Challenger, name: str, waiting: int) -> Comparison:
    """Give what is known of one that has answered nothing yet."""
    ended_us = challenger.ended_us
    return Comparison(
        lender=challenger.book.lender,
        mode=challenger.book.mode.value,
        champion=None,
        champion_name=None,
        challenger=challenger.model_id,
        challenger_name=name,
        begun_at=moment(challenger.since_us),
        ended_at=None if ended_us is None else moment(ended_us),
        scores_from=None,
        count=0,
        waiting=waiting,
        waiting_max=WAITING_MAX,
        failed=challenger.failed,
        champion_probability=None,
        challenger_probability=None,
        decisions=(),
        tiers=(),
        days_past_due=None,
        realised=None,
        notes=_notes(challenger, 0, waiting, None),
    )


def _notes(
    challenger: Challenger, others: int, waiting: int, realised: Realised | None
) -> tuple[str, ...]:
    notes = [UNKNOWN if realised is None else SELECTED]
    if waiting:
        notes.append(WAITING)
    if others:
        notes.append(OTHERS.format(others))
    if challenger.failed:
        notes.append(FAILED.format(challenger.failed, challenger.error))
    return tuple(notes)


def _counts(parts: Iterable[tuple[str, str, int]]) -> tuple[Crossed, ...]:
    counted: Counter[tuple[str, str]] = Counter()
    for ours, theirs, count in parts:
        counted[ours, theirs] += count
    return tuple(Crossed(*pair, count) for pair, count in sorted(counted.items()))


# ------------------------------------------------------------------------------- what became of it


def _realised(rows: Sequence[LoanRow]) -> Realised | None:
    if not rows:
        return None
    cells: dict[tuple[int, int], tuple[int, int]] = {}
    for row in rows:
        goods, bads = cells.get((row.score, row.shadow_score), (0, 0))
        goods, bads = goods + row.loans - row.defaults, bads + row.defaults
        cells[row.score, row.shadow_score] = (goods, bads)
    apart = rates.difference(cells)
    return Realised(
        count=sum(row.loans for row in rows),
        defaults=sum(row.defaults for row in rows),
        champion=_judged(rows, _champion),
        challenger=_judged(rows, _challenger),
        difference=None if apart is None else Area(*apart),
        swaps=_swaps(rows),
    )


class _Said(NamedTuple):
    """What one of the two said of the loans of a row."""

    score: int
    tier: str
    predicted: float


def _champion(row: LoanRow) -> _Said:
    return _Said(row.score, row.tier, row.predicted)


def _challenger(row: LoanRow) -> _Said:
    return _Said(row.shadow_score, row.shadow_tier, row.shadow_predicted)


def _judged(rows: Sequence[LoanRow], said: Callable[[LoanRow], _Said]) -> Judged:
    by_score: dict[int, tuple[int, int]] = {}
    by_tier: defaultdict[str, list[LoanRow]] = defaultdict(list)
    for row in rows:
        score, tier, _ = said(row)
        goods, bads = by_score.get(score, (0, 0))
        by_score[score] = (goods + row.loans - row.defaults, bads + row.defaults)
        by_tier[tier].append(row)
    area = ranked(by_score)
    return Judged(
        auc=None if area is None else Area(area.auc, area.low, area.high),
        rate=_rate(rows, said),
        tiers=tuple(TierRate(tier, _rate(by_tier[tier], said)) for tier in sorted(by_tier)),
    )


def _rate(rows: Sequence[LoanRow], said: Callable[[LoanRow], _Said]) -> Rate:
    count = sum(row.loans for row in rows)
    defaults = sum(row.defaults for row in rows)
    predicted = sum(said(row).predicted for row in rows) / count
    low, high = wilson(defaults, count)
    return Rate(count, defaults, predicted, defaults / count, low, high)


def _swaps(rows: Sequence[LoanRow]) -> tuple[Swap, ...]:
    """Give the loans on which the two would decide otherwise, and then those on which alike."""
    decided: defaultdict[tuple[str, str], list[LoanRow]] = defaultdict(list)
    for row in rows:
        decided[row.decision, row.shadow_decision].append(row)
    pairs = sorted(decided, key=lambda pair: (pair[0] == pair[1], pair))
    return tuple(
        Swap(
            *pair,
            rate=_rate(decided[pair], _champion),
            challenger_predicted=_rate(decided[pair], _challenger).predicted,
        )
        for pair in pairs
    )
