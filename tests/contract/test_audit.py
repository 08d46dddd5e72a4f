"""Scores and the entries that name them: what holds, and what a verification finds."""

from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import delete, insert, update

from alama.core import chain
from alama.core.chain import MAIN, SCORES, Link
from alama.lenders.records import Lender
from alama.platform import acts
from alama.platform.acts import ActKind
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnavailable
from alama.protection import applicants, retention
from alama.protection.applicants import Erasure
from alama.protection.audit import store as audit_store
from alama.protection.audit.records import Trouble
from alama.protection.audit.store import Trail
from alama.protection.retention import Plan
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring import schema
from alama.vault import schema as vault_schema
from tests.audited import Process, audited, verdict_on
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import registry_in

MINUTE_US = 60_000_000
LIVE = Book("demo", Mode.LIVE)


@pytest.fixture
def process(database: Database) -> Process:
    registry = registry_in(database)
    registry.add_lender(Lender("demo", "Demo lender", "KES", NOON_US))
    return Process(database)


@pytest.fixture
def another_database(address: str) -> Iterator[Database]:
    other = databases.connect(address)
    yield other
    other.close()


def links_of(database: Database, writer: str) -> list[Link]:
    return list(Trail(database).links(writer, 0, 10_000))


def chains_of(database: Database) -> dict[str, list[Link]]:
    return {writer: links_of(database, writer) for writer in Trail(database).writers()}


def troubles(database: Database) -> list[Trouble]:
    return [finding.trouble for finding in verdict_on(database).findings]


# ------------------------------------------------------------------------------- what holds


def test_a_commit_leaves_one_entry_that_names_its_scores(
    process: Process, database: Database
) -> None:
    first = process.give(an_entry(), an_entry(LIVE), an_entry())
    second = process.give(an_entry(at_us=NOON_US + 5))
    links = links_of(database, process.chain.head.writer)
    assert [link.kind for link in links] == [SCORES, SCORES]
    named = [[named.request_id for named in chain.names(link.body)] for link in links]
    assert named == [first, second]
    assert [link.created_us for link in links] == [NOON_US, NOON_US + 5]


def test_everything_that_was_given_is_proved(process: Process, database: Database) -> None:
    process.give(an_entry(), an_entry(LIVE))
    process.give(an_entry(), applicant_ref="7")
    verdict = verdict_on(database)
    assert verdict.findings == []
    assert (verdict.proved, verdict.chains, verdict.entries) == (3, 2, 4)
    assert (verdict.erased, verdict.deleted) == (0, 0)


