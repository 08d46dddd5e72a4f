"""Whether the secrets at hand are those of a database. Nothing is written, and none is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.errors import AlamaError
from alama.service import keys
from alama.service.checkup import broken, ok, unchecked
from alama.service.errors import MasterKeyMissing, StoreUnfit
from alama.service.vault.keys import unwrap
from alama.service.vault.vault import Vault
from alama.storage.audit import SqlTrail
from alama.storage.registry import SqlRegistry
from alama.storage.vault import DESTROYED, MASTER_FACT, SqlVaultKeys
from alama.wiring import own_secrets
from alama.wiring.installation import wall_us

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.service.checkup import Finding
    from alama.service.vault.master import Masters
    from alama.settings import Settings
    from alama.storage.database import Database

PEPPER: Final = "pepper"
MASTER_KEY: Final = "master key"
VAULT_KEYS: Final = "vault keys"

_NEVER_OPENED: Final = "the database was never opened, and takes the one that it is opened with"


def secrets(settings: Settings, database: Database) -> Iterator[Finding]:
    """Hold the pepper and the master key at hand against what a database knows of them."""
    facts = SqlRegistry(database)
    yield _pepper(settings, facts.fact(own_secrets.PEPPER_FACT))
    try:
        masters = _masters(settings, facts)
    except AlamaError as error:
        yield broken(MASTER_KEY, str(error), error.hint)
        yield unchecked(VAULT_KEYS, "see master key")
        return
    if masters is None:
        yield ok(MASTER_KEY, _NEVER_OPENED)
        return
    yield ok(MASTER_KEY, "the one of this database")
    yield _vault_keys(database, masters)


def vault_of(settings: Settings, database: Database) -> Vault:
    """Give a vault that reads; what needs a key raises where no master key is at hand."""
    store = SqlVaultKeys(database)
    try:
        masters = _masters(settings, SqlRegistry(database))
    except MasterKeyMissing as missing:
        return Vault(store, missing, wall_us)
    if masters is None:
        return Vault(store, MasterKeyMissing("of its first start", None), wall_us)
    return Vault(store, masters, wall_us)


def _pepper(settings: Settings, wanted: str | None) -> Finding:
    if wanted is None:
        return ok(PEPPER, _NEVER_OPENED)
    try:
        if keys.fingerprint(own_secrets.pepper(settings, wanted)) == wanted:
            return ok(PEPPER, "the one of this database")
    except AlamaError as error:
        return broken(PEPPER, str(error), error.hint)
    other = own_secrets.another_pepper()
    return broken(PEPPER, str(other), other.hint)


def _masters(settings: Settings, facts: SqlRegistry) -> Masters | None:
    """Give the master keys at hand; None where the database was never settled on one."""
    if facts.fact(MASTER_FACT) is None:
        return None
    return own_secrets.master_keys(settings, facts)


def _vault_keys(database: Database, masters: Masters) -> Finding:
    with SqlTrail(database).moment() as moment:
        rows = [key for key in moment.vault_keys() if key.wrapped != DESTROYED]
    shut: list[str] = []
    for key in rows:
        try:
            unwrap(masters, key)
        except StoreUnfit:
            shut.append(key.id)
    if shut:
        count = "1 does" if len(shut) == 1 else f"{len(shut)} do"
        return broken(
            VAULT_KEYS,
            f"{count} not open, {shut[0]} the first",
            "restore the table vault_keys from a backup",
        )
    return ok(VAULT_KEYS, f"the master key opens all {len(rows)} of them")
