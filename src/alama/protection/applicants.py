"""Applicants: what is held on one of them is exported, kept for a court, or erased for good.

An applicant is found by the lender's own reference, `applicant_ref`, which is kept nowhere in
clear: the vault turns it into what the database knows the applicant by. Neither of the two is ever
written to a log or to the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta
from sqlalchemy import Table, delete, insert, null, select, update

from alama.core.application import may_be_word
from alama.core.catalogue import WORD_LENGTH_MAX
from alama.core.errors import AlamaError
from alama.memory.borrower import HOUR_US, hour_of, remembered
from alama.memory.store import StoredBorrower, forget, open_borrower, stored_borrower
from alama.monitoring.reviews import opened
from alama.monitoring.sequels import sequels_of, shadows_of
from alama.platform.acts import ERASED_US, HOLD, Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.book import Book, Mode
from alama.platform.database.books import in_book
from alama.platform.days import date_of, moment, moment_if
from alama.platform.errors import InvalidName, Kind, StoreUnavailable, StoreUnfit, day_of_us
from alama.platform.http.exchange import Moment, Utc
from alama.protection.schema import legal_holds
from alama.scoring import schema as scoring_schema
from alama.scoring.lists import entry_of, take_off
from alama.scoring.records import StoredScore, reference_of
from alama.scoring.replay import open_packed, open_score
from alama.scoring.store import stored_score, whole_scores
from alama.vault import schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection

    from alama.core.memory import Amount
    from alama.lenders.installation import Installation
    from alama.memory.borrower import KeptLoan
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.scoring.lists import ListEntry
    from alama.scoring.records import ScoreRow, Sealed
    from alama.scoring.sequels import Outcome, Review, Sequel, Shadowed, StoredSequel
    from alama.vault.vault import Vault


class UnknownApplicant(AlamaError):
    """Nothing is held on such an applicant in this book."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_applicant", "Unknown applicant")

    def __init__(self, book: Book) -> None:
        """Name the book, not the applicant: what is not held need not be repeated."""
        super().__init__(
            f"{book.lender} holds nothing on this applicant in {book.mode} mode",
            hint="the reference is what came as applicant_ref, letter by letter; one who was "
            "erased is not known any more",
        )


class UnderHold(AlamaError):
    """A legal hold stands in the way of an erasure."""

    kind = Kind(HTTPStatus.CONFLICT, "under_hold", "Under a legal hold")

    def __init__(self, holds: Sequence[Hold]) -> None:
        standing = "; ".join(
            f"hold {hold.number} of {day_of_us(hold.placed_us)}: {hold.reason}" for hold in holds
        )
        super().__init__(
            f"a legal hold stands on this applicant ({standing})",
            hint="release it once the case is over",
        )
        self.holds = holds


class UnknownHold(AlamaError):
    """No hold of this number stands."""

    def __init__(self, number: int) -> None:
        super().__init__(f"no hold {number} stands")


REASON_MAX: Final = 200


class Hold(NamedTuple):
    """A legal hold: as long as it stands, nothing of the applicant may be erased or deleted.

    `key_id` names the applicant, as the audit does.
    """

    number: int
    book: Book
    key_id: str
    reason: str
    placed_us: int
    released_us: int | None


class Held(NamedTuple):
    """All that is stored on one applicant, sealed as it is. `since_us`: the first of it."""

    key_id: str
    since_us: int
    scores: Sequence[StoredScore]
    holds: Sequence[Hold]
    listed: ListEntry | None


class TakenOut(NamedTuple):
    """The same with what became of each score, and what other models would have said, by its id.

    `borrower` is what is remembered of them, sealed; None: nothing is.
    """

    held: Held
    borrower: StoredBorrower | None
    sequels: Mapping[str, StoredSequel]
    shadows: Mapping[str, Sequence[Shadowed]]


class Erasure(NamedTuple):
    """What an erasure has made unreadable, of how many scores.

    `journal_emptied` is False where SQLite's journal may still hold the key, because somebody is
    reading from it.
    """

    key_id: str
    erased_us: int
    scores: int
    replies: int
    journal_emptied: bool


def applicant_exported(book: Book, key_id: str, scores: int, by: str | None) -> Act:
    return act_in_book(ActKind.APPLICANT_EXPORTED, book, key_id, {"scores": scores}, by)


