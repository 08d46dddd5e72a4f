"""Chores are done now and then, and a chore that fails is done the next time."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from alama.app import upkeep
from alama.app.upkeep import Keepers, Upkeep
from alama.lenders import keys
from alama.lenders.store import Registry
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnavailable
from alama.protection.retention import Plan
from alama.scoring.directory import Directory
from alama.scoring.records import IDEMPOTENCY_KEPT_US
from alama.scoring.telemetry import ServiceWatch
from tests.clocks import HandClock
from tests.entries import DEMO, LIVE
from tests.factories import a_model
from tests.stores import acts_in, scores_in
from tests.vaults import vault_of

PEPPER = b"pepper" * 8


class FlakyRegistry(Registry):
    """A registry that fails while it is told to."""

    failure: Exception | None = None

    def __init__(self, database: Database) -> None:
        super().__init__(database, acts_in(database))
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

    def fold_counts(self, before_day: int) -> bool:
        raise AssertionError(before_day)


class Idle:
    """Has nothing to delete, and counts how often it bore witness; fails if it is told to."""

    failure: Exception | None = None
    book_failure: Exception | None = None

    def __init__(self) -> None:
        self.noted = 0
        self.closed = 0
        self.swept_us: list[int] = []
        self.looked: list[tuple[Book, int]] = []

    def due(self) -> Sequence[Plan]:
        return ()

    def is_usual(self, plan: Plan) -> bool:
        raise AssertionError(plan)

    def carry_out(self, plan: Plan) -> Iterator[int]:
        raise AssertionError(plan)

    def finish(self) -> bool:
        raise AssertionError

    def sweep(self, now_us: int) -> bool:
        if self.failure is not None:
            raise self.failure
        self.swept_us.append(now_us)
        return len(self.swept_us) == 1

    def books(self) -> Sequence[Book]:
        if self.failure is not None:
            raise self.failure
        return [DEMO, LIVE]

    def look_in(self, book: Book, now_us: int) -> Sequence[object]:
        self.looked.append((book, now_us))
        if self.book_failure is not None and book == DEMO:
            raise self.book_failure
        return ()

    def note_heads(self) -> None:
        if self.failure is not None:
            raise self.failure
        self.noted += 1

    def close_chain(self) -> None:
        if self.failure is not None:
            raise self.failure
        self.closed += 1


def keepers_of(forgetful: Forgetful, idle: Idle) -> Keepers:
    fakes: Any = (forgetful, idle, idle, idle, idle)
    return Keepers(*fakes)


@pytest.fixture
def flaky(registry: Registry) -> FlakyRegistry:
    return FlakyRegistry(registry._database)


class Told(ServiceWatch):
    """Remembers which chores have failed, and how."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, Exception]] = []

    def chore_failed(self, chore: str, error: Exception) -> None:
        self.failures.append((chore, error))

    def retained(self, book: Book, scores: int) -> None:
        raise AssertionError(book, scores)

    def retention_waits(self, waiting: Mapping[Book, int]) -> None:
        assert not waiting


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
    scores, vault = scores_in(flaky._database), vault_of(flaky._database)
    directory = Directory(flaky, scores, clock, stopwatch, PEPPER, a_model, vault)
    heard = Told()
    idle = Idle()
    chores = Upkeep(directory, flaky, keepers_of(Forgetful(AWAY), idle), clock, heard)
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
    scores, vault = scores_in(flaky._database), vault_of(flaky._database)
    directory = Directory(flaky, scores, clock, stopwatch, PEPPER, a_model, vault)
    text, key = keys.issue(flaky, clock, PEPPER, DEMO)

    async def story() -> None:
        await directory.caller(text)
        idle = Idle()
        chores = Upkeep(directory, flaky, keepers_of(forgetful, idle), clock, heard)
        running = asyncio.create_task(chores.run())
        assert await asyncio.to_thread(forgetful.has_forgotten.wait, 10)
        assert await asyncio.to_thread(flaky.noted.wait, 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(story())
    assert flaky.key(key.id).last_used_us == clock.now_us
    assert set(forgetful.told) == {clock.now_us - IDEMPOTENCY_KEPT_US}
    assert heard.failures == told


@pytest.mark.parametrize("failure", [AWAY, DEFECT], ids=["away", "defect"])
def test_the_chains_of_the_audit_are_noted_now_and_then_and_when_it_ends(
    flaky: FlakyRegistry, clock: HandClock, stopwatch: HandClock, failure: Exception
) -> None:
    scores, vault = scores_in(flaky._database), vault_of(flaky._database)
    directory = Directory(flaky, scores, clock, stopwatch, PEPPER, a_model, vault)
    idle, heard = Idle(), Told()
    chores = Upkeep(directory, flaky, keepers_of(Forgetful(AWAY), idle), clock, heard)

    async def story() -> None:
        idle.failure = failure
        await chores.note_heads()
        await chores.close_chain()
        idle.failure = None
        await chores.note_heads()
        await chores.close_chain()

    asyncio.run(story())
    assert (idle.noted, idle.closed) == (1, 1)
    told = [] if failure is AWAY else [("note_heads", failure), ("close_chain", failure)]
    assert heard.failures == told


@pytest.mark.parametrize(
    ("failure", "told"),
    [(AWAY, []), (DEFECT, [("sweep_histories", DEFECT)])],
    ids=["away", "defect"],
)
def test_what_is_left_of_loan_histories_is_swept_until_none_is(
    flaky: FlakyRegistry,
    clock: HandClock,
    stopwatch: HandClock,
    failure: Exception,
    told: list[tuple[str, Exception]],
) -> None:
    scores, vault = scores_in(flaky._database), vault_of(flaky._database)
    directory = Directory(flaky, scores, clock, stopwatch, PEPPER, a_model, vault)
    idle, heard = Idle(), Told()
    chores = Upkeep(directory, flaky, keepers_of(Forgetful(AWAY), idle), clock, heard)
    idle.failure = failure
    asyncio.run(chores.sweep())
    assert heard.failures == told
    idle.failure = None
    asyncio.run(chores.sweep())
    assert idle.swept_us == [clock.now_us] * 2


@pytest.fixture
def idle_chores(
    flaky: FlakyRegistry, clock: HandClock, stopwatch: HandClock
) -> tuple[Idle, Told, Upkeep]:
    scores, vault = scores_in(flaky._database), vault_of(flaky._database)
    directory = Directory(flaky, scores, clock, stopwatch, PEPPER, a_model, vault)
    idle, heard = Idle(), Told()
    keepers = keepers_of(Forgetful(AWAY), idle)
    return idle, heard, Upkeep(directory, flaky, keepers, clock, heard)


def test_drift_is_looked_for_once_for_each_day_that_is_over(
    idle_chores: tuple[Idle, Told, Upkeep], clock: HandClock
) -> None:
    idle, _, chores = idle_chores
    asyncio.run(chores.look_for_drift())
    first_us = clock.now_us
    clock.now_us += 3_600 * 1_000_000
    asyncio.run(chores.look_for_drift())
    assert idle.looked == [(DEMO, first_us), (LIVE, first_us)]
    clock.now_us += DAY_US
    asyncio.run(chores.look_for_drift())
    assert idle.looked[2:] == [(DEMO, clock.now_us), (LIVE, clock.now_us)]


def test_a_book_that_cannot_be_looked_at_keeps_no_other_waiting_and_is_looked_at_again(
    idle_chores: tuple[Idle, Told, Upkeep],
) -> None:
    idle, heard, chores = idle_chores
    idle.book_failure = DEFECT
    asyncio.run(chores.look_for_drift())
    assert [book for book, _ in idle.looked] == [DEMO, LIVE]
    assert heard.failures == [("look_for_drift", DEFECT)]
    idle.book_failure = None
    asyncio.run(chores.look_for_drift())
    assert [book for book, _ in idle.looked] == [DEMO, LIVE] * 2


@pytest.mark.parametrize(
    ("failure", "told"),
    [(AWAY, []), (DEFECT, [("look_for_drift", DEFECT)])],
    ids=["away", "defect"],
)
def test_drift_that_cannot_be_looked_for_is_looked_for_the_next_time(
    idle_chores: tuple[Idle, Told, Upkeep], failure: Exception, told: list[tuple[str, Exception]]
) -> None:
    idle, heard, chores = idle_chores
    idle.failure = failure
    asyncio.run(chores.look_for_drift())
    assert heard.failures == told
    idle.failure = None
    asyncio.run(chores.look_for_drift())
    assert len(idle.looked) == 2
