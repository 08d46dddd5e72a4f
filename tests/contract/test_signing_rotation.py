"""The key that signs is replaced, and every key that ever signed is vouched for."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from alama.lenders import keys as lenders
from alama.platform import acts
from alama.platform.acts import ActKind
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.protection.rotation import Rotation, RotationStore
from alama.vault.keys import VaultKey
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault
from tests.entries import NOON_US
from tests.stores import acts_in, registry_in
from tests.vaults import vault_of


@pytest.fixture
def vault(database: Database) -> Vault:
    lenders.add_lender(registry_in(database), lambda: NOON_US, "demo", "Demo lender", "KES")
    return vault_of(database)


@pytest.fixture
def rotation(database: Database, vault: Vault) -> Rotation:
    return Rotation(RotationStore(database, acts_in(database), vault), vault, lambda: NOON_US + 1)


def rotations(database: Database) -> list[acts.Act]:
    """The acts by which the key that signs was replaced."""
    table = tables.audit_entries
    query = select(table.c.body).where(table.c.kind == ActKind.SIGNING_KEY_ROTATED.value)
    with database.reading() as connection:
        return [acts.decode(body) for body in connection.execute(query).scalars()]


def test_a_new_key_signs_and_the_public_half_of_the_old_one_stays(
    rotation: Rotation, vault: Vault, database: Database
) -> None:
    vault.ring("demo")
    old = vault.signer()
    new = rotation.signing("Wanjiru")
    vault.ring("demo")  # which every process asks for each second
    assert vault.signer().id == new.id == vault_of(database).signer().id != old.id
    keys = SqlVaultKeys(database).signing()
    assert [key.id for key in keys] == [old.id, new.id]
    assert all(len(key.public or b"") == 32 for key in keys)
    assert [bool(key.wrapped) for key in keys] == [False, True]


def test_two_who_rotate_the_signing_key_at_once_vouch_for_every_key(
    rotation: Rotation,
    vault: Vault,
    database: Database,
    elsewhere: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vault.ring("demo")
    there = vault_of(elsewhere)
    store = RotationStore(elsewhere, acts_in(elsewhere), there)
    second = Rotation(store, there, lambda: NOON_US + 2)
    replace, in_between = store.replace_key, iter([True])

    def after_another(new: VaultKey, retires: str, act: acts.Act) -> bool:
        if next(in_between, False):
            rotation.signing(None)
        return replace(new, retires, act)

    monkeypatch.setattr(store, "replace_key", after_another)
    new = second.signing(None)
    keys = SqlVaultKeys(database).signing()
    assert [key.id for key in keys if key.wrapped] == [new.id]
    retired = [act.details[acts.RETIRES] for act in rotations(database)]
    assert sorted(map(str, retired)) == sorted(key.id for key in keys if not key.wrapped)