def applicant_erased(book: Book, erasure: Erasure, by: str | None) -> Act:
    details: dict[str, Detail] = {
        "scores": erasure.scores,
        "replies": erasure.replies,
        ERASED_US: erasure.erased_us,
    }
    return act_in_book(ActKind.APPLICANT_ERASED, book, erasure.key_id, details, by)


def hold_placed(hold: Hold, by: str | None) -> Act:
    details: dict[str, Detail] = {
        HOLD: hold.number,
        "reason": hold.reason,
        "placed_us": hold.placed_us,
    }
    return act_in_book(ActKind.HOLD_PLACED, hold.book, hold.key_id, details, by)


def hold_released(hold: Hold, by: str | None) -> Act:
    details: dict[str, Detail] = {HOLD: hold.number, "released_us": hold.released_us}
    return act_in_book(ActKind.HOLD_RELEASED, hold.book, hold.key_id, details, by)


_FORGOTTEN: Final = bytes(32)
"""In the place of the hash of a request, by which a guess at its body could be confirmed."""


RequireTheirs = Callable[[Sequence["StoredScore"]], None]
"""Raises where scores are not of the applicant that was asked for, and then nothing is done."""


class LockedKey(NamedTuple):
    """The key of an applicant that nobody else can use until the transaction is over."""

    id: str
    created_us: int


class ApplicantStore:
    """Applicants in a database: found by their subject, held, taken out, erased."""

    def __init__(self, database: Database, log: ActLog) -> None:
        self._database = database
        self._log = log

    def look_up(self, book: Book, subject: bytes) -> Held:
        """Give what an applicant sent and was told; nothing is noted, for nobody has read it."""
        table = schema.applicant_keys
        query = select(table.c.id, table.c.created_us).where(_on(table, book, subject))
        with self._database.reading() as connection:
            key = connection.execute(query).first()
            if key is None:
                raise UnknownApplicant(book)
            holds = _holds(connection, _on(legal_holds, book, subject))
            scores, listed = _scores_of(connection, key.id), entry_of(connection, book, key.id)
            return Held(key.id, key.created_us, scores, holds, listed)

    def take_out(
        self, book: Book, subject: bytes, require_theirs: RequireTheirs, by: str | None
    ) -> TakenOut:
        """Give all that is stored on an applicant, with what became of it."""
        with self._database.writing() as connection:
            key = _known(connection, book, subject)
            found = _scores_of(connection, key.id)
            require_theirs(found)
            holds = _holds(connection, _on(legal_holds, book, subject))
            listed = entry_of(connection, book, key.id)
            request_ids = [stored.row.request_id for stored in found]
            sequels = sequels_of(connection, book, request_ids)
            shadows = shadows_of(connection, book, request_ids)
            borrower = stored_borrower(connection, _on(schema.applicant_keys, book, subject))
            self._log.append(connection, applicant_exported(book, key.id, len(found), by))
        held = Held(key.id, key.created_us, found, holds, listed)
        return TakenOut(held, borrower, sequels, shadows)

    def erase(
        self,
        book: Book,
        subject: bytes,
        require_theirs: RequireTheirs,
        now_us: int,
        by: str | None,
    ) -> Erasure:
        """Destroy the key of an applicant, and empty the replies under it; or `UnderHold`."""
        try:
            with self._database.writing() as connection:
                key = _known(connection, book, subject)
                _require_no_hold(connection, book, subject)
                found = _scores_of(connection, key.id)
                require_theirs(found)
                replies = _forget_replies(connection, key.id)
                _destroy(connection, key.id, now_us)
                forget(connection, [key.id])
                take_off(connection, book, key.id)
                # Those that stood once: the audit says so, by the id of the key.
                holds = legal_holds
                connection.execute(delete(holds).where(_on(holds, book, subject)))
                erasure = Erasure(key.id, now_us, len(found), replies, journal_emptied=False)
                self._log.append(connection, applicant_erased(book, erasure, by))
        except UnknownApplicant:
            # It may be the second time, because the journal could not be emptied the first time.
            if not self._database.empty_journal():
                raise StoreUnavailable("the journal still holds what was erased") from None
            raise
        return erasure._replace(journal_emptied=self._database.empty_journal())

    def place_hold(
        self, book: Book, subject: bytes, reason: str, now_us: int, by: str | None
    ) -> Hold:
        """Keep what is held on an applicant from being erased or deleted."""
        row = {
            "lender": book.lender,
            "mode": book.mode.value,
            "subject": subject,
            "reason": reason,
            "placed_us": now_us,
        }
        with self._database.writing() as connection:
            key = _known(connection, book, subject)
            placed = connection.execute(insert(legal_holds), row).inserted_primary_key
            assert placed is not None
            hold = Hold(placed[0], book, key.id, reason, now_us, None)
            self._log.append(connection, hold_placed(hold, by))
        return hold

    def release_hold(self, number: int, now_us: int, by: str | None) -> Hold:
        """End a hold; `UnknownHold` if none of this number stands."""
        table = legal_holds
        standing = (table.c.id == number) & table.c.released_us.is_(None)
        with self._database.writing() as connection:
            ended = connection.execute(update(table).where(standing).values(released_us=now_us))
            if not ended.rowcount:
                raise UnknownHold(number)
            hold = _holds(connection, table.c.id == number)[0]
            self._log.append(connection, hold_released(hold, by))
        return hold

    def holds(self) -> Sequence[Hold]:
        """The holds that stand, oldest first."""
        with self._database.reading() as connection:
            return _holds(connection, legal_holds.c.released_us.is_(None))


