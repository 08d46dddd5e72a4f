"""Several processes write the audit at once, and one verifies it meanwhile."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import select

from alama.core.chain import MAIN
from alama.lenders.records import Key, Lender
from alama.platform import acts
from alama.platform.book import USUAL_SCOPES, Mode
from alama.platform.database import database as databases
from alama.platform.database.database import Database
from alama.protection import retention
from alama.protection.audit import store as audit_store
from alama.protection.audit.store import Trail
from alama.protection.audit.verify import Verdict
from alama.protection.retention import Plan
from alama.scoring import schema
from tests.audited import audited, verdict_on
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import acts_in, registry_in, scores_in
from tests.vaults import vault_of

pytestmark = pytest.mark.long

KEYS_EACH = 12
VERDICTS = 8


@pytest.fixture(autouse=True)
def lender(database: Database) -> None:
    registry_in(database).add_lender(Lender("demo", "Demo lender", "KES", NOON_US))


@pytest.fixture
def others(address: str) -> Iterator[list[Database]]:
    """The same database, through the connections of three more processes."""
    opened = [databases.connect(address) for _ in range(3)]
    yield opened
    for one in opened:
        one.close()


def test_acts_of_several_processes_are_one_chain_without_a_gap(
    database: Database, others: list[Database]
) -> None:
    def issue(place: int) -> None:
        registry = registry_in(others[place])
        for number in range(KEYS_EACH):
            name = f"key_{place}_{number}"
            digest = name.encode().ljust(32)
            registry.add_key(Key(name, "demo", Mode.TEST, digest, "abcd", USUAL_SCOPES, NOON_US))

    with ThreadPoolExecutor(len(others)) as pool:
        list(pool.map(issue, range(len(others))))
    links = Trail(database).links(MAIN, 0, 1_000)
    assert [link.number for link in links] == list(range(1, len(links) + 1))
    issued = [acts.decode(link.body).subject for link in links[1:]]
    assert sorted(map(str, issued)) == sorted(
        f"key_{place}_{number}" for place in range(len(others)) for number in range(KEYS_EACH)
    )
    assert verdict_on(database).findings == []


@contextmanager
def going_on(work: Callable[[], None]) -> Iterator[None]:
    """Do something again and again on another thread for as long as this lasts."""
    over = threading.Event()

    def again() -> None:
        while not over.is_set():
            work()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(again)
        try:
            yield
        finally:
            over.set()
            future.result(120)


def test_nothing_is_wrong_while_scores_are_given_and_deleted(
    database: Database, others: list[Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_store, "SPAN", 2)
    given, deleted = others[:2]
    vault, scores, log = vault_of(given), scores_in(given), acts_in(deleted)
    clock = iter(range(NOON_US, NOON_US + 10**12, 4_000_000))
    latest = NOON_US

    def give() -> None:
        nonlocal latest
        latest = next(clock)
        scores.commit([audited(an_entry(at_us=latest), vault) for _ in range(3)])

    def delete() -> None:
        before_us = latest - 16_000_000
        table = schema.scores
        with deleted.writing() as connection:
            old = select(table.c.request_id).where(table.c.created_us < before_us)
            gone = list(connection.execute(old).scalars())
            connection.execute(table.delete().where(table.c.request_id.in_(gone)))
            plan = Plan(DEMO, days=4, before_us=before_us, scores=len(gone))
            log.append(connection, retention.retention_run(plan, gone, None))

    verdicts: list[Verdict] = []
    with going_on(give), going_on(delete):
        while len(verdicts) < VERDICTS or not verdicts[-1].deleted:
            verdicts.append(verdict_on(database))
            assert verdicts[-1].findings == []
            assert len(verdicts) < 1_000, "nothing is deleted"
    assert verdict_on(database).proved > 0
