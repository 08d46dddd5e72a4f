"""Several workers at one outbox, while its endpoints change: every event once, nothing lost."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import Connection, select

from alama.core.chain import MAIN
from alama.platform import acts, event_bundles
from alama.platform.acts import ActKind
from alama.platform.database import database as databases
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.events import EventKind
from alama.protection.audit.store import Trail
from alama.webhooks import deliveries as dispatching
from alama.webhooks import event_store, resends, schema
from alama.webhooks.deliveries import deliver_new, send_again
from alama.webhooks.records import Backlog, Change, DisabledReason, Forgotten
from tests.audited import verdict_on
from tests.entries import DEMO, NOON_US
from tests.webhooked import Hooks, an_event, delivered, failed

WORKERS = 4
EVENTS = 60
LATER_US = NOON_US + 10**12


@pytest.fixture
def process(address: str) -> Callable[[], Hooks]:
    """Opens the same database as another process would."""
    return lambda: Hooks(databases.connect(address))


@contextmanager
def together(count: int, work: Callable[[int], None]) -> Iterator[list[Future[None]]]:
    """Do the same several times at once, each with its number; wait for all at the end."""
    start = threading.Barrier(count)

    def begin(number: int) -> None:
        start.wait(60)
        work(number)

    with ThreadPoolExecutor(count) as pool:
        running = [pool.submit(begin, number) for number in range(count)]
        yield running
        for one in running:
            one.result()


def deliveries(database: Database) -> Counter[tuple[str, str]]:
    table = schema.deliveries
    with database.reading() as connection:
        rows = connection.execute(select(table.c.endpoint_id, table.c.event_id))
        return Counter((row.endpoint_id, row.event_id) for row in rows)


def arrivals(database: Database) -> Counter[tuple[str, str]]:
    """How often each delivery has arrived, by what the workers noted."""
    table = schema.webhook_attempts
    with database.reading() as connection:
        query = select(table.c.endpoint_id, table.c.event_id).where(table.c.status == 200)
        return Counter((row.endpoint_id, row.event_id) for row in connection.execute(query))


def test_each_event_is_dispatched_and_delivered_once_by_all_workers_together(
    hooks: Hooks, process: Callable[[], Hooks], database: Database
) -> None:
    endpoints = [hooks.add() for _ in range(3)]
    events = [an_event(at_us=NOON_US + number) for number in range(EVENTS)]
    with database.writing() as connection:
        rows = event_bundles.bundles(events[: EVENTS // 2])
        connection.execute(tables.bundles.insert(), [row._asdict() for row in rows])
    for event in events[EVENTS // 2 :]:
        hooks.events.add(event)

    def work(number: int) -> None:
        mine, name = process(), f"worker_{number}"
        chance = random.Random(number)  # noqa: S311  no secret
        try:
            while mine.outbox.backlog() != Backlog(0, 0):
                mine.outbox.dispatch(LATER_US, 7)
                due = mine.claim(LATER_US, name, places=3)
                outcomes = [
                    delivered(one, LATER_US)
                    if chance.random() < 0.7
                    else failed(one, LATER_US, next_us=NOON_US)
                    for one in due
                ]
                mine.outbox.settle(name, outcomes)
        finally:
            mine.database.close()

    with together(WORKERS, work):
        pass
    once = Counter({(endpoint.id, event.id): 1 for endpoint in endpoints for event in events})
    assert deliveries(database) == once
    assert arrivals(database) == once


def test_each_event_of_a_wish_is_sent_again_once_by_all_workers_together(
    hooks: Hooks, process: Callable[[], Hooks], database: Database
) -> None:
    endpoints = [hooks.add() for _ in range(2)]
    events = [an_event(at_us=NOON_US) for _ in range(EVENTS)]
    with database.writing() as connection:
        connection.execute(tables.events.insert(), [event._asdict() for event in events])
    for endpoint in endpoints:
        hooks.events.send_since(DEMO, endpoint.id, NOON_US, LATER_US)
    carried: list[int] = []

    def work(_: int) -> None:
        mine = process()
        try:
            while sum(carried) < 2 * EVENTS:
                carried.append(mine.outbox.carry_on(LATER_US, 7))
        finally:
            mine.database.close()

    with together(WORKERS, work):
        pass
    assert sum(carried) == 2 * EVENTS
    assert deliveries(database) == Counter((to.id, of.id) for to in endpoints for of in events)


def test_workers_that_find_an_endpoint_gone_at_once_disable_it_once(
    hooks: Hooks, process: Callable[[], Hooks], database: Database
) -> None:
    hooks.add()
    hooks.dispatched(*(an_event() for _ in range(WORKERS)))
    claimed = [hooks.claim(NOON_US, f"worker_{number}", places=1) for number in range(WORKERS)]
    disabled: list[str] = []

    def work(number: int) -> None:
        mine = process()
        try:
            gone = [failed(due, NOON_US, disable=DisabledReason.GONE) for due in claimed[number]]
            disabled.extend(one.id for one in mine.outbox.settle(f"worker_{number}", gone))
        finally:
            mine.database.close()

    with together(WORKERS, work):
        pass
    assert len(disabled) == 1
    assert len(hooks.events.page(DEMO, EventKind.ENDPOINT_DISABLED, None, 10)) == 1
    found = [acts.decode(link.body) for link in Trail(database).links(MAIN, 0, 100)]
    assert [act.kind for act in found].count(ActKind.ENDPOINT_DISABLED) == 1


def test_endpoints_change_and_go_while_workers_are_at_it(
    hooks: Hooks, process: Callable[[], Hooks], database: Database
) -> None:
    """Nobody waits for another for ever, and no delivery is made to what is not there."""
    steady = hooks.add()
    done = threading.Event()

    def work(number: int) -> None:
        mine, name = process(), f"worker_{number}"
        try:
            while not done.is_set():
                mine.outbox.dispatch(LATER_US, 5)
                due = mine.claim(LATER_US, name, places=2)
                mine.outbox.settle(
                    name, [failed(one, LATER_US, next_us=NOON_US) for one in due[::2]]
                )
                mine.outbox.give_back(name, NOON_US)
                mine.outbox.carry_on(NOON_US, 3)
                mine.outbox.forget(NOON_US, 5)
        finally:
            mine.database.close()

    with together(2, work):
        try:
            for number in range(12):
                passing = hooks.add()
                happened = hooks.happen(at_us=NOON_US + number)
                hooks.events.send_to(DEMO, happened.id, [steady.id, passing.id], NOON_US)
                hooks.endpoints.change(DEMO, passing.id, Change(enabled=False), NOON_US)
                hooks.endpoints.change(DEMO, passing.id, Change(enabled=True), NOON_US)
                hooks.events.send_since(DEMO, passing.id, NOON_US, NOON_US)
                hooks.endpoints.remove(DEMO, passing.id)
        finally:
            done.set()
    hooks.dispatched()
    to_steady = [key for key in deliveries(database) if key[0] == steady.id]
    assert len(to_steady) == 12
    assert {due.endpoint.id for due in hooks.claim(LATER_US * 2)} == {steady.id}
    assert verdict_on(database).findings == []


def test_whoever_removes_an_endpoint_waits_for_deliveries_that_are_being_made(
    hooks: Hooks,
    process: Callable[[], Hooks],
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Made a moment later they would be deliveries to nobody."""
    endpoint, happened = hooks.add(), hooks.happen()
    other = process()
    removing: list[Future[None]] = []

    def while_it_is_removed(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        removing.append(pool.submit(other.endpoints.remove, DEMO, endpoint.id))
        with pytest.raises(TimeoutError):
            removing[0].result(0.2)
        deliver_new(connection, rows)

    monkeypatch.setattr(dispatching, "deliver_new", while_it_is_removed)
    with ThreadPoolExecutor(1) as pool:
        hooks.outbox.dispatch(LATER_US, 5)
        removing[0].result(60)
    other.database.close()
    assert list(deliveries(database)) == [(endpoint.id, happened.id)]
    assert hooks.outbox.endpoints().known == []


@pytest.mark.parametrize("where", [resends, event_store])
def test_nobody_forgets_an_event_that_is_being_sent_again(
    hooks: Hooks,
    process: Callable[[], Hooks],
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    where: ModuleType,
) -> None:
    """Forgotten at this moment, it would leave deliveries of nothing."""
    endpoint, happened = hooks.add(), an_event()
    hooks.events.add_for_nobody(happened)
    other = process()
    forgetting: list[Future[Forgotten]] = []

    def while_others_forget(
        connection: Connection, rows: Sequence[dict[str, Any]], now_us: int
    ) -> None:
        forgetting.append(pool.submit(other.outbox.forget, LATER_US, 5))
        wait(forgetting, 0.1)
        send_again(connection, rows, now_us)

    monkeypatch.setattr(where, "send_again", while_others_forget)
    with ThreadPoolExecutor(1) as pool:
        if where is resends:
            hooks.events.send_since(DEMO, endpoint.id, 0, NOON_US)
            assert hooks.outbox.carry_on(NOON_US, 5) == 1
        else:
            assert hooks.events.send_to(DEMO, happened.id, [endpoint.id], NOON_US) == 1
        forgotten = forgetting[0].result(60)
    other.database.close()
    # SQLite has them forget afterwards, with the delivery; PostgreSQL leaves it to the next time.
    assert forgotten.undelivered == forgotten.events
    assert len(deliveries(database)) == len(hooks.events.page(DEMO, None, None, 5))
