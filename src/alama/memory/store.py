"""Borrowers in a database, each sealed under the key of its applicant.

Straight on the driver, as all of the hot path is. A row counts its changes: whoever has decided by
a borrower as they were is told how they are, and decides again. So two processes never approve by
the same memory, and no process has to read what it has just written.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import delete, select, update

from alama.memory import schema
from alama.memory.borrower import NOBODY, Borrower, pack, unpack
from alama.platform.database.books import in_book
from alama.platform.database.statements import ROWS_MAX
from alama.platform.errors import StoreUnfit
from alama.vault import envelope
from alama.vault import schema as vault_schema
from alama.vault.ring import ApplicantKey
from alama.vault.sealed_texts import ChangeText, SealedText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from sqlalchemy import ColumnElement, Connection
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.memory.borrower import Standing
    from alama.platform.book import Book
    from alama.platform.database.database import Database
    from alama.vault.store import DataKey
    from alama.vault.vault import Vault


PART: Final = "memory"
"""Of what is sealed under the key of an applicant."""


class BorrowerRow(NamedTuple):
    """A borrower as stored, in the order of the columns."""

    applicant_key_id: str
    lender: str
    mode: str
    version: int
    updated_us: int
    sealed: bytes


class Known(NamedTuple):
    """A borrower as somebody knows them, by which key and in which version.

    None and 0: nothing of them was ever met. `standing` is kept from one application to the next.
    """

    key_id: str | None
    version: int
    borrower: Borrower
    standing: Standing | None = None


UNMET: Final = Known(None, 0, NOBODY)


class Stand(NamedTuple):
    """How a borrower stands after a commit; `kept`: by what was asked of it, or otherwise."""

    kept: bool
    known: Known


def place_of(key_id: str, lender: str, mode: str) -> bytes:
    return envelope.place(lender, mode, key_id, PART)


def sealed_row(
    key: DataKey, lender: str, mode: str, version: int, at_us: int, borrower: Borrower
) -> BorrowerRow:
    """Give the row of a borrower, to be written in the place of the version before."""
    sealed = key.seal(pack(borrower), place_of(key.id, lender, mode))
    return BorrowerRow(key.id, lender, mode, version, at_us, sealed)


def opened(cipher: AESGCM, row: BorrowerRow) -> Borrower:
    """Read what is remembered of a borrower, or raise `StoreUnfit`."""
    where = place_of(row.applicant_key_id, row.lender, row.mode)
    try:
        return unpack(envelope.open_sealed(cipher, row.sealed, where))
    except (envelope.NotOpened, msgspec.DecodeError):
        raise StoreUnfit(
            f"what is remembered under the key {row.applicant_key_id} is damaged",
            hint="restore the table borrowers from a backup",
        ) from None


_COLUMNS: Final = ", ".join(BorrowerRow._fields)
_SET: Final = ", ".join(f"{name} = excluded.{name}" for name in ("version", "updated_us", "sealed"))
_ROWS_MAX: Final = 256


class Borrowers:
    """The statements for one database."""

    def __init__(self, database: Database) -> None:
        """Write the texts once: a driver keeps those prepared that come again."""
        self._mark = database.parameter_mark
        row = f"({', '.join([self._mark] * len(BorrowerRow._fields))})"
        sizes = [ROWS_MAX >> halved for halved in range(ROWS_MAX.bit_length())]
        self._texts = {
            size: f"INSERT INTO borrowers ({_COLUMNS}) VALUES {', '.join([row] * size)} "  # noqa: S608  our own names
            f"ON CONFLICT (applicant_key_id) DO UPDATE SET {_SET} "
            "WHERE borrowers.version = excluded.version - 1 RETURNING applicant_key_id"
            for size in sizes
        }

    def write(self, cursor: DBAPICursor, rows: Sequence[BorrowerRow]) -> set[str]:
        """Write each where the version before stands, and give the keys of those that were.

        None of them twice. Sorted: two who write the same in different orders wait for each other.
        """
        written: set[str] = set()
        ordered = sorted(rows)
        done = 0
        for size, text in self._texts.items():
            while len(ordered) - done >= size:
                cursor.execute(text, tuple(chain.from_iterable(ordered[done : done + size])))
                written.update(row[0] for row in cursor.fetchall())
                done += size
        return written

    def read(
        self, cursor: DBAPICursor, keys: Mapping[str, DataKey]
    ) -> dict[str, Known | StoreUnfit]:
        """Give how the borrowers of some keys, by their ids, stand now."""
        found: dict[str, Known | StoreUnfit] = {key_id: Known(key_id, 0, NOBODY) for key_id in keys}
        ids = sorted(keys)
        for first in range(0, len(ids), _ROWS_MAX):
            some = ids[first : first + _ROWS_MAX]
            cursor.execute(
                f"SELECT {_COLUMNS} FROM borrowers "  # noqa: S608  our own names
                f"WHERE applicant_key_id IN ({', '.join([self._mark] * len(some))})",
                tuple(some),
            )
            for row in map(BorrowerRow._make, cursor.fetchall()):
                key_id = row.applicant_key_id
                try:
                    borrower = opened(keys[key_id].cipher, row)
                except StoreUnfit as error:
                    found[key_id] = error
                else:
                    found[key_id] = Known(key_id, row.version, borrower)
        return found


_ROW: Final[Any] = [schema.borrowers.c[name] for name in BorrowerRow._fields]
_KEY: Final[Any] = [vault_schema.applicant_keys.c[name] for name in ApplicantKey._fields]


class StoredBorrower(NamedTuple):
    """A borrower as stored, and the key that opens the row."""

    row: BorrowerRow
    key: ApplicantKey


def stored_borrower(connection: Connection, chosen: ColumnElement[bool]) -> StoredBorrower | None:
    """Give the borrower of a chosen applicant, if anything is remembered of them."""
    keys = vault_schema.applicant_keys
    both = schema.borrowers.join(keys, keys.c.id == schema.borrowers.c.applicant_key_id)
    row = connection.execute(select(*_ROW, *_KEY).select_from(both).where(chosen)).first()
    if row is None:
        return None
    return StoredBorrower(BorrowerRow._make(row[: len(_ROW)]), ApplicantKey._make(row[len(_ROW) :]))


def open_borrower(vault: Vault, stored: StoredBorrower) -> Borrower:
    """Read what is remembered of a borrower; `Erased`, or `StoreUnfit` where it is damaged."""
    row, key = stored
    return opened(vault.data_key(row.lender, row.mode, key), row)


def forget(connection: Connection, key_ids: Sequence[str]) -> None:
    """Delete what is remembered under some keys."""
    gone = schema.borrowers.c.applicant_key_id.in_(key_ids)
    connection.execute(delete(schema.borrowers).where(gone))


def reseal(connection: Connection, key_id: str, change: ChangeText) -> int:
    """Change the text of the borrower under a key, if there is one; how many were changed."""
    table = schema.borrowers
    row = connection.execute(select(*_ROW).where(table.c.applicant_key_id == key_id)).first()
    if row is None:
        return 0
    kept = BorrowerRow._make(row)
    text = change(SealedText(kept.lender, kept.mode, key_id, PART, kept.sealed))
    chosen = update(table).where(table.c.applicant_key_id == key_id)
    connection.execute(chosen.values(sealed=text))
    return 1


class Memory:
    """What a book remembers, to be read by whoever stores nothing."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    def of(self, book: Book, subject: bytes) -> Borrower:
        """Give what is remembered of an applicant; `StoreUnfit` where it is damaged."""
        keys = vault_schema.applicant_keys
        with self._database.reading() as connection:
            stored = stored_borrower(connection, in_book(keys, book) & (keys.c.subject == subject))
        return NOBODY if stored is None else open_borrower(self._vault, stored)


class RecentBorrowers:
    """What one process knows of those it met last: half of them are forgotten at a time.

    Wrong is never worse than slow here, for every commit asks whether it still stands.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._young: dict[tuple[Book, bytes], Known] = {}
        self._old: dict[tuple[Book, bytes], Known] = {}

    def get(self, who: tuple[Book, bytes]) -> Known | None:
        known = self._young.get(who)
        return known if known is not None else self._old.get(who)

    def put(self, who: tuple[Book, bytes], known: Known) -> None:
        if len(self._young) >= self._half:
            self.age()
        self._young[who] = known

    def drop(self, who: tuple[Book, bytes]) -> None:
        self._young.pop(who, None)
        self._old.pop(who, None)

    def age(self) -> None:
        """Forget those who were not met since this was last done."""
        self._old, self._young = self._young, {}
