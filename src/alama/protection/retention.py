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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import BigInteger, cast, delete, exists, func, or_, select

from alama.core.errors import AlamaError, InvalidPolicy, UnknownJurisdiction
from alama.memory import schema as memory_schema
from alama.memory.store import forget
from alama.monitoring import schema as monitoring_schema
from alama.platform import ids
from alama.platform.acts import BEFORE_US, Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.database.books import in_book
from alama.platform.days import DAY_US
from alama.platform.errors import InvalidName, StoreUnfit
from alama.platform.files.packaged import jurisdiction
from alama.policies.policies import policy_by_id
from alama.protection.applicants import lock_keys, same_applicant, under_hold
from alama.protection.schema import legal_holds
from alama.scoring import lists, schema
from alama.vault import schema as vault_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from alama.core.lending.jurisdiction import Jurisdiction
    from alama.lenders.installation import Installation
    from alama.lenders.store import Registry
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database


class NoPeriod(AlamaError):
    """Nothing says for how long the scores of a book are kept."""

    def __init__(self, book: Book, reason: str) -> None:
        super().__init__(
            f"nothing says for how long {book.lender} keeps its scores of {book.mode} mode: "
            f"{reason}",
            hint="add --days N, or name a jurisdiction with such a rule in the policy",
        )
        self.reason = reason


class PeriodTooShort(AlamaError):
    """The law says that scores are kept for longer."""

    def __init__(self, days: int, law: Law) -> None:
        super().__init__(
            f"{days} days are fewer than {law.place} asks for, {law.days}: {law.rule}",
            hint=f"{law.source}; leave --days out, or give {law.days} or more",
        )


class LawUnknown(AlamaError):
    """A policy cannot be read, so nobody knows which law the scores that name it are under."""

    def __init__(self, book: Book, reason: str) -> None:
        super().__init__(
            f"a policy that scores of {book.lender} in {book.mode} mode name cannot be read, and "
            f"so for how long the law has them kept: {reason}",
            hint="restore the table policies from a backup; nothing of it is deleted meanwhile",
        )
        self.reason = reason


def retention_run(plan: Plan, request_ids: Sequence[str], by: str | None) -> Act:
    """Say which scores go with this batch, each by the bytes of its id."""
    details: dict[str, Detail] = {
        BEFORE_US: plan.before_us,
        "days": plan.days,
        "scores": len(request_ids),
    }
    act = act_in_book(ActKind.RETENTION_RUN, plan.book, details=details, by=by)
    return msgspec.structs.replace(act, deleted=b"".join(map(ids.raw, request_ids)))


def deleted_in(act: Act) -> list[bytes]:
    """Give the ids of the scores that a retention run has deleted, as bytes."""
    packed = act.deleted
    return [packed[at : at + ids.RAW_BYTES] for at in range(0, len(packed), ids.RAW_BYTES)]


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
    """What a run would delete: scores of a book, given before a time and due for `days` days.

    Beside them `borrowers` of whom no score is left, and nothing was told since that time.
    """

    book: Book
    days: int
    before_us: int
    scores: int
    borrowers: int = 0


class Gone(NamedTuple):
    """What one transaction has deleted: scores, and borrowers of whom there was none."""

    scores: int
    borrowers: int


DELETED_AT_ONCE: Final = 1_000
"""Scores that go in one transaction: meanwhile SQLite lets nobody else write."""


