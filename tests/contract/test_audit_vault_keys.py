"""What a verification says of damaged or changed keys: it accuses nobody for a key."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.protection.audit.records import Trouble
from alama.protection.audit.store import Trail
from alama.protection.audit.verify import Verdict
from alama.protection.receipts import Receipts
from alama.protection.rotation import Rotation, RotationStore
from alama.vault.store import SqlVaultKeys
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.protected import House
from tests.vaults import vault_of

pytestmark = pytest.mark.alike

NOTHING = bytes(32)
CURRENT = "purpose = 'sign' AND retired_us IS NULL"
RETIRED = "purpose = 'sign' AND retired_us IS NOT NULL"


@pytest.fixture
def house(database: Database) -> House:
    """Scores before and after both a lender's key and the one that signs were replaced."""
    house = House(database, HandClock())
    house.score("APPL-1")
    rotation = Rotation(RotationStore(database, house.log, house.vault), house.vault, house.clock)
    house.clock.now_us += 1_000
    rotation.signing(None)
    rotation.begin_lender("demo", None)
    rotation.finish_lender("demo", lambda _: None)
    house.clock.now_us += 1_000
    house.score()
    assert verdict_on(database).findings == []
    return house


def change(database: Database, what: str, where: str, **values: object) -> str:
    """Change a key past all our code; gives its id."""
    with database.writing() as connection:
        found = connection.execute(text(f"SELECT id FROM vault_keys WHERE {where}"))  # noqa: S608  our own names
        key_id: str = found.scalar_one()
        statement = f"UPDATE vault_keys SET {what} WHERE id = :id"  # noqa: S608  our own names
        connection.execute(text(statement), {"id": key_id, **values})
    return key_id


def told(verdict: Verdict) -> list[tuple[Trouble, str]]:
    return [(finding.trouble, finding.where) for finding in verdict.findings]


# ------------------------------------------------------------------------- keys that sign


@pytest.mark.usefixtures("house")
@pytest.mark.parametrize("which", [CURRENT, RETIRED])
def test_a_public_half_that_was_changed_is_told_once_with_the_true_one(
    database: Database, which: str
) -> None:
    true = {key.id: key.public for key in SqlVaultKeys(database).signing()}
    key_id = change(database, "public = :x", which, x=NOTHING)
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.PUBLIC, key_id)
    assert finding.what == f"its own is {(true[key_id] or b'').hex()}"
    change(database, "public = :x", f"id = '{key_id}'", x=true[key_id])
    assert verdict_on(database).findings == []


def test_a_rotation_after_a_public_half_was_changed_loses_no_proof(
    house: House, database: Database
) -> None:
    key_id = change(database, "public = :x", CURRENT, x=NOTHING)
    rotation = Rotation(RotationStore(database, house.log, house.vault), house.vault, house.clock)
    house.clock.now_us += 1_000
    rotation.signing(None)
    assert told(verdict_on(database)) == [(Trouble.PUBLIC, key_id)]


def test_a_public_half_that_was_changed_is_shown_to_nobody(
    house: House, database: Database
) -> None:
    key_id = change(database, "public = :x", CURRENT, x=NOTHING)
    receipts = Receipts(house.scores, house.vault, Trail(database), SqlVaultKeys(database))
    assert key_id not in {key.id for key in receipts.signing_keys()}


@pytest.mark.usefixtures("house")
@pytest.mark.parametrize(
    "damage", ["wrapped = :x", "wrapped = :x, public = :x", "master_id = '0000000000000000'"]
)
def test_a_signing_key_of_which_nothing_opens_is_named_once_with_what_needs_it(
    database: Database, damage: str
) -> None:
    key_id = change(database, damage, CURRENT, **({"x": NOTHING} if ":x" in damage else {}))
    entries = sum(
        link.signer == key_id
        for writer in Trail(database).writers()
        for link in Trail(database).links(writer, 0, 1_000)
    )
    verdict = verdict_on(database)
    assert entries > 1
    named = {finding.where: finding.what for finding in verdict.findings}
    assert named[key_id] == f"{entries} entries are signed with it"
    assert not verdict.can_be_told


def test_the_first_signing_key_is_not_taken_for_a_foreign_one(database: Database) -> None:
    House(database, HandClock()).score()
    key_id = change(database, "wrapped = :x", CURRENT, x=b"")
    verdict = verdict_on(database)
    assert told(verdict) == [(Trouble.KEY, key_id)]
    assert not verdict.can_be_told


@pytest.mark.usefixtures("house")
def test_what_a_foreign_key_has_signed_does_not_hold(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO vault_keys (id, purpose, wrapped, master_id, public, created_us, "
                "retired_us) VALUES ('vk_00', 'sign', :none, '0', :public, 1, 2)"
            ),
            {"none": b"", "public": NOTHING},
        )
        connection.execute(
            text("UPDATE audit_entries SET signer = 'vk_00' WHERE writer = 'main' AND number = 2")
        )
    found = told(verdict_on(database))
    assert (Trouble.ENTRY, "entry 2 of main") in found
    assert (Trouble.SIGNER, "vk_00") in found


