"""How every outbox makes deliveries of events: see `Outbox.dispatch`."""

from __future__ import annotations

from alama.platform.events import EventKind
from alama.webhooks.outbox import ENOUGH
from alama.webhooks.records import Backlog, Change
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.webhooked import LATER_US, Hooks

DAY_US = 86_400_000_000


def test_an_event_goes_once_to_each_endpoint_of_its_book_that_wants_it(hooks: Hooks) -> None:
    everything = hooks.add()
    scores = hooks.add(kinds=(EventKind.SCORE_CREATED,))
    hooks.add(kinds=(EventKind.MODEL_ACTIVATED,))
    hooks.add(LIVE)
    hooks.add(UMOJA)
    off = hooks.add()
    hooks.endpoints.change(DEMO, off.id, Change(enabled=False), NOON_US)
    happened = hooks.happen()
    assert hooks.outbox.dispatch(LATER_US, 10) == 1
    assert hooks.outbox.dispatch(LATER_US, 10) == 0
    assert hooks.outbox.backlog().events == 0
    assert hooks.events.find(DEMO, happened.id) == happened
    assert [due.endpoint for due in hooks.claim()] == [everything, scores]
    hooks.endpoints.change(DEMO, off.id, Change(enabled=True), NOON_US)
    assert hooks.claim() == []


def test_dispatch_takes_no_more_than_it_is_told_and_the_oldest_first(hooks: Hooks) -> None:
    hooks.add()
    late, early = hooks.happen(at_us=NOON_US + 5), hooks.happen()
    assert hooks.outbox.dispatch(LATER_US, 1) == 1
    assert hooks.outbox.backlog() == Backlog(events=1, deliveries=1)
    assert [due.event.id for due in hooks.claim(NOON_US + 9)] == [early.id]
    assert hooks.outbox.dispatch(LATER_US, 10) == 1
    assert [due.event.id for due in hooks.claim(NOON_US + 9)] == [late.id]


def test_books_take_turns_however_much_one_of_them_has(hooks: Hooks) -> None:
    for book in (DEMO, LIVE, UMOJA):
        hooks.add(book)
    many = [hooks.happen(at_us=NOON_US + number) for number in range(9)]
    few = [hooks.happen(book, at_us=NOON_US + 50) for book in (LIVE, UMOJA)]
    assert hooks.outbox.dispatch(LATER_US, 5) == 5
    sent = {due.event.id for due in hooks.claim(LATER_US)}
    assert sent == {one.id for one in (*few, *many[:3])}


def test_where_more_books_wait_than_can_be_served_each_has_its_turn(hooks: Hooks) -> None:
    books = (DEMO, LIVE, UMOJA)
    for book in books:
        hooks.add(book)
        for number in range(4):
            hooks.happen(book, at_us=NOON_US + number)
    served = []
    for _ in range(6):
        assert hooks.outbox.dispatch(LATER_US, 1) == 1
        served += [due.event.lender + due.event.mode for due in hooks.claim(LATER_US)]
    assert sorted(served[:3]) == sorted(served[3:]) == ["demolive", "demotest", "umojatest"]


def test_an_event_of_a_clock_that_runs_ahead_is_due_at_once(hooks: Hooks) -> None:
    hooks.add()
    ahead = hooks.happen(at_us=NOON_US + DAY_US)
    assert hooks.outbox.dispatch(NOON_US, 5) == 1
    assert [due.event.id for due in hooks.claim(NOON_US)] == [ahead.id]


def test_events_wait_as_such_while_every_endpoint_of_their_book_has_enough_to_do(
    hooks: Hooks,
) -> None:
    for book in (DEMO, DEMO, UMOJA):
        hooks.add(book)
    for number in range(ENOUGH + 5):
        hooks.happen(at_us=NOON_US + number)
    assert hooks.outbox.dispatch(LATER_US, ENOUGH) == ENOUGH
    hooks.happen(UMOJA)
    assert hooks.outbox.dispatch(LATER_US, 10) == 1
    assert hooks.outbox.backlog().events == 5
    assert hooks.outbox.dispatch(LATER_US, 10) == 0
    hooks.claim(LATER_US, places=1)
    assert hooks.outbox.dispatch(LATER_US, 10) == 5


def test_one_endpoint_that_takes_nothing_keeps_nothing_from_the_others(hooks: Hooks) -> None:
    hooks.add()
    for number in range(ENOUGH + 5):
        hooks.happen(at_us=NOON_US + number)
    assert hooks.outbox.dispatch(LATER_US, ENOUGH) == ENOUGH
    assert hooks.outbox.dispatch(LATER_US, 10) == 0
    hooks.add()
    assert hooks.outbox.dispatch(LATER_US, 10) == 5