class RetentionStore:
    """Deletes scores in batches, with all that became of them and keys that nothing is left of."""

    def __init__(self, database: Database, log: ActLog) -> None:
        self._database = database
        self._log = log

    def unscored(self, book: Book, before_us: int) -> int:
        """How many borrowers may go of whom there is no score, and nothing was told since."""
        old = _unscored_query(book, before_us).subquery()
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(old)).scalar_one()

    def outlived(self, book: Book, before_us: int) -> int:
        """How many scores of a book may go."""
        old = _outlived(book, before_us).subquery()
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(old)).scalar_one()

    def kept(self, book: Book) -> int:
        query = select(func.count()).where(in_book(schema.scores, book))
        with self._database.reading() as connection:
            return connection.execute(query).scalar_one()

    def delete_outlived(self, plan: Plan, by: str | None) -> Gone:
        """Delete some of those, with what is theirs alone, and note which; how many are gone."""
        some = _outlived(plan.book, plan.before_us).order_by(schema.scores.c.request_id)
        with self._database.writing() as connection:
            found = connection.execute(some.limit(DELETED_AT_ONCE)).all()
            gone = _free(connection, found)
            request_ids = [row.request_id for row in gone]
            _delete_scores(connection, plan, request_ids)
            over = self._forget_ended(connection, plan, by)
            _delete_keys(connection, sorted({*_keys_of(gone), *over}), plan.before_us)
            unscored = _unscored(connection, plan.book, plan.before_us)
            _delete_keys(connection, unscored, plan.before_us)
            if gone or unscored:
                self._log.append(connection, retention_run(plan, request_ids, by))
        return Gone(len(gone), len(unscored))

    def _forget_ended(self, connection: Connection, plan: Plan, by: str | None) -> Sequence[str]:
        """Forget entries of lists that ended as long ago, unless a hold stands; give whose."""
        over = lists.ended(connection, plan.book, plan.before_us)
        free = sorted(set(over) - under_hold(connection, over))
        for key_id in free:
            entry = lists.take_off(connection, plan.book, key_id)
            if entry is not None:
                self._log.append(connection, lists.applicant_unlisted(plan.book, entry, by))
        return free

    def policies(self, book: Book, before_us: int) -> Sequence[str]:
        """The policies that scores of a book name, of those given before a time."""
        table = schema.scores
        query = select(table.c.policy_id).distinct().where(*_given_before(book, before_us))
        with self._database.reading() as connection:
            return connection.execute(query).scalars().all()

    def finish(self) -> bool:
        """Leave no trace of what was deleted; False where somebody is in the way right now."""
        return self._database.empty_journal()


def _outlived(book: Book, before_us: int) -> Select[Any]:
    """Select the scores whose loans would have been due before a time, unless a hold stands."""
    scores, keys, holds = schema.scores, vault_schema.applicant_keys, legal_holds
    held = exists(
        select(keys.c.id)
        .join(holds, same_applicant())
        .where(keys.c.id == scores.c.applicant_key_id, holds.c.released_us.is_(None))
    )
    return select(scores.c.request_id, scores.c.applicant_key_id).where(
        *_given_before(book, before_us),
        scores.c.created_us + cast(scores.c.recommended_term_days, BigInteger) * DAY_US < before_us,
        ~held,
    )


def _unscored_query(book: Book, before_us: int) -> Select[Any]:
    """Select the keys of borrowers of whom no score and no list entry is left; without a hold."""
    borrowers, keys, holds = memory_schema.borrowers, vault_schema.applicant_keys, legal_holds
    held = exists(
        select(holds.c.id)
        .join(keys, same_applicant())
        .where(keys.c.id == borrowers.c.applicant_key_id, holds.c.released_us.is_(None))
    )
    named = [
        exists(select(table.c.applicant_key_id).where(table.c.applicant_key_id == key_id))
        for table in (schema.scores, tables.reviews, schema.list_entries)
        for key_id in (borrowers.c.applicant_key_id,)
    ]
    return select(borrowers.c.applicant_key_id).where(
        in_book(borrowers, book), borrowers.c.updated_us < before_us, ~or_(*named), ~held
    )


def _unscored(connection: Connection, book: Book, before_us: int) -> list[str]:
    """Give some of those keys, and keep everybody else from using them."""
    query = _unscored_query(book, before_us).order_by(memory_schema.borrowers.c.applicant_key_id)
    found = connection.execute(query.limit(DELETED_AT_ONCE)).scalars().all()
    lock_keys(connection, vault_schema.applicant_keys.c.id.in_(found))
    held = under_hold(connection, found)
    # Somebody may have told of them before they were locked.
    again = query.where(memory_schema.borrowers.c.applicant_key_id.in_(found))
    return [one for one in connection.execute(again).scalars() if one not in held]


def _given_before(book: Book, before_us: int) -> Sequence[ColumnElement[bool]]:
    """Choose the scores of a book by the index: an id begins with the time of its score."""
    scores = schema.scores
    return (
        scores.c.lender == book.lender,
        scores.c.mode == book.mode.value,
        scores.c.request_id < ids.request_id(before_us, bytes(ids.RANDOM_BYTES)),
    )


