"""Chores are done now and then, and a chore that fails is done the next time."""

import asyncio
import threading
from collections.abc import Mapping

import pytest

from alama.service import keys, upkeep
from alama.service.directory import Directory
from alama.service.errors import StoreUnavailable
from alama.service.records import IDEMPOTENCY_KEPT_US
from alama.service.upkeep import Upkeep
from alama.storage.database import Database
from alama.storage.registry import SqlRegistry
from tests.entries import DEMO
from tests.factories import a_model
from tests.unit.service.conftest import HandClock

PEPPER = b"pepper" * 8


class FlakyRegistry(SqlRegistry):
    """A registry that is away while it is told to be."""

    away = False

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.noted = threading.Event()

    def note_key_use(self, last_used_us: Mapping[str, int]) -> None:
        if self.away:
            raise StoreUnavailable("away")
        super().note_key_use(last_used_us)
        self.noted.set()


class Forgetful:
    """Notes what it was told to forget; the first time it is away."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.told_twice = threading.Event()

    def forget_idempotency(self, before_us: int) -> None:
        self.told.append(before_us)
        if len(self.told) == 1:
            raise StoreUnavailable("away")
        self.told_twice.set()


@pytest.fixture
def flaky(registry: SqlRegistry) -> FlakyRegistry:
    return FlakyRegistry(registry._database)


def test_use_of_a_key_is_written_down_once_the_database_is_back(
    flaky: FlakyRegistry, clock: HandClock
) -> None:
    directory = Directory(flaky, clock, PEPPER, a_model)
    chores = Upkeep(directory, flaky, Forgetful(), clock)
    text, key = keys.issue(flaky, clock, PEPPER, DEMO)

    async def story() -> None:
        await directory.caller(text)
        flaky.away = True
        await chores.note_key_use()
        assert flaky.key(key.id).last_used_us is None
        flaky.away = False
        await chores.note_key_use()

    asyncio.run(story())
    assert flaky.key(key.id).last_used_us == clock.now_us


def test_chores_go_on_in_spite_of_a_failure_until_they_are_cancelled(
    flaky: FlakyRegistry, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "KEY_USE_EVERY_S", 0.01)
    monkeypatch.setattr(upkeep, "FORGET_EVERY_S", 0.01)
    forgetful = Forgetful()
    directory = Directory(flaky, clock, PEPPER, a_model)
    text, key = keys.issue(flaky, clock, PEPPER, DEMO)

    async def story() -> None:
        await directory.caller(text)
        running = asyncio.create_task(Upkeep(directory, flaky, forgetful, clock).run())
        assert await asyncio.to_thread(forgetful.told_twice.wait, 10)
        assert await asyncio.to_thread(flaky.noted.wait, 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(story())
    assert flaky.key(key.id).last_used_us == clock.now_us
    assert set(forgetful.told) == {clock.now_us - IDEMPOTENCY_KEPT_US}