# -------------------------------------------------------------- keys against the acts


COLUMNS = {
    "the time when the signing key was made": ("created_us = created_us + 1", CURRENT),
    "the time when it was retired": ("retired_us = retired_us + 1", RETIRED),
    "a signing key that was retired": ("retired_us = 5", CURRENT),
    "a signing key that stands again": ("retired_us = NULL", RETIRED),
    "the private half of one that was retired": ("wrapped = '\\000'", RETIRED),
    "a lender's key that was retired": (
        "retired_us = 5",
        "purpose = 'seal' AND retired_us IS NULL",
    ),
    "a lender's key that stands again": (
        "retired_us = NULL",
        "purpose = 'seal' AND retired_us IS NOT NULL",
    ),
    "the time when a lender's key was made": (
        "created_us = 5",
        "purpose = 'seal' AND retired_us IS NULL",
    ),
    "a find key that was retired": ("retired_us = 5", "purpose = 'find'"),
    "what a key was for": ("purpose = 'x'", "purpose = 'seal' AND retired_us IS NOT NULL"),
}


@pytest.mark.usefixtures("house")
@pytest.mark.parametrize("what", COLUMNS)
def test_a_column_of_a_key_that_was_changed_is_found(database: Database, what: str) -> None:
    key_id = change(database, *COLUMNS[what])
    found = told(verdict_on(database))
    assert found
    assert set(found) == {(Trouble.STANDING, f"key {key_id}")}


def test_a_signing_key_that_no_act_speaks_of_is_found(house: House, database: Database) -> None:
    old = change(database, "retired_us = 5", CURRENT)
    house.clock.now_us += 1_000
    new = House(database, house.clock)  # which finds none that stands, and makes one
    new.score()
    found = told(verdict_on(database))
    made = new.vault.signer().id
    assert sorted(found) == sorted(
        [(Trouble.STANDING, f"key {old}"), (Trouble.STANDING, f"key {made}")]
    )


def test_a_lenders_key_that_no_act_speaks_of_is_found(house: House, database: Database) -> None:
    old = change(database, "retired_us = 5", "purpose = 'seal' AND retired_us IS NULL")
    house.clock.now_us += 1_000
    house.score()
    made = house.vault.ring("demo").seal_key_id
    assert sorted(told(verdict_on(database))) == sorted(
        [(Trouble.STANDING, f"key {old}"), (Trouble.STANDING, f"key {made}")]
    )


def test_a_key_that_was_made_in_the_place_of_a_missing_one_accuses_nobody(
    house: House, database: Database
) -> None:
    with database.writing() as connection:
        connection.execute(text(f"DELETE FROM vault_keys WHERE {CURRENT}"))  # noqa: S608  our own names
    house.clock.now_us += 1_000
    made = House(database, house.clock).vault.signer().id
    verdict = verdict_on(database)
    assert made in {finding.where for finding in verdict.findings}
    assert not verdict.can_be_told


# ------------------------------------------------------------------------- damaged rows


def test_a_damaged_key_that_nothing_needs_is_told_all_the_same(database: Database) -> None:
    house = House(database, HandClock())
    seal_key = house.vault.ring("demo").seal_key_id
    change(database, "wrapped = :x", "purpose = 'seal'", x=NOTHING)
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.KEY, seal_key)
    assert finding.what == "no score or applicant of demo needs it"


@pytest.mark.usefixtures("house")
@pytest.mark.parametrize("purpose", ["seal", "sign"])
def test_text_in_the_place_of_a_key_is_told_by_its_row(database: Database, purpose: str) -> None:
    if not database.embedded:
        pytest.skip("PostgreSQL lets no text in")
    where = f"purpose = '{purpose}' AND retired_us IS NULL"
    key_id = change(database, "wrapped = CAST(x'95ff' || wrapped AS TEXT)", where)
    with pytest.raises(StoreUnfit, match=f"the key {key_id} in this database is damaged"):
        vault_of(database).ring("demo")
    assert key_id in {finding.where for finding in verdict_on(database).findings}


@pytest.mark.parametrize("count", [1, 2])
def test_an_emptied_main_is_told_first(database: Database, count: int) -> None:
    house = House(database, HandClock())
    house.score()
    with database.writing() as connection:
        connection.execute(text("DELETE FROM audit_entries WHERE writer = 'main'"))
        if count > 1:
            connection.execute(
                text(
                    "INSERT INTO lenders (id, name, currency, created_us) VALUES ('b','B','KES',1)"
                )
            )
    (finding,) = verdict_on(database).findings
    assert finding.trouble is Trouble.EMPTY
    assert finding.what == ("1 lender is there" if count == 1 else "2 lenders are there")