def test_spans_of_any_size_give_the_same_verdict(
    process: Process, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        at_us = NOON_US + number * MINUTE_US // 4
        process.give(an_entry(at_us=at_us), an_entry(at_us=at_us - 3_000_000))
    whole = verdict_on(database)
    for span in (1, 2, 5):
        monkeypatch.setattr(audit_store, "SPAN", span)
        monkeypatch.setattr(audit_store, "_AT_ONCE", span)
        assert verdict_on(database) == whole
    assert (whole.findings, whole.proved) == ([], 24)


def test_a_score_whose_entry_is_far_in_time_is_proved_too(
    process: Process, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that is set between two requests tears their commit apart, and that is all."""
    monkeypatch.setattr(audit_store, "SPAN", 1)
    process.give(an_entry(), an_entry(at_us=NOON_US + 90 * MINUTE_US))
    process.give(an_entry(at_us=NOON_US + MINUTE_US))
    verdict = verdict_on(database)
    assert ([one.trouble for one in verdict.findings], verdict.proved) == ([Trouble.TIME], 3)


def test_each_process_has_a_chain_of_its_own(
    process: Process, database: Database, another_database: Database
) -> None:
    other = Process(another_database)
    for _ in range(2):
        process.give(an_entry())
        other.give(an_entry())
    lengths = {writer: len(links) for writer, links in chains_of(database).items()}
    opened = 2
    assert lengths == {
        MAIN: 1 + opened,
        process.chain.head.writer: 2,
        other.chain.head.writer: 2,
    }
    assert troubles(database) == []


def test_answers_that_were_given_before_are_not_named_again(
    process: Process, database: Database
) -> None:
    process.give(an_entry(idempotency_key="1"))
    before = chains_of(database)
    process.give(an_entry(idempotency_key="1"))
    assert chains_of(database) == before


def test_a_commit_that_fails_leaves_no_entry_and_the_chain_goes_on(
    process: Process, database: Database
) -> None:
    there = an_entry()
    process.give(there)
    before = chains_of(database)
    with pytest.raises(StoreUnavailable):
        process.give(an_entry(request_id=there.score.request_id))
    assert chains_of(database) == before
    process.give(an_entry())
    assert len(links_of(database, process.chain.head.writer)) == 2
    assert troubles(database) == []


def gone() -> None:
    raise StoreUnavailable("gone")


def test_a_commit_of_which_nobody_knows_is_followed_by_a_new_chain(
    process: Process, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.give(an_entry())
    first = process.chain.head
    entry = audited(an_entry(), process.vault)
    with monkeypatch.context() as patch:
        # After the commit: it stands, and whoever asked is told that nobody knows.
        patch.setattr(database, "_rely_on_commit", gone)
        with pytest.raises(StoreUnavailable):
            process.scores.commit([entry])
    process.give(an_entry())
    assert process.chain.head.writer != first.writer
    assert len(links_of(database, first.writer)) == 2
    verdict = verdict_on(database)
    assert (verdict.findings, verdict.proved, verdict.chains) == ([], 3, 3)


def test_the_end_of_a_chain_is_noted_once(process: Process, database: Database) -> None:
    process.chain.close()
    process.give(an_entry())
    head = process.chain.head
    process.chain.close()
    process.chain.close()
    last = acts.decode(links_of(database, MAIN)[-1].body)
    assert last.kind is ActKind.CHAIN_CLOSED
    assert acts.heads_in(last) == [head]
    process.give(an_entry())
    assert process.chain.head.writer != head.writer
    assert troubles(database) == []


def test_what_an_act_accounts_for_is_in_order(process: Process, database: Database) -> None:
    (old,) = process.give(an_entry())
    process.give(an_entry(at_us=NOON_US + 1), applicant_ref="7")
    process.give(an_entry(at_us=NOON_US + 2))
    (key_id,) = applicant_keys(database)
    with database.writing() as connection:
        connection.execute(delete(schema.scores).where(schema.scores.c.request_id == old))
        connection.execute(
            update(vault_schema.applicant_keys).values(
                subject=None, wrapped=None, erased_us=NOON_US
            )
        )
    assert sorted(troubles(database)) == [Trouble.GONE, Trouble.ERASED]
    erasure = Erasure(key_id, NOON_US, scores=1, replies=0, journal_emptied=True)
    with database.writing() as connection:
        process.log.append(connection, applicants.applicant_erased(DEMO, erasure, None))
    with database.writing() as connection:
        plan = Plan(DEMO, days=4, before_us=NOON_US + 1, scores=1)
        process.log.append(connection, retention.retention_run(plan, [old], None))
    verdict = verdict_on(database)
    assert (verdict.findings, verdict.proved) == ([], 1)
    assert (verdict.erased, verdict.deleted) == (1, 1)


def applicant_keys(database: Database) -> list[str]:
    with database.reading() as connection:
        return [row.id for row in connection.execute(vault_schema.applicant_keys.select())]


# ------------------------------------------------------------------------------- what is found


def test_a_chain_that_was_cut_or_taken_away_is_found_by_what_main_says(
    process: Process, database: Database
) -> None:
    process.give(an_entry())
    process.give(an_entry())
    head = process.chain.head
    process.chain.close()
    table = tables.audit_entries
    with database.writing() as connection:
        connection.execute(delete(schema.scores))
        connection.execute(delete(table).where(table.c.writer == head.writer, table.c.number == 2))
    assert sorted(troubles(database)) == [Trouble.GONE, Trouble.CUT]
    with database.writing() as connection:
        connection.execute(delete(table).where(table.c.writer == head.writer))
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.CUT, f"chain {head.writer}")


def test_a_chain_that_nobody_opened_is_found(process: Process, database: Database) -> None:
    forged = chain.follow(chain.start("forged"), NOON_US, "act", b"", process.vault.signer())
    with database.writing() as connection:
        connection.execute(insert(tables.audit_entries), forged._asdict())
    assert troubles(database) == [Trouble.UNOPENED]


@pytest.mark.parametrize("at_us", [1, -1, NOON_US + 90 * MINUTE_US, 2**60])
def test_an_entry_whose_time_was_changed_is_told_and_not_its_scores(
    process: Process, database: Database, monkeypatch: pytest.MonkeyPatch, at_us: int
) -> None:
    monkeypatch.setattr(audit_store, "SPAN", 1)
    for number in range(3):
        process.give(an_entry(at_us=NOON_US + number * MINUTE_US))
    table = tables.audit_entries
    with database.writing() as connection:
        second = (table.c.writer == process.chain.head.writer) & (table.c.number == 2)
        connection.execute(update(table).where(second).values(created_us=at_us))
    verdict = verdict_on(database)
    assert [finding.trouble for finding in verdict.findings] == [Trouble.ENTRY]
    assert verdict.proved == 3


def test_a_head_that_was_written_down_is_found_again_or_missed(
    process: Process, database: Database
) -> None:
    process.give(an_entry())
    heads = Trail(database).heads()
    assert [head.writer for head in heads] == [MAIN, process.chain.head.writer]
    assert heads[1] == process.chain.head
    assert verdict_on(database, frozenset(head.hash for head in heads)).findings == []
    (finding,) = verdict_on(database, frozenset([bytes(32)])).findings
    assert finding.trouble is Trouble.HEAD


@pytest.mark.usefixtures("process")
def test_a_key_that_somebody_put_into_the_database_signs_nothing(database: Database) -> None:
    private = Ed25519PrivateKey.generate()
    table = vault_schema.vault_keys
    with database.writing() as connection:
        ours = connection.execute(table.select().where(table.c.purpose == "sign")).one()
        forged_key = ours._asdict() | {
            "id": "vk_forged",
            "public": private.public_key().public_bytes_raw(),
        }
        connection.execute(insert(table), forged_key)

    class Forger:
        id = "vk_forged"
        sign = staticmethod(private.sign)

    last = links_of(database, MAIN)[-1]
    act = acts.encode(acts.act_in_book(ActKind.APPLICANT_ERASED, DEMO, "apk_1"))
    forged = chain.follow(last.head, NOON_US, ActKind.APPLICANT_ERASED, act, Forger())
    with database.writing() as connection:
        connection.execute(insert(tables.audit_entries), forged._asdict())
    entry, key = verdict_on(database).findings
    assert (entry.trouble, key.trouble) == (Trouble.ENTRY, Trouble.SIGNER)
    assert "vk_forged" in entry.what
    assert key.where == "vk_forged"


def test_entries_of_rotated_keys_hold_and_a_forged_public_half_is_told_once(
    process: Process, database: Database
) -> None:
    store = RotationStore(database, process.log, process.vault)
    rotation = Rotation(store, process.vault, lambda: NOON_US)
    first = process.vault.signer().id
    for _ in range(3):
        process.give(an_entry())
        rotation.signing("a test")
        process.vault.ring("demo")
    process.give(an_entry())
    assert process.vault.signer().id != first
    verdict = verdict_on(database)
    assert (verdict.findings, verdict.proved) == ([], 4)
    table = vault_schema.vault_keys
    forged = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    with database.writing() as connection:
        connection.execute(update(table).where(table.c.id == first).values(public=forged))
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.PUBLIC, first)


def change(database: Database, name: str, values: dict[str, object]) -> None:
    table = schema.scores
    with database.writing() as connection:
        connection.execute(update(table).where(table.c.request_id == name).values(**values))


CHANGES: dict[str, tuple[dict[str, object], list[Trouble]]] = {
    "score": ({"score": 700}, [Trouble.CHANGED]),
    "decision": ({"decision": "DECLINED"}, [Trouble.CHANGED]),
    "model": ({"model_id": "sha256:another"}, [Trouble.CHANGED]),
    "loss": ({"expected_loss": 0.0}, [Trouble.CHANGED]),
    "time": ({"created_us": NOON_US + 1}, [Trouble.CHANGED]),
    "record": ({"sealed": b"\x00" * 200}, [Trouble.CHANGED]),
    "short record": ({"sealed": b""}, [Trouble.CHANGED]),
    "unsealed": ({"seal_key_id": None, "sealed": b"{}"}, [Trouble.CHANGED]),
    "book": ({"mode": "live"}, [Trouble.UNNAMED, Trouble.GONE]),
    "id": ({"request_id": "req_" + "0" * 28}, [Trouble.GONE, Trouble.UNNAMED]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_score_that_was_changed_is_found(process: Process, database: Database, what: str) -> None:
    first, _ = process.give(an_entry(), an_entry())
    values, expected = CHANGES[what]
    change(database, first, values)
    verdict = verdict_on(database)
    assert sorted(finding.trouble for finding in verdict.findings) == sorted(expected)
    assert verdict.proved == 1


def test_two_records_that_changed_places_are_found(process: Process, database: Database) -> None:
    first, second = process.give(an_entry(), an_entry())
    rows = [process.scores.find(DEMO, name).row for name in (first, second)]
    change(database, first, {"sealed": rows[1].sealed})
    change(database, second, {"sealed": rows[0].sealed})
    assert troubles(database) == [Trouble.CHANGED, Trouble.CHANGED]
