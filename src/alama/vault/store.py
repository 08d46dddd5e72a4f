"""Vault keys, wrapped, in a database, and the keys of applicants, found or made.

Straight on the driver, as all of the hot path is.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import LargeBinary, cast, insert, or_, select

from alama.platform.database import tables
from alama.platform.database.statements import Inserts
from alama.platform.errors import MasterKeyMissing, StoreUnfit
from alama.vault import envelope, schema
from alama.vault.keys import Purpose, VaultKey
from alama.vault.ring import ApplicantKey, ApplicantKeyRow, Ring, new_applicant_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.platform.database.database import Database
    from alama.vault.vault import Vault


MASTER_FACT: Final = "master"
"""The fact that names the master key of a database."""

DESTROYED: Final = b""
"""What is left of a wrapped key that opens nothing any more."""

_OWN_MASTER: Final = select(tables.facts.c.value).where(tables.facts.c.name == MASTER_FACT)


def _column(name: str) -> ColumnElement[Any]:
    """Give a column as it is read. SQLite takes text for bytes; the cast gives it as bytes.

    They open nothing then, and whoever needs the key is told which one is damaged.
    """
    column = schema.vault_keys.c[name]
    is_binary = isinstance(column.type, LargeBinary)
    return cast(column, LargeBinary).label(name) if is_binary else column


COLUMNS: Final = [_column(name) for name in VaultKey._fields]


class SqlVaultKeys:
    """The keys in a database; see `alama.vault.keys.VaultKeys`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, lender: str | None) -> Sequence[VaultKey]:
        with self._database.reading() as connection:
            return _standing(connection, lender)

    def master_id(self) -> str | None:
        with self._database.reading() as connection:
            return connection.execute(_OWN_MASTER).scalar()

    def settle(self, lender: str | None, keys: Sequence[VaultKey]) -> Sequence[VaultKey] | None:
        with self._database.writing() as connection:
            own = one_at_a_time(connection, lender)
            if own is not None and any(key.master_id != own for key in keys):
                return None
            there = {key.purpose for key in _standing(connection, lender) if not key.retired_us}
            new = [key for key in keys if key.purpose not in there]
            if new:
                connection.execute(insert(schema.vault_keys), [key._asdict() for key in new])
            return _standing(connection, lender)

    def signing(self) -> Sequence[VaultKey]:
        table = schema.vault_keys
        query = select(*COLUMNS).where(table.c.purpose == Purpose.SIGN.value).order_by(table.c.id)
        with self._database.reading() as connection:
            return [VaultKey._make(row) for row in connection.execute(query)]


def _standing(connection: Connection, lender: str | None) -> Sequence[VaultKey]:
    table = schema.vault_keys
    whose = or_(table.c.lender.is_(None), table.c.lender == lender)
    query = select(*COLUMNS).where(whose, table.c.wrapped != DESTROYED).order_by(table.c.id)
    return [VaultKey._make(row) for row in connection.execute(query)]


def one_at_a_time(connection: Connection, lender: str | None) -> str | None:
    """Wait for others who make or replace keys, and give the master key of the database.

    Two find keys of a lender would find nobody, and a key that is made under a master key while all
    others are brought under another would be left behind. SQLite has one writer at a time anyway.
    """
    master_id: str | None = connection.execute(_OWN_MASTER.with_for_update()).scalar()
    if lender is not None:
        whose = tables.lenders.c.id
        connection.execute(select(whose).where(whose == lender).with_for_update())
    return master_id


class LenderKeys:
    """Which keys of lenders stand, asked in the transaction that seals something under them.

    Whoever retires such a key hands over what is under it, once, and then destroys it. What came
    later would never open again, so nothing is committed under a key that is retired by then.
    """

    def __init__(self, database: Database, vault: Vault) -> None:
        """Have whoever retires a key on PostgreSQL wait for those who use it."""
        self._vault = vault
        self._mark = database.parameter_mark
        self._hold = "" if database.embedded else " FOR SHARE"

    def retired(self, cursor: DBAPICursor, used: set[str]) -> set[str]:
        """Give those of the keys that do not stand any more; the others do until the commit."""
        if not used:
            return used
        marks = ", ".join([self._mark] * len(used))
        cursor.execute(
            # In one order: two who take the same keys in different ones wait for each other.
            "SELECT id FROM vault_keys WHERE retired_us IS NULL "  # noqa: S608  our own names
            f"AND id IN ({marks}) ORDER BY id{self._hold}",
            tuple(sorted(used)),
        )
        return used.difference(row[0] for row in cursor.fetchall())

    def ring(self, cursor: DBAPICursor, lender: str) -> Ring:
        """Give the ring of a lender, which stands until the commit."""
        ring = self._vault.ring(lender)
        while self.retired(cursor, {ring.seal_key_id}):
            ring = self._vault.ring(lender)
        return ring


