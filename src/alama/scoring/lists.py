"""Block and watch lists: applicants whom a lender declines, or leaves to a person, by their name.

Nobody is on one in clear: an entry names the key of the applicant, as scores do, so erasing the
applicant takes them off. A book's lists are held in memory by every process, which asks once a
second whether they have changed; so an applicant who is on none costs a look into a table.
"""

from __future__ import annotations

import secrets
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from alama.core.application import is_visible, looks_personal, may_be_word
from alama.core.errors import AlamaError
from alama.core.lending.policy import Rule
from alama.platform.acts import Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.database.books import in_book, of_book
from alama.platform.database.database import Clash
from alama.platform.database.statements import insert_into
from alama.platform.errors import InvalidName, Kind, StoreUnavailable
from alama.scoring import schema
from alama.vault import schema as vault_schema
from alama.vault.store import ApplicantKeys, FirstMet, LenderKeys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Select

    from alama.lenders.installation import Installation
    from alama.platform.book import Book
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.vault.vault import Vault


class ListName(StrEnum):
    """The lists that there are."""

    BLOCK = "block"
    WATCH = "watch"


RULES: Final = {ListName.BLOCK: Rule.BLOCKED, ListName.WATCH: Rule.WATCHED}


class ListReason(StrEnum):
    """Why somebody is on a list, as it is counted. Reasons are added, never renamed."""

    FRAUD = "fraud"
    IDENTITY_MISUSED = "identity_misused"
    WRITTEN_OFF = "written_off"
    COURT_ORDER = "court_order"
    OWN_REQUEST = "own_request"
    DECEASED = "deceased"
    STAFF = "staff"
    OTHER = "other"


ENTRIES_MAX: Final = 100_000
"""Of one book: every process holds them in memory, some 15 MB."""

AT_ONCE: Final = 1_000
"""Entries in one transaction: meanwhile SQLite lets no score be kept."""

TEXT_MAX: Final = 200
_ATTEMPTS: Final = 3


class ListsFull(AlamaError):
    """A book has as many entries as it may have."""

    kind = Kind(HTTPStatus.CONFLICT, "lists_full", "Lists full")

    def __init__(self) -> None:
        super().__init__(
            f"the lists of a book have {ENTRIES_MAX:,} entries at most",
            hint="remove those whose time is over, and what is no reason any more",
        )


class Listing(NamedTuple):
    """Who is to be put on which list: why, who says so, and until when; None: until removed."""

    applicant_ref: str
    name: ListName
    reason: ListReason
    person: str
    until_us: int | None = None
    note: str = ""


class ListEntry(NamedTuple):
    """An entry as it stands. `applicant_key_id` names the applicant, as the audit does.

    `key_id` is the API key that it came with, if one did.
    """

    applicant_key_id: str
    name: ListName
    reason: ListReason
    person: str
    note: str
    listed_us: int
    until_us: int | None
    key_id: str | None

    def stands(self, at_us: int) -> bool:
        """Say whether its time is not over."""
        return self.until_us is None or at_us < self.until_us


