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
from alama.storage.scores import SqlScores
from tests.entries import DEMO
from tests.factories import a_model
from tests.unit.service.conftest import HandClock

PEPPER = b"pepper" * 8


class FlakyRegistry(SqlRegistry):
    """A registry that fails while it is told to."""

    failure: Exception | None = None

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.noted = threading.Event()

    def note_key_use(self, last_used_us: Mapping[str, int]) -> None:
        if self.failure is not None:
            raise self.failure
        super().note_key_use(last_used_us)
        self.noted.set()


class Forgetful:
    """Notes what it was told to forget: the first time it fails, the second some is left."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure
        self.told: list[int] = []
        self.has_forgotten = threading.Event()

    def forget_idempotency(self, before_us: int) -> bool:
        self.told.append(before_us)
        if len(self.told) == 1:
            raise self.failure
        if len(self.told) == 2:
            return True
        self.has_forgotten.set()
        return False


@pytest.fixture
def flaky(registry: SqlRegistry) -> FlakyRegistry:
    return FlakyRegistry(registry._database)


class Told:
    """Remembers which chores have failed, and how."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, Exception]] = []

    def __call__(self, chore: str, error: Exception) -> None:
        self.failures.append((chore, error))


AWAY = StoreUnavailable("away")
DEFECT = ZeroDivisionError("a defect")


@pytest.mark.parametrize(
    ("failure", "told"), [(AWAY, []), (DEFECT, [("note_key_use", DEFECT)])], ids=["away", "defect"]
)
def test_use_of_a_key_is_written_down_once_it_can_be(
    flaky: FlakyRegistry,
    clock: HandClock,
    stopwatch: HandClock,
    failure: Exception,
    told: list[tuple[str, Exception]],
) -> None:
    directory = Directory(flaky, SqlScores(flaky._database), clock, stopwatch, PEPPER, a_model)
    heard = Told()
    chores = Upkeep(directory, flaky, Forgetful(AWAY), clock, heard)
    text, key = keys.issue(flaky, clock, PEPPER, DEMO)

    async def story() -> None:
        await directory.caller(text)
        flaky.failure = failure
        await chores.note_key_use()
        assert flaky.key(key.id).last_used_us is None
        flaky.failure = None
        await chores.note_key_use()

    asyncio.run(story())
    assert flaky.key(key.id).last_used_us == clock.now_us
    assert heard.failures == told


@pytest.mark.parametrize(
    ("failure", "told"),
    [(AWAY, []), (DEFECT, [("forget_idempotency", DEFECT)])],
    ids=["away", "defect"],
)
def test_chores_go_on_in_spite_of_any_failure_until_they_are_cancelled(
    flaky: FlakyRegistry,
    clock: HandClock,
    stopwatch: HandClock,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    told: list[tuple[str, Exception]],
) -> None:
    monkeypatch.setattr(upkeep, "KEY_USE_EVERY_S", 0.01)
    monkeypatch.setattr(upkeep, "FORGET_EVERY_S", 0.01)
    forgetful, heard = Forgetful(failure), Told()
    directory = Directory(flaky, SqlScores(flaky._database), clock, stopwatch, PEPPER, a_model)
    text, key = keys.issue(flaky, clock, PEPPER, DEMO)

    async def story() -> None:
        await directory.caller(text)
        running = asyncio.create_task(Upkeep(directory, flaky, forgetful, clock, heard).run())
        assert await asyncio.to_thread(forgetful.has_forgotten.wait, 10)
        assert await asyncio.to_thread(flaky.noted.wait, 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(story())
    assert flaky.key(key.id).last_used_us == clock.now_us
    assert set(forgetful.told) == {clock.now_us - IDEMPOTENCY_KEPT_US}
    assert heard.failures == told