def under_hold(connection: Connection, key_ids: Sequence[str]) -> set[str]:
    """Give those of some applicants, by the ids of their keys, on whom a hold stands."""
    holds, keys = legal_holds, schema.applicant_keys
    query = select(keys.c.id).join(holds, same_applicant())
    standing = holds.c.released_us.is_(None) & keys.c.id.in_(key_ids)
    return set(connection.execute(query.where(standing)).scalars())


def lock_keys(connection: Connection, condition: ColumnElement[bool]) -> list[LockedKey]:
    """Give the keys of applicants, and keep everybody else from using them until the end.

    A score that is being sealed under one is waited for: on PostgreSQL it shares the lock.
    """
    table = schema.applicant_keys
    query = select(table.c.id, table.c.created_us).where(condition).order_by(table.c.id)
    return [LockedKey._make(row) for row in connection.execute(query.with_for_update())]


def _known(connection: Connection, book: Book, subject: bytes) -> LockedKey:
    """Give the key of an applicant, locked, or raise `UnknownApplicant`."""
    found = lock_keys(connection, _on(schema.applicant_keys, book, subject))
    if not found:
        raise UnknownApplicant(book)
    return found[0]


def _require_no_hold(connection: Connection, book: Book, subject: bytes) -> None:
    table = legal_holds
    standing = _holds(connection, _on(table, book, subject) & table.c.released_us.is_(None))
    if standing:
        raise UnderHold(standing)


def _scores_of(connection: Connection, key_id: str) -> list[StoredScore]:
    table = scoring_schema.scores
    query = whole_scores().where(table.c.applicant_key_id == key_id).order_by(table.c.request_id)
    return [stored_score(row) for row in connection.execute(query)]


def _forget_replies(connection: Connection, key_id: str) -> int:
    """Take everything out of the replies kept for retries but that they were erased.

    A reply has the time of its score, by which the index finds it.
    """
    table, scores = scoring_schema.idempotency, scoring_schema.scores
    times = select(scores.c.created_us).where(scores.c.applicant_key_id == key_id)
    of_applicant = table.c.created_us.in_(times) & (table.c.applicant_key_id == key_id)
    emptied = update(table).where(of_applicant).values(reply=b"", request_digest=_FORGOTTEN)
    return connection.execute(emptied).rowcount


def _destroy(connection: Connection, key_id: str, now_us: int) -> None:
    table = schema.applicant_keys
    gone = {"subject": null(), "wrapped": null(), "erased_us": now_us}
    connection.execute(update(table).where(table.c.id == key_id).values(gone))


def _holds(connection: Connection, condition: ColumnElement[bool]) -> list[Hold]:
    """Give holds, oldest first. While one stands its applicant cannot be erased, and has a key."""
    table, keys = legal_holds, schema.applicant_keys
    query = (
        select(table, keys.c.id.label("key_id"))
        .join(keys, same_applicant())
        .where(condition)
        .order_by(table.c.id)
    )
    return [
        Hold(
            row.id,
            Book(row.lender, Mode(row.mode)),
            row.key_id,
            row.reason,
            row.placed_us,
            row.released_us,
        )
        for row in connection.execute(query)
    ]


