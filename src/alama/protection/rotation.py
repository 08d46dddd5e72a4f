"""Rotation: every key can be replaced, and what it opened opens with the new one.

master     wraps the vault keys     re-wrapped in one transaction
lender     wraps the data keys      re-wrapped in batches while scores go on, then destroyed
           webhook secrets and
           loan histories
applicant  seals what they sent     sealed anew in one transaction
signing    signs the audit          its public half stays, to verify what it has signed
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import and_, bindparam, func, insert, select, update

from alama.memory.store import reseal
from alama.onboarding.histories import MovePart, count_parts_under, move_parts
from alama.platform.acts import RETIRES, VOUCHED, Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.database import tables
from alama.platform.errors import StoreUnfit
from alama.protection.applicants import UnknownApplicant
from alama.protection.audit.signers import vouch
from alama.scoring import schema as scoring_schema
from alama.vault import envelope, keys
from alama.vault import schema as vault_schema
from alama.vault.envelope import RECORD, REPLY, REVIEW
from alama.vault.keys import Masters, Purpose, VaultKey
from alama.vault.ring import ApplicantKey, ApplicantKeyRow, Ring, applicant_key_place
from alama.vault.sealed_texts import (
    AT_ONCE,
    Change,
    ChangeText,
    Resealed,
    SealedText,
    TextColumn,
    change_all,
    changed,
)
from alama.vault.store import COLUMNS, DESTROYED, MASTER_FACT, LenderKeys, one_at_a_time
from alama.vault.vault import Vault, damaged
from alama.webhooks import secrets
from alama.webhooks.endpoint_store import ENDPOINTS, endpoint_of, locked, write_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from alama.lenders.installation import Installation
    from alama.platform.book import Book
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.webhooks.records import Endpoint, Secrets


_FINGERPRINT_DIGITS: Final = 16


def applicant_key_rotated(
    book: Book, old: ApplicantKeyRow, new: ApplicantKeyRow, texts: int, by: str | None
) -> Act:
    """Say that a key is another under the same id: of each its wrapped form, as a hash."""
    details: dict[str, Detail] = {
        "texts": texts,
        "was": _fingerprint(old.wrapped),
        "is": _fingerprint(new.wrapped),
    }
    return act_in_book(ActKind.APPLICANT_KEY_ROTATED, book, new.id, details, by)


def _fingerprint(wrapped: bytes | None) -> str:
    return hashlib.sha256(wrapped or b"").hexdigest()[:_FINGERPRINT_DIGITS]


def signing_key_rotated(new_id: str, old_id: str, vouched: str, by: str | None) -> Act:
    """Say which key signs from now on; `vouched` is what it says of the one before it."""
    details: dict[str, Detail] = {RETIRES: old_id, VOUCHED: vouched}
    return Act(ActKind.SIGNING_KEY_ROTATED, subject=new_id, details=details, by=by)


Advance = Callable[[int], None]
"""Told how many more rows have been handed over."""


SEALED: Final = (
    TextColumn(scoring_schema.scores, "sealed", RECORD),
    TextColumn(scoring_schema.idempotency, "reply", REPLY),
    TextColumn(tables.reviews, "note", REVIEW),
)
"""All that a rotation has to hand over."""

_APPLICANT: Final = [vault_schema.applicant_keys.c[name] for name in ApplicantKeyRow._fields]


class RotationStore:
    """Keys in a database, handed over to others."""

    def __init__(self, database: Database, log: ActLog, vault: Vault) -> None:
        self._database = database
        self._log = log
        self._lender_keys = LenderKeys(database, vault)

    # -------------------------------------------------------------------------------- vault keys

    def everything(self) -> Sequence[VaultKey]:
        """All of them, destroyed ones included, oldest first."""
        query = select(*COLUMNS).order_by(vault_schema.vault_keys.c.id)
        with self._database.reading() as connection:
            return [VaultKey._make(row) for row in connection.execute(query)]

    def rewrap_keys(
        self, master_id: str, rewrap: Callable[[VaultKey], VaultKey], act: Callable[[int], Act]
    ) -> int:
        """Bring every key under a master key, all or none, and have it be the database's own."""
        table, facts = vault_schema.vault_keys, tables.facts
        others = (
            select(*COLUMNS)
            .where(table.c.master_id != master_id, table.c.wrapped != DESTROYED)
            .order_by(table.c.id)
        )
        with self._database.writing() as connection:
            one_at_a_time(connection, None)  # nobody makes one under the old master key meanwhile
            rows = connection.execute(others.with_for_update()).all()
            if not rows:
                return 0
            for key in map(rewrap, map(VaultKey._make, rows)):
                values = {"wrapped": key.wrapped, "master_id": key.master_id}
                connection.execute(update(table).where(table.c.id == key.id).values(values))
            named = update(facts).where(facts.c.name == MASTER_FACT)
            connection.execute(named.values(value=master_id))
            self._log.append(connection, act(len(rows)))
        return len(rows)

    def replace_key(self, new: VaultKey, retires: str, act: Act) -> bool:
        """Retire a key by its id, and let the new one stand; one that signed is destroyed at once.

        False, and nothing has changed, where it does not stand any more, or where the database's
        own master key is not the one that the new key is wrapped under.
        """
        table = vault_schema.vault_keys
        standing = update(table).where(table.c.id == retires, table.c.retired_us.is_(None))
        # A key that signs has nothing to hand over.
        emptied = {"wrapped": DESTROYED} if new.purpose == Purpose.SIGN else {}
        with self._database.writing() as connection:
            if one_at_a_time(connection, new.lender) not in {None, new.master_id}:
                return False
            if not connection.execute(
                standing.values(retired_us=new.created_us, **emptied)
            ).rowcount:
                return False
            connection.execute(insert(table), new._asdict())
            self._log.append(connection, act)
        return True

    def destroy_key(self, key_id: str) -> None:
        """Forget a retired key; its row stays."""
        table = vault_schema.vault_keys
        chosen = update(table).where(table.c.id == key_id, table.c.retired_us.is_not(None))
        with self._database.writing() as connection:
            connection.execute(chosen.values(wrapped=DESTROYED))

    # -------------------------------------------------------------------------------- a lender's

    def count_applicants(self) -> int:
        table = vault_schema.applicant_keys
        count = select(func.count()).select_from(table).where(table.c.wrapped.is_not(None))
        with self._database.reading() as connection:
            return connection.execute(count).scalar_one()

    def count_endpoints(self) -> int:
        """How many webhook endpoints there are: each has secrets under a key of its lender."""
        count = select(func.count()).select_from(tables.webhook_endpoints)
        with self._database.reading() as connection:
            return connection.execute(count).scalar_one()

    def count_under(self, lender: str, key_id: str) -> int:
        """How many keys of applicants, endpoints, texts of scores and histories a key wraps."""
        places = (
            (vault_schema.applicant_keys, _wrapped_by(key_id)),
            (tables.webhook_endpoints, _signed_for_under(lender, key_id)),
            *((column.table, _under(column.table, lender, key_id)) for column in SEALED),
        )
        counts = [select(func.count()).select_from(table).where(where) for table, where in places]
        with self._database.reading() as connection:
            found = sum(connection.execute(count).scalar_one() for count in counts)
            return found + count_parts_under(connection, lender, key_id)

    def move_applicants(
        self, lender: str, key_id: str, change: Callable[[Ring, ApplicantKeyRow], ApplicantKeyRow]
    ) -> Iterator[int]:
        """Replace the wrapped keys of applicants that a key of the lender wraps.

        The ring is that of the lender in the transaction: it stands until what was changed does.
        """
        table = vault_schema.applicant_keys
        query = select(*_APPLICANT).where(_wrapped_by(key_id)).order_by(table.c.id).limit(AT_ONCE)
        after = ""
        while True:
            with self._database.writing() as connection:
                ring = self._ring(connection, lender)
                found = connection.execute(query.where(table.c.id > after)).all()
                moved = [change(ring, ApplicantKeyRow._make(row)) for row in found]
                _rewrite(connection, moved, _wrapped_by(key_id))
            if not moved:
                return
            after = moved[-1].id
            yield len(moved)

    def move_secrets(
        self, lender: str, key_id: str, change: Callable[[Ring, Endpoint], Secrets]
    ) -> Iterator[int]:
        """Replace the secrets of webhook endpoints that a key of the lender wraps; as above."""
        query = locked(ENDPOINTS.where(_signed_for_under(lender, key_id))).limit(AT_ONCE)
        while True:
            with self._database.writing() as connection:
                # Whoever replaces a secret locks the endpoint first, and then asks for the key.
                endpoints = [endpoint_of(row) for row in connection.execute(query)]
                ring = self._ring(connection, lender)
                for endpoint in endpoints:
                    write_secrets(connection, endpoint.id, change(ring, endpoint))
            if not endpoints:
                return
            yield len(endpoints)

    def move_texts(
        self, lender: str, key_id: str, change: Callable[[Ring, SealedText], bytes]
    ) -> Iterator[int]:
        """Replace the records, replies and notes whose own keys a key of the lender wraps."""

        def moving(connection: Connection, texts: Sequence[SealedText]) -> Sequence[Resealed]:
            ring = self._ring(connection, lender)
            return [Resealed(change(ring, text), ring.seal_key_id, None) for text in texts]

        for column in SEALED:
            chosen = _under(column.table, lender, key_id)
            yield from changed(self._database, column, chosen, moving)

    def move_histories(self, lender: str, key_id: str, change: MovePart) -> Iterator[int]:
        """Replace the parts of loan histories whose own keys a key of the lender wraps; as above.

        The change is told the id of the history, where the part stands, and the part.
        """
        while True:
            with self._database.writing() as connection:
                ring = self._ring(connection, lender)
                moved = move_parts(connection, lender, key_id, ring, change)
            if not moved:
                return
            yield moved

    # -------------------------------------------------------------------------- an applicant's

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
        table = vault_schema.applicant_keys
        whose = select(*_APPLICANT).where(
            table.c.lender == book.lender,
            table.c.mode == book.mode.value,
            table.c.subject == subject,
        )
        with self._database.writing() as connection:
            ring = self._ring(connection, book.lender)
            # Whoever seals for the applicant at this moment is waited for, or waits.
            row = connection.execute(whose.with_for_update()).first()
            if row is None:
                raise UnknownApplicant(book)
            old = ApplicantKeyRow._make(row)
            renewed, change = renew(ring, old)
            _rewrite(connection, [renewed], table.c.wrapped.is_not(None))
            count = sum(
                change_all(
                    connection,
                    column,
                    column.table.c.applicant_key_id == renewed.id,
                    _one_by_one(change, renewed.id),
                )
                for column in SEALED
            )
            count += reseal(connection, renewed.id, change)
            self._log.append(connection, act(old, renewed, count))
        return count

    def _ring(self, connection: Connection, lender: str) -> Ring:
        """Give the ring of a lender, whose key stands until the commit.

        Were it retired meanwhile, what is put under it would be lost when it is destroyed.
        """
        return self._lender_keys.ring(connection.connection.cursor(), lender)


