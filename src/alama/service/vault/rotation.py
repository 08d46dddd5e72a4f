"""Rotation: every key can be replaced, and what it opened opens with the new one.

master     wraps the vault keys     re-wrapped in one transaction
lender     wraps the data keys      re-wrapped in batches while scores go on, then destroyed
           webhook secrets and
           loan histories
applicant  seals what they sent     sealed anew in one transaction
signing    signs the audit          its public half stays, to verify what it has signed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from alama.service.audit import acts
from alama.service.audit.acts import Act, Kind
from alama.service.audit.signatures import vouch
from alama.service.errors import StoreUnfit
from alama.service.records import ApplicantKey, damaged
from alama.service.vault import applicant, envelope, keys
from alama.service.vault.keys import Purpose
from alama.service.webhooks import secrets as webhook_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.service.book import Book
    from alama.service.ports import Clock
    from alama.service.vault.applicant import ApplicantKeyRow
    from alama.service.vault.keys import VaultKey
    from alama.service.vault.master import Masters
    from alama.service.vault.ring import Ring
    from alama.service.vault.vault import Vault
    from alama.service.webhooks.records import Endpoint, Secrets

Advance = Callable[[int], None]
"""Told how many more rows have been handed over."""


class SealedText(NamedTuple):
    """A record, a reply or a note as it is stored, and where it stands."""

    lender: str
    mode: str
    request_id: str
    part: str
    text: bytes

    @property
    def where(self) -> bytes:
        """The place that it is bound to."""
        return envelope.place(self.lender, self.mode, self.request_id, self.part)


ChangeText = Callable[[SealedText], bytes]


class RotationStore(Protocol):
    """Where keys are replaced. Every method may raise `StoreUnavailable`.

    Those that take an act write it down in the same transaction. Those that give an iterator work
    in batches, a transaction each, and give how many rows each has changed; what was changed before
    is not met again, so that an interrupted one can be begun anew.
    """

    def everything(self) -> Sequence[VaultKey]:
        """All of them, destroyed ones included, oldest first."""
        ...

    def rewrap_keys(
        self, master_id: str, rewrap: Callable[[VaultKey], VaultKey], act: Callable[[int], Act]
    ) -> int:
        """Bring every key under a master key, all or none, and have it be the database's own."""
        ...

    def replace_key(self, new: VaultKey, retires: str, act: Act) -> bool:
        """Retire a key by its id, and let the new one stand; one that signed is destroyed at once.

        False, and nothing has changed, where it does not stand any more, or where the database's
        own master key is not the one that the new key is wrapped under.
        """
        ...

    def destroy_key(self, key_id: str) -> None:
        """Forget a retired key; its row stays."""

    def count_applicants(self) -> int:
        """How many keys of applicants stand."""
        ...

    def count_endpoints(self) -> int:
        """How many webhook endpoints there are: each has secrets under a key of its lender."""
        ...

    def count_under(self, lender: str, key_id: str) -> int:
        """How many keys of applicants, endpoints, texts of scores and histories a key wraps."""
        ...

    def move_applicants(
        self, lender: str, key_id: str, change: Callable[[Ring, ApplicantKeyRow], ApplicantKeyRow]
    ) -> Iterator[int]:
        """Replace the wrapped keys of applicants that a key of the lender wraps.

        The ring is that of the lender in the transaction: it stands until what was changed does.
        """
        ...

    def move_secrets(
        self, lender: str, key_id: str, change: Callable[[Ring, Endpoint], Secrets]
    ) -> Iterator[int]:
        """Replace the secrets of webhook endpoints that a key of the lender wraps; as above."""
        ...

    def move_texts(
        self, lender: str, key_id: str, change: Callable[[Ring, SealedText], bytes]
    ) -> Iterator[int]:
        """Replace the records, replies and notes whose own keys a key of the lender wraps."""
        ...

    def move_histories(
        self, lender: str, key_id: str, change: Callable[[Ring, str, bytes, bytes], bytes]
    ) -> Iterator[int]:
        """Replace the parts of loan histories whose own keys a key of the lender wraps; as above.

        The change is told the id of the history, where the part stands, and the part.
        """
        ...

    def reseal(
        self,
        book: Book,
        subject: bytes,
        renew: Callable[[Ring, ApplicantKeyRow], tuple[ApplicantKeyRow, ChangeText]],
        act: Callable[[ApplicantKeyRow, ApplicantKeyRow, int], Act],
    ) -> int:
        """Replace the key of an applicant and all that it seals, or raise `UnknownApplicant`.

        The ring is as in `move_applicants`; the act is of the key before and after, and the texts.
        """
        ...


