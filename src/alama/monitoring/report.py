"""The monitoring report of a book: how it goes, and how the model that answers in it does.

Volume, decisions and reviews are of the whole book in the period; what waits for a person is all
of it. Whether applicants have moved is asked of one model, in the period; whether its predictions
came true, of all its mature loans, whenever they were scored: a loan takes months to become either.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from msgspec.structs import replace

from alama.core import model as models
from alama.core.errors import InvalidPolicy
from alama.core.lending.policy import Decision
from alama.core.monitoring.drift import History, card_stability
from alama.core.monitoring.figures import (
    CardStability,
    DayVolume,
    Explored,
    HoldOut,
    MonitoredModel,
    MonitoringReport,
    OtherModel,
    OutcomeFigures,
    ProductFigures,
    Profit,
    RunningChallenger,
    Volume,
    WindowFigure,
)
from alama.core.monitoring.findings import findings
from alama.core.monitoring.rates import proportion, rate, together
from alama.core.tally import Tally
from alama.lenders.records import UnknownModel
from alama.monitoring.challengers import Challenger, Challengers
from alama.monitoring.drift import DriftStore, Window
from alama.monitoring.profit import explored_of, products_told, profit_of
from alama.monitoring.records import KnownRow, MonitoringStore, answering, whole_days, whole_from
from alama.monitoring.repayment import Repayment, due_before, loans_of, no_repayment
from alama.monitoring.store import SqlMonitoring
from alama.platform.days import DAY_US, date_of, first_day_of, month_of
from alama.platform.files.packaged import builtin
from alama.policies import policies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from alama.core.lending.policy import Policy
    from alama.core.model import Model
    from alama.lenders.installation import Installation
    from alama.lenders.store import Registry
    from alama.platform.book import Book
    from alama.platform.clock import Clock


DAYS_DEFAULT: Final = 90
DAYS_MAX: Final = 730
WINDOWS_SHOWN: Final = 12
_MODELS_KEPT: Final = 8
_HELD_OUT: Final = "as served"
"""Under this name a model tells how it ranked, whichever of its cards answered."""


class Windows(Protocol):
    """The windows of drift that were cut."""

    def windows(self, book: Book, model_id: str, card: str, limit: int) -> Sequence[Window]:
        """Give the last windows of a card in a book, newest last."""
        ...


class ChallengerStore(Protocol):
    """Which models were tried beside others."""

    def of(self, book: Book) -> Sequence[Challenger]:
        """All challengers of a book."""
        ...


class Period(NamedTuple):
    """Days since 1970, both included; the last is today."""

    first_day: int
    last_day: int


class Counted(NamedTuple):
    """What a book met and gave: by day in the period, by model in it, approved by model and month.

    Days are of the whole book. Counts stay when scores are deleted: only from `whole_from` on all
    that was counted is kept, with what became of it.
    """

    days: Mapping[int, Tally]
    models: Mapping[str, Tally]
    approved: Mapping[tuple[str, int], int]
    whole_from: int

    @property
    def left(self) -> int:
        """How many scores were left to a person on days that are kept."""
        kept = (tally for day, tally in self.days.items() if day >= self.whole_from)
        return sum(tally.decisions.get(Decision.REVIEW.value, 0) for tally in kept)


class Money(NamedTuple):
    """What mature loans brought, how those by lot went, and both by product."""

    profit: Profit | None
    explored: Explored | None
    products: tuple[ProductFigures, ...]


_NO_MONEY: Final = Money(None, None, ())


class ModelChoice(NamedTuple):
    """Which models there are to choose from: the one that answers, and how much there is of each.

    `seen` is by scores in the period, `of_loans` by loans of which anything is known.
    """

    answers: str | None
    seen: Counter[str]
    of_loans: Counter[str]


class Monitoring:
    """Makes reports. It changes nothing."""

    def __init__(
        self,
        registry: Registry,
        store: MonitoringStore,
        windows: Windows,
        challengers: ChallengerStore,
        clock: Clock,
        builtin: Callable[[], Model],
    ) -> None:
        self._registry = registry
        self._store = store
        self._windows = windows
        self._challengers = challengers
        self._clock = clock
        self._builtin = builtin  # the model of test books
        self._model = lru_cache(_MODELS_KEPT)(self._read_model)

    @classmethod
    def at(cls, installed: Installation) -> Monitoring:
        """How the books of an installation go, and how the models that answer in them do."""
        return cls(
            installed.registry,
            SqlMonitoring(installed.database),
            DriftStore(installed.database, installed.log, installed.clock),
            Challengers(installed.database, installed.log),
            installed.clock,
            builtin,
        )

    def report(
        self, book: Book, days: int = DAYS_DEFAULT, model_id: str | None = None
    ) -> MonitoringReport:
        """Report on a book: on its last days, today included, and on all loans of one model.

        That is the one that answers now, if it gave any of these scores, else the one that gave
        most, unless another is asked for; `UnknownModel` where that one never answered here.
        """
        now_us = self._clock()
        today = now_us // DAY_US
        period = Period(today - days + 1, today)
        currency = self._registry.lender(book.lender).currency
        known = self._store.known(book)
        counted = self._count(book, period, (row.month for row in known))
        choice = self._choice(book, counted, known)
        chosen = _chosen(choice) if model_id is None else self._known_here(book, model_id, choice)
        repayment = no_repayment()
        money = _NO_MONEY
        stability: tuple[CardStability, ...] = ()
        described = None
        if chosen is not None:
            model = self._model(chosen)
            described = _described(model, choice.answers)
            tally = counted.models.get(chosen, Tally())
            cards = self._stability(book, model, tally, currency, period)
            stability = tuple(sorted(cards, key=lambda card: -card.scores))
            repayment = Repayment(self._store, book, model, today).figures(
                [row for row in known if row.model_id == chosen],
                {month: n for (one, month), n in counted.approved.items() if one == chosen},
                counted.whole_from,
            )
            money = self._money(book, model, period)
        since_us = max(period.first_day, counted.whole_from) * DAY_US
        report = MonitoringReport(
            lender=book.lender,
            mode=book.mode.value,
            currency=currency,
            generated_at=datetime.fromtimestamp(now_us // 1_000_000, UTC),
            first_day=date_of(period.first_day),
            last_day=date_of(period.last_day),
            findings=(),
            model=described,
            other_models=self._others(book, chosen, choice, today),
            challenger=self._challenger(book, choice.answers),
            volume=_volume(counted.days, period),
            stability=stability,
            rates=repayment.rates,
            ranking=repayment.ranking,
            outcomes=self._with_assumed(book, repayment.outcomes),
            reviews=repayment.reviews(
                counted.left, self._store.waiting(book), self._store.reviewed(book, since_us)
            ),
            profit=money.profit,
            explored=money.explored,
            products=money.products,
        )
        return replace(report, findings=findings(report))

    def _count(self, book: Book, period: Period, months: Iterable[int]) -> Counted:
        """Count what was given, from the period or the first month with a known loan on."""
        first_month = min(months, default=None)
        earliest = period.first_day if first_month is None else first_day_of(first_month)
        days: dict[int, Tally] = {}
        by_model: dict[str, Tally] = {}
        approved: Counter[tuple[str, int]] = Counter()
        first_day = min(earliest, period.first_day)
        first_counted = None
        parts = self._store.days(book, first_day, period.last_day)
        for day, model_id, tally in whole_days(parts):
            first_counted = day if first_counted is None else first_counted
            given = tally.decisions.get(Decision.APPROVED.value, 0)
            approved[model_id, month_of(day)] += given
            if day >= period.first_day:
                days.setdefault(day, Tally()).merge(_without_bands(tally))
                by_model.setdefault(model_id, Tally()).merge(tally)
        kept_from = whole_from(self._store, book, first_counted, period.last_day)
        return Counted(days, by_model, approved, kept_from)

    def _choice(self, book: Book, counted: Counted, known: Sequence[KnownRow]) -> ModelChoice:
        seen = Counter({one: tally.count for one, tally in counted.models.items()})
        of_loans = Counter[str]()
        for row in known:
            of_loans[row.model_id] += row.count
        return ModelChoice(answering(self._registry, book, self._builtin), seen, of_loans)

    def _known_here(self, book: Book, model_id: str, choice: ModelChoice) -> str:
        """Give a model that was named, if it answers here or ever did, or raise `UnknownModel`."""
        if model_id in {choice.answers, *choice.seen, *choice.of_loans}:
            return model_id
        builtin_id = self._builtin().id
        deployed = {one.model_id or builtin_id for one in self._registry.deployments(book)}
        if model_id not in deployed:
            raise UnknownModel
        return model_id

    def _others(
        self, book: Book, chosen: str | None, choice: ModelChoice, today: int
    ) -> tuple[OtherModel, ...]:
        """Tell of the other models: how much they gave, and how their loans went.

        Else a model that answers since yesterday would hide what became of a year of lending.
        """
        with_loans = [one for one, _ in choice.of_loans.most_common(_MODELS_KEPT) if one != chosen]
        due = {one: due_before(self._model(one), today) for one in with_loans}
        rows = self._store.rates(book, due) if due else ()
        return tuple(
            OtherModel(
                id=one,
                scores=choice.seen[one],
                answers=one == choice.answers,
                loans=rate(together(loans_of(row) for row in rows if row.model_id == one)),
            )
            for one in dict.fromkeys([*(one for one, _ in choice.seen.most_common()), *with_loans])
            if one != chosen
        )

    def _challenger(self, book: Book, answers: str | None) -> RunningChallenger | None:
        for one in self._challengers.of(book):
            if one.ended_us is None:
                since = date_of(one.since_us // DAY_US)
                itself = one.model_id == answers
                return RunningChallenger(one.model_id, since, one.scored, one.failed, itself)
        return None

    def _with_assumed(self, book: Book, outcomes: OutcomeFigures) -> OutcomeFigures:
        """Say beside the loss which one prices are made with."""
        policy = self._policy(book)
        if policy is None:
            return outcomes
        loss = replace(outcomes.loss, assumed=policy.pricing.loss_given_default)
        return replace(outcomes, loss=loss)

    def _policy(self, book: Book) -> Policy | None:
        """Give the policy in force; None where it cannot be read, which whoever scores is told."""
        _, policy_id = self._registry.deployed(book) or (None, None)
        try:
            return policies.policy_by_id(self._registry, book, policy_id)
        except InvalidPolicy:
            return None

    def _money(self, book: Book, model: Model, period: Period) -> Money:
        """Give what mature loans of a model brought, and how those went that a lot gave."""
        mature, policy = due_before(model, period.last_day), self._policy(book)
        rows = self._store.amounts(book, model.id, mature) if policy else ()
        return Money(
            profit_of(rows, policy) if policy else None,
            explored_of(self._store.by_lot(book, model.id, mature)),
            products_told(
                self._store.by_product(book, model.id, mature),
                self._store.granted(book, period.first_day),
                rows,
                policy,
            ),
        )

    def _read_model(self, model_id: str) -> Model:
        builtin = self._builtin()
        if model_id == builtin.id:  # it is not kept before the first score
            return builtin
        return models.stored(self._registry.model(model_id), model_id)

    def _stability(
        self, book: Book, model: Model, tally: Tally, currency: str, period: Period
    ) -> Iterable[CardStability]:
        for card in model.cards:
            counted = tally.cards.get(card.name)
            if counted is not None and counted.count:
                windows = self._windows.windows(book, model.id, card.name, WINDOWS_SHOWN)
                history = _history(windows, period)
                yield card_stability(model, card, counted, currency, history)


def _without_bands(tally: Tally) -> Tally:
    """Leave out what is particular to a model: days are of the whole book."""
    total = Tally()
    for name, card in tally.cards.items():
        total.cards[name] = replace(card, bands=[])
    return total


def _chosen(choice: ModelChoice) -> str | None:
    if choice.answers in {*choice.seen, *choice.of_loans}:
        return choice.answers
    for counts in (choice.seen, choice.of_loans):
        if counts:
            return counts.most_common(1)[0][0]
    return choice.answers


def _described(model: Model, answers: str | None) -> MonitoredModel:
    listed = model.lineage.metrics.get(_HELD_OUT, ())
    auc = next((metric for metric in listed if metric.name == "auc"), None)
    return MonitoredModel(
        id=model.id,
        name=model.name,
        answers=model.id == answers,
        days_past_due=model.outcome.days_past_due,
        definition=model.outcome.definition,
        hold_out=None if auc is None else HoldOut(auc.value, auc.low, auc.high),
    )


def _volume(days: Mapping[int, Tally], period: Period) -> Volume:
    total = Tally()
    for tally in days.values():
        total.merge(tally)
    decisions = {one.value: total.decisions.get(one.value, 0) for one in Decision}
    nothing = Tally()
    return Volume(
        scores=total.count,
        decisions=decisions,
        approval=proportion(decisions[Decision.APPROVED.value], total.count),
        tiers=dict(sorted(total.tiers.items())),
        days=tuple(
            DayVolume(
                date_of(day),
                (tally := days.get(day, nothing)).count,
                tally.decisions.get(Decision.APPROVED.value, 0),
            )
            for day in range(period.first_day, period.last_day + 1)
        ),
    )


def _history(windows: Sequence[Window], period: Period) -> History:
    """Give the windows of a card, and what is over its limit in the last two of them.

    Windows that ended before the period speak of applicants that the report does not.
    """
    figures = tuple(
        WindowFigure(
            date_of(one.first_day),
            date_of(one.last_day),
            one.scores,
            {name: figure.psi for name, figure in one.figures.items()},
            {name: figure.limit for name, figure in one.figures.items()},
            tuple(name for name, figure in one.figures.items() if figure.is_over),
        )
        for one in windows
    )
    if len(figures) < 2 or windows[-1].last_day < period.first_day:  # noqa: PLR2004  it takes two
        return History(figures)
    return History(figures, frozenset(figures[-1].over) & frozenset(figures[-2].over))
