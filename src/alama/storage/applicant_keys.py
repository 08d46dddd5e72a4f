"""The keys of applicants, found or made for many at once, in the transaction of what they seal.

Straight on the driver, as all of the hot path is.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from alama.service.errors import MasterKeyMissing, StoreUnfit
from alama.service.records import ApplicantKey
from alama.service.vault import applicant, envelope
from alama.service.vault.applicant import ApplicantKeyRow
from alama.storage import schema
from alama.storage.inserts import Inserts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.service.vault.ring import Ring
    from alama.service.vault.vault import Vault
    from alama.storage.database import Database

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
    """The statements for one database."""

    def __init__(self, database: Database, vault: Vault) -> None:
        """Write them once.

        SQLite lets one process write at a time. On PostgreSQL an erasure has to wait until what is
        being sealed is there to be erased: it changes the column `subject`, which is part of a
        unique key, and FOR KEY SHARE keeps just that still. A rotation of the lender's key changes
        no such column, and goes on meanwhile.
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
        whole, damaged = self._find(cursor, list(wanted))
        new = {
            subject: met
            for subject, met in wanted.items()
            if subject not in whole and subject not in damaged
        }
        return KeysFound(whole | self._make(cursor, new) if new else whole, damaged)

    def _find(
        self, cursor: DBAPICursor, subjects: Sequence[Subject]
    ) -> tuple[dict[Subject, DataKey], dict[Subject, StoreUnfit]]:
        values = ", ".join([self._one] * len(subjects))
        text = f"{self._select}(VALUES {values}){self._hold}"
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
            row = applicant.make(ring, mode, subject, data_key, at_us)
            made[who] = DataKey(row.id, AESGCM(data_key))
            rows.append(row)
        self._new.run(cursor, rows)
        return made