def _one_by_one(change: ChangeText, applicant_key_id: str) -> Change:
    def change_each(_: Connection, texts: Sequence[SealedText]) -> Sequence[Resealed]:
        return [Resealed(change(text), None, applicant_key_id) for text in texts]

    return change_each


def _rewrite(
    connection: Connection, rows: Sequence[ApplicantKeyRow], still: ColumnElement[bool]
) -> None:
    """Write wrapped keys, but not where the applicant was erased meanwhile: it stays erased."""
    table = vault_schema.applicant_keys
    move = (
        update(table)
        .where(table.c.id == bindparam("was_id"), still)
        .values(wrapped=bindparam("now_wrapped"), lender_key_id=bindparam("now_under"))
    )
    values: list[dict[str, Any]] = [
        {"was_id": row.id, "now_wrapped": row.wrapped, "now_under": row.lender_key_id}
        for row in rows
    ]
    if values:
        connection.execute(move, values)


def _wrapped_by(key_id: str) -> ColumnElement[bool]:
    table = vault_schema.applicant_keys
    return and_(table.c.lender_key_id == key_id, table.c.wrapped.is_not(None))


def _signed_for_under(lender: str, key_id: str) -> ColumnElement[bool]:
    table = tables.webhook_endpoints
    return and_(table.c.lender == lender, table.c.lender_key_id == key_id)