Subject = tuple[str, str, bytes]
"""Lender, mode and what the applicant is found by: they name one person."""

SUBJECTS_AT_ONCE: Final = 5_000
"""SQLite counts the parameters of a statement: three a subject, 32,766 in all."""


class FirstMet(NamedTuple):
    """What the key of an applicant is made with, if there is none yet."""

    ring: Ring
    at_us: int


class DataKey(NamedTuple):
    """A data key, ready to seal, and the id of its row."""

    id: str
    cipher: AESGCM

    def seal(self, text: bytes, where: bytes) -> bytes:
        """Seal a text of the applicant."""
        return envelope.seal(self.cipher, text, where)


class KeysFound(NamedTuple):
    """The keys of some applicants; those that do not open, and why."""

    whole: Mapping[Subject, DataKey]
    damaged: Mapping[Subject, StoreUnfit]


_Found = tuple[str, str, bytes, str, str, "bytes | str | None"]
_SUBJECT: Final = ("lender", "mode", "subject")
_COLUMNS: Final = (*_SUBJECT, "id", "lender_key_id", "wrapped")


class ApplicantKeys:
    """Finds the data keys of applicants, and makes them for those who are met first."""

    def __init__(self, database: Database, vault: Vault) -> None:
        """Have an erasure on PostgreSQL wait until what is being sealed is there to be erased.

        It changes the column `subject`, which is part of a unique key, and FOR KEY SHARE keeps just
        that still. A rotation of the lender's key changes no such column, and goes on meanwhile.
        SQLite lets one process write at a time.
        """
        self._vault = vault
        mark = database.parameter_mark
        self._one = f"({', '.join([mark] * len(_SUBJECT))})"
        columns, subject = ", ".join(_COLUMNS), ", ".join(_SUBJECT)
        self._select = f"SELECT {columns} FROM applicant_keys WHERE ({subject}) IN "  # noqa: S608  our own names
        # In one order: two who take the same keys in different ones wait for each other.
        self._hold = "" if database.embedded else " ORDER BY id FOR KEY SHARE"
        self._new = Inserts(schema.applicant_keys.name, ApplicantKeyRow._fields, mark)

    def find_or_make(self, cursor: DBAPICursor, wanted: Mapping[Subject, FirstMet]) -> KeysFound:
        """Give a key for each; `Clash` where another process makes one of them at this moment.

        Nobody gets a second key because the first is damaged: a backup can bring that one back.
        """
        assert len(wanted) <= SUBJECTS_AT_ONCE
        whole, damaged = self.find(cursor, list(wanted), self._hold)
        new = {
            subject: met
            for subject, met in wanted.items()
            if subject not in whole and subject not in damaged
        }
        return KeysFound(whole | self._make(cursor, new) if new else whole, damaged)

    def find(
        self, cursor: DBAPICursor, subjects: Sequence[Subject], hold: str = ""
    ) -> tuple[dict[Subject, DataKey], dict[Subject, StoreUnfit]]:
        """Give the keys that there are, and those that are damaged; `hold`: until the commit."""
        values = ", ".join([self._one] * len(subjects))
        text = f"{self._select}(VALUES {values}){hold}"
        cursor.execute(text, tuple(chain.from_iterable(subjects)))
        rows: Sequence[_Found] = cursor.fetchall()
        whole: dict[Subject, DataKey] = {}
        damaged: dict[Subject, StoreUnfit] = {}
        for row in rows:
            try:
                whole[row[:3]] = self._unwrapped(row)
            except MasterKeyMissing:  # which is nothing of one applicant
                raise
            except StoreUnfit as error:
                damaged[row[:3]] = error
        return whole, damaged

    def _unwrapped(self, row: _Found) -> DataKey:
        lender, mode, _, key_id, lender_key_id, wrapped = row
        # SQLite keeps a text that somebody has put among bytes.
        whole = wrapped if isinstance(wrapped, bytes) else None
        key = ApplicantKey(key_id, lender_key_id, whole, None)
        return DataKey(key_id, self._vault.data_key(lender, mode, key))

    def _make(
        self, cursor: DBAPICursor, wanted: Mapping[Subject, FirstMet]
    ) -> dict[Subject, DataKey]:
        made: dict[Subject, DataKey] = {}
        rows = []
        # Sorted: two processes that make the same keys in different orders wait for each other.
        for who in sorted(wanted):
            (_, mode, subject), (ring, at_us) = who, wanted[who]
            data_key = envelope.new_key()
            row = new_applicant_key(ring, mode, subject, data_key, at_us)
            made[who] = DataKey(row.id, AESGCM(data_key))
            rows.append(row)
        self._new.run(cursor, rows)
        return made
