"""Events that were committed together, before and after a worker has dispatched them."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from alama.platform.database import tables
from alama.platform.event_bundles import EVENTS_MAX, SPAN_US, bundles
from alama.platform.events import Event, EventKind
from alama.webhooks.records import Backlog, UnknownEvent
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.webhooked import LATER_US, Hooks, an_event

MANY = 2 * EVENTS_MAX + 3


def commit(hooks: Hooks, *events: Event) -> list[Event]:
    """Keep events as a commit of scores does: together."""
    rows = bundles(events)
    with hooks.database.writing() as connection:
        connection.execute(tables.bundles.insert(), [row._asdict() for row in rows])
    return list(events)


def happened(first: int, number: int, step: int = 1) -> list[Event]:
    return [an_event(at_us=NOON_US + first + step * one) for one in range(number)]


def pages(hooks: Hooks, size: int, kind: str | None = None) -> list[str]:
    """The ids of all events of a book, page by page."""
    found: list[str] = []
    while page := hooks.events.page(DEMO, kind, found[-1] if found else None, size):
        found += [event.id for event in page]
    return found


def test_they_are_kept_in_few_rows_of_one_kind_and_one_book(hooks: Hooks) -> None:
    events = [*happened(0, MANY), an_event(LIVE), an_event(kind=EventKind.MODEL_ACTIVATED)]
    commit(hooks, *reversed(events))
    table = tables.bundles
    with hooks.database.reading() as connection:
        numbers = connection.execute(select(table.c.number).order_by(table.c.number)).scalars()
        assert list(numbers) == [1, 1, 3, EVENTS_MAX, EVENTS_MAX]
    assert hooks.outbox.backlog() == Backlog(events=len(events), deliveries=0)


@pytest.mark.parametrize("size", [1, 7, EVENTS_MAX, 100])
@pytest.mark.parametrize("dispatched", [0, 1, MANY])
def test_pages_show_each_once_and_in_order_whatever_a_worker_has_done(
    hooks: Hooks, size: int, dispatched: int
) -> None:
    # Two processes commit at the same time, so that what lies in one row is between that of others.
    mine, theirs = happened(0, MANY, 2), happened(1, MANY, 2)
    commit(hooks, *mine)
    commit(hooks, *theirs)
    models = an_event(kind=EventKind.MODEL_ACTIVATED, at_us=NOON_US + 7)
    commit(hooks, models)
    commit(hooks, an_event(LIVE), an_event(UMOJA))
    if dispatched:
        hooks.outbox.dispatch(LATER_US, dispatched)
    scores = sorted((event.id for event in (*mine, *theirs)), reverse=True)
    assert pages(hooks, size) == sorted([*scores, models.id], reverse=True)
    assert pages(hooks, size, EventKind.SCORE_CREATED) == scores
    assert pages(hooks, size, EventKind.MODEL_ACTIVATED) == [models.id]


def test_each_is_found_in_its_book_alone_before_it_is_dispatched_and_after(hooks: Hooks) -> None:
    events = [*commit(hooks, *happened(0, MANY, 2)), *commit(hooks, *happened(1, MANY, 2))]
    for _ in range(2):
        for event in events:
            assert hooks.events.find(DEMO, event.id) == event
        for book in (LIVE, UMOJA):
            with pytest.raises(UnknownEvent):
                hooks.events.find(book, events[5].id)
        with pytest.raises(UnknownEvent):
            hooks.events.find(DEMO, an_event(at_us=NOON_US + 5).id)
        hooks.dispatched()


def test_one_that_is_asked_for_is_sent_with_its_row_and_each_of_them_once(hooks: Hooks) -> None:
    endpoint, models = hooks.add(), hooks.add(kinds=(EventKind.MODEL_ACTIVATED,))
    events = commit(hooks, *happened(0, 5))
    asked_for = events[2]
    assert hooks.events.send_to(DEMO, asked_for.id, [models.id], LATER_US) == 1
    hooks.dispatched()
    due = [(one.endpoint.id, one.event.id) for one in hooks.claim(LATER_US)]
    expected = [(endpoint.id, event.id) for event in events]
    assert sorted(due) == sorted([*expected, (models.id, asked_for.id)])


def test_those_since_a_time_are_counted_also_before_they_are_dispatched(hooks: Hooks) -> None:
    endpoint = hooks.add(kinds=(EventKind.SCORE_CREATED,))
    commit(hooks, *happened(0, MANY), an_event(kind=EventKind.MODEL_ACTIVATED, at_us=NOON_US + 9))
    for _ in range(2):
        for since in (0, 1, EVENTS_MAX, EVENTS_MAX + 1, MANY - 1):
            sent = hooks.events.send_since(DEMO, endpoint.id, NOON_US + since, LATER_US)
            assert sent == MANY - since
        assert hooks.events.send_since(DEMO, endpoint.id, 0, NOON_US + 3) == 4
        hooks.dispatched()


def test_more_than_one_row_holds_is_taken_row_by_row(hooks: Hooks) -> None:
    hooks.add()
    commit(hooks, *happened(0, MANY))
    assert hooks.outbox.dispatch(LATER_US, 1) == EVENTS_MAX
    assert hooks.outbox.dispatch(LATER_US, EVENTS_MAX + 1) == EVENTS_MAX + 3
    assert hooks.outbox.backlog() == Backlog(events=0, deliveries=MANY)


def test_old_ones_are_forgotten_row_by_row_and_a_row_with_a_young_one_stays(hooks: Hooks) -> None:
    commit(hooks, *happened(0, MANY))
    first = hooks.outbox.forget(NOON_US + MANY - 1, 1)
    assert (first.events, first.undispatched, first.some_left) == (EVENTS_MAX, EVENTS_MAX, True)
    second = hooks.outbox.forget(NOON_US + MANY - 1, 100)
    assert (second.undispatched, second.some_left) == (EVENTS_MAX, False)
    assert len(hooks.events.page(DEMO, None, None, 100)) == 3


def test_books_with_full_rows_take_turns_too(hooks: Hooks) -> None:
    for book in (DEMO, LIVE, UMOJA):
        hooks.add(book)
        at_noon = (an_event(book, at_us=NOON_US + number) for number in range(MANY))
        commit(hooks, *at_noon)
    served = []
    for _ in range(6):
        assert hooks.outbox.dispatch(LATER_US, 1) == EVENTS_MAX
        (of_one,) = {(due.event.lender, due.event.mode) for due in hooks.claim(LATER_US)}
        served.append(of_one)
    assert sorted(served[:3]) == sorted(served[3:])
    assert len(set(served)) == 3


def test_where_the_clock_was_set_events_far_apart_lie_in_rows_of_their_own(hooks: Hooks) -> None:
    near, far = happened(0, 3), happened(SPAN_US, 2)
    commit(hooks, *near, *far)
    with hooks.database.reading() as connection:
        assert set(connection.execute(select(tables.bundles.c.number)).scalars()) == {1}
    assert hooks.events.find(DEMO, far[0].id) == far[0]
    assert pages(hooks, 2) == [event.id for event in (*far[::-1], *near[::-1])]


def test_an_event_that_has_a_row_already_keeps_nothing_from_the_others(hooks: Hooks) -> None:
    endpoint = hooks.add()
    twice, other = commit(hooks, *happened(0, 2))
    hooks.events.add_for_nobody(twice)
    assert hooks.outbox.dispatch(LATER_US, 10) == 2
    due = [(one.endpoint.id, one.event) for one in hooks.claim(LATER_US)]
    assert due == [(endpoint.id, twice), (endpoint.id, other)]


def test_rows_that_are_damaged_are_left_alone_and_keep_nothing_from_the_others(
    hooks: Hooks,
) -> None:
    hooks.add()
    events = happened(0, 6)
    for event in events:
        commit(hooks, event)
    table = tables.bundles
    damaged, sound = [events[0], events[1], events[5]], events[2:5]
    for event in damaged:
        with hooks.database.writing() as connection:
            connection.execute(update(table).where(table.c.id == event.id).values(events=b"\xc1"))
    assert pages(hooks, 1) == pages(hooks, 2) == [event.id for event in sound[::-1]]
    assert hooks.outbox.dispatch(LATER_US, 1) == 1
    assert hooks.outbox.dispatch(LATER_US, 10) == 2
    assert [due.event for due in hooks.claim(LATER_US)] == sound
    assert pages(hooks, 2) == [event.id for event in sound[::-1]]
    assert hooks.outbox.backlog().events == len(damaged)
    assert hooks.outbox.dispatch(LATER_US, 10) == 0
