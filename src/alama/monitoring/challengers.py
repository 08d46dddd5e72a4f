"""Challengers: models that score what others decide on, one at a time in each book.

A challenger decides nothing, and no reply waits for it: a worker asks it about scores that were
stored some seconds ago (`alama.monitoring.shadowing`). So a candidate may be one whose
gates have failed.

AlamaError
├── ChallengerThere     a book has a challenger already; names it
├── NoChallenger        a book has no challenger, so there is none to end or to compare
└── ChallengerUnfit     the model cannot be asked: no policy fits it, or it decides there itself
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, insert, select, update

from alama.core import model as models
from alama.core.errors import AlamaError, InvalidModel, InvalidPolicy, UnknownCurrency
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import reading
from alama.lenders import schema as lenders_schema
from alama.lenders import store as lenders_store
from alama.lenders.own_fields import own_fields_in_force
from alama.lenders.records import UnknownLender, require_person, require_reason
from alama.monitoring import schema
from alama.monitoring.records import answering
from alama.onboarding.records import short
from alama.platform import ids
from alama.platform.acts import REASON, ActKind, ActLog, Detail, act_in_book
from alama.platform.book import Book, Mode
from alama.platform.database import books
from alama.platform.database.statements import insert_into
from alama.platform.errors import InvalidName
from alama.platform.files.packaged import builtin
from alama.policies import policies
from alama.scoring import schema as scoring_schema
from alama.scoring.store import stored_score, whole_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from alama.lenders.installation import Installation
    from alama.lenders.store import Registry
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.scoring.records import StoredScore


def none_to_end(book: Book) -> str:
    """Tell somebody who wants to end a challenger that is not there where else to look."""
    other = Mode.TEST if book.mode is Mode.LIVE else Mode.LIVE
    return f"there is none to end here; that of the other book is named by --mode {other}"


class ChallengerThere(AlamaError):
    """A book has a challenger already."""

    def __init__(self, book: Book, model_id: str) -> None:
        super().__init__(
            f"{short(model_id)} challenges the model of {book.lender} in {book.mode} mode already",
            hint="end that first",
        )


class NoChallenger(AlamaError):
    """A book has no challenger."""

    def __init__(self, book: Book, hint: str) -> None:
        super().__init__(
            f"no model challenges that of {book.lender} in {book.mode} mode", hint=hint
        )


class ChallengerUnfit(AlamaError):
    """A model cannot be asked about the scores of a book."""


class Challenger(NamedTuple):
    """A model that is asked about every score of a book, from a time on, until it is ended.

    `reached` is the id of the last score that it was asked about. `scored` are those that it had an
    answer to, `failed` those that it broke on; `error` names what broke last, and is never told
    what an applicant said.
    """

    book: Book
    model_id: str
    since_us: int
    set_by: str
    reason: str
    reached: str
    scored: int = 0
    failed: int = 0
    error: str | None = None
    ended_us: int | None = None


class Shadow(NamedTuple):
    """What a challenger would have said, and what was said, in the order of the columns."""

    request_id: str
    score: int
    tier: str
    default_probability: float
    decision: str
    given_model_id: str
    given_score: int
    given_tier: str
    given_default_probability: float
    given_decision: str


class Progress(NamedTuple):
    """How far a challenger has come: up to which score, and what it said to those before it."""

    reached: str
    shadows: Sequence[Shadow] = ()
    failed: int = 0
    error: str | None = None


_C: Any = schema.challengers.c


class Challengers:
    """Challengers in a database; who begins and who ends one is written to the log of acts."""

    def __init__(self, database: Database, log: ActLog) -> None:
        self._database = database
        self._log = log

    def begin(self, challenger: Challenger, document: bytes) -> None:
        """Keep one with its model; `ChallengerThere`, `UnknownLender`."""
        book, model_id, since_us = challenger.book, challenger.model_id, challenger.since_us
        row = challenger._asdict()
        del row["book"]
        with self._database.writing() as connection:
            _lock(connection, book)
            there = _open_in(connection, book)
            if there is not None:
                raise ChallengerThere(book, there.model_id)
            lenders_store.keep_document(
                connection, lenders_schema.models, model_id, document, since_us
            )
            connection.execute(insert(schema.challengers), books.of_book(book) | row)
            details: dict[str, Detail] = {REASON: challenger.reason, "since_us": since_us}
            act = act_in_book(ActKind.CHALLENGER_SET, book, model_id, details, challenger.set_by)
            self._log.append(connection, act)

    def end(self, book: Book, ended_us: int, by: str, reason: str) -> Challenger:
        """End the one of a book and give it; `NoChallenger`, `UnknownLender`."""
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
            act = act_in_book(ActKind.CHALLENGER_ENDED, book, there.model_id, details, by)
            self._log.append(connection, act)
        return there._replace(ended_us=ended_us)

    def of(self, book: Book) -> Sequence[Challenger]:
        """All that a book has ever had, the newest first."""
        query = (
            select(schema.challengers)
            .where(books.in_book(schema.challengers, book))
            .order_by(_C.since_us.desc())
        )
        with self._database.reading() as connection:
            return [_challenger(row) for row in connection.execute(query)]

    def running(self) -> Sequence[Challenger]:
        """Those of all books that are not ended: for a worker, not for callers."""
        query = select(schema.challengers).where(_C.ended_us.is_(None)).order_by(_C.lender, _C.mode)
        with self._database.reading() as connection:
            return [_challenger(row) for row in connection.execute(query)]

    def waiting(self, challenger: Challenger, before: str, limit: int) -> Sequence[StoredScore]:
        """The next scores that it is to be asked about, oldest first, up to an id."""
        request_id = scoring_schema.scores.c.request_id
        query = (
            whole_scores()
            .where(
                books.in_book(scoring_schema.scores, challenger.book),
                request_id > challenger.reached,
                request_id < before,
            )
            .order_by(request_id)
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [stored_score(row) for row in connection.execute(query)]

    def advance(self, challenger: Challenger, progress: Progress) -> bool:
        """Keep how far it is; False, and nothing is kept, where it is ended or another was here."""
        # Whoever has read the same place and comes second finds another one there.
        from_here = and_(_is(challenger), _C.reached == challenger.reached, _C.ended_us.is_(None))
        moved = {
            "reached": progress.reached,
            "scored": _C.scored + len(progress.shadows),
            "failed": _C.failed + progress.failed,
        }
        if progress.error is not None:
            moved["error"] = progress.error
        whose = books.of_book(challenger.book) | {"model_id": challenger.model_id}
        shadows = {shadow.request_id: shadow for shadow in progress.shadows}
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
    scores = scoring_schema.scores
    query = (
        select(scores.c.request_id)
        .where(books.in_book(scores, book), scores.c.request_id.in_(request_ids))
        .order_by(scores.c.request_id)
        .with_for_update(read=True, key_share=True)
    )
    return connection.execute(query).scalars().all()


def _lock(connection: Connection, book: Book) -> None:
    if not lenders_store.lock_lender(connection, book.lender):
        raise UnknownLender(book.lender)


def _open_in(connection: Connection, book: Book) -> Challenger | None:
    query = select(schema.challengers).where(
        books.in_book(schema.challengers, book), _C.ended_us.is_(None)
    )
    row = connection.execute(query).first()
    return None if row is None else _challenger(row)


def _is(challenger: Challenger) -> ColumnElement[bool]:
    return and_(
        books.in_book(schema.challengers, challenger.book),
        _C.model_id == challenger.model_id,
        _C.since_us == challenger.since_us,
    )


def _challenger(row: Row[Any]) -> Challenger:
    columns = dict(row._mapping)  # noqa: SLF001  public in spite of it
    return Challenger(Book(columns.pop("lender"), Mode(columns.pop("mode"))), **columns)


class Challenges:
    """Begins and ends them. Both are acts of the audit."""

    def __init__(
        self,
        challengers: Challengers,
        registry: Registry,
        clock: Clock,
        builtin: Callable[[], Model],
    ) -> None:
        self._challengers = challengers
        self._registry = registry
        self._clock = clock
        self._builtin = builtin  # the model of books that have none of their own

    @classmethod
    def at(cls, installed: Installation) -> Challenges:
        """Who begins and ends the challengers of an installation."""
        challengers = Challengers(installed.database, installed.log)
        return cls(challengers, installed.registry, installed.clock, builtin)

    def begin(
        self, book: Book, document: bytes, by: str, reason: str, from_us: int | None = None
    ) -> Challenger:
        """Have a model asked about every score of a book from now on.

        Or about those that are stored from an earlier time on, and all that follow.
        `ChallengerUnfit` where the policy in force does not fit it, or it decides there itself;
        `ChallengerThere`, `UnknownLender`, `InvalidModel`; `InvalidName` also where that time is
        yet to come, or before 1970.
        """
        by, reason = require_person(by), require_reason(reason)
        model = self._fitting(book, document)
        now_us = self._clock()
        if from_us is not None and not 0 <= from_us <= now_us:
            raise InvalidName(
                "a challenger cannot begin on a day that is yet to come, or before 1970"
            )
        reached = ids.first_of(now_us if from_us is None else from_us)
        challenger = Challenger(book, model.id, now_us, by, reason, reached)
        self._challengers.begin(challenger, document)
        return challenger

    def end(self, book: Book, by: str, reason: str) -> Challenger:
        """Ask it no more; what it has said stays.

        `NoChallenger`, `UnknownLender`, `InvalidName`.
        """
        by, reason = require_person(by), require_reason(reason)
        return self._challengers.end(book, self._clock(), by, reason)

    def _fitting(self, book: Book, document: bytes) -> Model:
        self._registry.lender(book.lender)
        _, policy_id = self._registry.deployed(book) or (None, None)
        policy = policies.policy_by_id(self._registry, book, policy_id)
        try:
            model = models.decode(document)
            own = own_fields_in_force(self._registry, book.lender)
            ReadyPolicy(policy, ReadyModel(reading(model, own), policy.currency))
        except (InvalidModel, InvalidPolicy, UnknownCurrency) as error:
            raise ChallengerUnfit(
                f"the model and the policy in force cannot answer together: {error}",
                hint=error.hint,
            ) from error
        if model.id == answering(self._registry, book, self._builtin):
            raise ChallengerUnfit(
                f"{short(model.id)} decides for {book.lender} in {book.mode} mode itself",
                hint="a challenger is another model than the one that it is held against",
            )
        return model
