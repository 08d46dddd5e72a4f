"""Each key is rotated: everything still opens, and the old key opens nothing that came later."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select

from alama.lenders import keys
from alama.lenders.store import Registry
from alama.platform import acts
from alama.platform.acts import ActKind
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.errors import Erased, StoreUnfit
from alama.protection import rotation as rotation_module
from alama.protection.applicants import UnknownApplicant
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring.records import Earlier, Entry
from alama.scoring.replay import open_reply, open_score
from alama.scoring.store import Scores
from alama.vault import envelope, schema, sealed_texts
from alama.vault.keys import Masters, VaultKey, master
from alama.vault.ring import Ring
from alama.vault.store import MASTER_FACT, SqlVaultKeys
from alama.vault.vault import Vault
from tests.entries import DEMO, NOON_US
from tests.stores import acts_in, registry_in, scores_in
from tests.vaults import MASTERS, an_entry_of, sent_by, vault_of

LIVE = Book("demo", Mode.LIVE)
UMOJA = Book("umoja", Mode.TEST)
NEW_MASTER = master("08" * 32)


@pytest.fixture
def vault(database: Database) -> Vault:
    registry = registry_in(database)
    registry.settle_fact(MASTER_FACT, MASTERS.current.id)
    for lender in ("demo", "umoja"):
        keys.add_lender(registry, lambda: NOON_US, lender, lender, "KES")
    return vault_of(database)


@pytest.fixture
def scores(database: Database) -> Scores:
    return scores_in(database)


@pytest.fixture
def rotation(database: Database, vault: Vault) -> Rotation:
    return Rotation(RotationStore(database, acts_in(database), vault), vault, lambda: NOON_US + 1)


class Stock:
    """Scores of every kind, and whether they are all still there to be read."""

    def __init__(self, scores: Scores, vault: Vault) -> None:
        self._scores = scores
        self.entries: list[tuple[Entry, bytes]] = []
        for book in (DEMO, LIVE, UMOJA):
            ring = vault.ring(book.lender)
            for number, reference in enumerate((None, "A-1", "A-1", "A-2", None)):
                key = f"order-{number}"
                entry = an_entry_of(ring, reference, book=book, idempotency_key=key)
                self.entries.append((entry, sent_by(reference)))
        scores.commit([entry for entry, _ in self.entries])

    def assert_readable(self, vault: Vault) -> None:
        replies = self._scores.commit([entry for entry, _ in self.entries])
        for (entry, sent), earlier in zip(self.entries, replies, strict=True):
            book, request_id = entry.score.book, entry.score.request_id
            assert open_score(vault, self._scores.find(book, request_id)).application == sent
            assert isinstance(earlier, Earlier)
            assert open_reply(vault, book, earlier) == b"reply to " + request_id.encode()


@pytest.fixture
def stock(scores: Scores, vault: Vault) -> Stock:
    return Stock(scores, vault)


def noted(database: Database) -> list[acts.Act]:
    """The acts that are written down, but for those of the chains."""
    table = tables.audit_entries
    query = select(table.c.body).where(table.c.writer == "main").order_by(table.c.number)
    with database.reading() as connection:
        found = [acts.decode(body) for body in connection.execute(query).scalars()]
    return [act for act in found if act.kind.value.endswith(("rotated", "sealed"))]


def finish(rotation: Rotation, lender: str) -> tuple[str, int]:
    moved: list[int] = []
    new_id = rotation.finish_lender(lender, moved.append)
    return new_id, sum(moved)


# ------------------------------------------------------------------------------- lender


def test_a_lender_gets_a_new_key_and_the_old_one_is_destroyed(
    rotation: Rotation, stock: Stock, vault: Vault, database: Database
) -> None:
    old = vault.ring("demo")
    expected = rotation.begin_lender("demo", "Wanjiru")
    assert expected == 2 * (2 + 2 * 2)  # in each mode: two applicants, two records with replies
    new_id, moved = finish(rotation, "demo")
    assert moved == expected
    assert new_id == vault.ring("demo").seal_key_id != old.seal_key_id
    stock.assert_readable(vault_of(database))  # which remembers nothing
    assert [key.id for key in SqlVaultKeys(database).of("demo") if key.purpose == "seal"] == [
        new_id
    ]
    (act,) = noted(database)
    assert (act.kind, act.lender, act.subject) == (ActKind.LENDER_KEY_ROTATED, "demo", new_id)
    assert act.by == "Wanjiru"


def test_the_old_key_of_a_lender_opens_nothing_that_came_later(
    rotation: Rotation, vault: Vault, scores: Scores
) -> None:
    old = vault.ring("demo").seal_key
    rotation.begin_lender("demo", None)
    finish(rotation, "demo")
    later = an_entry_of(vault.ring("demo"))
    scores.commit([later])
    row = scores.find(DEMO, later.score.request_id).row
    where = envelope.place_in(DEMO, row.request_id, envelope.RECORD)
    with pytest.raises(envelope.NotOpened):
        envelope.open_alone(old, row.sealed, where)


@pytest.mark.parametrize("reference", [None, "A-9"])
def test_a_process_that_slept_through_the_rotation_commits_under_the_new_key(
    rotation: Rotation, vault: Vault, elsewhere: Database, reference: str | None
) -> None:
    late_vault = vault_of(elsewhere)
    late_scores = scores_in(elsewhere, late_vault)
    late = an_entry_of(late_vault.ring("demo"), reference, idempotency_key="late")
    rotation.begin_lender("demo", None)
    new_id, _ = finish(rotation, "demo")
    late_scores.commit([late])
    stored = late_scores.find(DEMO, late.score.request_id)
    assert open_score(vault, stored).application == sent_by(reference)
    named = stored.applicant.lender_key_id if stored.applicant else stored.row.seal_key_id
    assert named == new_id
    (earlier,) = late_scores.commit([late])
    assert isinstance(earlier, Earlier)
    assert open_reply(vault, DEMO, earlier) == b"reply to " + late.score.request_id.encode()


def test_scores_that_are_given_while_a_lender_is_rotated_all_open(
    rotation: Rotation, scores: Scores, address: str, database: Database
) -> None:
    given: list[Entry] = []
    done = threading.Event()

    def score() -> None:
        other = databases.connect(address)
        try:
            there_vault = vault_of(other)
            there_scores = scores_in(other, there_vault)
            while not done.is_set():
                ring = there_vault.ring("demo")  # which is remembered for a second
                for number in range(3):
                    pair = [an_entry_of(ring), an_entry_of(ring, f"A-{number}")]
                    there_scores.commit(pair)
                    given.extend(pair)
        finally:
            other.close()

    threads = [threading.Thread(target=score) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        rotation.begin_lender("demo", None)
        finish(rotation, "demo")
    done.set()
    for thread in threads:
        thread.join()
    assert len(given) > 8
    fresh = vault_of(database)
    for entry in given:
        assert open_score(fresh, scores.find(DEMO, entry.score.request_id)).salt


def test_an_interrupted_rotation_goes_on_where_it_stopped(
    rotation: Rotation,
    stock: Stock,
    vault: Vault,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sealed_texts, "AT_ONCE", 1)
    monkeypatch.setattr(rotation_module, "AT_ONCE", 1)
    everything = rotation.begin_lender("demo", None)
    moved: list[int] = []

    def stop(count: int) -> None:
        moved.append(count)
        if len(moved) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rotation.finish_lender("demo", stop)
    stock.assert_readable(vault_of(database))
    begun = vault.ring("demo").seal_key_id
    assert rotation.begin_lender("demo", None) == everything - 6
    assert finish(rotation, "demo") == (begun, everything - 6)
    stock.assert_readable(vault_of(database))
    assert len(noted(database)) == 1


def test_a_rotation_wakes_nobody_who_was_erased(
    rotation: Rotation, stock: Stock, scores: Scores, vault: Vault, database: Database
) -> None:
    table = schema.applicant_keys
    with database.writing() as connection:
        gone = {"subject": None, "wrapped": None, "erased_us": NOON_US}
        connection.execute(table.update().values(gone))
    rotation.begin_lender("demo", None)
    finish(rotation, "demo")
    entry = next(entry for entry, sent in stock.entries if sent == sent_by("A-1"))
    with pytest.raises(Erased):
        open_score(vault, scores.find(DEMO, entry.score.request_id))


# ------------------------------------------------------------------------------- applicant


def test_an_applicant_gets_a_new_key(
    rotation: Rotation, stock: Stock, scores: Scores, vault: Vault, database: Database
) -> None:
    entry = next(entry for entry, sent in stock.entries if sent == sent_by("A-1"))
    stored = scores.find(DEMO, entry.score.request_id)
    assert stored.applicant is not None
    old = vault.data_key("demo", "test", stored.applicant)
    assert rotation.applicant(DEMO, "A-1", None) == 4  # two records and their replies
    stock.assert_readable(vault_of(database))
    row = scores.find(DEMO, entry.score.request_id).row
    where = envelope.place_in(DEMO, row.request_id, envelope.RECORD)
    with pytest.raises(envelope.NotOpened):
        envelope.open_sealed(old, row.sealed, where)
    (act,) = noted(database)
    assert act.subject == stored.applicant.id
    assert act.details["was"] != act.details["is"]
    assert "A-1" not in repr(act)
    later = an_entry_of(vault.ring("demo"), "A-1")
    scores.commit([later])
    assert open_score(vault, scores.find(DEMO, later.score.request_id)).application == sent_by(
        "A-1"
    )


def test_an_applicant_of_whom_nothing_is_held_is_unknown(rotation: Rotation, stock: Stock) -> None:
    stock.entries.clear()
    with pytest.raises(UnknownApplicant):
        rotation.applicant(LIVE, "A-77", None)


def test_a_lender_is_rotated_while_an_applicant_is_and_nothing_is_lost(
    rotation: Rotation,
    stock: Stock,
    vault: Vault,
    database: Database,
    elsewhere: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever rotates the applicant has looked up the lender's key, and then it is replaced."""
    there = vault_of(elsewhere)
    other = Rotation(
        RotationStore(elsewhere, acts_in(elsewhere), there), there, lambda: NOON_US + 2
    )
    look_up, in_between = vault.ring, iter([True])

    def rotated_in_between(lender: str) -> Ring:
        ring = look_up(lender)
        if next(in_between, False):
            other.begin_lender(lender, None)
            finish(other, lender)
        return ring

    monkeypatch.setattr(vault, "ring", rotated_in_between)
    assert rotation.applicant(DEMO, "A-1", None) == 4
    stock.assert_readable(vault_of(database))


