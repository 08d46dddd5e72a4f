from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.platform.book import Book, Mode
from alama.webhooks import worker
from alama.webhooks.records import KEPT_US, Forgotten
from alama.webhooks.worker import Chores
from tests.clocks import HandClock
from tests.outboxes import Told, WatchedOutbox, opened
from tests.unit.webhooks.setting import WITHIN_S
from tests.webhooked import an_event

BOOK = Book("a", Mode.TEST)


def now_us() -> int:
    return time.time_ns() // 1_000


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "FORGET_FIRST_S", 0.01)
    monkeypatch.setattr(worker, "FORGET_EVERY_S", 0.01)
    monkeypatch.setattr(worker, "FORGET_PAUSE_S", 0.0)
    monkeypatch.setattr(worker, "COUNT_EVERY_S", 0.01)


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[WatchedOutbox]:
    with opened(tmp_path, BOOK.lender) as made:
        yield made


def test_what_is_old_is_forgotten_until_none_of_it_is_left(
    outbox: WatchedOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "FORGET_AT_ONCE", 2)
    old_us = now_us() - KEPT_US - 1_000_000
    young = an_event(BOOK, at_us=now_us())
    outbox.announce(young, *(an_event(BOOK, at_us=old_us) for _ in range(5)))
    told = Told()
    asyncio.run(Chores(outbox, told, HandClock(now_us())).forget())
    assert outbox.events == [young.id]
    assert told.forgotten == [Forgotten(5, 5, 0, some_left=False)]


def test_what_was_delivered_is_forgotten_without_a_word(outbox: WatchedOutbox) -> None:
    outbox.announce_to_nobody(an_event(BOOK, at_us=now_us() - KEPT_US - 1_000_000))
    told = Told()
    asyncio.run(Chores(outbox, told, HandClock(now_us())).forget())
    assert (outbox.events, told.forgotten) == ([], [])


def test_the_first_time_comes_soon_after_the_start(
    outbox: WatchedOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "FORGET_EVERY_S", 3_600.0)
    outbox.announce(an_event(BOOK, at_us=now_us() - KEPT_US - 1_000_000))

    async def scenario() -> None:
        task = asyncio.create_task(Chores(outbox, Told(), HandClock(now_us())).run())
        async with asyncio.timeout(WITHIN_S):
            while outbox.events:  # noqa: ASYNC110  as it is
                await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(scenario())


def test_everything_is_done_again_and_again_though_it_fails(
    outbox: WatchedOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()
    tried: list[int] = []

    def breaks(*_: object) -> None:
        tried.append(1)
        raise ValueError

    monkeypatch.setattr(outbox, "forget", breaks)

    async def scenario() -> None:
        task = asyncio.create_task(Chores(outbox, told, HandClock(now_us())).run())
        async with asyncio.timeout(WITHIN_S):
            while len(tried) < 3 or len(told.backlogs) < 3:  # noqa: ASYNC110  as it is
                await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(scenario())
    assert told.failed_chores == ["forget_events"]


def test_what_fails_again_is_told_once_until_it_has_gone_well(
    outbox: WatchedOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()

    def breaks(*_: object) -> None:
        raise ValueError

    async def scenario() -> None:
        doing = Chores(outbox, told, HandClock(now_us()))
        for _ in range(2):
            with monkeypatch.context() as patched:
                patched.setattr(outbox, "forget", breaks)
                patched.setattr(outbox, "backlog", breaks)
                await doing.forget()
                await doing.count()
                await doing.forget()
                await doing.count()
            await doing.forget()
            await doing.count()

    asyncio.run(scenario())
    assert told.failed_chores == ["forget_events", "count_deliveries"] * 2


def test_a_database_that_was_away_in_between_is_no_reason_to_tell_it_again(
    outbox: WatchedOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()

    def breaks(*_: object) -> None:
        raise ValueError

    async def scenario() -> None:
        doing = Chores(outbox, told, HandClock(now_us()))
        for is_away in (False, True, False):
            outbox.database.away = is_away
            with monkeypatch.context() as patched:
                if not is_away:
                    patched.setattr(outbox, "backlog", breaks)
                await doing.count()

    asyncio.run(scenario())
    assert told.failed_chores == ["count_deliveries"]


def test_a_database_that_is_away_is_no_news(outbox: WatchedOutbox) -> None:
    told = Told()
    outbox.database.away = True

    async def scenario() -> None:
        doing = Chores(outbox, told, HandClock(now_us()))
        await doing.forget()
        await doing.count()

    asyncio.run(scenario())
    assert told.failed_chores == []
    assert told.backlogs == []
