"""What every outbox forgets when its time is over: see `Outbox.forget`."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from alama.platform.database.database import Database
from alama.webhooks import schema
from alama.webhooks.deliveries import deliver_new, delivery
from alama.webhooks.records import Backlog, Change, Forgotten, UnknownEvent
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.webhooked import Hooks, an_event, delivered


def test_what_is_old_is_forgotten_with_all_that_is_its_own(
    hooks: Hooks, database: Database
) -> None:
    endpoint = hooks.add()
    old = [an_event(at_us=NOON_US + number) for number in range(3)]
    kept = an_event(at_us=NOON_US + 3)
    hooks.dispatched(*old, kept)
    due = hooks.claim(NOON_US + 9)
    hooks.outbox.settle("one", [delivered(one, one.event.created_us) for one in due])
    assert hooks.outbox.forget(NOON_US + 3, 2) == Forgotten(2, 0, 0, some_left=True)
    assert hooks.outbox.forget(NOON_US + 3, 2) == Forgotten(1, 0, 0, some_left=False)
    assert hooks.events.page(DEMO, None, None, 10) == [kept]
    with database.reading() as connection:
        left = select(func.count()).select_from(schema.deliveries)
        assert connection.execute(left).scalar_one() == 1
    assert len(hooks.endpoints.attempts(DEMO, endpoint.id, None, 10)) == 1
    with pytest.raises(UnknownEvent):
        hooks.events.find(DEMO, old[0].id)


def test_deliveries_whose_event_is_gone_are_forgotten_when_they_are_as_old(
    hooks: Hooks, database: Database
) -> None:
    endpoint = hooks.add()
    lost = [an_event(at_us=NOON_US + number).id for number in (0, 2, 4)]
    with database.writing() as connection:
        deliver_new(connection, [delivery(endpoint, one, NOON_US) for one in lost])
    kept = [an_event(at_us=NOON_US + number) for number in (1, 3)]
    hooks.dispatched(*kept)

    def left() -> list[str]:
        query = select(schema.deliveries.c.event_id).order_by(schema.deliveries.c.event_id)
        with database.reading() as connection:
            return list(connection.execute(query).scalars())

    assert hooks.outbox.forget(NOON_US + 9, 1) == Forgotten(1, 0, 1, some_left=True)
    assert left() == [*lost[:2], kept[1].id, lost[2]]  # once all events as old are gone
    assert hooks.outbox.forget(NOON_US + 4, 2) == Forgotten(1, 0, 1, some_left=True)
    assert hooks.outbox.forget(NOON_US + 4, 2) == Forgotten(0, 0, 0, some_left=False)
    assert left() == [lost[2]]
    hooks.outbox.forget(NOON_US + 9, 10)
    assert left() == []


def test_deliveries_to_an_endpoint_that_was_removed_go_with_what_is_as_old(
    hooks: Hooks, database: Database
) -> None:
    removed = hooks.add()
    hooks.dispatched(an_event(), an_event(at_us=NOON_US + 5))
    hooks.endpoints.remove(DEMO, removed.id)
    assert hooks.outbox.forget(NOON_US + 1, 10).events == 1
    with database.reading() as connection:
        left = select(func.count()).select_from(schema.deliveries)
        assert connection.execute(left).scalar_one() == 1


def test_each_book_forgets_its_oldest_first_and_all_books_have_their_turn(hooks: Hooks) -> None:
    books = (DEMO, LIVE, UMOJA)
    for book in books:
        hooks.dispatched(*(an_event(book, at_us=NOON_US + number) for number in (2, 1, 0, 9)))

    def left() -> list[list[int]]:
        pages = [hooks.events.page(book, None, None, 10) for book in books]
        return [[one.created_us - NOON_US for one in page] for page in pages]

    for _ in range(2):
        assert hooks.outbox.forget(NOON_US + 3, 4) == Forgotten(4, 0, 0, some_left=True)
    assert sorted(left()) == [[9], [9], [9, 2]]
    assert hooks.outbox.forget(NOON_US + 3, 4) == Forgotten(1, 0, 0, some_left=False)
    assert left() == [[9], [9], [9]]
    assert hooks.outbox.forget(NOON_US + 10, 4) == Forgotten(3, 0, 0, some_left=False)
    assert left() == [[], [], []]


def test_what_is_forgotten_though_somebody_waits_for_it_is_counted(hooks: Hooks) -> None:
    hooks.add()
    disabled, woken, removed = hooks.add(), hooks.add(), hooks.add()
    hooks.dispatched(an_event(), an_event())
    hooks.outbox.settle("one", [delivered(hooks.claim(places=1)[0], NOON_US)])
    hooks.endpoints.change(DEMO, disabled.id, Change(enabled=False), NOON_US)
    for enabled in (False, True):
        hooks.endpoints.change(DEMO, woken.id, Change(enabled=enabled), NOON_US)
    hooks.endpoints.remove(DEMO, removed.id)
    hooks.happen()
    told = hooks.outbox.forget(NOON_US + 1, 10)
    assert told == Forgotten(events=3, undispatched=1, undelivered=1, some_left=False)
    assert hooks.outbox.backlog() == Backlog(0, 0)
