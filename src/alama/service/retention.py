"""Retention: scores are kept for as long as the law asks for, and then they go.

The law of a place says for how many days records are kept after the relationship ended. Each score
names the policy that it was given by, and that names the place. Where several have answered in a
book, all of it is kept for as long as the strictest of their laws asks for: another policy today
does not shorten what was owed yesterday.

When a loan was repaid is not known here, so the days are counted from when it would have been due:
the day of the score, plus the term that was offered. Days are whole ones, UTC, so that a run does
all that there is to do until the next midnight, and a second one finds nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.errors import InvalidPolicy, UnknownJurisdiction
from alama.service.book import Book, Mode
from alama.service.days import DAY_US
from alama.service.errors import InvalidName, LawUnknown, NoPeriod, PeriodTooShort, StoreUnfit
from alama.service.policies import policy_by_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from alama.core.lending.jurisdiction import Jurisdiction
    from alama.service.ports import Clock, Registry, RetentionStore

NEUTRAL: Final = "neutral"
"""The pack that assumes no law."""
DAYS_MIN: Final = 4
"""A retry may ask for a reply of three days ago, and finds it by its score."""
DAYS_MAX: Final = 36_525
USUAL_MAX: Final = 100
USUAL_PART: Final = 20
"""What goes by itself in one book: so many scores, or this part of all that it keeps. Where scores
are kept for five years a day is less than a thousandth of them, and a month of standing still less
than a fiftieth."""


class Law(NamedTuple):
    """What a place asks for, in its own words, and where it says so."""

    place: str
    days: int
    rule: str
    source: str


class Period(NamedTuple):
    """For how long the scores of a book are kept. Without a law `reason` says why there is none.

    `is_known` is False where that is because a policy cannot be read.
    """

    book: Book
    law: Law | None
    reason: str
    is_known: bool = True


class Plan(NamedTuple):
    """What a run would delete: scores of a book, given before a time and due for `days` days."""

    book: Book
    days: int
    before_us: int
    scores: int


class Retention:
    """Deletes the scores whose time is over, except those under a legal hold."""

    def __init__(
        self,
        registry: Registry,
        store: RetentionStore,
        clock: Clock,
        jurisdiction: Callable[[str], Jurisdiction],
    ) -> None:
        """Use a store; `jurisdiction` gives the pack of a code, or raises."""
        self._registry = registry
        self._store = store
        self._clock = clock
        self._jurisdiction = jurisdiction

    def books(self, lender: str | None = None) -> list[Book]:
        """Give the books of one lender, or of all."""
        if lender is not None:
            lenders = [self._registry.lender(lender)]
        else:
            lenders = list(self._registry.lenders())
        return [Book(one.id, mode) for one in lenders for mode in Mode]

    def period(self, book: Book) -> Period:
        """Say for how long the scores of a book are kept, by all policies that answered there."""
        deployed = [step.policy_id for step in self._registry.deployments(book)]
        in_force = deployed[-1] if deployed else None
        # The default answered before the first was deployed.
        return self._longest(book, [in_force, *({None, *deployed} - {in_force})])

    def _longest(self, book: Book, policy_ids: Iterable[str | None]) -> Period:
        """Give the longest of the periods of some policies; without any, the first gives a reason.

        Where one of them cannot be read, none is known.
        """
        try:
            periods = [self._period_by(book, policy_id) for policy_id in policy_ids]
        except (InvalidPolicy, UnknownJurisdiction, StoreUnfit) as error:
            return Period(book, None, str(error), is_known=False)
        lawful = [period for period in periods if period.law is not None]
        return max(lawful, key=_days) if lawful else periods[0]

    def _period_by(self, book: Book, policy_id: str | None) -> Period:
        pack = self._jurisdiction(policy_by_id(self._registry, book, policy_id).jurisdiction)
        kept = pack.retention_days
        if kept is None and pack.code == NEUTRAL:
            return Period(book, None, "its policy names no jurisdiction")
        if kept is None:
            return Period(book, None, f"no public rule of {pack.name} is known that says so")
        return Period(book, Law(pack.name, kept.value, kept.rule, kept.source), "")

    def plan(self, book: Book, days: int | None = None) -> Plan:
        """Say what a run would delete.

        By the law of the book, or for longer if `days` says so; `PeriodTooShort` for fewer,
        `NoPeriod` where neither says anything, `LawUnknown` where a policy cannot be read.
        """
        period = self.period(book)
        if days is None:
            if period.law is None and period.is_known:
                raise NoPeriod(book, period.reason)
        elif not DAYS_MIN <= days <= DAYS_MAX:
            raise InvalidName(
                f"scores are kept for {DAYS_MIN} to {DAYS_MAX:,} days",
                hint="for three days a retry may ask for its reply again",
            )
        law = self._law_of_all(book, period, days)
        if days is None:
            assert law is not None
            days = law.days
        elif law is not None and days < law.days:
            raise PeriodTooShort(days, law)
        before_us = self._before_us(days)
        return Plan(book, days, before_us, self._store.outlived(book, before_us))

    def _law_of_all(self, book: Book, period: Period, days: int | None) -> Law | None:
        """Give the strictest law of a book and of the scores that would go, or raise `LawUnknown`.

        A score may name a policy that no deployment does, such as the default of another version.
        """
        shortest = DAYS_MIN if period.law is None else period.law.days
        older = self._store.policies(book, self._before_us(shortest if days is None else days))
        periods = [period, self._longest(book, older)] if older else [period]
        for one in periods:
            if not one.is_known:
                raise LawUnknown(book, one.reason)
        return max(periods, key=_days).law

    def _before_us(self, days: int) -> int:
        """Give the midnight so many days ago."""
        return (self._clock() // DAY_US - days) * DAY_US

    def due(self) -> Sequence[Plan]:
        """Give what there is to do in all books whose law says when."""
        plans = []
        for book in self.books():
            with suppress(NoPeriod, LawUnknown):  # `alama retention show` says why
                plans.append(self.plan(book))
        return [plan for plan in plans if plan.scores]

    def is_usual(self, plan: Plan) -> bool:
        """Say whether a plan is as little as goes on any day, or a person has to say so."""
        return plan.scores <= max(USUAL_MAX, self._store.kept(plan.book) // USUAL_PART)

    def carry_out(self, plan: Plan, by: str | None = None) -> Iterator[int]:
        """Delete in batches, each a transaction, and give how many scores went with each.

        Each has an act that names its scores: wherever a crash ends this, the audit accounts for
        exactly those that are gone.
        """
        while gone := self._store.delete_outlived(plan, by):
            yield gone

    def finish(self) -> bool:
        """Leave no trace of what was deleted; False where that has to be done again later."""
        return self._store.finish()


def _days(period: Period) -> int:
    return 0 if period.law is None else period.law.days