def _free(connection: Connection, found: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Leave out the scores of applicants on whom a hold was placed since they were found.

    From here on nobody can place one, nor seal a score under a key that is about to go.
    """
    key_ids = _keys_of(found)
    lock_keys(connection, vault_schema.applicant_keys.c.id.in_(key_ids))
    held = under_hold(connection, key_ids)
    return [row for row in found if row.applicant_key_id not in held]


def _keys_of(rows: Sequence[Row[Any]]) -> list[str]:
    return sorted({row.applicant_key_id for row in rows if row.applicant_key_id is not None})


def _delete_scores(connection: Connection, plan: Plan, request_ids: Sequence[str]) -> None:
    _lock_scores(connection, plan.book, request_ids)
    for table in (schema.scores, schema.idempotency):
        connection.execute(
            delete(table).where(
                table.c.lender == plan.book.lender,
                table.c.mode == plan.book.mode.value,
                table.c.created_us < plan.before_us,
                table.c.request_id.in_(request_ids),
            )
        )
    # After the scores: whoever records what became of one has locked it, and we have waited.
    _delete_aftermath(connection, plan.book, request_ids)


def _lock_scores(connection: Connection, book: Book, request_ids: Sequence[str]) -> None:
    """Take scores in the order of their ids, as all do: a deletion takes them as they lie."""
    scores = schema.scores
    query = (
        select(scores.c.request_id)
        .where(in_book(scores, book), scores.c.request_id.in_(request_ids))
        .order_by(scores.c.request_id)
    )
    connection.execute(query.with_for_update())


def _delete_aftermath(connection: Connection, book: Book, request_ids: Sequence[str]) -> None:
    """Delete what became of scores, and what other models would have said."""
    shadows, challengers = monitoring_schema.shadow_scores, monitoring_schema.challengers
    for table in (monitoring_schema.outcomes, tables.reviews, shadows):
        gone = delete(table).where(in_book(table, book), table.c.request_id.in_(request_ids))
        if table is shadows:
            # Their key has the model before the score: without it the whole book would be read.
            asked = select(challengers.c.model_id).where(in_book(challengers, book))
            gone = gone.where(table.c.model_id.in_(asked))
        connection.execute(gone)


def _delete_keys(connection: Connection, key_ids: Sequence[str], before_us: int) -> None:
    """Delete the keys under which nothing is left, and what was noted of their applicants.

    What is remembered of a borrower goes along, unless something was told of them since.
    """
    borrowers = memory_schema.borrowers
    keys, holds = vault_schema.applicant_keys, legal_holds
    used = [
        exists(select(table.c.applicant_key_id).where(table.c.applicant_key_id == keys.c.id))
        for table in (schema.scores, tables.reviews, schema.list_entries)
    ]
    recent = borrowers.c.updated_us >= before_us
    used.append(exists().where(borrowers.c.applicant_key_id == keys.c.id, recent))
    unused = keys.c.id.in_(key_ids) & ~or_(*used)
    query = select(keys.c.id, keys.c.lender, keys.c.mode, keys.c.subject).where(unused)
    for key in connection.execute(query).all():
        connection.execute(
            delete(holds).where(
                holds.c.lender == key.lender,
                holds.c.mode == key.mode,
                holds.c.subject == key.subject,
            )
        )
        forget(connection, [key.id])
        connection.execute(delete(keys).where(keys.c.id == key.id))


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

    @classmethod
    def at(cls, installed: Installation, clock: Clock | None = None) -> Retention:
        """For how long an installation holds what it holds; by another time, what would be due."""
        store = RetentionStore(installed.database, installed.log)
        return cls(installed.registry, store, clock or installed.clock.trusted, jurisdiction)

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
        store = self._store
        old, unscored = store.outlived(book, before_us), store.unscored(book, before_us)
        return Plan(book, days, before_us, old, unscored)

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
        return [plan for plan in plans if plan.scores or plan.borrowers]

    def is_usual(self, plan: Plan) -> bool:
        """Say whether a plan is as little as goes on any day, or a person has to say so."""
        return plan.scores <= max(USUAL_MAX, self._store.kept(plan.book) // USUAL_PART)

    def carry_out(self, plan: Plan, by: str | None = None) -> Iterator[int]:
        """Delete in batches, each a transaction, and give how many scores went with each.

        Each has an act that names its scores: wherever a crash ends this, the audit accounts for
        exactly those that are gone.
        """
        while any(gone := self._store.delete_outlived(plan, by)):
            yield gone.scores

    def finish(self) -> bool:
        """Leave no trace of what was deleted; False where that has to be done again later."""
        return self._store.finish()


def _days(period: Period) -> int:
    return 0 if period.law is None else period.law.days
