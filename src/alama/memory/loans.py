"""Loans: what a lender tells of them, and what else becomes of borrowers after their scores.

Whoever changes a borrower here holds the key of the applicant until the commit: scores of the same
applicant, which share it, wait for that, and then find another version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select

from alama.memory.borrower import Answer, Borrower, LoanEvent, after_event
from alama.memory.store import Borrowers, Known, sealed_row
from alama.platform.acts import SHA256, Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.database.books import in_book
from alama.platform.database.database import Clash, Database
from alama.platform.days import day_of
from alama.platform.errors import MasterKeyMissing, StoreUnavailable, StoreUnfit
from alama.vault import schema as vault_schema
from alama.vault.ring import ApplicantKey
from alama.vault.store import ApplicantKeys, DataKey, FirstMet, LenderKeys, Subject

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from alama.lenders.installation import Installation
    from alama.platform.book import Book
    from alama.platform.clock import Clock
    from alama.vault.vault import Vault


BATCH_MAX: Final = 1_000
"""Events that are kept in one transaction: meanwhile SQLite lets nobody else write."""

FIRST_TO_WAKE_US: Final = 14 * 3_600 * 1_000_000
"""How far clocks on earth are before UTC: a day is judged by the kindest of them."""

_ATTEMPTS: Final = 3

REFUSALS: Final[Mapping[Answer, str]] = {
    Answer.CONFLICT: "Something else was said of this before, and that stands. If it is wrong, "
    "send this again with corrects: true; two payments of one day need an id each.",
    Answer.IN_THE_FUTURE: "The date is in the future. Send what has happened, once it has.",
    Answer.TOO_MANY: "So much is remembered of this borrower that no more is taken. Look whether "
    "many people share this applicant_ref.",
}
"""What is said to whoever sent an event that changed nothing and should have."""


class Told(NamedTuple):
    """An event, and whose loan it is."""

    applicant_ref: str
    event: LoanEvent


class Sent(NamedTuple):
    """How events came: the SHA-256 of the bytes that they came in, and who said so, if known."""

    sha256: str | None = None
    by: str | None = None


class Result(NamedTuple):
    """What became of an event."""

    loan: str
    answer: Answer

    @property
    def message(self) -> str | None:
        """What to do about it, where it was refused."""
        return REFUSALS.get(self.answer)


Change = Callable[[Borrower], Borrower]


class BorrowerChanges:
    """Changes borrowers within a transaction that is open."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._borrowers = Borrowers(database)
        self._vault = vault

    def hold(self, connection: Connection, chosen: ColumnElement[bool]) -> dict[str, DataKey]:
        """Give the keys of some applicants, by their ids, and keep everybody else from them.

        In the order of their ids, so that no two wait for each other. Those that were erased, or
        do not open, are left out: nothing can be remembered under them.
        """
        table = vault_schema.applicant_keys
        query = (
            select(table.c.lender, table.c.mode, *(table.c[n] for n in ApplicantKey._fields))
            .where(chosen, table.c.wrapped.is_not(None))
            .order_by(table.c.id)
            .with_for_update()
        )
        held = {}
        for lender, mode, *columns in connection.execute(query):
            key = ApplicantKey(*columns)
            try:
                held[key.id] = DataKey(key.id, self._vault.data_key(lender, mode, key))
            except MasterKeyMissing:  # which is nothing of one applicant
                raise
            except StoreUnfit:
                continue
        return held

    def change(
        self,
        connection: Connection,
        book: Book,
        held: Mapping[str, DataKey],
        changes: Mapping[str, Change],
        at_us: int,
    ) -> list[StoreUnfit]:
        """Change borrowers by the ids of their keys, which are held.

        What is damaged stays so; gives what is wrong with each of it. `Clash` where one that
        could not be held was changed by another process meanwhile: begin anew.
        """
        cursor = connection.connection.cursor()
        keys = {key_id: held[key_id] for key_id in changes if key_id in held}
        rows, damaged = [], []
        for key_id, known in self._borrowers.read(cursor, keys).items():
            if not isinstance(known, Known):
                damaged.append(known)
                continue
            after = changes[key_id](known.borrower)
            if after is not known.borrower:
                version = known.version + 1
                rows.append(
                    sealed_row(keys[key_id], book.lender, book.mode.value, version, at_us, after)
                )
        written = self._borrowers.write(cursor, rows)
        if len(written) < len(rows):  # somebody was met by another process since keys were held
            raise Clash
        return damaged