def _under(table: Table, lender: str, key_id: str) -> ColumnElement[bool]:
    return and_(table.c.lender == lender, table.c.seal_key_id == key_id)


class Rotation:
    """Replaces keys. `by` is who said so, if they did."""

    def __init__(self, store: RotationStore, vault: Vault, clock: Clock) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock

    @classmethod
    def at(cls, installed: Installation) -> Rotation:
        """What replaces the keys of an installation."""
        store = RotationStore(installed.database, installed.log, installed.vault)
        return cls(store, installed.vault, installed.clock)

    @property
    def _masters(self) -> Masters:
        return self._vault.masters

    def count_applicants(self) -> int:
        return self._store.count_applicants()

    def count_endpoints(self) -> int:
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
                ActKind.MASTER_KEY_ROTATED, subject=master_id, details={"keys": count}, by=by
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
            act = signing_key_rotated(new.id, old.id, vouched, by)
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
            act = Act(ActKind.LENDER_KEY_ROTATED, lender, subject=new.id, by=by)
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
            where = applicant_key_place(row.id, row.lender, row.mode)
            data_key = _opened(old, row.wrapped or b"", where, row.id)
            wrapped = envelope.seal(ring.seal_key, data_key, where)
            return row._replace(wrapped=wrapped, lender_key_id=ring.seal_key_id)

        def rewrap_secrets(ring: Ring, endpoint: Endpoint) -> Secrets:
            return secrets.rewrapped(endpoint, endpoint.secrets, old, ring)

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
            wrapped = ring.wrap(new, applicant_key_place(row.id, row.lender, row.mode))
            cipher = AESGCM(new)

            def reseal(sealed: SealedText) -> bytes:
                text = _opened(old, sealed.text, sealed.where, sealed.request_id)
                return envelope.seal(cipher, text, sealed.where)

            return row._replace(wrapped=wrapped, lender_key_id=ring.seal_key_id), reseal

        return self._store.reseal(
            book,
            self._vault.ring(book.lender).subject(book.mode.value, applicant_ref),
            renew,
            lambda old, new, count: applicant_key_rotated(book, old, new, count, by),
        )

    def _retired(self, lender: str | None, purpose: Purpose) -> list[VaultKey]:
        """Give the keys that make nothing new, but still open something."""
        return [
            key
            for key in self._store.everything()
            if key.lender == lender and key.purpose == purpose and key.retired_us and key.wrapped
        ]


def keys_in_use(everything: Sequence[VaultKey]) -> list[VaultKey]:
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