def same_applicant() -> ColumnElement[bool]:
    """Match holds with the keys of those they stand on."""
    holds, keys = legal_holds, schema.applicant_keys
    same_book = (keys.c.lender == holds.c.lender) & (keys.c.mode == holds.c.mode)
    return same_book & (keys.c.subject == holds.c.subject)


def _on(table: Table, book: Book, subject: bytes) -> ColumnElement[bool]:
    return in_book(table, book) & (table.c.subject == subject)


class Applicants:
    """What those who run the service can do for one applicant, or with what is held on them."""

    def __init__(self, store: ApplicantStore, vault: Vault, clock: Clock) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock

    @classmethod
    def at(cls, installed: Installation) -> Applicants:
        """What an installation holds on each applicant."""
        store = ApplicantStore(installed.database, installed.log)
        return cls(store, installed.vault, installed.clock)

    def export(self, book: Book, applicant_ref: str, by: str | None = None) -> ApplicantExport:
        """Give everything that is held on an applicant, or raise `UnknownApplicant`."""
        reference = _reference(applicant_ref)
        subject = self._subject(book, reference)
        taken = self._store.take_out(book, subject, self._require_theirs(book, subject), by)
        held, now_us = taken.held, self._clock()
        return ApplicantExport(
            format=FORMAT,
            lender=book.lender,
            mode=book.mode.value,
            applicant_ref=reference,
            exported_at=moment(now_us),
            held_since=moment(held.since_us),
            scores=[
                exported_score(
                    stored.row,
                    open_score(self._vault, stored),
                    opened(self._vault, taken.sequels[stored.row.request_id]),
                    taken.shadows.get(stored.row.request_id, ()),
                )
                for stored in held.scores
            ],
            memory=_exported_memory(self._vault, taken.borrower, hour_of(now_us)),
            legal_holds=[_exported_hold(hold) for hold in held.holds],
            list_entry=None if held.listed is None else _exported_entry(held.listed),
            remarks=list(REMARKS),
        )

    def look_up(self, book: Book, applicant_ref: str) -> Held:
        """Give what is held on an applicant, sealed as it is; nothing of it is taken out."""
        return self._store.look_up(book, self._subject(book, _reference(applicant_ref)))

    def erase(self, book: Book, applicant_ref: str, by: str | None = None) -> Erasure:
        """Destroy the key of an applicant: what it has sealed is unreadable from then on.

        `UnknownApplicant` or `UnderHold`, and nothing has changed. Done again, where the applicant
        is not known any more, it still empties the journal.
        """
        subject = self._subject(book, _reference(applicant_ref))
        theirs = self._require_theirs(book, subject)
        return self._store.erase(book, subject, theirs, self._clock(), by)

    def hold(self, book: Book, applicant_ref: str, reason: str, by: str | None = None) -> Hold:
        """Keep everything of an applicant until the hold is released; several may stand."""
        reference, said = _reference(applicant_ref), reason.strip()
        if not (said.isprintable() and 1 <= len(said) <= REASON_MAX):
            raise InvalidName(f"a reason has 1 to {REASON_MAX} characters, all on one line")
        if reference.casefold() in said.casefold():
            raise InvalidName(
                "the reason names the applicant",
                hint="it is kept in clear, for good: name the case instead",
            )
        return self._store.place_hold(book, self._subject(book, reference), said, self._clock(), by)

    def release(self, number: int, by: str | None = None) -> Hold:
        """End a hold, or raise `UnknownHold`."""
        return self._store.release_hold(number, self._clock(), by)

    def holds(self) -> Sequence[Hold]:
        return self._store.holds()

    def _subject(self, book: Book, reference: str) -> bytes:
        return self._vault.ring(book.lender).subject(book.mode.value, reference)

    def _require_theirs(self, book: Book, subject: bytes) -> RequireTheirs:
        """Hold what was found against whom it names: the way to it is a column, and may be wrong.

        What is damaged names nobody any more, and can be erased all the same.
        """

        def require(found: Sequence[StoredScore]) -> None:
            for stored in found:
                reference = self._named_by(stored)
                if reference is not None and self._subject(book, reference) != subject:
                    raise StoreUnfit(
                        f"{stored.row.request_id} would be found, and names somebody else: "
                        "who is found by which reference was changed in the database",
                        hint="nothing was done. `alama audit verify` says what else was changed; "
                        "restore the table applicant_keys from a backup",
                    )

        return require

    def _named_by(self, stored: StoredScore) -> str | None:
        try:
            return reference_of(open_packed(self._vault, stored), stored.row.request_id)
        except StoreUnfit:
            return None


