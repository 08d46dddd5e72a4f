"""What was kept before anything was sealed is sealed; what only looks like it is damaged."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from alama.service import lenders
from alama.service.audit import acts
from alama.service.audit.acts import Kind
from alama.service.book import Book, Mode
from alama.service.errors import StoreUnfit
from alama.service.opening import open_reply, open_score
from alama.service.records import Earlier
from alama.service.vault.plain import seal_plain
from alama.service.vault.vault import Vault
from alama.storage import schema, sealed_texts
from alama.storage.database import Database
from alama.storage.plain import SqlPlain
from alama.storage.scores import SqlScores
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import acts_in, keep_plain, registry_in, scores_in
from tests.vaults import a_record, an_entry_of, sent_by, vault_of

LIVE = Book("demo", Mode.LIVE)


@pytest.fixture
def vault(database: Database) -> Vault:
    lenders.add(registry_in(database), lambda: NOON_US, "demo", "Demo lender", "KES")
    return vault_of(database)


@pytest.fixture
def scores(database: Database) -> SqlScores:
    return scores_in(database)


def test_what_was_kept_plain_is_sealed(
    vault: Vault, scores: SqlScores, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_texts, "AT_ONCE", 2)
    references = (None, "A-1", "A-2", " A-1 ", None)
    plain = [an_entry(book) for book in [DEMO] * 4 + [LIVE]]
    records = [a_record(sent_by(reference)) for reference in references]
    rows = [one.score._replace(sealed=r) for one, r in zip(plain, records, strict=True)]
    keep_plain(database, *rows)
    store = SqlPlain(database, vault, acts_in(database), lambda: NOON_US)
    assert store.count_plain() == 5
    counts: list[int] = []
    assert seal_plain(store, counts.append, None) == sum(counts) == 5
    assert store.count_plain() == 0
    assert seal_plain(store, counts.append, None) == 0
    keys = []
    for entry, reference, record in zip(plain, references, records, strict=True):
        stored = scores.find(entry.score.book, entry.score.request_id)
        assert open_score(vault, stored).application == sent_by(reference)
        assert record not in stored.row.sealed
        keys.append(stored.row.applicant_key_id)
    assert keys[1] == keys[3] != keys[2]
    assert (keys[0], keys[4]) == (None, None)
    table = schema.audit_entries
    query = select(table.c.body).where(table.c.kind == Kind.RECORDS_SEALED.value)
    with database.reading() as connection:
        (body,) = connection.execute(query).scalars()
    assert acts.decode(body).details == {"texts": 5}


def test_a_reply_that_no_key_seals_is_damaged(vault: Vault) -> None:
    with pytest.raises(StoreUnfit, match="the record of req_1 is damaged"):
        open_reply(vault, DEMO, Earlier(b"", "req_1", b"planted"))


def test_a_record_whose_applicant_has_no_key_is_damaged_and_not_plain(
    scores: SqlScores, vault: Vault, database: Database
) -> None:
    entry = an_entry_of(vault.ring("demo"), "A-1", idempotency_key="order-1")
    scores.commit([entry])
    with database.writing() as connection:
        connection.execute(schema.applicant_keys.delete())
    with pytest.raises(StoreUnfit, match="is damaged, or gone"):
        open_score(vault, scores.find(DEMO, entry.score.request_id))
    (earlier,) = scores.commit([entry])
    assert isinstance(earlier, Earlier)
    with pytest.raises(StoreUnfit, match="is damaged, or gone"):
        open_reply(vault, DEMO, earlier)


def test_a_reply_names_the_key_that_is_gone(vault: Vault) -> None:
    lost = Earlier(b"", "req_1", b"x" * 100, "vk_gone")
    with pytest.raises(StoreUnfit, match="the key vk_gone of demo"):
        open_reply(vault, DEMO, lost)
