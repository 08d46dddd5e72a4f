"""A model moved to the level of its recent loans, as a candidate that people sign."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core import model as models
from alama.core.errors import AlamaError
from alama.core.lending.policy import Decision
from alama.core.monitoring import recalibration
from alama.core.monitoring.recalibration import (
    Coverage,
    Evidence,
    Given,
    Recalibration,
    Sample,
    recalibrate,
)
from alama.lenders.records import require_person
from alama.monitoring.records import DayScore, MonitoringStore, answering, whole_from
from alama.monitoring.repayment import Repayment, due_before
from alama.monitoring.store import SqlMonitoring
from alama.onboarding.records import CANDIDATE_PREFIX, Candidate, Gate
from alama.onboarding.store import Stores
from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.platform.days import DAY_US, date_of, month_of
from alama.platform.files.packaged import builtin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from alama.core.model import Model
    from alama.lenders.installation import Installation
    from alama.platform.clock import Clock


SINCE_DAYS: Final = 365


class NothingToRecalibrate(AlamaError):
    """A book has no model, or no mature outcomes."""


class NothingToSign(AlamaError):
    """A model can be moved, but nobody could sign for what comes of it."""


class Asked(NamedTuple):
    """Which loans count: those scored in so many days before now."""

    book: Book
    since_days: int = SINCE_DAYS


class Recalibrations:
    """Moves models of books to the level of their loans. Nothing answers before it is signed."""

    def __init__(
        self,
        stores: Stores,
        monitoring: MonitoringStore,
        clock: Clock,
        builtin: Callable[[], Model],
    ) -> None:
        self._stores = stores
        self._monitoring = monitoring
        self._clock = clock
        self._builtin = builtin  # answers where no other does

    @classmethod
    def at(cls, installed: Installation) -> Recalibrations:
        """What moves the models of an installation to the level of their recent loans."""
        sums = SqlMonitoring(installed.database)
        return cls(Stores.at(installed), sums, installed.clock, builtin)

    def make(self, asked: Asked) -> Recalibration:
        """Move the model in force and judge that; nothing is kept.

        `NothingToRecalibrate` where no model answers, or no loan of it is mature and a default.
        `UnknownLender`.
        """
        self._stores.registry.lender(asked.book.lender)
        model = self._in_force(asked.book)
        evidence = self._evidence(asked, model)
        found = recalibrate(model, evidence) if evidence.sample else None
        if found is None:
            loans = sum(one.loans for one in evidence.sample)
            raise NothingToRecalibrate(
                f"of the loans that {model.name} has scored since {evidence.since}, {loans:,} are "
                "mature and known, and they have not both repaid ones and defaults",
                hint="send outcomes with POST /v1/outcomes or `alama outcomes load`; a loan is "
                f"mature {model.outcome.days_past_due} days after it was due",
            )
        return found

    def keep(
        self, lender: str, made: Recalibration, page: bytes, by: str, chance: bytes
    ) -> Candidate:
        """Keep a recalibration of the live model as a candidate; `chance` is for its id.

        It is made from the candidate whose model it moves, and belongs to the same history.
        `NothingToSign`, and nothing is kept.
        """
        assert made.pack.passed
        origin = self._origin(lender, made.pack.from_model_id)
        now_us = self._clock()
        candidate = Candidate(
            id=ids.sortable(CANDIDATE_PREFIX, now_us, chance),
            lender=lender,
            model_id=made.model.id,
            history_id=origin.history_id,
            days_past_due=origin.days_past_due,
            limits=origin.limits,
            gates=tuple(Gate(gate.name, gate.passed, gate.words) for gate in made.pack.gates),
            created_us=now_us,
            made_by=require_person(by),
        )
        document, pack = models.encode(made.model), recalibration.encode(made.pack)
        self._stores.candidates.add(candidate, document, pack, page)
        return candidate

    def require_signable(self, lender: str) -> None:
        """Raise `NothingToSign` where nobody could sign for another level of the live model.

        `NothingToRecalibrate`, `UnknownLender`.
        """
        self._stores.registry.lender(lender)
        self._origin(lender, self._in_force(Book(lender, Mode.LIVE)).id)

    def _origin(self, lender: str, model_id: str) -> Candidate:
        """Give the candidate that a model was; it must have been judged by the terms of now."""
        candidates = [one for one in self._stores.candidates.of(lender) if one.model_id == model_id]
        if not candidates:
            raise NothingToSign(
                f"the model that answers for {lender} was never a candidate of it",
                hint=f"train one: alama onboard {lender}. With --out FILE the moved model is "
                "written to a file, and no more",
            )
        pilot = self._stores.pilots.find(lender)
        for one in candidates:
            if pilot and (one.days_past_due, one.limits) == (pilot.days_past_due, pilot.gates):
                return one
        raise NothingToSign(
            f"the terms of {lender} have changed since its model was trained and judged",
            hint=f"a new level does not mend that: train it again: alama onboard train {lender}",
        )

    def _in_force(self, book: Book) -> Model:
        model_id = answering(self._stores.registry, book, self._builtin)
        if model_id is None:
            raise NothingToRecalibrate(
                f"{book.lender} has no model of its own in live mode",
                hint=f"train one first: alama onboard {book.lender}",
            )
        builtin = self._builtin()
        if model_id == builtin.id:  # it is not kept before the first score
            return builtin
        return models.stored(self._stores.registry.model(model_id), model_id)

    # -------------------------------------------------------------------------------- evidence

    def _evidence(self, asked: Asked, model: Model) -> Evidence:
        today = self._clock() // DAY_US
        first_day = today - asked.since_days
        mature = due_before(model, today)
        # All in one look: what is recorded meanwhile is in both halves or in neither.
        rows = self._monitoring.by_day(asked.book, model.id, mature, first_day)
        middle = _middle(rows)
        stated = _stated(rows)
        return Evidence(
            sample=_sample(rows, stated),
            later=_sample([row for row in rows if row.day >= middle], stated),
            since=date_of(first_day).isoformat(),
            made_on=date_of(today).isoformat(),
            coverage=self._coverage(asked.book, model, first_day, today),
        )

    def _coverage(self, book: Book, model: Model, first_day: int, today: int) -> Coverage:
        """Count, in whole months whose loans are mature, what was approved and what is known.

        Months of which nothing is known count as well; those whose scores are deleted do not.
        """
        known = [row for row in self._monitoring.known(book) if row.model_id == model.id]
        approved: Counter[int] = Counter()
        first_counted = None
        for day, model_id, tally in self._monitoring.days(book, first_day, today):
            first_counted = day if first_counted is None else first_counted
            if model_id == model.id:
                approved[month_of(day)] += tally.decisions.get(Decision.APPROVED.value, 0)
        figures = Repayment(self._monitoring, book, model, today).figures(
            known, approved, whole_from(self._monitoring, book, first_counted, today)
        )
        begun = f"{date_of(first_day):%Y-%m}"
        whole = [
            one
            for one in figures.rates.months
            if not (one.young or one.partial) and one.month > begun
        ]
        return Coverage(
            sum(one.approved for one in whole),
            # Scores may be of before they were counted: then more are known than were approved.
            sum(min(one.known, one.approved) for one in whole),
        )


def _middle(rows: Sequence[DayScore]) -> int:
    """Give the day from which on nearest to half of the loans were scored; never the first."""
    of_day: Counter[int] = Counter()
    for row in rows:
        of_day[row.day] += row.count
    days = sorted(of_day)
    if not days:
        return 0
    total, before = of_day.total(), 0
    nearest, middle = total, days[-1] + 1
    for earlier, day in pairwise(days):
        before += of_day[earlier]
        if abs(2 * before - total) < nearest:
            nearest, middle = abs(2 * before - total), day
    return middle


def _stated(rows: Sequence[DayScore]) -> Mapping[int, float]:
    """Give the mean probability of all loans with a score: a point apart is all they are."""
    counts: Counter[int] = Counter()
    predicted: defaultdict[int, float] = defaultdict(float)
    for row in rows:
        counts[row.score] += row.count
        predicted[row.score] += row.predicted
    return {score: predicted[score] / count for score, count in counts.items()}


def _sample(rows: Sequence[DayScore], stated: Mapping[int, float]) -> Sample:
    """Give loans by what is stated of their score; of the lowest and highest that may be the same.

    A probability has one row, so that a part can be taken from the whole.
    """
    counts: Counter[float] = Counter()
    defaults: Counter[float] = Counter()
    for row in rows:
        probability = stated[row.score]
        counts[probability] += row.count
        defaults[probability] += row.defaults
    return [Given(one, counts[one], defaults[one]) for one in sorted(counts)]
