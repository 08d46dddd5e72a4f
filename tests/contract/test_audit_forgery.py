"""What somebody who can write into the database might try, and what is found of it."""

import pytest
from sqlalchemy import text

from alama.core.chain import MAIN
from alama.lenders import keys
from alama.lenders.records import Pause, Signed
from alama.platform.book import Book, Mode
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.protection.audit.records import Trouble
from alama.protection.audit.store import Trail
from alama.protection.receipts import Receipts
from alama.vault.store import SqlVaultKeys
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.entries import DEMO
from tests.own_fields import TEXT, the_three
from tests.protected import DAY_US, House

pytestmark = pytest.mark.alike

LIVE = Book("demo", Mode.LIVE)


@pytest.fixture
def house(database: Database) -> House:
    return House(database, HandClock())


def execute(database: Database, statement: str, **values: object) -> None:
    with database.writing() as connection:
        connection.execute(text(statement), values)


def troubles(database: Database) -> list[Trouble]:
    return sorted(finding.trouble for finding in verdict_on(database).findings)


def given(house: House, *references: str | None) -> list[str]:
    """Scores, each a millisecond after the one before."""
    found = []
    for reference in references:
        house.clock.now_us += 1_000
        found.append(house.score(reference))
    return found


# --------------------------------------------------------------------------------- applicants


@pytest.mark.parametrize("victim", [1, 2])
def test_a_score_cannot_be_passed_off_as_that_of_somebody_erased(
    house: House, database: Database, victim: int
) -> None:
    scores = given(house, "APPL-1", "APPL-2", None)
    house.applicants.erase(DEMO, "APPL-1")
    assert troubles(database) == []
    execute(
        database,
        "UPDATE scores SET score = 850, decision = 'APPROVED', applicant_key_id = "
        "(SELECT id FROM applicant_keys WHERE erased_us IS NOT NULL) WHERE request_id = :id",
        id=scores[victim],
    )
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.CHANGED, scores[victim])
    assert finding.what == "it names the key of another applicant"


def test_an_erasure_that_a_backup_has_undone_is_found(house: House, database: Database) -> None:
    given(house, "APPL-1")
    with database.reading() as connection:
        kept = connection.execute(text("SELECT * FROM applicant_keys")).mappings().one()
    house.applicants.erase(DEMO, "APPL-1")
    execute(
        database,
        "UPDATE applicant_keys SET subject = :subject, wrapped = :wrapped, erased_us = NULL",
        subject=kept["subject"],
        wrapped=kept["wrapped"],
    )
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.RESTORED, kept["id"])


def swap_subjects(database: Database) -> None:
    with database.reading() as connection:
        rows = connection.execute(text("SELECT id, subject FROM applicant_keys")).all()
    change = "UPDATE applicant_keys SET subject = :subject WHERE id = :id"
    execute(database, change, id=rows[0].id, subject=b"\x00" * 32)
    execute(database, change, id=rows[1].id, subject=rows[0].subject)
    execute(database, change, id=rows[0].id, subject=rows[1].subject)


def test_two_applicants_that_changed_places_are_found_and_neither_is_touched(
    house: House, database: Database
) -> None:
    scores = given(house, "APPL-1", "APPL-2")
    swap_subjects(database)
    assert troubles(database) == [Trouble.APPLICANT, Trouble.APPLICANT]
    for use in (house.applicants.export, house.applicants.erase):
        with pytest.raises(StoreUnfit, match="names somebody else"):
            use(DEMO, "APPL-1")
    assert not any(house.is_erased(score) for score in scores)
    assert house.acts("applicant_exported") == house.acts("applicant_erased") == []


def test_an_applicant_who_was_hidden_is_found(house: House, database: Database) -> None:
    given(house, "APPL-1")
    execute(database, "UPDATE applicant_keys SET subject = NULL")
    assert troubles(database) == [Trouble.APPLICANT]


# ---------------------------------------------------------------------------------- retention


def test_a_retention_run_accounts_for_what_it_deleted_and_for_nothing_else(
    house: House, database: Database
) -> None:
    held, free, _ = given(house, "HELD-1", "FREE-1", None)
    house.applicants.hold(DEMO, "HELD-1", "suit 12")
    house.clock.now_us += 400 * DAY_US
    (young,) = given(house, None)
    assert sum(house.retention.carry_out(house.retention.plan(DEMO, 100))) == 2
    verdict = verdict_on(database)
    assert (verdict.findings, verdict.deleted, verdict.proved) == ([], 2, 2)
    execute(database, "DELETE FROM scores WHERE request_id = :id", id=held)
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.GONE, held)
    (act,) = house.acts("retention_run")
    assert act.details["scores"] == 2
    assert young not in {held, free}


def test_a_score_that_was_deleted_and_is_there_again_is_found(
    house: House, database: Database
) -> None:
    (old,) = given(house, None)
    row = house.scores.find(DEMO, old).row
    house.clock.now_us += 400 * DAY_US
    list(house.retention.carry_out(house.retention.plan(DEMO, 100)))
    columns = ", ".join(row._fields)
    marks = ", ".join(f":{name}" for name in row._fields)
    execute(database, f"INSERT INTO scores ({columns}) VALUES ({marks})", **row._asdict())  # noqa: S608  our own names
    assert troubles(database) == [Trouble.BACK]


# -------------------------------------------------------------------------------- what stands