def _reference(said: str) -> str:
    """Read a reference as the intake of applications does."""
    reference = said.strip()
    if not may_be_word(reference):
        raise InvalidName(
            f"a reference has 1 to {WORD_LENGTH_MAX} characters, all on one line",
            hint="give what was sent as applicant_ref",
        )
    return reference


# ------------------------------------------------------------------------------------------- export


FORMAT: Final = 1
"""Of the exported document. It is raised when a field changes its meaning."""

_INDENT: Final = 2

Day = date
"""Under another name, for a field is called `date`."""


class ExportedHold(msgspec.Struct, frozen=True, kw_only=True):
    """A legal hold as the applicant reads of it."""

    reason: Annotated[str, Meta(description="The case that it stands for.")]
    placed_at: Moment
    released_at: Annotated[Utc | None, Meta(description="In UTC; null: it stands.")]


class ExportedListEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in a list of the lender, as the applicant reads of it."""

    list: Annotated[str, Meta(description="block: declined. watch: left to a person.")]
    reason: Annotated[str, Meta(description="Why, as it is counted.")]
    by: Annotated[str, Meta(description="Who said so.")]
    note: Annotated[str, Meta(description="In their words; empty: none were given.")]
    listed_at: Moment
    until: Annotated[Utc | None, Meta(description="When it ends, in UTC; null: not by itself.")]


class ExportedReview(msgspec.Struct, frozen=True, kw_only=True):
    """What an officer decided on a score, as the applicant reads of it."""

    decision: Annotated[str, Meta(description="APPROVED or DECLINED.")]
    reason: Annotated[str, Meta(description="Why, as it is counted.")]
    by: Annotated[str, Meta(description="Who decided.")]
    note: Annotated[str, Meta(description="In the officer's own words.")]
    reviewed_at: Moment


class ExportedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a loan went, as the applicant reads of it."""

    outcome: Annotated[str, Meta(description="The latest that is known.")]
    date: Annotated[Day, Meta(description="Of the latest that is known.")]
    is_default: Annotated[bool, Meta(description="Whether it was ever a default.")]
    defaulted_on: Annotated[Day | None, Meta(description="Since when it was one; null: never.")] = (
        None
    )
    disbursed_amount: Annotated[float | None, Meta(description="In money; null: nobody said.")]
    repaid_amount: Annotated[float | None, Meta(description="In money; null: nobody said.")]
    recorded_at: Moment


class ExportedShadow(msgspec.Struct, frozen=True, kw_only=True):
    """What another model would have said, as the applicant reads of it."""

    model: Annotated[str, Meta(description="Content hash of the model.")]
    score: Annotated[int, Meta(description="In points.")]
    tier: Annotated[str, Meta(description="Risk tier, A the safest.")]
    default_probability: Annotated[float, Meta(description="Of this loan, as a fraction.")]
    decision: Annotated[str, Meta(description="APPROVED, REVIEW or DECLINED.")]


class ExportedScore(msgspec.Struct, frozen=True, kw_only=True):
    """One score: what was decided, from what, and every number between the two.

    Then what became of it, if anything is known.
    """

    request_id: Annotated[str, Meta(description="Names the score for ever.")]
    given_at: Moment
    key_id: Annotated[str, Meta(description="The key that asked.")]
    model: Annotated[str, Meta(description="Content hash of the model.")]
    policy: Annotated[str, Meta(description="Content hash of the policy.")]
    score: Annotated[int, Meta(description="In points.")]
    tier: Annotated[str, Meta(description="Risk tier, A the safest.")]
    default_probability: Annotated[float, Meta(description="Of this loan, as a fraction.")]
    decision: Annotated[str, Meta(description="APPROVED, REVIEW or DECLINED.")]
    recommended_limit: Annotated[float, Meta(description="In the lender's currency.")]
    recommended_term_days: Annotated[int, Meta(description="In days.")]
    recommended_apr: Annotated[float, Meta(description="Percent a year.")]
    expected_loss: Annotated[float, Meta(description="Of the loan as offered, in money.")]
    processing_ms: Annotated[int, Meta(description="Milliseconds taken.")]
    application: Annotated[
        msgspec.Raw,
        Meta(description="The request body as it was sent.", extra_json_schema={"type": "object"}),
    ]
    assessment: Annotated[
        dict[str, Any], Meta(description="All that was concluded from it, to the last digit.")
    ]
    review: Annotated[
        ExportedReview | None, Meta(description="What an officer decided; null: nobody has.")
    ] = None
    outcome: Annotated[
        ExportedOutcome | None, Meta(description="How the loan went; null: nothing is known.")
    ] = None
    shadow_scores: Annotated[
        list[ExportedShadow], Meta(description="What other models would have said.")
    ] = []