def test_two_who_rotate_a_lender_at_once_lose_nothing(
    rotation: Rotation,
    stock: Stock,
    database: Database,
    elsewhere: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second has seen nothing retired; the first is in the middle when it goes on."""
    monkeypatch.setattr(sealed_texts, "AT_ONCE", 1)
    monkeypatch.setattr(rotation_module, "AT_ONCE", 1)
    there = vault_of(elsewhere)
    store = RotationStore(elsewhere, acts_in(elsewhere), there)
    second = Rotation(store, there, lambda: NOON_US + 2)
    replace, moved = store.replace_key, list[int]()

    def after_the_first_began(new: VaultKey, retires: str, act: acts.Act) -> bool:
        rotation.begin_lender("demo", None)
        return replace(new, retires, act)

    monkeypatch.setattr(store, "replace_key", after_the_first_began)
    second.begin_lender("demo", None)
    assert len(noted(database)) == 1  # the second goes on with what the first has begun

    def third_in_the_middle(count: int) -> None:
        moved.append(count)
        if len(moved) == 2:
            second.finish_lender("demo", lambda _: None)
            monkeypatch.setattr(store, "replace_key", replace)
            second.begin_lender("demo", None)
            second.finish_lender("demo", lambda _: None)

    rotation.finish_lender("demo", third_in_the_middle)
    stock.assert_readable(vault_of(database))


# ------------------------------------------------------------------------------- master


def test_all_keys_are_brought_under_a_new_master_key(stock: Stock, database: Database) -> None:
    both = Vault(SqlVaultKeys(database), Masters(NEW_MASTER, MASTERS.current), lambda: NOON_US)
    log = acts_in(database)
    rotation = Rotation(RotationStore(database, log, both), both, lambda: NOON_US)
    stock.assert_readable(both)
    assert rotation.master(None) == 5  # seal and find of two lenders, and the one that signs
    assert rotation.master(None) == 0
    new = Vault(SqlVaultKeys(database), Masters(NEW_MASTER), lambda: NOON_US)
    stock.assert_readable(new)
    assert Registry(database).fact(MASTER_FACT) == NEW_MASTER.id
    assert [act.kind for act in noted(database)] == [ActKind.MASTER_KEY_ROTATED]
    with pytest.raises(StoreUnfit, match=f"wrapped under the master key {NEW_MASTER.id}"):
        vault_of(database).ring("demo")


def test_what_is_made_before_all_keys_are_brought_over_opens_in_processes_of_before(
    stock: Stock, database: Database
) -> None:
    keys.add_lender(registry_in(database), lambda: NOON_US, "tumaini", "Tumaini", "KES")
    both = Vault(SqlVaultKeys(database), Masters(NEW_MASTER, MASTERS.current), lambda: NOON_US)
    both.ring("tumaini")
    made = [key for key in SqlVaultKeys(database).of("tumaini") if key.lender == "tumaini"]
    assert [key.master_id for key in made] == [MASTERS.current.id] * 2
    assert vault_of(database).ring("tumaini").find_key == both.ring("tumaini").find_key
    rotation = Rotation(RotationStore(database, acts_in(database), both), both, lambda: NOON_US)
    for key in (rotation.signing(None), *begun(rotation, "demo")):
        assert key.master_id == MASTERS.current.id
    stock.assert_readable(vault_of(database))


def begun(rotation: Rotation, lender: str) -> list[VaultKey]:
    """A rotation of a lender, and the keys that it made."""
    before = {key.id for key in rotation.everything()}
    rotation.begin_lender(lender, None)
    return [key for key in rotation.everything() if key.id not in before]