class Rotation:
    """Replaces keys. `by` is who said so, if they did."""

    def __init__(self, store: RotationStore, vault: Vault, clock: Clock) -> None:
        """Keep what holds the keys, and what uses them."""
        self._store = store
        self._vault = vault
        self._clock = clock

    @property
    def _masters(self) -> Masters:
        return self._vault.masters

    def count_applicants(self) -> int:
        """Give how many applicants have a key."""
        return self._store.count_applicants()

    def count_endpoints(self) -> int:
        """Give how many webhook endpoints have secrets."""
        return self._store.count_endpoints()

    def everything(self) -> Sequence[VaultKey]:
        """Give all keys there are and were, oldest first."""
        return self._store.everything()

    def master(self, by: str | None) -> int:
        """Bring all keys under the current master key; give how many were under another."""
        master_id = self._masters.current.id
        return self._store.rewrap_keys(
            master_id,
            lambda key: keys.rewrap(self._masters, key),
            lambda count: Act(
                Kind.MASTER_KEY_ROTATED, subject=master_id, details={"keys": count}, by=by
            ),
        )

    def signing(self, by: str | None) -> VaultKey:
        """Sign with a new key from now on; other processes follow within a second."""
        self._vault.signer()  # makes the first one, where nothing was ever signed
        while True:  # until nobody else rotates it at this moment
            old = self._standing_signer()
            new = self._beside(old)
            vouched = vouch(
                keys.signing(self._masters, new),
                old.id,
                keys.signing(self._masters, old).public,
            )
            act = acts.signing_key_rotated(new.id, old.id, vouched, by)
            if self._store.replace_key(new, old.id, act):
                return new

    def _beside(self, old: VaultKey) -> VaultKey:
        """Make a key for the same purpose."""
        master = self._vault.own_master()
        return keys.make(master, old.lender, Purpose(old.purpose), self._clock())

    def _standing_signer(self) -> VaultKey:
        """Read the key that signs now: the vault may remember one that was rotated since."""
        return self._standing(None, Purpose.SIGN)

    def _standing(self, lender: str | None, purpose: Purpose) -> VaultKey:
        return next(
            key
            for key in self._store.everything()
            if key.lender == lender and key.purpose == purpose and key.retired_us is None
        )

    # -------------------------------------------------------------------------------- lender

    def begin_lender(self, lender: str, by: str | None) -> int:
        """Have a lender's records sealed under a new key; give how many are to be handed over.

        Where an earlier rotation was interrupted its key stands, and is handed over to.
        """
        self._vault.ring(lender)
        while not self._retired(lender, Purpose.SEAL):
            old = self._standing(lender, Purpose.SEAL)
            new = self._beside(old)
            act = Act(Kind.LENDER_KEY_ROTATED, lender, subject=new.id, by=by)
            if self._store.replace_key(new, old.id, act):
                break
        retired = self._retired(lender, Purpose.SEAL)
        return sum(self._store.count_under(lender, old.id) for old in retired)

    def finish_lender(self, lender: str, advance: Advance) -> str:
        """Hand over all that retired keys wrap, destroy them, and give the id of the new one."""
        new_id = self._vault.ring(lender).seal_key_id
        for old in self._retired(lender, Purpose.SEAL):
            for count in self._moves(lender, old.id):
                advance(count)
            # No commit writes under a retired key, so nothing is under it any more.
            self._store.destroy_key(old.id)
        return new_id

    def _moves(self, lender: str, old_id: str) -> Iterator[int]:
        old = self._vault.lender_key(lender, old_id)

        def rewrap_applicant(ring: Ring, row: ApplicantKeyRow) -> ApplicantKeyRow:
            where = applicant.where(row.id, row.lender, row.mode)
            data_key = _opened(old, row.wrapped or b"", where, row.id)
            wrapped = envelope.seal(ring.seal_key, data_key, where)
            return row._replace(wrapped=wrapped, lender_key_id=ring.seal_key_id)

        def rewrap_secrets(ring: Ring, endpoint: Endpoint) -> Secrets:
            return webhook_secrets.rewrapped(endpoint, endpoint.secrets, old, ring)

        def rewrap_text(ring: Ring, sealed: SealedText) -> bytes:
            try:
                return envelope.rewrap_alone(old, ring.seal_key, sealed.text, sealed.where)
            except envelope.NotOpened:
                raise damaged(sealed.request_id) from None

        def rewrap_part(ring: Ring, history_id: str, where: bytes, sealed: bytes) -> bytes:
            try:
                return envelope.rewrap_alone(old, ring.seal_key, sealed, where)
            except envelope.NotOpened:
                raise damaged(history_id) from None

        yield from self._store.move_applicants(lender, old_id, rewrap_applicant)
        yield from self._store.move_secrets(lender, old_id, rewrap_secrets)
        yield from self._store.move_texts(lender, old_id, rewrap_text)
        yield from self._store.move_histories(lender, old_id, rewrap_part)

    # -------------------------------------------------------------------------------- applicant

    def applicant(self, book: Book, applicant_ref: str, by: str | None) -> int:
        """Seal all that one applicant sent under a new key; give how many texts that were."""

        def renew(ring: Ring, row: ApplicantKeyRow) -> tuple[ApplicantKeyRow, ChangeText]:
            stored = ApplicantKey(row.id, row.lender_key_id, row.wrapped, row.erased_us)
            old, new = self._vault.data_key(row.lender, row.mode, stored), envelope.new_key()
            wrapped = ring.wrap(new, applicant.where(row.id, row.lender, row.mode))
            cipher = AESGCM(new)

            def reseal(sealed: SealedText) -> bytes:
                text = _opened(old, sealed.text, sealed.where, sealed.request_id)
                return envelope.seal(cipher, text, sealed.where)

            return row._replace(wrapped=wrapped, lender_key_id=ring.seal_key_id), reseal

        return self._store.reseal(
            book,
            self._vault.ring(book.lender).subject(book.mode.value, applicant_ref),
            renew,
            lambda old, new, count: acts.applicant_key_rotated(book, old, new, count, by),
        )

    def _retired(self, lender: str | None, purpose: Purpose) -> list[VaultKey]:
        """Give the keys that make nothing new, but still open something."""
        return [
            key
            for key in self._store.everything()
            if key.lender == lender and key.purpose == purpose and key.retired_us and key.wrapped
        ]


def standing(everything: Sequence[VaultKey]) -> list[VaultKey]:
    """Give the keys that open or sign something, a lender's after the installation's."""
    return sorted(
        (key for key in everything if key.wrapped),
        key=lambda key: (key.lender or "", key.purpose, key.created_us),
    )


def _opened(key: AESGCM, sealed: bytes, where: bytes, what: str) -> bytes:
    try:
        return envelope.open_sealed(key, sealed, where)
    except envelope.NotOpened:
        raise StoreUnfit(f"{what} is damaged", hint="restore it from a backup") from None
