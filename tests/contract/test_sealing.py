"""What the commit seals: everything, and a damaged key is the trouble of nobody but its owner."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import String, null, select, type_coerce, update

from alama.platform.book import Book, Mode
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring import schema as scoring_schema
from alama.scoring.group_commit import Commit, GroupCommit
from alama.scoring.records import Entry
from alama.scoring.replay import open_score
from alama.scoring.store import Scores
from alama.vault import schema
from alama.vault.ring import Ring
from alama.vault.vault import Vault
from tests.audited import audited, verdict_on
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import acts_in, lenders_in, scores_in
from tests.vaults import an_entry_of, vault_of

pytestmark = pytest.mark.alike

UMOJA = Book("umoja", Mode.TEST)

DAMAGE: Mapping[str, Mapping[str, Any]] = {
    "other bytes": {"wrapped": bytes(60)},
    "too short": {"wrapped": b"short"},
    "nothing": {"wrapped": null()},
    "wrapped by nobody": {"lender_key_id": "vk_nowhere"},
    "a text": {"wrapped": type_coerce("x" * 60, String)},
}


@pytest.fixture
def vault(database: Database) -> Vault:
    lenders_in(database, "demo", "umoja")
    return vault_of(database)


@pytest.fixture
def scores(database: Database, vault: Vault) -> Scores:
    return scores_in(database, vault)


def damage(database: Database, values: Mapping[str, Any]) -> None:
    """Change the keys of all applicants that there are."""
    with database.writing() as connection:
        connection.execute(update(schema.applicant_keys).values(values))


def rotate(database: Database, lender: str) -> None:
    vault = vault_of(database)
    rotation = Rotation(RotationStore(database, acts_in(database), vault), vault, lambda: NOON_US)
    rotation.begin_lender(lender, None)
    rotation.finish_lender(lender, lambda _: None)


def kept(scores: Scores, book: Book = DEMO) -> list[str]:
    return [row.request_id for row in scores.page(book, None, 100)]


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_key_of_an_applicant_fails_their_scores_and_no_others(
    scores: Scores, vault: Vault, database: Database, how: str
) -> None:
    if how == "a text" and not database.embedded:
        pytest.skip("PostgreSQL takes no text for bytes")
    scores.commit([audited(an_entry(), vault, "A-1")])
    damage(database, DAMAGE[how])
    group = [audited(an_entry(), vault, reference) for reference in ("A-1", "A-2", None, "A-1")]
    first, second, third, fourth = scores.commit(group)
    assert isinstance(first, StoreUnfit)
    assert first.hint
    assert fourth is first
    assert (second, third) == (None, None)
    assert {entry.score.request_id for entry in group[1:3]} <= set(kept(scores))
    assert len(kept(scores)) == 3
    findings = verdict_on(database).findings
    others = {entry.score.request_id for entry in group}
    assert not others & {finding.where for finding in findings}


def test_a_damaged_key_is_told_to_its_caller_and_the_ledger_does_not_fail(
    scores: Scores, vault: Vault, database: Database
) -> None:
    ring = vault.ring("demo")
    scores.commit([an_entry_of(ring, "A-1")])
    damage(database, DAMAGE["other bytes"])
    groups: list[Commit] = []

    async def life() -> list[object]:
        ledger = GroupCommit(scores, groups.append)
        ledger.start()
        told = [ledger.append(an_entry_of(ring, reference)) for reference in ("A-1", "A-2", None)]
        outcomes: list[object] = await asyncio.gather(*told, return_exceptions=True)
        assert not ledger.failing
        await ledger.close()
        return outcomes

    error, *others = asyncio.run(life())
    assert isinstance(error, StoreUnfit)
    assert "of an applicant is damaged" in str(error)
    assert others == [None, None]
    assert [(group.entries, group.failed) for group in groups] == [(2, False)]


def test_a_damaged_key_of_a_lender_fails_no_other_lender(
    scores: Scores, vault: Vault, database: Database
) -> None:
    late = an_entry_of(vault.ring("umoja"), book=UMOJA)
    other = an_entry_of(vault.ring("demo"))
    rotate(database, "umoja")
    table = schema.vault_keys
    of_umoja = (table.c.lender == "umoja", table.c.purpose == "seal", table.c.retired_us.is_(None))
    with database.writing() as connection:
        connection.execute(update(table).where(*of_umoja).values(wrapped=bytes(60)))
    unfit, fit = scores.commit([late, other])
    assert isinstance(unfit, StoreUnfit)
    assert fit is None
    assert (kept(scores, UMOJA), kept(scores)) == ([], [other.score.request_id])


def test_after_a_rotation_the_keys_of_a_lender_are_read_once_a_commit(
    scores: Scores, vault: Vault, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    rings = {book: vault.ring(book.lender) for book in (DEMO, UMOJA)}
    late = [an_entry_of(rings[book], book=book) for book in (DEMO, UMOJA) for _ in range(20)]
    for lender in ("demo", "umoja"):
        rotate(database, lender)
    asked: list[str] = []
    read = vault.ring

    def ring(lender: str) -> Ring:
        asked.append(lender)
        return read(lender)

    monkeypatch.setattr(vault, "ring", ring)
    assert scores.commit(late) == [None] * 40
    assert asked == ["demo", "umoja"]
    fresh = vault_of(database)
    for entry in late:
        assert open_score(fresh, scores.find(entry.score.book, entry.score.request_id)).salt


def test_what_is_not_to_be_sealed_is_not_written_at_all(scores: Scores, database: Database) -> None:
    entry = an_entry(idempotency_key="order-1")
    in_clear = entry.score._replace(sealed=b"in clear")
    reply = entry.idempotency and entry.idempotency._replace(reply=b"in clear")
    nothing: Any = None  # the types forbid it
    with pytest.raises(AttributeError):
        scores.commit([Entry(in_clear, reply, entry.digest, nothing)])
    assert kept(scores) == []
    # What stands in the rows before they are sealed is never what is written.
    assert scores.commit([Entry(in_clear, reply, entry.digest, entry.unsealed)]) == [None]
    with database.reading() as connection:
        record = connection.execute(select(scoring_schema.scores.c.sealed)).scalar_one()
        told = connection.execute(select(scoring_schema.idempotency.c.reply)).scalar_one()
    assert b"in clear" not in record + told
