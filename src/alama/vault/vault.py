"""The vault: gives each lender its ring, and opens what was sealed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from alama.platform.errors import Erased, MasterKeyMissing, StoreUnfit
from alama.vault import envelope, keys, ring
from alama.vault.keys import OF_LENDER, Master, Masters, Purpose, SigningKey, VaultKey, VaultKeys
from alama.vault.ring import ApplicantKey, Ring

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alama.platform.book import Book
    from alama.platform.clock import Clock


class Vault:
    """The keys of one installation. Remembers what it has read, for any thread.

    What it remembers may be older than a rotation by another process. A key that it does not know
    makes it look again; one that seals is asked for every second, by whoever recognises callers.
    """

    def __init__(self, store: VaultKeys, masters: Masters | MasterKeyMissing, clock: Clock) -> None:
        """Keep where the wrapped keys are, and what unwraps them.

        Or why nothing does: then whatever needs a key raises that, and all else can be done.
        """
        self._masters = masters
        self._store = store
        self._clock = clock
        # By id. One that was destroyed since opens what was read just before it was handed over.
        self._lender_keys: dict[str, AESGCM] = {}
        self._signer: SigningKey | None = None

    @property
    def masters(self) -> Masters:
        """What unwraps the keys, or `MasterKeyMissing`."""
        if isinstance(self._masters, MasterKeyMissing):
            raise self._masters
        return self._masters

    def own_master(self) -> Master:
        """Give the database's own master key, under which new keys are made.

        `MasterKeyMissing` where the database was brought under one that is not at hand. While it is
        rotated it is the old one: processes that know no other can use new keys too.
        """
        settled = self._store.master_id()
        return self.masters.current if settled is None else self.masters.named(settled)

    def ring(self, lender: str) -> Ring:
        """Read the keys of a lender as they are now; the first call for a lender makes them."""
        rows = self._standing(lender, self._store.of(lender), OF_LENDER)
        self._see_signer(rows)
        for row in rows:
            if row.purpose == Purpose.SEAL and row.id not in self._lender_keys:
                self._lender_keys[row.id] = AESGCM(keys.unwrap(self.masters, row))
        seal_key_id = _current(rows, Purpose.SEAL).id
        find_key = keys.unwrap(self.masters, _current(rows, Purpose.FIND))
        return Ring(lender, seal_key_id, self._lender_keys[seal_key_id], find_key)

    def signer(self) -> SigningKey:
        """Give the key that signs for the installation; the first call ever makes it.

        It is remembered, and seen anew with every ring: call it once before a transaction that will
        need it, for it may have to write.
        """
        return self._signer or self.signer_of_now()

    def signer_of_now(self) -> SigningKey:
        """Give it as it stands at this moment: for whoever signs seldom, and asks for no ring."""
        self._see_signer(self._standing(None, self._store.of(None), (Purpose.SIGN,)))
        assert self._signer is not None
        return self._signer

    def _see_signer(self, rows: Iterable[VaultKey]) -> None:
        for row in rows:
            signs = row.purpose == Purpose.SIGN and row.retired_us is None
            if signs and (self._signer is None or self._signer.id != row.id):
                self._signer = keys.signing(self.masters, row)

    def seen(self, lender: str) -> Seen:
        """Look at what is there of a lender's keys, and make none: for who verifies."""
        opened = {}
        for row in self._store.of(lender):
            with suppress(StoreUnfit):
                opened[row.id] = (row, keys.unwrap(self.masters, row))
        for row, key in opened.values():
            if row.purpose == Purpose.SEAL:
                self._lender_keys.setdefault(row.id, AESGCM(key))
        find = [key for row, key in opened.values() if row.purpose == Purpose.FIND]
        return Seen(frozenset(opened), find[0] if find else None)

    def signing_keys(self) -> Sequence[tuple[VaultKey, bytes | None]]:
        """Give all keys that are said to have signed for the installation, oldest first.

        Each with its public half (Ed25519, 32 bytes) as its private half has it, whatever stands
        beside that; None where that was destroyed, is damaged, or is none of ours.
        """
        masters = self.masters
        return [(row, keys.public_half(masters, row)) for row in self._store.signing()]

    def lender_key(self, lender: str, key_id: str) -> AESGCM:
        """Give one of a lender's keys that wrap, or raise `StoreUnfit`."""
        if key_id not in self._lender_keys:
            self.ring(lender)
        if key_id not in self._lender_keys:
            raise StoreUnfit(
                f"the key {key_id} of {lender} is not in this database, or was destroyed",
                hint="restore the table vault_keys from the backup that the scores are from",
            )
        return self._lender_keys[key_id]

    def data_key(self, lender: str, mode: str, key: ApplicantKey) -> AESGCM:
        """Give the data key of an applicant, or raise `Erased`."""
        if key.erased_us is not None:
            raise Erased(key.erased_us)
        if key.wrapped is None:  # its row is not there, or was emptied by nobody who erases
            raise _damaged(key)
        lender_key = self.lender_key(lender, key.lender_key_id)
        where = ring.applicant_key_place(key.id, lender, mode)
        try:
            return AESGCM(envelope.open_sealed(lender_key, key.wrapped, where))
        except envelope.NotOpened:
            raise _damaged(key) from None

    def opened(
        self, locked: Locked, seal_key_id: str | None, applicant_key: ApplicantKey | None
    ) -> bytes:
        """Read a sealed text; `Erased`, or `StoreUnfit` where it is damaged."""
        book, request_id, part, text = locked
        where = envelope.place_in(book, request_id, part)
        try:
            if applicant_key is not None:
                data_key = self.data_key(book.lender, book.mode.value, applicant_key)
                return envelope.open_sealed(data_key, text, where)
            if seal_key_id is not None:
                lender_key = self.lender_key(book.lender, seal_key_id)
                return envelope.open_alone(lender_key, text, where)
        except envelope.NotOpened:
            raise damaged(request_id) from None
        raise damaged(request_id)

    def _standing(
        self, lender: str | None, rows: Sequence[VaultKey], purposes: Iterable[Purpose]
    ) -> Sequence[VaultKey]:
        """Give the keys of a lender or of the installation; those that are missing are made."""
        current = {row.purpose for row in rows if row.retired_us is None}
        missing = [purpose for purpose in purposes if purpose not in current]
        if not missing:
            return rows
        there = None
        while there is None:  # until nobody brings the keys under another master key meanwhile
            master, now_us = self.own_master(), self._clock()
            made = [keys.make(master, lender, purpose, now_us) for purpose in missing]
            there = self._store.settle(lender, made)
        return there


class Seen(NamedTuple):
    """The keys of a lender that are there and whole, and what its applicants are found by."""

    key_ids: frozenset[str]
    find_key: bytes | None


class Locked(NamedTuple):
    """A sealed text, and where it stands."""

    book: Book
    request_id: str
    part: str
    text: bytes


def _damaged(key: ApplicantKey) -> StoreUnfit:
    return StoreUnfit(
        f"the key {key.id} of an applicant is damaged, or gone", hint="restore it from a backup"
    )


def _current(rows: Iterable[VaultKey], purpose: Purpose) -> VaultKey:
    return next(row for row in rows if row.purpose == purpose and row.retired_us is None)


def damaged(request_id: str) -> StoreUnfit:
    """Give the error for a record that is not what was written."""
    return StoreUnfit(f"the record of {request_id} is damaged", hint="restore it from a backup")