def recorded(book: Book, answers: Sequence[Answer], sent: Sent) -> Act:
    """Say how many events of a batch were answered how, and nothing of whose they are."""
    counted = Counter(answers)
    details: dict[str, Detail] = {
        answer.value: counted[answer] for answer in Answer if counted[answer]
    }
    if sent.sha256 is not None:
        details[SHA256] = sent.sha256
    return act_in_book(ActKind.LOANS_RECORDED, book, None, details, sent.by)


class Loans:
    """What lenders tell of their loans."""

    def __init__(self, database: Database, log: ActLog, vault: Vault, clock: Clock) -> None:
        self._database = database
        self._log = log
        self._vault = vault
        self._clock = clock
        self._changes = BorrowerChanges(database, vault)
        self._lender_keys = LenderKeys(database, vault)
        self._applicant_keys = ApplicantKeys(database, vault)

    @classmethod
    def at(cls, installed: Installation) -> Loans:
        """The loans of an installation."""
        return cls(installed.database, installed.log, installed.vault, installed.clock)

    def record(self, book: Book, told: Sequence[Told], sent: Sent) -> list[Result]:
        """Keep what is told of loans, all in one transaction, and answer each in their order.

        At most `BATCH_MAX`. To tell the same again does no harm, in whatever order.
        """
        assert len(told) <= BATCH_MAX
        ring = self._vault.ring(book.lender)  # may make keys: not within a transaction
        subjects = {
            one.applicant_ref: ring.subject(book.mode.value, one.applicant_ref) for one in told
        }
        for _ in range(_ATTEMPTS):
            try:
                answers = self._record_once(book, told, subjects, sent)
            except Clash:  # another process makes the key of one of them at this moment
                continue
            pairs = zip(told, answers, strict=True)
            return [Result(one.event.loan, answer) for one, answer in pairs]
        raise StoreUnavailable("another process keeps writing the same rows")

    def _record_once(
        self, book: Book, told: Sequence[Told], subjects: Mapping[str, bytes], sent: Sent
    ) -> list[Answer]:
        table = vault_schema.applicant_keys
        theirs = in_book(table, book) & table.c.subject.in_(set(subjects.values()))
        with self._database.writing() as connection:
            held = self._changes.hold(connection, theirs)
            now_us = self._clock()
            keys = self._met(connection, book, subjects, now_us)
            events: dict[str, list[tuple[int, LoanEvent]]] = {}
            for place, one in enumerate(told):
                key = keys[subjects[one.applicant_ref]]
                events.setdefault(key.id, []).append((place, one.event))
            answers = [Answer.UNCHANGED] * len(told)
            held |= {key.id: key for key in keys.values()}
            changes = {
                key_id: _taking_in(theirs, answers, day_of(now_us + FIRST_TO_WAKE_US))
                for key_id, theirs in events.items()
            }
            for error in self._changes.change(connection, book, held, changes, now_us):
                raise error
            if {Answer.RECORDED, Answer.CORRECTED} & set(answers):
                self._log.append(connection, recorded(book, answers, sent))
        return answers

    def _met(
        self, connection: Connection, book: Book, subjects: Mapping[str, bytes], now_us: int
    ) -> dict[bytes, DataKey]:
        """Give the keys of applicants; those who are met first get theirs."""
        cursor = connection.connection.cursor()
        ring = self._lender_keys.ring(cursor, book.lender)
        wanted: dict[Subject, FirstMet] = {
            (book.lender, book.mode.value, subject): FirstMet(ring, now_us)
            for subject in subjects.values()
        }
        whole, damaged = self._applicant_keys.find_or_make(cursor, wanted)
        for error in damaged.values():
            raise error
        return {who[2]: key for who, key in whole.items()}


def _taking_in(
    events: Sequence[tuple[int, LoanEvent]], answers: list[Answer], last_day: int
) -> Change:
    """Give the change that takes in events, each with its place among the answers."""

    def change(borrower: Borrower) -> Borrower:
        for place, event in events:
            if event.day > last_day:
                answers[place] = Answer.IN_THE_FUTURE
            else:
                borrower, answers[place] = after_event(borrower, event)
        return borrower

    return change
