"""What people see of what is on its way: see `EventStore.waiting`."""

from __future__ import annotations

import pytest

from alama.platform.events import EventKind
from alama.webhooks import event_store
from alama.webhooks.records import LEASE_US, Change, Verdict, Waiting
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.webhooked import Hooks, an_event, delivered, failed, settled, tried

MINUTE_US = 60_000_000


def test_it_says_how_much_waits_and_when_the_next_attempt_is(hooks: Hooks) -> None:
    endpoint, idle = hooks.add(), hooks.add(kinds=(EventKind.MODEL_ACTIVATED,))
    hooks.dispatched(*(an_event() for _ in range(4)))
    first, second, third = hooks.claim(places=3)
    hooks.outbox.settle("one", [delivered(first, NOON_US)])
    hooks.outbox.settle("one", [failed(second, NOON_US, next_us=NOON_US + 5)])
    assert hooks.waiting(DEMO, NOON_US) == {endpoint.id: Waiting(3, NOON_US, is_overdue=False)}
    (last,) = hooks.claim()
    found = hooks.waiting(DEMO, NOON_US)
    assert found == {endpoint.id: Waiting(3, NOON_US + 5, is_overdue=False)}
    hooks.outbox.settle("one", [delivered(one, NOON_US) for one in (second, third, last)])
    assert idle.id not in found
    assert hooks.waiting(DEMO, NOON_US)[endpoint.id].count == 1


def test_what_is_being_sent_has_no_time_until_its_worker_has_died(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    hooks.claim()
    assert hooks.waiting(DEMO, NOON_US + 1)[endpoint.id].next_us is None
    died_us = NOON_US + LEASE_US
    assert hooks.waiting(DEMO, died_us)[endpoint.id].next_us == died_us


def test_events_that_no_delivery_was_made_of_wait_too(hooks: Hooks) -> None:
    endpoint, models = hooks.add(), hooks.add(kinds=(EventKind.MODEL_ACTIVATED,))
    for number in range(3):
        hooks.happen(at_us=NOON_US + number)
    hooks.happen(kind=EventKind.MODEL_ACTIVATED, at_us=NOON_US + 7)
    hooks.happen(LIVE)
    assert hooks.waiting(DEMO, NOON_US) == {
        endpoint.id: Waiting(4, NOON_US, is_overdue=False),
        models.id: Waiting(1, NOON_US + 7, is_overdue=False),
    }


def test_what_somebody_wished_to_be_sent_again_waits_too(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(*(an_event() for _ in range(5)))
    hooks.outbox.settle("one", [delivered(due, NOON_US) for due in hooks.claim()])
    asked_us = NOON_US + 9
    hooks.events.send_since(DEMO, endpoint.id, NOON_US, asked_us)
    found = hooks.waiting(DEMO, asked_us)
    assert found == {endpoint.id: Waiting(5, asked_us, is_overdue=False)}
    late_us = asked_us + 3 * MINUTE_US
    assert hooks.waiting(DEMO, late_us)[endpoint.id].is_overdue
    hooks.outbox.carry_on(asked_us, 2)
    assert hooks.waiting(DEMO, asked_us)[endpoint.id].count == 5
    hooks.resent(asked_us)
    assert hooks.waiting(DEMO, asked_us)[endpoint.id].count == 5


def test_no_book_sees_what_waits_in_another(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    for book in (LIVE, UMOJA):
        other = hooks.add(book)
        assert hooks.events.waiting(book, [endpoint.id, other.id], NOON_US) == {}


def test_it_says_what_waits_for_those_that_are_asked_for(hooks: Hooks) -> None:
    one, other = hooks.add(), hooks.add()
    hooks.dispatched(an_event())
    assert hooks.events.waiting(DEMO, [other.id], NOON_US).keys() == {other.id}
    assert hooks.events.waiting(DEMO, [one.id, other.id], NOON_US).keys() == {one.id, other.id}
    assert hooks.events.waiting(DEMO, [], NOON_US) == {}


def test_nothing_waits_for_an_endpoint_that_is_or_was_disabled(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    for enabled in (False, True):
        hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=enabled), NOON_US)
        assert hooks.waiting(DEMO, NOON_US) == {}


def test_what_is_due_for_long_and_is_not_tried_is_overdue(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.happen()

    def overdue(now_us: int) -> bool:
        return hooks.waiting(DEMO, now_us)[endpoint.id].is_overdue

    assert not overdue(NOON_US + MINUTE_US)
    assert overdue(NOON_US + MINUTE_US + 1)
    hooks.dispatched(an_event())
    assert overdue(NOON_US + MINUTE_US + 1)
    due = hooks.claim(NOON_US + 1, places=1)
    hooks.outbox.settle("one", [delivered(one, NOON_US + MINUTE_US) for one in due])
    assert not overdue(NOON_US + MINUTE_US + 1)
    assert not overdue(NOON_US + 3 * MINUTE_US)
    assert overdue(NOON_US + 3 * MINUTE_US + 1)


def test_nothing_is_overdue_where_a_worker_works_for_somebody_else(hooks: Hooks) -> None:
    endpoint, other = hooks.add(), hooks.add(UMOJA)
    hooks.dispatched(an_event(), an_event(UMOJA))
    late_us = NOON_US + 9 * MINUTE_US
    assert hooks.waiting(DEMO, late_us)[endpoint.id].is_overdue
    (due,) = hooks.outbox.claim("one", {other.id: 1}, late_us, late_us + LEASE_US)
    hooks.outbox.settle("one", [failed(due, late_us, next_us=late_us)])
    assert not hooks.waiting(DEMO, late_us + 2 * MINUTE_US)[endpoint.id].is_overdue
    assert hooks.waiting(DEMO, late_us + 2 * MINUTE_US + 1)[endpoint.id].is_overdue
    assert hooks.waiting(DEMO, late_us - 3 * MINUTE_US)[endpoint.id].is_overdue


@pytest.mark.parametrize("status", [503, 429, 500])
def test_nothing_is_overdue_where_a_receiver_has_asked_us_to_wait(
    hooks: Hooks, status: int
) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event(), an_event(), an_event())
    asked, arrived = hooks.claim(places=2)
    attempt = tried(asked, NOON_US, status=status)
    hour_us = 60 * MINUTE_US
    judged = Verdict(delivered=False, next_us=NOON_US + hour_us)
    hooks.outbox.settle("one", [settled(asked, attempt, judged), delivered(arrived, NOON_US + 1)])
    for after_us in (10 * MINUTE_US, hour_us):
        found = hooks.waiting(DEMO, NOON_US + after_us)[endpoint.id]
        assert found.is_overdue is (status == 500)
    assert hooks.waiting(DEMO, NOON_US + hour_us + 1)[endpoint.id].is_overdue


def test_much_is_counted_up_to_a_limit(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "COUNTED_MAX", 3)
    endpoint = hooks.add()
    hooks.dispatched(an_event(), an_event())
    hooks.happen()
    hooks.happen()
    assert hooks.waiting(DEMO, NOON_US)[endpoint.id].count == 3