class ExportedAsking(msgspec.Struct, frozen=True, kw_only=True):
    """Applications of one hour."""

    hour: Annotated[Utc, Meta(description="When it began, in UTC.")]
    applications: Annotated[int, Meta(description="How many there were.")]
    declined: Annotated[int, Meta(description="How many of them were declined.")]


class ExportedPromise(msgspec.Struct, frozen=True, kw_only=True):
    """What was approved and may be paid out."""

    hour: Annotated[Utc, Meta(description="When it began in which it was approved, in UTC.")]
    amount: Annotated[float, Meta(description="In the lender's currency.")]
    request_id: Annotated[str, Meta(description="Of the score.")]


class ExportedMoney(msgspec.Struct, frozen=True, kw_only=True):
    """Money on a day."""

    date: Annotated[Day, Meta(description="When it was paid, or falls due.")]
    amount: Annotated[float, Meta(description="In the lender's currency.")]


class ExportedLoan(msgspec.Struct, frozen=True, kw_only=True):
    """A loan, as the lender told of it."""

    name: Annotated[str, Meta(description="The lender's own, or the score's.")]
    disbursed_on: Annotated[Day | None, Meta(description="When it was paid out; null: unknown.")]
    amount: Annotated[float | None, Meta(description="What was paid out; null: unknown.")]
    due: Annotated[list[ExportedMoney], Meta(description="The payments agreed on.")]
    payments: Annotated[list[ExportedMoney], Meta(description="What came back.")]
    closed_on: Annotated[Day | None, Meta(description="When it was closed; null: it is not.")]
    closed_as: Annotated[str | None, Meta(description="How it was closed; null: it is not.")]


class ExportedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of a borrower, and the figures that rules read of it."""

    figures: Annotated[
        dict[str, float | None], Meta(description="As they stand now, by the names of the fields.")
    ]
    applications: Annotated[list[ExportedAsking], Meta(description="Of the last 30 days.")]
    approved: Annotated[list[ExportedPromise], Meta(description="Of the last 30 days.")]
    loans: Annotated[list[ExportedLoan], Meta(description="All that were told of.")]


class ApplicantExport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is held on one applicant, as one document."""

    format: Annotated[
        int, Meta(description="Of this document; raised when a field changes its meaning.")
    ]
    lender: Annotated[str, Meta(description="Who holds it.")]
    mode: Annotated[str, Meta(description="test or live.")]
    applicant_ref: Annotated[str, Meta(description="What the lender calls the applicant.")]
    exported_at: Moment
    held_since: Annotated[Utc, Meta(description="When the first of it came, in UTC.")]
    scores: Annotated[list[ExportedScore], Meta(description="All of them, oldest first.")]
    memory: Annotated[
        ExportedMemory | None,
        Meta(description="What is remembered of the borrower; null: nothing is."),
    ] = None
    legal_holds: Annotated[list[ExportedHold], Meta(description="Those that stand or stood.")]
    remarks: Annotated[list[str], Meta(description="How to read this, for people.")]
    list_entry: Annotated[
        ExportedListEntry | None,
        Meta(description="On which list of the lender they are; null: on none."),
    ] = None


REMARKS: Final = (
    "Times are UTC. Money is in the currency that each assessment names.",
    "A contribution is a field, what was sent for it, and the points that it added.",
    (
        "`card` names the scorecard of the model that answered; `slots` has, for each of its "
        "fields in their order, the number of the band that the value fell into, counted from 0."
    ),
    "What was erased before cannot be found by the reference any more, and is not part of this.",
    (
        "`review` is what a person decided on a score, where one did; `outcome` what the lender "
        "said of the loan. `shadow_scores` are what other models would have said, which were tried "
        "beside the one that decided."
    ),
    (
        "`memory` is what rules may read of earlier applications and loans; outcomes that stand "
        "beside scores count there as loans too."
    ),
    "Replies kept for retries repeat what the scores say, for 72 hours, and are not listed.",
)