CHANGES = {
    "a hold that was lifted": "DELETE FROM legal_holds",
    "a hold that was ended": "UPDATE legal_holds SET released_us = placed_us",
    "a hold on another": "UPDATE legal_holds SET subject = "
    "(SELECT subject FROM applicant_keys WHERE id NOT IN (SELECT k.id FROM applicant_keys k "
    "JOIN legal_holds h ON h.subject = k.subject))",
    "the reason of a hold": "UPDATE legal_holds SET reason = 'none'",
    "a currency": "UPDATE lenders SET currency = 'NGN'",
    "a name": "UPDATE lenders SET name = 'Another'",
    "scopes": "UPDATE keys SET scopes = 'scores:read'",
    "an expiry": "UPDATE keys SET expires_us = NULL WHERE expires_us IS NOT NULL",
    "a revocation": "UPDATE keys SET revoked_us = NULL WHERE revoked_us IS NOT NULL",
    "whose key it is": "UPDATE keys SET mode = 'live' WHERE revoked_us IS NULL",
    "a policy": "UPDATE deployments SET policy_id = NULL WHERE policy_id IS NOT NULL",
    "who signed": "UPDATE deployments SET signed_by = 'nobody'",
    "a deployment that was taken back": "DELETE FROM deployments",
    "own fields that were taken back": "DELETE FROM field_activations",
    "who declared them": "UPDATE field_activations SET signed_by = 'nobody'",
    "a pause that was ended": "DELETE FROM pauses",
    "a pause that nobody ordered": "INSERT INTO pauses (lender, mode, paused_us, reason) "
    "VALUES ('demo', 'test', 1, 'because')",
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_was_changed_past_the_acts_is_found(
    house: House, database: Database, what: str
) -> None:
    given(house, "HELD-1", "FREE-1")
    house.applicants.hold(DEMO, "HELD-1", "suit 12")
    _, old = keys.issue(house.registry, house.clock, b"pepper", DEMO, days=30)
    _, lost = keys.issue(house.registry, house.clock, b"pepper", DEMO)
    keys.rotate(house.registry, house.clock, b"pepper", old.id, keys.Successor(1))
    keys.revoke(house.registry, house.clock, lost.id)
    row = house.scores.find(DEMO, house.score()).row
    house.registry.deploy_policy(DEMO, row.policy_id, Signed(house.clock(), "W", "a note"))
    signed = Signed(house.clock(), "W", "our bureau")
    house.registry.activate_fields("demo", the_three().id, TEXT, signed)
    house.registry.pause(LIVE, Pause(house.clock(), "payments are down"))
    assert troubles(database) == []
    execute(database, CHANGES[what])
    assert set(troubles(database)) == {Trouble.STANDING}


# -------------------------------------------------------------------------------------- keys


def test_only_keys_of_ours_are_shown_to_whoever_gets_receipts(
    house: House, database: Database
) -> None:
    given(house, None)
    execute(
        database,
        "INSERT INTO vault_keys (id, purpose, wrapped, master_id, public, created_us, retired_us) "
        "VALUES ('vk_00', 'sign', :nothing, '0', :public, 1, 2)",
        nothing=b"",
        public=bytes(range(32)),
    )
    receipts = Receipts(house.scores, house.vault, Trail(database), SqlVaultKeys(database))
    assert [key.id for key in receipts.signing_keys()] == [house.vault.signer().id]
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.SIGNER, "vk_00")


def test_a_missing_signing_key_is_named_once_and_accuses_nobody(
    house: House, database: Database
) -> None:
    given(house, None, "APPL-1")
    signer = house.vault.signer().id
    execute(database, "DELETE FROM vault_keys WHERE purpose = 'sign'")
    verdict = verdict_on(database)
    (finding,) = verdict.findings
    assert (finding.trouble, finding.where) == (Trouble.KEY, signer)
    assert not verdict.can_be_told


@pytest.mark.parametrize("damage", ["DELETE FROM vault_keys", "UPDATE vault_keys SET wrapped = :x"])
def test_a_missing_seal_key_is_named_once_and_no_other_is_made(
    house: House, database: Database, damage: str
) -> None:
    given(house, None, None, "APPL-1")
    seal_key = house.vault.ring("demo").seal_key_id
    values = {"x": b"\x00" * 60} if ":x" in damage else {}
    execute(database, f"{damage} WHERE purpose = 'seal'", **values)
    verdict = verdict_on(database)
    (finding,) = verdict.findings
    assert (finding.trouble, finding.where) == (Trouble.KEY, seal_key)
    assert not verdict.can_be_told
    assert [key.id for key in SqlVaultKeys(database).of("demo") if key.purpose == "seal"] in (
        [],
        [seal_key],
    )


def test_a_missing_key_does_not_hide_what_was_changed(house: House, database: Database) -> None:
    given(house, None)
    execute(database, "DELETE FROM vault_keys WHERE purpose = 'sign'")
    execute(database, "UPDATE scores SET score = 850")
    verdict = verdict_on(database)
    assert {finding.trouble for finding in verdict.findings} == {Trouble.KEY, Trouble.CHANGED}
    assert verdict.can_be_told


# ------------------------------------------------------------------------------------- entries


def test_an_emptied_audit_does_not_hold(house: House, database: Database) -> None:
    given(house, None)
    execute(database, "DELETE FROM audit_entries")
    assert troubles(database) == [Trouble.EMPTY]


@pytest.mark.parametrize("column", ["body", "hash", "previous_hash", "signature", "number"])
def test_what_has_another_type_is_a_finding(house: House, database: Database, column: str) -> None:
    if not database.embedded:
        pytest.skip("PostgreSQL lets no other type in")
    given(house, None)
    last = Trail(database).newest(MAIN, None, 1)[0].number
    execute(
        database,
        f"UPDATE audit_entries SET {column} = 'x' WHERE writer = 'main' AND number = :last",  # noqa: S608  our own names
        last=last,
    )
    assert Trouble.ENTRY in troubles(database)
