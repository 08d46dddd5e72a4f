"""What every outbox does: see `alama.webhooks.outbox.Outbox`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sqlalchemy import func, select

from alama.core.chain import MAIN
from alama.platform import acts
from alama.platform.acts import Act, ActKind
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.events import Event, EventKind
from alama.protection.audit.store import Trail
from alama.webhooks import outbox, schema
from alama.webhooks.records import LEASE_US, Backlog, Change, DisabledReason, Due, Settled, Verdict
from alama.webhooks.schedule import Tried, verdict
from tests.audited import verdict_on
from tests.entries import DEMO, LIVE, NOON_US
from tests.webhooked import Hooks, an_event, delivered, failed, settled, tried

DAY_US = 86_400_000_000
MODELS = (EventKind.MODEL_ACTIVATED,)
MUCH_LATER_US = NOON_US + 100 * DAY_US


def rows(database: Database, table: str) -> int:
    query = select(func.count()).select_from(tables.METADATA.tables[table])
    with database.reading() as connection:
        return connection.execute(query).scalar_one()


def disabling_acts(database: Database) -> list[Act]:
    found = [acts.decode(link.body) for link in Trail(database).links(MAIN, 0, 200)]
    return [act for act in found if act.kind is ActKind.ENDPOINT_DISABLED]


def announced(hooks: Hooks) -> list[Event]:
    return list(hooks.events.page(DEMO, EventKind.ENDPOINT_DISABLED, None, 10))


# ------------------------------------------------------------------------------- claims


def test_a_claim_gives_the_oldest_first_and_no_more_than_there_are_places(hooks: Hooks) -> None:
    one, other = hooks.add(), hooks.add(LIVE)
    mine = [an_event(at_us=NOON_US + number) for number in range(3)]
    theirs = [an_event(LIVE, at_us=NOON_US + number) for number in range(3)]
    hooks.dispatched(*reversed(mine), *theirs)
    places = {one.id: 2, other.id: 1, "we_unknown": 4}
    due = hooks.outbox.claim("one", places, NOON_US + 9, NOON_US + 60)
    assert [item.event.id for item in due] == [mine[0].id, mine[1].id, theirs[0].id]
    assert due[0].event == mine[0]
    assert hooks.outbox.claim("one", {one.id: 0}, NOON_US + 9, NOON_US + 60) == []


def test_what_is_claimed_is_nobody_elses_until_the_claim_ends(hooks: Hooks) -> None:
    hooks.add()
    hooks.dispatched(an_event())
    (due,) = hooks.claim()
    assert hooks.claim(NOON_US + LEASE_US - 1, "other") == []
    assert hooks.claim(NOON_US + LEASE_US, "other") == [due]


def test_what_is_not_due_yet_is_not_given(hooks: Hooks) -> None:
    hooks.add()
    hooks.dispatched(an_event(at_us=NOON_US + 1))
    assert hooks.claim(NOON_US) == []
    assert len(hooks.claim(NOON_US + 1)) == 1


def test_a_worker_that_stops_gives_back_what_is_its_own(hooks: Hooks) -> None:
    hooks.add()
    hooks.dispatched(an_event(), an_event(), an_event())
    mine, theirs = hooks.claim(places=2), hooks.claim(worker="other")
    hooks.outbox.settle("one", [delivered(mine[0], NOON_US)])
    hooks.outbox.give_back("one", NOON_US + 1)
    hooks.outbox.give_back("one", NOON_US + 1)
    assert hooks.claim(NOON_US + 1) == [mine[1]]
    hooks.outbox.settle("other", [delivered(theirs[0], NOON_US)])
    assert hooks.outbox.backlog() == Backlog(0, 1)


def test_a_claim_follows_the_order_of_the_places(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "CLAIMED_AT_ONCE", 2)
    endpoints = [hooks.add() for _ in range(3)]
    hooks.dispatched(*(an_event() for _ in range(3)))
    places = {endpoint.id: 3 for endpoint in reversed(endpoints)}
    taken = hooks.outbox.claim("one", places, NOON_US, NOON_US + LEASE_US)
    assert [due.endpoint.id for due in taken] == [one for one in places for _ in range(3)]
    assert hooks.claim(worker="other") == []


def test_it_says_which_endpoints_have_something_due(hooks: Hooks) -> None:
    idle, busy, off, later = (hooks.add(kinds=kinds) for kinds in (MODELS, (), (), ()))
    hooks.dispatched(an_event())
    hooks.endpoints.change(DEMO, off.id, Change(enabled=False), NOON_US)
    (due,) = hooks.outbox.claim("one", {later.id: 1}, NOON_US, NOON_US + LEASE_US)
    hooks.outbox.settle("one", [failed(due, NOON_US, next_us=NOON_US + 5)])
    assert hooks.outbox.due(NOON_US - 1) == []
    assert hooks.outbox.due(NOON_US) == [busy.id]
    assert hooks.outbox.due(NOON_US + 5) == [busy.id, later.id]
    hooks.dispatched(an_event(kind=EventKind.MODEL_ACTIVATED))
    assert hooks.outbox.due(NOON_US) == sorted([idle.id, busy.id, later.id])


# ------------------------------------------------------------------------------- settling


def test_what_was_delivered_is_over(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    (due,) = hooks.claim()
    arrived = delivered(due, NOON_US + 1)
    assert hooks.outbox.settle("one", [arrived]) == []
    assert hooks.claim(MUCH_LATER_US) == []
    assert hooks.outbox.backlog() == Backlog(0, 0)
    assert hooks.endpoints.attempts(DEMO, endpoint.id, None, 10) == [arrived.attempt]
    assert hooks.outbox.settle("one", []) == []


def test_what_failed_comes_due_again_and_counts_its_attempts(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    for number in range(3):
        now_us = NOON_US + number * 10
        (due,) = hooks.claim(now_us)
        assert due.attempts == number
        hooks.outbox.settle("one", [failed(due, now_us, next_us=now_us + 10)])
        assert hooks.claim(now_us + 9) == []
    numbers = [one.number for one in hooks.endpoints.attempts(DEMO, endpoint.id, None, 10)]
    assert numbers == [3, 2, 1]


def test_what_was_given_up_is_over(hooks: Hooks) -> None:
    hooks.add()
    hooks.dispatched(an_event())
    (due,) = hooks.claim()
    hooks.outbox.settle("one", [failed(due, NOON_US)])
    assert hooks.claim(MUCH_LATER_US) == []
    assert hooks.outbox.backlog() == Backlog(0, 0)


@pytest.mark.parametrize("outcome", [delivered, failed])
def test_a_worker_that_lost_its_claim_changes_nothing_but_says_what_it_tried(
    hooks: Hooks, outcome: Callable[[Due, int], Settled]
) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    (slow,) = hooks.claim(worker="slow")
    (due,) = hooks.claim(NOON_US + LEASE_US, "quick")
    hooks.outbox.settle("slow", [outcome(slow, NOON_US + 1)])
    (third,) = hooks.claim(NOON_US + 2 * LEASE_US, "third")
    assert third[1:] == due[1:]
    assert len(hooks.endpoints.attempts(DEMO, endpoint.id, None, 10)) == 1


def test_what_is_settled_twice_is_settled_once(hooks: Hooks) -> None:
    """A worker whose connection broke at the commit does not know whether it stands."""
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    (due,) = hooks.claim()
    again = failed(due, NOON_US, next_us=NOON_US + 5)
    hooks.outbox.settle("one", [again])
    (due,) = hooks.claim(NOON_US + 5, "other")
    hooks.outbox.settle("one", [again])
    hooks.outbox.settle("other", [delivered(due, NOON_US + 6)])
    assert len(hooks.endpoints.attempts(DEMO, endpoint.id, None, 10)) == 2
    assert hooks.claim(MUCH_LATER_US) == []


def test_attempts_are_read_in_pages_newest_first(hooks: Hooks) -> None:
    endpoint, other = hooks.add(), hooks.add()
    hooks.dispatched(*(an_event() for _ in range(3)))
    arrived = [delivered(due, NOON_US + number) for number, due in enumerate(hooks.claim(NOON_US))]
    hooks.outbox.settle("one", arrived)
    mine = [one.attempt for one in arrived if one.attempt.endpoint_id == endpoint.id][::-1]
    first = hooks.endpoints.attempts(DEMO, endpoint.id, None, 2)
    assert first == mine[:2]
    assert hooks.endpoints.attempts(DEMO, endpoint.id, first[-1].id, 2) == mine[2:]
    assert len(hooks.endpoints.attempts(DEMO, other.id, None, 10)) == 3


# ------------------------------------------------------------------------------- failing


def test_an_endpoint_is_failing_from_its_first_failure_to_its_next_delivery(hooks: Hooks) -> None:
    endpoint = hooks.add()

    def since_us() -> int | None:
        return hooks.endpoints.find(DEMO, endpoint.id).failing_since_us

    hooks.dispatched(*(an_event() for _ in range(6)))
    due = hooks.claim()
    hooks.outbox.settle("one", [failed(due[0], NOON_US + 1, next_us=MUCH_LATER_US)])
    assert since_us() == NOON_US + 1
    hooks.outbox.settle("one", [failed(due[1], NOON_US + 2, next_us=MUCH_LATER_US)])
    assert since_us() == NOON_US + 1
    hooks.outbox.settle("one", [delivered(due[2], NOON_US + 3)])
    assert since_us() is None
    # What ended last counts, however they are told.
    hooks.outbox.settle("one", [failed(due[3], NOON_US + 5), delivered(due[4], NOON_US + 4)])
    assert since_us() == NOON_US + 5


def test_a_fault_of_ours_is_not_held_against_an_endpoint(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event(), an_event())
    first, second = hooks.claim()
    ours = Verdict(delivered=False, next_us=NOON_US + 9, ours=True)
    hooks.outbox.settle("one", [settled(first, tried(first, NOON_US + 1), ours)])
    assert hooks.endpoints.find(DEMO, endpoint.id) == endpoint
    assert [due.attempts for due in hooks.claim(NOON_US + 9)] == [1]
    theirs = failed(second, NOON_US + 2, next_us=NOON_US + 3)
    hooks.outbox.settle("one", [theirs])
    assert hooks.endpoints.find(DEMO, endpoint.id).failing_since_us == NOON_US + 2


@pytest.mark.parametrize("reason", [DisabledReason.GONE, DisabledReason.FAILING])
def test_an_endpoint_is_disabled_with_its_event_and_its_act(
    hooks: Hooks, database: Database, reason: DisabledReason
) -> None:
    endpoint, other = hooks.add(), hooks.add()
    hooks.dispatched(an_event(), an_event())
    first, second = (due for due in hooks.claim() if due.endpoint.id == endpoint.id)
    hooks.outbox.settle("one", [failed(first, NOON_US, next_us=NOON_US + 1)])
    last = failed(second, NOON_US + 5 * DAY_US, disable=reason)
    (disabled,) = hooks.outbox.settle("one", [last])
    assert disabled == hooks.endpoints.find(DEMO, endpoint.id)
    assert disabled.disabled_us == NOON_US + 5 * DAY_US + 5_000  # when the answer came
    assert disabled.disabled_reason == reason
    (happened,) = announced(hooks)
    told = {"mode": "test", "endpoint_id": endpoint.id, "reason": reason}
    assert json.loads(happened.payload)["data"] == told
    (act,) = disabling_acts(database)
    assert (act.subject, act.details["reason"]) == (endpoint.id, reason)
    assert act.by == "the webhook worker"
    assert verdict_on(database).findings == []
    hooks.dispatched()
    heard = {due.endpoint.id for due in hooks.claim(MUCH_LATER_US) if due.event.id == happened.id}
    assert heard == {other.id}


def test_an_endpoint_is_disabled_once_whoever_finds_it(hooks: Hooks, database: Database) -> None:
    endpoint = hooks.add()
    hooks.dispatched(*(an_event() for _ in range(4)))
    due = hooks.claim()
    both = [failed(one, NOON_US, disable=DisabledReason.GONE) for one in due[:2]]
    assert len(hooks.outbox.settle("one", both)) == 1
    assert hooks.outbox.settle("one", [failed(due[2], NOON_US, disable=DisabledReason.GONE)]) == []
    hooks.endpoints.remove(DEMO, endpoint.id)
    assert hooks.outbox.settle("one", [failed(due[3], NOON_US, disable=DisabledReason.GONE)]) == []
    assert len(announced(hooks)) == len(disabling_acts(database)) == 1


def test_an_endpoint_where_something_arrived_meanwhile_is_not_disabled_as_failing(
    hooks: Hooks, database: Database
) -> None:
    endpoint = hooks.add()
    hooks.dispatched(*(an_event() for _ in range(4)))
    due = hooks.claim()
    hooks.outbox.settle("one", [failed(due[0], NOON_US)])
    hooks.outbox.settle("other", [delivered(due[1], NOON_US + 1)])
    late = failed(due[2], NOON_US + 2, next_us=NOON_US + 9, disable=DisabledReason.FAILING)
    assert hooks.outbox.settle("one", [late]) == []
    assert hooks.endpoints.find(DEMO, endpoint.id).failing_since_us == NOON_US + 2
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US + 3)
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=True), NOON_US + 4)
    stale = failed(due[3], NOON_US + 2, disable=DisabledReason.FAILING)
    assert hooks.outbox.settle("one", [stale]) == []
    assert (disabling_acts(database), announced(hooks)) == ([], [])


def test_a_delivery_is_not_lost_though_a_worker_took_its_endpoint_for_failing(
    hooks: Hooks,
) -> None:
    hooks.add()
    hooks.dispatched(an_event(), an_event())
    first, second = hooks.claim()
    hooks.outbox.settle("one", [failed(first, NOON_US)])
    back_us = NOON_US + 5 * DAY_US
    hooks.outbox.settle("one", [delivered(first, back_us)])
    judged = verdict(Tried(1, 503, None, NOON_US), back_us + 1, 0.5)
    assert judged.disable is DisabledReason.FAILING
    late = failed(second, back_us + 1, next_us=judged.next_us, disable=judged.disable)
    assert hooks.outbox.settle("one", [late]) == []
    assert [due.event.id for due in hooks.claim(back_us + DAY_US)] == [second.event.id]


def test_what_arrives_while_its_endpoint_is_disabled_and_enabled_is_delivered(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event(), an_event())
    arrives, fails = hooks.claim()
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US + 1)
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=True), NOON_US + 2)
    outcomes = [delivered(arrives, NOON_US), failed(fails, NOON_US, next_us=NOON_US + 5)]
    hooks.outbox.settle("one", outcomes)
    assert hooks.claim(MUCH_LATER_US) == []
    assert hooks.resent(NOON_US + 9) == 1
    table = schema.deliveries
    query = select(table.c.delivered_us, table.c.failed_us).order_by(table.c.event_id)
    with hooks.database.reading() as connection:
        found = [tuple(row) for row in connection.execute(query)]
    assert found == [(NOON_US + 5_000, None), (None, NOON_US + 9)]


# ------------------------------------------------------------------------------- removal


def test_an_endpoint_can_be_removed_while_something_is_on_its_way(
    hooks: Hooks, database: Database
) -> None:
    endpoint, other = hooks.add(), hooks.add()
    hooks.dispatched(an_event(), an_event())
    due = hooks.claim(places=1)
    hooks.endpoints.remove(DEMO, endpoint.id)
    assert hooks.outbox.settle("one", [delivered(one, NOON_US) for one in due]) == []
    assert rows(database, "webhook_attempts") == 1
    left = hooks.outbox.claim("one", {endpoint.id: 9, other.id: 9}, MUCH_LATER_US, MUCH_LATER_US)
    assert [one.endpoint.id for one in left] == [other.id]
    hooks.outbox.give_back("one", NOON_US)
    assert hooks.outbox.backlog() == Backlog(0, 1)


# ------------------------------------------------------------------------------- answers


def test_of_an_answer_to_what_was_delivered_the_beginning_is_kept(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event(), an_event())
    arrived, lost = hooks.claim()
    outcomes = [delivered(arrived, NOON_US), failed(lost, NOON_US + 1)]
    said = [one._replace(attempt=one.attempt._replace(answer="x" * 4_096)) for one in outcomes]
    hooks.outbox.settle("one", said)
    kept = [len(one.answer) for one in hooks.endpoints.attempts(DEMO, endpoint.id, None, 2)]
    assert kept == [4_096, 256]


def test_an_attempt_says_what_was_answered(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    (due,) = hooks.claim()
    attempt = tried(due, NOON_US)._replace(status=None, error="timeout", answer="caf\u00e9")
    hooks.outbox.settle("one", [settled(due, attempt, Verdict(delivered=False))])
    assert hooks.endpoints.attempts(DEMO, endpoint.id, None, 1) == [attempt]