_encode: Final = msgspec.json.Encoder().encode


def encode(export: ApplicantExport) -> bytes:
    """Write an export as JSON for people and programs; numbers stay what they are."""
    return msgspec.json.format(_encode(export), indent=_INDENT) + b"\n"


def exported_score(
    row: ScoreRow, sealed: Sealed, sequel: Sequel, shadows: Sequence[Shadowed]
) -> ExportedScore:
    """Give a score as the applicant reads of it."""
    review, outcome = sequel
    return ExportedScore(
        request_id=row.request_id,
        given_at=moment(row.created_us),
        key_id=row.key_id,
        model=row.model_id,
        policy=row.policy_id,
        score=row.score,
        tier=row.tier,
        default_probability=row.default_probability,
        decision=row.decision,
        recommended_limit=row.recommended_limit,
        recommended_term_days=row.recommended_term_days,
        recommended_apr=row.recommended_apr,
        expected_loss=row.expected_loss,
        processing_ms=row.processing_ms,
        application=msgspec.Raw(sealed.application),
        assessment=msgspec.to_builtins(sealed.assessment),
        review=None if review is None else _exported_review(review),
        outcome=None if outcome is None else _exported_outcome(outcome),
        shadow_scores=[_exported_shadow(one) for one in shadows],
    )


def _exported_shadow(shadow: Shadowed) -> ExportedShadow:
    return ExportedShadow(
        model=shadow.model_id,
        score=shadow.score,
        tier=shadow.tier,
        default_probability=shadow.default_probability,
        decision=shadow.decision,
    )


def _exported_review(review: Review) -> ExportedReview:
    return ExportedReview(
        decision=review.decision,
        reason=review.reason.value,
        by=review.person,
        note=review.note,
        reviewed_at=moment(review.reviewed_us),
    )


def _exported_outcome(outcome: Outcome) -> ExportedOutcome:
    return ExportedOutcome(
        outcome=outcome.state.value,
        date=date_of(outcome.happened_on),
        is_default=outcome.is_default,
        defaulted_on=None if outcome.defaulted_on is None else date_of(outcome.defaulted_on),
        disbursed_amount=outcome.disbursed_amount,
        repaid_amount=outcome.repaid_amount,
        recorded_at=moment(outcome.recorded_us),
    )


def _exported_memory(
    vault: Vault, stored: StoredBorrower | None, hour: int
) -> ExportedMemory | None:
    if stored is None:
        return None
    borrower = open_borrower(vault, stored)
    return ExportedMemory(
        figures=msgspec.structs.asdict(remembered(borrower, hour)),
        applications=[
            ExportedAsking(
                hour=moment(one.hour * HOUR_US),
                applications=one.applications,
                declined=one.declined,
            )
            for one in borrower.asked
        ],
        approved=[
            ExportedPromise(
                hour=moment(one.hour * HOUR_US), amount=one.amount, request_id=one.request_id
            )
            for one in borrower.promises
        ],
        loans=[_exported_loan(name, loan) for name, loan in sorted(borrower.loans.items())],
    )


def _exported_loan(name: str, loan: KeptLoan) -> ExportedLoan:
    lent, closed = loan.disbursed, loan.closed
    return ExportedLoan(
        name=name,
        disbursed_on=None if lent is None else date_of(lent.day),
        amount=None if lent is None else lent.amount,
        due=_exported_money(() if lent is None else lent.dues),
        payments=_exported_money(sorted(loan.payments.values())),
        closed_on=None if closed is None else date_of(closed.day),
        closed_as=None if closed is None else closed.ending.value,
    )


def _exported_money(amounts: Sequence[Amount]) -> list[ExportedMoney]:
    return [ExportedMoney(date=date_of(one.day), amount=one.money) for one in amounts]


def _exported_entry(entry: ListEntry) -> ExportedListEntry:
    return ExportedListEntry(
        list=entry.name.value,
        reason=entry.reason.value,
        by=entry.person,
        note=entry.note,
        listed_at=moment(entry.listed_us),
        until=moment_if(entry.until_us),
    )


def _exported_hold(hold: Hold) -> ExportedHold:
    return ExportedHold(
        reason=hold.reason,
        placed_at=moment(hold.placed_us),
        released_at=moment_if(hold.released_us),
    )
