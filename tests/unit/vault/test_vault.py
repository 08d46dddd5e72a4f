"""Rings, and records that open only where they belong."""

import pytest

from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnfit
from alama.scoring.records import Earlier, ScoreRow, StoredScore
from alama.scoring.replay import open_reply, open_score
from alama.vault import envelope
from alama.vault.envelope import RECORD, REPLY, place, place_in
from alama.vault.ring import ApplicantKey, Ring
from alama.vault.vault import Vault
from tests.entries import DEMO, NOON_US, a_request_id
from tests.vaults import MASTERS, KeysInMemory, a_record, a_vault, an_entry_of

LIVE = Book("demo", Mode.LIVE)


def test_a_ring_is_made_once_and_is_the_same_ever_after() -> None:
    store = KeysInMemory()
    first = Vault(store, MASTERS, lambda: NOON_US).ring("demo")
    second = Vault(store, MASTERS, lambda: NOON_US).ring("demo")
    assert first.seal_key_id == second.seal_key_id
    assert first.find_key == second.find_key
    assert len(store.rows) == 2


def test_a_ring_shows_no_key() -> None:
    ring = a_vault().ring("demo")
    assert repr(ring) == f"Ring('demo', '{ring.seal_key_id}')"


def test_a_subject_tells_applicants_modes_and_lenders_apart() -> None:
    vault = a_vault()
    demo, umoja = vault.ring("demo"), vault.ring("umoja")
    assert demo.subject("test", "A-1") == demo.subject("test", "A-1")
    others = {
        demo.subject("test", "A-2"),
        demo.subject("live", "A-1"),
        umoja.subject("test", "A-1"),
    }
    assert demo.subject("test", "A-1") not in others
    assert len(demo.subject("test", "Ünal ✓")) == 32


def sealed_row(ring: Ring, part: str) -> ScoreRow:
    """A row that names nobody, with a record that was sealed as a part of its score."""
    row = an_entry_of(ring).score
    where = place(row.lender, row.mode, row.request_id, part)
    sealed = ring.own_key(where).seal(a_record(), where)
    return row._replace(sealed=sealed, seal_key_id=ring.seal_key_id)


def test_a_record_opens_in_its_own_row_alone() -> None:
    vault = a_vault()
    row = sealed_row(vault.ring("demo"), RECORD)
    assert open_score(vault, StoredScore(row, None)).salt == b"salt of 16 bytes"
    for moved in (
        row._replace(request_id=a_request_id()),
        row._replace(mode="live"),
        row._replace(seal_key_id=None),
    ):
        with pytest.raises(StoreUnfit, match=f"the record of {moved.request_id} is damaged"):
            open_score(vault, StoredScore(moved, None))


def test_a_reply_does_not_open_as_a_record() -> None:
    vault = a_vault()
    forged = sealed_row(vault.ring("demo"), REPLY)
    with pytest.raises(StoreUnfit, match="is damaged"):
        open_score(vault, StoredScore(forged, None))


def test_a_record_that_names_no_key_is_damaged() -> None:
    row = an_entry_of(a_vault().ring("demo")).score
    with pytest.raises(StoreUnfit, match="is damaged"):
        open_score(a_vault(), StoredScore(row._replace(sealed=a_record(), seal_key_id=None), None))


def test_the_key_of_an_applicant_opens_in_its_own_row_alone() -> None:
    vault = a_vault()
    ring, key_id = vault.ring("demo"), "apk_1"
    wrapped = ring.wrap(bytes(32), b"apk_1|demo|test")
    key = ApplicantKey(key_id, ring.seal_key_id, wrapped, None)
    where = place_in(DEMO, "req_1", RECORD)
    sealed = envelope.seal(vault.data_key("demo", "test", key), b"text", where)
    assert envelope.open_sealed(vault.data_key("demo", "test", key), sealed, where) == b"text"
    for book, moved in ((LIVE, key), (DEMO, key._replace(id="apk_2"))):
        with pytest.raises(StoreUnfit, match=f"the key {moved.id} of an applicant is damaged"):
            vault.data_key("demo", book.mode.value, moved)


def test_a_key_that_is_not_there_is_named() -> None:
    lost = Earlier(b"", "req_1", b"x" * 99, "vk_lost")
    with pytest.raises(StoreUnfit, match="the key vk_lost of demo is not in this database"):
        open_reply(a_vault(), DEMO, lost)
