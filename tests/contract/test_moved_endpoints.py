"""An endpoint that is moved or enabled again is judged by what comes after alone."""

from __future__ import annotations

import pytest

from alama.webhooks.records import Change, DisabledReason
from alama.webhooks.schedule import Tried, verdict
from tests.entries import DEMO, NOON_US
from tests.webhooked import Hooks, an_event, delivered, failed, settled, tried

DAY_US = 86_400_000_000


MOVES = (
    [Change(url="https://new.example/")],
    [Change(enabled=False), Change(enabled=True)],
)


@pytest.mark.parametrize("changes", MOVES)
@pytest.mark.parametrize("reason", [DisabledReason.GONE, DisabledReason.FAILING, None])
def test_what_was_under_way_before_a_change_says_nothing_of_the_endpoint_after_it(
    hooks: Hooks, changes: list[Change], reason: DisabledReason | None
) -> None:
    endpoint = hooks.add()
    hooks.dispatched(*(an_event() for _ in range(4)))
    first, second, third, late = hooks.claim()
    hooks.outbox.settle("one", [failed(first, NOON_US)])
    for change in changes:
        hooks.endpoints.change(DEMO, endpoint.id, change, NOON_US + 1)
    moved = hooks.endpoints.find(DEMO, endpoint.id)
    assert moved.failing_since_us is None
    late_us = NOON_US + 5 * DAY_US
    assert hooks.outbox.settle("one", [failed(second, late_us, disable=reason)]) == []
    assert hooks.endpoints.find(DEMO, endpoint.id) == moved
    hooks.dispatched(an_event())
    (again,) = hooks.claim()
    hooks.outbox.settle("one", [failed(again, NOON_US + 2)])
    hooks.outbox.settle("one", [delivered(third, NOON_US + 3), failed(late, NOON_US + 4)])
    assert hooks.endpoints.find(DEMO, endpoint.id).failing_since_us == NOON_US + 2


def test_what_the_old_receiver_wants_no_more_is_sent_to_the_new_one(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    (due,) = hooks.claim()
    hooks.endpoints.change(DEMO, endpoint.id, Change(url="https://new.example/"), NOON_US + 1)
    gone = verdict(Tried(1, 410, None, None), NOON_US + 2, 0.5)
    hooks.outbox.settle("one", [settled(due, tried(due, NOON_US, status=410), gone)])
    (again,) = hooks.claim(NOON_US + 60_000_000)
    assert (again.event.id, again.endpoint.url) == (due.event.id, "https://new.example/")
