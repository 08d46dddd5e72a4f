"""Vaults for tests: their master key is no secret."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

from alama.core.assess import Assessment, assess
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.platform.files.packaged import builtin, sample_application
from alama.scoring.records import Entry, Sealed, Unsealed, pack, unpack
from alama.vault.keys import Masters, VaultKey, master
from alama.vault.ring import Ring
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault
from tests.entries import DEMO, NOON_US, an_entry

MASTER_KEY = "07" * 32
MASTERS = Masters(master(MASTER_KEY))


class KeysInMemory:
    """Keeps keys as `alama.vault.keys.VaultKeys` says, for tests without a database."""

    def __init__(self) -> None:
        self.rows: list[VaultKey] = []

    def of(self, lender: str | None) -> Sequence[VaultKey]:
        return [row for row in self.rows if row.lender in {None, lender} and row.wrapped]

    def master_id(self) -> str | None:
        return None

    def settle(self, lender: str | None, keys: Sequence[VaultKey]) -> Sequence[VaultKey]:
        self.rows += keys
        return self.of(lender)

    def signing(self) -> Sequence[VaultKey]:
        return [row for row in self.rows if row.public is not None]


def a_vault() -> Vault:
    """A vault that keeps its keys in memory."""
    return Vault(KeysInMemory(), MASTERS, lambda: NOON_US)


def a_ring(lender: str = "demo") -> Ring:
    """The keys of a lender, new ones each time."""
    return a_vault().ring(lender)


def vault_of(database: Database) -> Vault:
    """The vault of a database."""
    return Vault(SqlVaultKeys(database), MASTERS, lambda: NOON_US)


@cache
def _assessment() -> Assessment:
    """What was said to somebody; it does not matter here to whom."""
    model = ReadyModel(builtin(), "KES")
    application = Intake(PRODUCT).read(sample_application())
    return assess(model, ReadyPolicy(default_policy("KES"), model), application)


def a_record(sent: bytes = b"{}") -> bytes:
    """What is kept of a score, before it is sealed."""
    return pack(Sealed(sent, _assessment(), b"salt of 16 bytes"))


def sent_by(reference: str | None) -> bytes:
    """A body that names an applicant, or nobody."""
    return json.dumps({} if reference is None else {"applicant_ref": reference}).encode()


def an_entry_of(
    ring: Ring,
    reference: str | None = None,
    *,
    book: Book = DEMO,
    idempotency_key: str | None = None,
    at_us: int = NOON_US,
) -> Entry:
    """A score as the use case hands it to the ledger, with everything left to be sealed."""
    entry = an_entry(book, at_us=at_us, idempotency_key=idempotency_key)
    subject = None if reference is None else ring.subject(book.mode.value, reference)
    record = a_record(sent_by(reference))
    return entry._replace(unsealed=Unsealed(subject, ring, record, entry.unsealed.reply))


def to_be_kept(entry: Entry) -> Sealed:
    """What an entry will keep of its applicant."""
    return unpack(entry.unsealed.record, entry.score.request_id)
