"""What a clock that ran ahead has put off comes back: see `Outbox.carry_on`."""

from __future__ import annotations

from alama.webhooks.outbox import RECALL_EVERY_US
from alama.webhooks.records import LEASE_US, Change
from alama.webhooks.schedule import JITTER, WAITS_S
from tests.entries import DEMO, NOON_US
from tests.webhooked import Hooks, an_event, delivered, failed

YEAR_US = 365 * 86_400_000_000
AHEAD_US = NOON_US + YEAR_US
LONGEST_US = round(WAITS_S[-1] * 1_000_000 * (1 + JITTER))


def test_what_a_worker_claimed_that_was_ahead_and_died_is_due_again(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(*(an_event() for _ in range(3)))
    assert len(hooks.claim(AHEAD_US, "ahead")) == 3
    assert [hooks.outbox.carry_on(NOON_US, 2) for _ in range(3)] == [2, 1, 0]
    assert hooks.outbox.due(NOON_US) == [endpoint.id]
    due = hooks.claim(NOON_US)
    assert len(due) == 3
    hooks.outbox.settle("ahead", [delivered(due[0], AHEAD_US)])
    assert hooks.outbox.carry_on(NOON_US, 9) == 0
    # All were claimed at once, so none of them is due before the others.
    again = hooks.claim(NOON_US + LEASE_US)
    assert sorted(one.event.id for one in again) == sorted(one.event.id for one in due)


def test_what_a_worker_that_was_ahead_put_off_is_due_again(hooks: Hooks) -> None:
    endpoints = [hooks.add() for _ in range(2)]
    hooks.dispatched(an_event(), an_event())
    tried = hooks.claim(AHEAD_US)
    hooks.outbox.settle("one", [failed(one, AHEAD_US, next_us=AHEAD_US + 5) for one in tried])
    assert hooks.resent(NOON_US) == 4
    assert hooks.outbox.due(NOON_US) == [endpoint.id for endpoint in endpoints]
    assert [due.attempts for due in hooks.claim(NOON_US)] == [1] * 4


def test_what_waits_as_long_as_it_should_is_left_to_wait(hooks: Hooks) -> None:
    hooks.add()
    hooks.dispatched(an_event(), an_event())
    first, _ = hooks.claim(NOON_US + LEASE_US, "a_minute_ahead")
    latest = failed(first, NOON_US, next_us=NOON_US + LONGEST_US)
    hooks.outbox.settle("a_minute_ahead", [latest])
    assert hooks.outbox.carry_on(NOON_US, 9) == 0


def test_what_nobody_is_to_be_sent_is_put_away_though_it_is_far_off(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    hooks.claim(AHEAD_US)
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US)
    hooks.resent(NOON_US)
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=True), NOON_US)
    assert hooks.resent(NOON_US + RECALL_EVERY_US) == 0
    assert hooks.claim(AHEAD_US + YEAR_US) == []


def test_it_is_looked_for_once_a_minute_whichever_way_the_clock_is_set(hooks: Hooks) -> None:
    hooks.add()
    hooks.dispatched(an_event())
    hooks.outbox.carry_on(NOON_US, 9)
    hooks.claim(AHEAD_US)
    assert hooks.outbox.carry_on(NOON_US + RECALL_EVERY_US - 1, 9) == 0
    assert hooks.outbox.carry_on(NOON_US - RECALL_EVERY_US, 9) == 1
