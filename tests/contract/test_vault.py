"""Keys and what they seal, in both databases."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select, update

from alama.lenders import keys as lenders
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database.database import Database
from alama.platform.errors import Erased, StoreUnavailable
from alama.scoring import schema as scoring_schema
from alama.scoring.records import Earlier, Entry
from alama.scoring.replay import open_reply, open_score
from alama.scoring.store import Scores
from alama.vault import schema
from alama.vault.keys import Purpose
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault
from tests.entries import DEMO, NOON_US
from tests.stores import registry_in, scores_in
from tests.vaults import an_entry_of, sent_by, vault_of

LIVE = Book("demo", Mode.LIVE)
UMOJA = Book("umoja", Mode.TEST)


@pytest.fixture
def vault(database: Database) -> Vault:
    registry = registry_in(database)
    for lender in ("demo", "umoja"):
        lenders.add_lender(registry, lambda: NOON_US, lender, lender, "KES")
    return vault_of(database)


@pytest.fixture
def scores(database: Database) -> Scores:
    return scores_in(database)


def sent(scores: Scores, vault: Vault, entry: Entry) -> bytes:
    """What the applicant of a stored score sent."""
    return open_score(vault, scores.find(entry.score.book, entry.score.request_id)).application


def applicant_key(scores: Scores, entry: Entry) -> str | None:
    return scores.find(entry.score.book, entry.score.request_id).row.applicant_key_id


def erase(database: Database) -> None:
    """Erase every applicant, as far as keys go."""
    table = schema.applicant_keys
    with database.writing() as connection:
        gone = {"subject": None, "wrapped": None, "erased_us": NOON_US}
        connection.execute(update(table).values(gone))


# ------------------------------------------------------------------------------- keys


def test_every_process_has_the_same_keys(vault: Vault, elsewhere: Database) -> None:
    first, second = vault.ring("demo"), vault_of(elsewhere).ring("demo")
    assert first.seal_key_id == second.seal_key_id
    assert first.subject("test", "A-1") == second.subject("test", "A-1")
    assert vault.signer().id == vault_of(elsewhere).signer().id


def test_processes_that_make_the_first_keys_at_once_agree(
    vault: Vault, database: Database, address: str
) -> None:
    def make() -> None:
        other = databases.connect(address)
        there.wait()
        try:
            found.append((vault_of(other).ring("umoja").seal_key_id, vault_of(other).signer().id))
        finally:
            other.close()

    there = threading.Barrier(4)
    found: list[tuple[str, str]] = []
    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    standing = [key.purpose for key in SqlVaultKeys(database).of("umoja")]
    assert sorted(standing) == [Purpose.FIND, Purpose.SEAL, Purpose.SIGN]
    assert vault.ring("umoja").seal_key_id == found[0][0]


def test_lenders_and_modes_share_no_key(vault: Vault) -> None:
    demo, umoja = vault.ring("demo"), vault.ring("umoja")
    assert demo.seal_key_id != umoja.seal_key_id
    subjects = {
        demo.subject("test", "A-1"),
        demo.subject("live", "A-1"),
        umoja.subject("test", "A-1"),
    }
    assert len(subjects) == 3


# ------------------------------------------------------------------------------- sealing


@pytest.mark.parametrize("reference", [None, "A-1"])
def test_what_is_sealed_is_read_again(vault: Vault, scores: Scores, reference: str | None) -> None:
    entry = an_entry_of(vault.ring("demo"), reference)
    scores.commit([entry])
    assert sent(scores, vault, entry) == sent_by(reference)
    row = scores.find(DEMO, entry.score.request_id).row
    assert (row.seal_key_id is None) == (reference is not None)
    assert (row.applicant_key_id is None) == (reference is None)


@pytest.mark.parametrize("reference", [None, "A-1"])
def test_a_reply_is_sealed_and_given_again(
    vault: Vault, scores: Scores, database: Database, reference: str | None
) -> None:
    ring = vault.ring("demo")
    first = an_entry_of(ring, reference, idempotency_key="order-1")
    scores.commit([first])
    (earlier,) = scores.commit([an_entry_of(ring, reference, idempotency_key="order-1")])
    assert isinstance(earlier, Earlier)
    said = b"reply to " + first.score.request_id.encode()
    assert open_reply(vault, DEMO, earlier) == said
    with database.reading() as connection:
        stored = connection.execute(select(scoring_schema.idempotency.c.reply)).scalar_one()
    assert said not in stored


def test_one_applicant_has_one_key_in_a_book(vault: Vault, scores: Scores) -> None:
    ring = vault.ring("demo")
    group = [an_entry_of(ring, "A-1"), an_entry_of(ring, "A-2"), an_entry_of(ring, "A-1")]
    live = an_entry_of(ring, "A-1", book=LIVE)
    other = an_entry_of(vault.ring("umoja"), "A-1", book=UMOJA)
    scores.commit([*group, live, other])
    later = an_entry_of(ring, "A-1")
    scores.commit([later])
    keys = [applicant_key(scores, entry) for entry in (*group, live, other, later)]
    assert keys[0] == keys[2] == keys[5]
    assert len(set(keys)) == 4
    for entry in (*group, live, other, later):
        assert b"A-" in sent(scores, vault, entry)


def test_two_processes_that_meet_an_applicant_at_once_agree_on_one_key(
    vault: Vault, scores: Scores, address: str
) -> None:
    entries: list[Entry] = []
    there = threading.Barrier(4)

    def score(order: int) -> None:
        other = databases.connect(address)
        try:
            there_vault, there_scores = vault_of(other), scores_in(other)
            for round_ in range(5):
                ring = there_vault.ring("demo")
                group = [an_entry_of(ring, f"A-{round_}-{number}") for number in range(3)]
                there.wait()
                there_scores.commit(group[::order])
                entries.extend(group)
        finally:
            other.close()

    threads = [threading.Thread(target=score, args=(order,)) for order in (1, -1, 1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries) == 60
    keys = {sent(scores, vault, entry): set[str | None]() for entry in entries}
    for entry in entries:
        keys[sent(scores, vault, entry)].add(applicant_key(scores, entry))
    assert len(keys) == 15
    assert all(len(ids) == 1 for ids in keys.values())


# ------------------------------------------------------------------------------- erased between


def test_an_applicant_who_was_erased_gets_a_new_key(
    vault: Vault, scores: Scores, database: Database, elsewhere: Database
) -> None:
    ring = vault.ring("demo")
    before = an_entry_of(ring, "A-1", idempotency_key="order-1")
    scores.commit([before])
    erase(database)
    after = an_entry_of(ring, "A-1")
    scores_in(elsewhere).commit([after])
    assert sent(scores, vault, after) == sent_by("A-1")
    assert applicant_key(scores, after) != applicant_key(scores, before)
    with pytest.raises(Erased, match="was erased on 2026-11-15"):
        sent(scores, vault, before)
    (earlier,) = scores.commit([an_entry_of(ring, "A-1", idempotency_key="order-1")])
    assert isinstance(earlier, Earlier)
    with pytest.raises(Erased):
        open_reply(vault, DEMO, earlier)


def test_an_erasure_waits_for_a_commit_that_seals_for_the_applicant(
    vault: Vault, scores: Scores, database: Database, elsewhere: Database
) -> None:
    ring = vault.ring("demo")
    scores.commit([an_entry_of(ring, "A-1")])
    later = an_entry_of(ring, "A-1")
    erased = threading.Event()

    def erase_elsewhere() -> None:
        erase(elsewhere)
        erased.set()

    thread = threading.Thread(target=erase_elsewhere)
    with database.driving() as cursor:
        (sealed,) = scores._sealing.seal(cursor, [later]).sealed
        thread.start()
        assert not erased.wait(0.3)
        scores._score_rows.run(cursor, [sealed.score])
    thread.join()
    assert erased.is_set()
    with pytest.raises(Erased):
        sent(scores, vault, later)


def test_a_failed_commit_leaves_no_key(vault: Vault, scores: Scores, database: Database) -> None:
    entry = an_entry_of(vault.ring("demo"), "A-1")
    with pytest.raises(StoreUnavailable):
        scores.commit([entry, entry])
    with database.reading() as connection:
        assert connection.execute(select(schema.applicant_keys)).all() == []


def test_a_reference_is_the_same_however_its_letters_are_composed(vault: Vault) -> None:
    ring = vault.ring("demo")
    assert ring.subject("test", "Zo\u00eb") == ring.subject("test", "Zoe\u0308")
    assert ring.subject("test", "Zo\u00eb") != ring.subject("test", "Zoe")
