"""What takes long is noted at once, and done little by little: see `Outbox.carry_on`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import select

from alama.platform.database import database
from alama.platform.events import Event, EventKind
from alama.webhooks import resends, schema
from alama.webhooks.records import Backlog, Change, DisabledReason, Endpoint, UnknownEndpoint
from tests.entries import DEMO, LIVE, NOON_US
from tests.webhooked import Hooks, an_event, delivered, failed

NOW_US = NOON_US + 100


@pytest.fixture
def elsewhere(address: str) -> Iterator[Hooks]:
    """The same database, as another process sees it."""
    other = Hooks(database.connect(address))
    yield other
    other.database.close()


def had(hooks: Hooks, count: int) -> list[Event]:
    """Events that have all been delivered, a microsecond after each other."""
    events = [an_event(at_us=NOON_US + number) for number in range(count)]
    hooks.dispatched(*events)
    arrive(hooks)
    return events


def arrive(hooks: Hooks, now_us: int = NOW_US) -> list[str]:
    """Deliver everything that is due; the events by age, for what is due at once has no order."""
    due = hooks.claim(now_us)
    hooks.outbox.settle("one", [delivered(one, now_us) for one in due])
    return sorted(one.event.id for one in due)


def wishes(hooks: Hooks) -> list[str]:
    with hooks.database.reading() as connection:
        return list(connection.execute(select(schema.webhook_resends.c.endpoint_id)).scalars())


def some_waits(hooks: Hooks) -> list[str]:
    """The endpoints of deliveries that are not over, also of those that are not to be sent."""
    table = schema.deliveries
    query = select(table.c.endpoint_id).where(table.c.next_us.is_not(None))
    with hooks.database.reading() as connection:
        return sorted(connection.execute(query).scalars())


# ------------------------------------------------------------------------------- sent again


@pytest.mark.parametrize("at_once", [1, 2, 3, 50])
def test_everything_since_a_time_is_sent_again(hooks: Hooks, at_once: int) -> None:
    kinds = (EventKind.SCORE_CREATED, EventKind.TEST)
    endpoint = hooks.add(kinds=kinds)
    hooks.add()
    events = [an_event(at_us=NOON_US + number) for number in range(4)]
    unwanted = [
        an_event(kind=EventKind.MODEL_ACTIVATED, at_us=NOON_US + 2),
        an_event(kind=EventKind.TEST, at_us=NOON_US + 2),
        an_event(LIVE, at_us=NOON_US + 2),
    ]
    hooks.dispatched(*events, *unwanted)
    arrive(hooks)
    assert hooks.events.send_since(DEMO, endpoint.id, NOON_US + 1, NOW_US) == 3
    assert hooks.claim(NOW_US) == []
    assert hooks.resent(NOW_US, at_once) == 3
    due = hooks.claim(NOW_US)
    assert {one.endpoint.id for one in due} == {endpoint.id}
    assert sorted(one.event.id for one in due) == [event.id for event in events[1:]]
    assert wishes(hooks) == []


def test_what_happens_after_the_wish_is_not_sent_twice(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.events.send_since(DEMO, endpoint.id, 0, NOON_US)
    hooks.dispatched(an_event(at_us=NOON_US + 1))
    assert len(arrive(hooks)) == 1
    assert hooks.resent(NOW_US) == 0
    assert wishes(hooks) == []


@pytest.mark.parametrize("since_us", [NOON_US, NOON_US + 1, NOON_US + 4])
def test_whoever_asks_again_for_the_same_or_less_begins_nothing_anew(
    hooks: Hooks, since_us: int
) -> None:
    endpoint, events = hooks.add(), had(hooks, 5)
    hooks.events.send_since(DEMO, endpoint.id, NOON_US, NOW_US)
    assert hooks.outbox.carry_on(NOW_US, 2) == 2
    again = hooks.events.send_since(DEMO, endpoint.id, since_us, NOW_US + 1)
    assert again == NOON_US + 5 - since_us
    assert wishes(hooks) == [endpoint.id]
    arrived = arrive(hooks)
    hooks.resent(NOW_US)
    assert sorted([*arrived, *arrive(hooks)]) == [event.id for event in events]


def test_whoever_asks_for_more_gets_all_of_it(hooks: Hooks) -> None:
    endpoint, events = hooks.add(), had(hooks, 5)
    hooks.events.send_since(DEMO, endpoint.id, NOON_US + 3, NOW_US)
    hooks.events.send_since(DEMO, endpoint.id, NOON_US + 1, NOW_US)
    hooks.resent(NOW_US, 2)
    assert arrive(hooks) == [event.id for event in events[1:]]


def test_another_worker_goes_on_where_one_died(hooks: Hooks, elsewhere: Hooks) -> None:
    endpoint, events = hooks.add(), had(hooks, 5)
    hooks.events.send_since(DEMO, endpoint.id, 0, NOW_US)
    hooks.outbox.carry_on(NOW_US, 2)
    assert elsewhere.resent(NOW_US, 2) == 3
    assert arrive(elsewhere) == [event.id for event in events]


def test_wishes_take_turns(hooks: Hooks) -> None:
    endpoints = [hooks.add() for _ in range(3)]
    had(hooks, 4)
    for endpoint in endpoints:
        hooks.events.send_since(DEMO, endpoint.id, 0, NOW_US)
    for number in range(1, 4):
        assert hooks.outbox.carry_on(NOW_US + number, 2) == 2
    assert {due.endpoint.id for due in hooks.claim(NOW_US + 9)} == {one.id for one in endpoints}


def test_no_more_is_added_where_much_is_due(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resends, "DUE_MAX", 3)
    endpoint = hooks.add()
    had(hooks, 6)
    hooks.events.send_since(DEMO, endpoint.id, 0, NOW_US)
    assert hooks.resent(NOW_US, 2) == 4
    arrive(hooks)
    assert hooks.resent(NOW_US, 2) == 2


def test_a_wish_of_nobody_or_of_a_disabled_endpoint_is_none(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.happen()
    with pytest.raises(UnknownEndpoint):
        hooks.events.send_since(LIVE, endpoint.id, 0, NOON_US)
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US)
    assert hooks.events.send_since(DEMO, endpoint.id, 0, NOON_US) == 0
    assert wishes(hooks) == []


def disable(hooks: Hooks, endpoint: Endpoint) -> None:
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US)


def find_it_gone(hooks: Hooks, endpoint: Endpoint) -> None:
    hooks.dispatched(an_event())
    (due,) = hooks.outbox.claim("one", {endpoint.id: 1}, NOW_US, NOW_US + 60)
    hooks.outbox.settle("one", [failed(due, NOON_US, disable=DisabledReason.GONE)])


def remove(hooks: Hooks, endpoint: Endpoint) -> None:
    hooks.endpoints.remove(DEMO, endpoint.id)


@pytest.mark.parametrize("end", [disable, find_it_gone, remove])
def test_a_wish_ends_with_its_endpoint(
    hooks: Hooks, end: Callable[[Hooks, Endpoint], None]
) -> None:
    endpoint = hooks.add()
    had(hooks, 3)
    hooks.events.send_since(DEMO, endpoint.id, 0, NOW_US)
    hooks.outbox.carry_on(NOW_US, 1)
    end(hooks, endpoint)
    assert wishes(hooks) == []
    if end is not remove:
        hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=True), NOW_US)
    hooks.resent(NOW_US)
    assert hooks.claim(NOW_US) == []


# ------------------------------------------------------------------------------- put away


def test_what_waits_for_a_disabled_endpoint_is_put_away_in_small_steps(hooks: Hooks) -> None:
    endpoint, other = hooks.add(), hooks.add()
    hooks.dispatched(*(an_event() for _ in range(5)))
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US + 1)
    steps = [hooks.outbox.carry_on(NOW_US, 2) for _ in range(4)]
    assert steps == [2, 2, 1, 0]
    assert some_waits(hooks) == [other.id] * 5


def test_what_waited_before_it_was_enabled_again_is_put_away_and_the_rest_is_sent(
    hooks: Hooks,
) -> None:
    endpoint = hooks.add()
    before = [an_event(at_us=NOON_US + number) for number in range(3)]
    hooks.dispatched(*before)
    for enabled in (False, True):
        hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=enabled), NOON_US + 5)
    after = an_event(at_us=NOON_US + 6)
    hooks.dispatched(after)
    hooks.events.send_to(DEMO, before[0].id, [endpoint.id], NOON_US + 7)
    assert hooks.outbox.backlog() == Backlog(0, 2)
    assert hooks.resent(NOW_US) == 2
    assert arrive(hooks) == [before[0].id, after.id]
    assert some_waits(hooks) == []


def test_what_is_sent_again_is_sent_though_it_was_under_way_before_it_was_disabled(
    hooks: Hooks,
) -> None:
    endpoint, happened = hooks.add(), an_event()
    hooks.dispatched(happened)
    (due,) = hooks.claim()
    for enabled in (False, True):
        hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=enabled), NOON_US + 5)
    hooks.events.send_to(DEMO, happened.id, [endpoint.id], NOON_US + 7)
    hooks.outbox.settle("one", [failed(due, NOON_US + 8, next_us=NOON_US + 9)])
    assert arrive(hooks) == [happened.id]