class Put(StrEnum):
    """What became of a wish to put somebody on a list."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class Listed(NamedTuple):
    """An entry that stands now, and what that took."""

    entry: ListEntry
    put: Put


class Lists:
    """The lists of a book, as the hot path asks for them."""

    __slots__ = ("_entries", "version")

    def __init__(
        self, version: str | None = None, entries: Mapping[bytes, tuple[Rule, int | None]] = {}
    ) -> None:
        """Take the entries by what their applicants are found by: the rule, and until when."""
        self.version = version
        self._entries = entries

    def rule(self, subject: bytes | None, at_us: int) -> Rule | None:
        """Give the rule of the list that an applicant is on at a time; None: on none."""
        found = self._entries.get(subject) if subject is not None else None
        if found is None:
            return None
        rule, until_us = found
        return rule if until_us is None or at_us < until_us else None


NO_LISTS: Final = Lists()


# ------------------------------------------------------------------------------- reading


def lists_of(connection: Connection, book: Book, known: Lists) -> Lists:
    """Give the lists of a book: the same as are known where nobody has changed them since."""
    changes, entries, keys = schema.list_changes, schema.list_entries, vault_schema.applicant_keys
    version = connection.execute(select(changes.c.version).where(in_book(changes, book))).scalar()
    if version == known.version:
        return known
    query = (
        select(keys.c.subject, entries.c.name, entries.c.until_us)
        .join(keys, keys.c.id == entries.c.applicant_key_id)
        .where(in_book(entries, book), keys.c.subject.is_not(None))
    )
    found = connection.execute(query)
    return Lists(version, {row[0]: (RULES[ListName(row[1])], row[2]) for row in found})


def entry_of(connection: Connection, book: Book, applicant_key_id: str) -> ListEntry | None:
    """Give the entry of an applicant; None: there is none."""
    query = _entries(book).where(schema.list_entries.c.applicant_key_id == applicant_key_id)
    row = connection.execute(query).first()
    return None if row is None else _entry(row)


_COLUMNS: Final = [schema.list_entries.c[name] for name in ListEntry._fields]


def _entries(book: Book) -> Select[Any]:
    return select(*_COLUMNS).where(in_book(schema.list_entries, book))


def _entry(row: Any) -> ListEntry:  # noqa: ANN401  a row of the query above
    found = ListEntry._make(row)
    return found._replace(name=ListName(found.name), reason=ListReason(found.reason))


# ------------------------------------------------------------------------------- changing


def take_off(connection: Connection, book: Book, applicant_key_id: str) -> ListEntry | None:
    """Take an applicant off the lists, and give the entry that was; every process is told."""
    entry = entry_of(connection, book, applicant_key_id)
    if entry is not None:
        table = schema.list_entries
        connection.execute(
            delete(table).where(in_book(table, book), table.c.applicant_key_id == applicant_key_id)
        )
        note_change(connection, book)
    return entry


def ended(connection: Connection, book: Book, before_us: int) -> list[str]:
    """Give the keys of applicants whose entries were over before a time."""
    table = schema.list_entries
    query = select(table.c.applicant_key_id).where(
        in_book(table, book), table.c.until_us < before_us
    )
    return list(connection.execute(query.limit(AT_ONCE)).scalars())


def note_change(connection: Connection, book: Book) -> None:
    """Have every process read the lists of a book again, within a second."""
    values = {**of_book(book), "version": secrets.token_hex(8)}
    written = insert_into(connection, schema.list_changes).values(values)
    changed = {"version": written.excluded.version}
    connection.execute(
        written.on_conflict_do_update(index_elements=["lender", "mode"], set_=changed)
    )


def applicant_listed(book: Book, entry: ListEntry) -> Act:
    """Say who was put on which list and why. The note is not told: the log is kept for ever."""
    details: dict[str, Detail] = {
        "name": entry.name.value,
        "reason": entry.reason.value,
        "listed_us": entry.listed_us,
        "until_us": entry.until_us,
        "key_id": entry.key_id,
    }
    return act_in_book(
        ActKind.APPLICANT_LISTED, book, entry.applicant_key_id, details, entry.person
    )


def applicant_unlisted(book: Book, entry: ListEntry, by: str | None) -> Act:
    details: dict[str, Detail] = {"name": entry.name.value, "listed_us": entry.listed_us}
    return act_in_book(ActKind.APPLICANT_UNLISTED, book, entry.applicant_key_id, details, by)


class ListKeeping:
    """Puts applicants on lists and takes them off: what people and loan systems ask for."""

    def __init__(self, database: Database, log: ActLog, vault: Vault, clock: Clock) -> None:
        self._database = database
        self._log = log
        self._vault = vault
        self._clock = clock
        self._lender_keys = LenderKeys(database, vault)
        self._applicant_keys = ApplicantKeys(database, vault)

    @classmethod
    def at(cls, installed: Installation) -> ListKeeping:
        """The lists of an installation."""
        return cls(installed.database, installed.log, installed.vault, installed.clock)

    def put(
        self, book: Book, listings: Sequence[Listing], key_id: str | None = None
    ) -> list[Listed]:
        """Put applicants on lists, all of them or none; the same said again changes nothing.

        Who is on a list already is on the other from now on, or on the same for another reason.
        `InvalidName` where something cannot be one, `ListsFull` where there are too many.
        """
        assert len(listings) <= AT_ONCE
        wanted = [checked(one) for one in listings]
        ring = self._vault.ring(book.lender)  # may make keys: not within a transaction
        subjects = [ring.subject(book.mode.value, one.applicant_ref) for one in wanted]
        for _ in range(_ATTEMPTS):
            try:
                return self._put(book, wanted, subjects, key_id)
            except Clash:  # another process makes the key of one of them at this moment
                continue
        raise StoreUnavailable("another process keeps writing the same rows")

    def _put(
        self,
        book: Book,
        wanted: Sequence[Listing],
        subjects: Sequence[bytes],
        key_id: str | None,
    ) -> list[Listed]:
        now_us, mode = self._clock(), book.mode.value
        with self._database.writing() as connection:
            cursor = connection.connection.cursor()
            met = FirstMet(self._lender_keys.ring(cursor, book.lender), now_us)
            who = {(book.lender, mode, subject): met for subject in subjects}
            keys, damaged = self._applicant_keys.find_or_make(cursor, who)
            for error in damaged.values():
                raise error
            listed = []
            for one, subject in zip(wanted, subjects, strict=True):
                applicant = keys[book.lender, mode, subject].id
                entry = ListEntry(
                    applicant,
                    one.name,
                    one.reason,
                    one.person,
                    one.note,
                    now_us,
                    one.until_us,
                    key_id,
                )
                listed.append(self._write(connection, book, entry))
            if any(one.put is not Put.UNCHANGED for one in listed):
                _require_room(connection, book)
                note_change(connection, book)
            for done in listed:
                if done.put is not Put.UNCHANGED:
                    self._log.append(connection, applicant_listed(book, done.entry))
        return listed

    def _write(self, connection: Connection, book: Book, entry: ListEntry) -> Listed:
        table = schema.list_entries
        there = entry_of(connection, book, entry.applicant_key_id)
        if there is None:
            connection.execute(insert(table), {**of_book(book), **entry._asdict()})
            return Listed(entry, Put.ADDED)
        if there == entry._replace(listed_us=there.listed_us, key_id=there.key_id):
            return Listed(there, Put.UNCHANGED)
        this = in_book(table, book) & (table.c.applicant_key_id == entry.applicant_key_id)
        connection.execute(update(table).where(this).values(entry._asdict()))
        return Listed(entry, Put.CHANGED)

    def remove(self, book: Book, applicant_ref: str, by: str | None) -> ListEntry | None:
        """Take an applicant off the lists, and give the entry that was; None: there was none."""
        subject = self._subject(book, applicant_ref)
        with self._database.writing() as connection:
            key_id = _key_of(connection, book, subject)
            entry = None if key_id is None else take_off(connection, book, key_id)
            if entry is not None:
                self._log.append(connection, applicant_unlisted(book, entry, by))
        return entry

    def find(self, book: Book, applicant_ref: str) -> ListEntry | None:
        """Give the entry of an applicant; None: there is none."""
        subject = self._subject(book, applicant_ref)
        with self._database.reading() as connection:
            key_id = _key_of(connection, book, subject)
            return None if key_id is None else entry_of(connection, book, key_id)

    def page(
        self, book: Book, before: str | None, limit: int, name: ListName | None = None
    ) -> list[ListEntry]:
        """Give entries, those of whoever was known last first, from just before a key on."""
        table = schema.list_entries
        query = _entries(book).order_by(table.c.applicant_key_id.desc()).limit(limit)
        if before is not None:
            query = query.where(table.c.applicant_key_id < before)
        if name is not None:
            query = query.where(table.c.name == name.value)
        with self._database.reading() as connection:
            return [_entry(row) for row in connection.execute(query)]

    def _subject(self, book: Book, applicant_ref: str) -> bytes:
        """Give what an applicant is found by; not within a transaction, for it may make keys."""
        reference = require_reference(applicant_ref)
        return self._vault.ring(book.lender).subject(book.mode.value, reference)


def _key_of(connection: Connection, book: Book, subject: bytes) -> str | None:
    table = vault_schema.applicant_keys
    query = select(table.c.id).where(in_book(table, book), table.c.subject == subject)
    found: str | None = connection.execute(query).scalar()
    return found


def _require_room(connection: Connection, book: Book) -> None:
    table = schema.list_entries
    query = select(func.count()).select_from(table).where(in_book(table, book))
    if connection.execute(query).scalar_one() > ENTRIES_MAX:
        raise ListsFull


# ------------------------------------------------------------------------------- what may be said


def require_reference(said: str) -> str:
    """Give a reference as the intake of applications reads it, or raise `InvalidName`."""
    reference = said.strip()
    if not may_be_word(reference) or looks_personal(reference):
        raise InvalidName(
            "an applicant is named by the reference that is sent as applicant_ref",
            hint="it is opaque: no phone number, no e-mail address, no national id",
        )
    return reference


def is_line(text: str) -> bool:
    """Say whether a text fits on a line, and is one."""
    return is_visible(text) and bool(text.strip()) and len(text) <= TEXT_MAX


def names_applicant(said: Listing) -> bool:
    """Say whether the note holds the reference, which nothing keeps in clear."""
    return said.applicant_ref.strip().casefold() in said.note.casefold()


def checked(said: Listing) -> Listing:
    """Give it without the space around its words, or raise `InvalidName`."""
    reference = require_reference(said.applicant_ref)
    if not is_line(said.person):
        raise InvalidName(f"a name has 1 to {TEXT_MAX} characters, all on one line")
    if said.note.strip() and not is_line(said.note):
        raise InvalidName(f"a note has at most {TEXT_MAX} characters, all on one line")
    if names_applicant(said):
        raise InvalidName(
            "the note names the applicant", hint="it is kept in clear: name the case instead"
        )
    return said._replace(
        applicant_ref=reference, person=said.person.strip(), note=said.note.strip()
    )
