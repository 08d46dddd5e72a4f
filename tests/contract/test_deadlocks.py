"""Those who take the same keys take them in one order; where two still wait, one begins anew."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from alama.platform.database.database import Clash, Database
from alama.protection.applicants import lock_keys
from alama.vault import schema
from tests.clocks import HandClock
from tests.entries import NOON_US
from tests.protected import House
from tests.stores import scores_in
from tests.vaults import an_entry_of, vault_of

REFERENCES = [f"A-{number}" for number in range(60)]
ROUNDS = 25


@pytest.fixture
def house(database: Database) -> House:
    if database.embedded:
        pytest.skip("SQLite lets one write at a time")
    return House(database, HandClock())


def test_of_two_who_wait_for_each_other_one_begins_anew(house: House, elsewhere: Database) -> None:
    for name in ("one", "two"):
        house.registry.settle_fact(name, name)
    both_hold = threading.Barrier(2)

    def take(database: Database, *names: str) -> bool:
        try:
            with database.driving() as cursor:
                for place, name in enumerate(names):
                    cursor.execute("SELECT 1 FROM facts WHERE name = %s FOR UPDATE", (name,))
                    if place == 0:
                        both_hold.wait(60)
        except Clash:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(take, house.database, "one", "two")
        second = pool.submit(take, elsewhere, "two", "one")
        assert sorted([first.result(), second.result()]) == [False, True]


def test_scores_and_retention_take_the_keys_of_applicants_in_one_order(
    house: House, elsewhere: Database
) -> None:
    vault = vault_of(elsewhere)
    scores, ring = scores_in(elsewhere, vault), vault.ring("demo")
    shuffled = random.Random(4)  # noqa: S311  no secret
    scores.commit([an_entry_of(ring, one, at_us=NOON_US) for one in REFERENCES])
    with house.database.reading() as connection:
        ids = connection.execute(select(schema.applicant_keys.c.id)).scalars().all()
    done = threading.Event()

    def hold_all() -> int:
        times = 0
        while not done.is_set():
            with house.database.writing() as connection:
                times += len(lock_keys(connection, schema.applicant_keys.c.id.in_(ids)))
        return times

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold_all)
        try:
            for _ in range(ROUNDS):
                some = shuffled.sample(REFERENCES, 40)
                scores.commit([an_entry_of(ring, one) for one in some])
        finally:
            done.set()
        assert holding.result() >= len(ids)
