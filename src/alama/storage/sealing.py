"""Sealing in the commit, so that nothing is ever sealed under a key that is no more by then."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from alama.service.errors import MasterKeyMissing, StoreUnfit
from alama.service.records import ScoreRow, SealedEntry
from alama.service.vault.envelope import RECORD, REPLY, place
from alama.storage.applicant_keys import ApplicantKeys, FirstMet
from alama.storage.lender_keys import LenderKeys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.service.records import Entry
    from alama.service.vault.envelope import OwnKey
    from alama.service.vault.ring import Ring
    from alama.service.vault.vault import Vault
    from alama.storage.applicant_keys import DataKey, Subject
    from alama.storage.database import Database


class Batch(NamedTuple):
    """Entries that are sealed, in their order; those that cannot be, by request id, and why."""

    sealed: Sequence[SealedEntry]
    unfit: Mapping[str, StoreUnfit]


class Sealing:
    """Seals the entries of one database."""

    def __init__(self, database: Database, vault: Vault) -> None:
        """Keep what knows the keys."""
        self._lender_keys = LenderKeys(database, vault)
        self._applicant_keys = ApplicantKeys(database, vault)

    def seal(self, cursor: DBAPICursor, entries: Sequence[Entry]) -> Batch:
        """Seal entries. A damaged key is the trouble of those who need it, and of nobody else.

        `Clash` where another process makes the key of the same applicant at this moment.
        """
        unfit: dict[str, StoreUnfit] = {}
        used = {entry.unsealed.ring.seal_key_id for entry in entries}
        retired = self._lender_keys.retired(cursor, used)
        if retired:
            entries = self._handed_over(cursor, entries, retired, unfit)
        wanted = {
            (entry.score.lender, entry.score.mode, subject): FirstMet(
                entry.unsealed.ring, entry.score.created_us
            )
            for entry in entries
            if (subject := entry.unsealed.subject) is not None
        }
        keys: Mapping[Subject, DataKey] = {}
        if wanted:
            keys, damaged = self._applicant_keys.find_or_make(cursor, wanted)
            if damaged:
                entries = _with_whole_keys(entries, damaged, unfit)
        return Batch([_sealed(entry, keys) for entry in entries], unfit)

    def _handed_over(
        self,
        cursor: DBAPICursor,
        entries: Sequence[Entry],
        retired: set[str],
        unfit: dict[str, StoreUnfit],
    ) -> Sequence[Entry]:
        """Give the entries to be sealed by the keys of their lenders that stand now."""
        lenders = {
            entry.score.lender for entry in entries if entry.unsealed.ring.seal_key_id in retired
        }
        rings = {lender: self._ring(cursor, lender) for lender in sorted(lenders)}
        standing = []
        for entry in entries:
            unsealed = entry.unsealed
            stands = unsealed.ring.seal_key_id not in retired
            ring = unsealed.ring if stands else rings[entry.score.lender]
            if isinstance(ring, StoreUnfit):
                unfit[entry.score.request_id] = ring
            else:
                standing.append(entry._replace(unsealed=unsealed._replace(ring=ring)))
        return standing

    def _ring(self, cursor: DBAPICursor, lender: str) -> Ring | StoreUnfit:
        try:
            return self._lender_keys.ring(cursor, lender)
        except MasterKeyMissing:  # which is nothing of one lender
            raise
        except StoreUnfit as error:
            return error


def _with_whole_keys(
    entries: Sequence[Entry],
    damaged: Mapping[Subject, StoreUnfit],
    unfit: dict[str, StoreUnfit],
) -> Sequence[Entry]:
    """Give the entries whose applicants have no damaged key; note the others as unfit."""
    whole = []
    for entry in entries:
        score, subject = entry.score, entry.unsealed.subject
        error = None if subject is None else damaged.get((score.lender, score.mode, subject))
        if error is None:
            whole.append(entry)
        else:
            unfit[score.request_id] = error
    return whole


def _sealed(entry: Entry, keys: Mapping[Subject, DataKey]) -> SealedEntry:
    score, idempotency, digest, unsealed, seen, event = entry
    lender, mode, request_id = score.lender, score.mode, score.request_id
    where = place(lender, mode, request_id, RECORD)
    key: DataKey | OwnKey
    if unsealed.subject is None:
        key, seal_key_id, applicant_key_id = (
            unsealed.ring.own_key(where),
            unsealed.ring.seal_key_id,
            None,
        )
    else:
        key = keys[lender, mode, unsealed.subject]
        seal_key_id, applicant_key_id = None, key.id
    # The rest is as it was: to replace three by their names takes three times as long.
    record = key.seal(unsealed.record, where)
    score = ScoreRow._make((*score.in_clear, seal_key_id, record, applicant_key_id))
    if idempotency is not None:
        assert unsealed.reply is not None
        idempotency = idempotency._replace(
            reply=key.seal(unsealed.reply, place(lender, mode, request_id, REPLY)),
            seal_key_id=seal_key_id,
            applicant_key_id=applicant_key_id,
        )
    return SealedEntry(score, idempotency, digest, seen, event)
