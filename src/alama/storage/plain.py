"""Records that are not sealed yet, and their sealing. Replies of before were never kept on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, func, select

from alama.service.vault import envelope
from alama.storage import schema
from alama.storage.applicant_keys import ApplicantKeys, FirstMet
from alama.storage.lender_keys import LenderKeys
from alama.storage.sealed_texts import RECORDS, Resealed, changed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from alama.service.audit.acts import Act
    from alama.service.ports import Clock
    from alama.service.vault.ring import Ring
    from alama.service.vault.rotation import SealedText
    from alama.service.vault.vault import Vault
    from alama.storage.acts import ActLog
    from alama.storage.applicant_keys import DataKey, Subject
    from alama.storage.database import Database

_PLAIN: Final = and_(
    schema.scores.c.seal_key_id.is_(None), schema.scores.c.applicant_key_id.is_(None)
)


class SqlPlain:
    """Plain texts in a database; see `alama.service.vault.plain.PlainStore`."""

    def __init__(self, database: Database, vault: Vault, log: ActLog, clock: Clock) -> None:
        """Use an open database and the keys of its lenders."""
        self._database = database
        self._vault = vault
        self._log = log
        self._clock = clock
        self._lender_keys = LenderKeys(database, vault)
        self._applicant_keys = ApplicantKeys(database, vault)

    def count_plain(self) -> int:
        count = select(func.count()).select_from(RECORDS.table).where(_PLAIN)
        with self._database.reading() as connection:
            return connection.execute(count).scalar_one()

    def seal_plain(self, reference_of: Callable[[bytes, str], str | None]) -> Iterator[int]:
        for lender in self._lenders():
            self._vault.ring(lender)  # makes keys where there are none: not within a transaction

        def seal_records(connection: Connection, texts: Sequence[SealedText]) -> Sequence[Resealed]:
            return self._seal_records(connection, texts, reference_of)

        yield from changed(self._database, RECORDS, _PLAIN, seal_records)

    def note(self, act: Act) -> None:
        with self._database.writing() as connection:
            self._log.append(connection, act)

    def _lenders(self) -> Sequence[str]:
        """Give those who have something plain."""
        query = select(RECORDS.table.c.lender).distinct().where(_PLAIN)
        with self._database.reading() as connection:
            return connection.execute(query).scalars().all()

    def _seal_records(
        self,
        connection: Connection,
        texts: Sequence[SealedText],
        reference_of: Callable[[bytes, str], str | None],
    ) -> Sequence[Resealed]:
        rings = self._rings(connection, texts)
        subjects = [_subject(text, rings, reference_of) for text in texts]
        now_us = self._clock()
        wanted = {one: FirstMet(rings[one[0]], now_us) for one in subjects if one is not None}
        keys: Mapping[Subject, DataKey] = {}
        if wanted:
            cursor = connection.connection.cursor()
            keys, damaged = self._applicant_keys.find_or_make(cursor, wanted)
            for error in damaged.values():
                raise error
        return [
            _resealed(text, rings[text.lender], None if who is None else keys[who])
            for text, who in zip(texts, subjects, strict=True)
        ]

    def _rings(self, connection: Connection, texts: Sequence[SealedText]) -> dict[str, Ring]:
        cursor = connection.connection.cursor()
        lenders = {text.lender for text in texts}
        return {lender: self._lender_keys.ring(cursor, lender) for lender in sorted(lenders)}


def _subject(
    text: SealedText, rings: Mapping[str, Ring], reference_of: Callable[[bytes, str], str | None]
) -> Subject | None:
    reference = reference_of(text.text, text.request_id)
    if reference is None:
        return None
    return (text.lender, text.mode, rings[text.lender].subject(text.mode, reference))


def _resealed(text: SealedText, ring: Ring, key: DataKey | None) -> Resealed:
    if key is None:
        sealed = ring.own_key(text.where).seal(text.text, text.where)
        return Resealed(sealed, ring.seal_key_id, None)
    return Resealed(envelope.seal(key.cipher, text.text, text.where), None, key.id)
