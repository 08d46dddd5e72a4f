"""Every process reads from the same row how far a key is into its rate."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest
from sqlalchemy import insert, select, update

from alama.lenders.limits import FORGOTTEN_US, NO_FLOOR_US, OWED_US_MAX, Rates, SqlRates, Use
from alama.lenders.schema import rates
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnavailable
from tests.shared_rates import SharedRates

KEY = "key_0123456789abcdef"
SECOND_US = 1_000_000
SLACK_US = 15 * SECOND_US
"""What a statement may take on a busy machine: the clock of the database goes on meanwhile."""


def now_us() -> int:
    return time.time_ns() // 1_000


@pytest.fixture
def here(database: Database) -> SqlRates:
    return SqlRates(database, now_us)


@pytest.fixture
def there(elsewhere: Database) -> SqlRates:
    return SqlRates(elsewhere, now_us)


def use(seconds: int, key_id: str = KEY, floor_us: int = NO_FLOOR_US) -> Use:
    return Use(key_id, seconds * SECOND_US, seconds * SECOND_US, floor_us)


def about(owed_us: int, seconds: int) -> bool:
    return seconds * SECOND_US - SLACK_US < owed_us <= seconds * SECOND_US


class Shared(Protocol):
    """The rates of keys as two processes see them, and what else can become of them."""

    here: Rates
    there: Rates

    def move(self, by_us: int, key_id: str = KEY) -> None:
        """Have a key be full again at another time."""

    def lose(self) -> None:
        """Have nothing known any more, as on PostgreSQL after a crash."""

    def keys(self) -> set[str]:
        """Those that something is known of."""
        ...


class InDatabase:
    """In a database of either kind."""

    def __init__(self, database: Database, elsewhere: Database) -> None:
        self._database = database
        self.here: Rates = SqlRates(database, now_us)
        self.there: Rates = SqlRates(elsewhere, now_us)

    def move(self, by_us: int, key_id: str = KEY) -> None:
        moved = {"full_at_us": rates.c.full_at_us + by_us}
        with self._database.writing() as connection:
            connection.execute(update(rates).where(rates.c.key_id == key_id).values(**moved))

    def lose(self) -> None:
        with self._database.writing() as connection:
            connection.execute(rates.delete())

    def keys(self) -> set[str]:
        with self._database.reading() as connection:
            return set(connection.execute(select(rates.c.key_id)).scalars())


class InMemory:
    """What stands in for a database in tests of those who share."""

    def __init__(self) -> None:
        self._rates = SharedRates(now_us)
        self.here: Rates = self._rates
        self.there: Rates = self._rates

    def move(self, by_us: int, key_id: str = KEY) -> None:
        self._rates.full_at_us[key_id] += by_us

    def lose(self) -> None:
        self._rates.full_at_us.clear()

    def keys(self) -> set[str]:
        return set(self._rates.full_at_us)


class Contract:
    """What holds wherever it is kept."""

    def test_what_processes_let_through_adds_up(self, shared: Shared) -> None:
        assert about(shared.here.exchange([use(20)])[KEY], 20)
        assert about(shared.there.exchange([use(15)])[KEY], 35)
        assert about(shared.here.exchange([use(0)])[KEY], 35)

    def test_keys_do_not_share(self, shared: Shared) -> None:
        owed_us = shared.here.exchange([use(40), use(20, key_id="other")])
        assert about(owed_us[KEY], 40)
        assert about(owed_us["other"], 20)

    def test_a_key_that_owed_nothing_for_a_while_saved_nothing_up(self, shared: Shared) -> None:
        shared.here.exchange([use(20)])
        shared.move(-600 * SECOND_US)
        assert about(shared.there.exchange([use(20, floor_us=20 * SECOND_US)])[KEY], 20)

    def test_nobody_owes_more_than_a_minute_whatever_becomes_of_the_clock(
        self, shared: Shared
    ) -> None:
        shared.here.exchange([use(20)])
        shared.move(600 * SECOND_US)  # as if the clock had been set back by that
        assert about(shared.there.exchange([use(1)])[KEY], OWED_US_MAX // SECOND_US)

    def test_what_a_process_knows_stands_where_nothing_else_is_known(self, shared: Shared) -> None:
        shared.here.exchange([use(20)])
        shared.lose()
        known = Use(KEY, SECOND_US, 30 * SECOND_US, NO_FLOOR_US)
        assert about(shared.here.exchange([known])[KEY], 30)

    def test_keys_that_have_owed_nothing_for_an_hour_are_forgotten(self, shared: Shared) -> None:
        shared.here.exchange([use(20), use(20, key_id="other")])
        shared.move(-FORGOTTEN_US - 60 * SECOND_US)
        shared.here.forget()
        assert shared.keys() == {"other"}


class TestInDatabase(Contract):
    @pytest.fixture
    def shared(self, database: Database, elsewhere: Database) -> Shared:
        return InDatabase(database, elsewhere)


class TestInMemory(Contract):
    @pytest.fixture
    def shared(self) -> Shared:
        return InMemory()


def test_processes_that_tell_of_the_same_keys_at_once_neither_lose_nor_block(
    here: SqlRates, there: SqlRates
) -> None:
    names = [f"key_{number:03}" for number in range(30)]
    shuffled = random.Random(7)  # noqa: S311  no secret

    def tell(known: SqlRates) -> None:
        for _ in range(20):
            order = shuffled.sample(names, len(names))
            known.exchange([Use(name, SECOND_US, SECOND_US, NO_FLOOR_US) for name in order])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(tell, [here, there]))
    owed_us = here.exchange([Use(name, 0, 0, NO_FLOOR_US) for name in names])
    assert all(about(owed, 40) for owed in owed_us.values())


def test_many_keys_are_told_of_in_one_go(here: SqlRates) -> None:
    many: Sequence[Use] = [use(30, key_id=f"key_{number:03}") for number in range(250)]
    assert here.exchange(many).keys() == {one.key_id for one in many}


def test_a_database_without_the_table_is_not_there(here: SqlRates, database: Database) -> None:
    with database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE rates RENAME TO away")
    try:
        with pytest.raises(StoreUnavailable):
            here.exchange([use(1)])
    finally:
        with database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE away RENAME TO rates")


def test_nothing_of_it_goes_through_the_journal_of_postgresql(database: Database) -> None:
    if database.embedded:
        pytest.skip("SQLite has one journal for all")
    with database.writing() as connection:
        connection.execute(insert(rates), {"key_id": KEY, "full_at_us": 1})
        kind = connection.exec_driver_sql(
            "SELECT relpersistence FROM pg_class WHERE relname = 'rates'"
        ).scalar_one()
    assert kind in ("u", b"u")
