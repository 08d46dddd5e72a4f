"""What every store of events does: see `alama.webhooks.event_store.EventStore`."""

from __future__ import annotations

import json

import pytest

from alama.lenders.records import Signed
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.platform.events import EventKind
from alama.webhooks.events import Events
from alama.webhooks.records import Change, UnknownEvent
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.stores import registry_in
from tests.webhooked import Hooks, an_event, delivered, failed

MINUTE_US = 60_000_000


# ------------------------------------------------------------------------------- reading


def test_an_event_is_kept_byte_for_byte(hooks: Hooks) -> None:
    happened = hooks.happen()
    assert hooks.events.find(DEMO, happened.id) == happened
    for book in (LIVE, UMOJA):
        with pytest.raises(UnknownEvent):
            hooks.events.find(book, happened.id)
        assert hooks.events.page(book, None, None, 10) == []


def test_pages_go_from_the_newest_to_the_oldest(hooks: Hooks) -> None:
    happened = [hooks.happen(at_us=NOON_US + number) for number in range(5)]
    hooks.happen(LIVE)
    first = hooks.events.page(DEMO, None, None, 2)
    assert first == [happened[4], happened[3]]
    assert hooks.events.page(DEMO, None, first[-1].id, 10) == happened[2::-1]


def test_a_page_can_be_of_one_kind(hooks: Hooks) -> None:
    hooks.happen()
    of_policies = hooks.happen(kind=EventKind.POLICY_ACTIVATED)
    assert hooks.events.page(DEMO, EventKind.POLICY_ACTIVATED, None, 9) == [of_policies]
    assert hooks.events.page(DEMO, EventKind.POLICY_ACTIVATED, of_policies.id, 9) == []


# ------------------------------------------------------------------------------- deployments


def test_what_is_deployed_is_announced_in_its_book(hooks: Hooks, database: Database) -> None:
    registry = registry_in(database)
    registry.keep_model("sha256:m", b"model", NOON_US)
    registry.keep_policy("sha256:p", b"policy", NOON_US)
    registry.deploy(LIVE, "sha256:m", None, NOON_US)
    registry.deploy_policy(LIVE, "sha256:p", Signed(NOON_US + 1, "W. Mutua", "a secret note"))
    registry.deploy_policy(LIVE, None, Signed(NOON_US + 2))
    default, policy, model = hooks.events.page(LIVE, None, None, 10)
    assert json.loads(model.payload) == {
        "type": "model.activated",
        "timestamp": "2026-11-15T12:00:00.000000Z",
        "data": {
            "mode": "live",
            "model": "sha256:m",
            "policy": None,
            "activated_at": "2026-11-15T12:00:00.000000Z",
        },
    }
    assert json.loads(policy.payload)["type"] == "policy.activated"
    assert json.loads(policy.payload)["data"]["policy"] == "sha256:p"
    assert b"Mutua" not in policy.payload
    subjects = [event.subject_id for event in (model, policy, default)]
    assert subjects == ["sha256:m", "sha256:p", "builtin"]
    assert hooks.events.page(DEMO, None, None, 10) == []


def test_what_could_not_be_deployed_is_not_announced(hooks: Hooks, database: Database) -> None:
    with pytest.raises(StoreUnfit):
        registry_in(database).deploy(LIVE, "sha256:other", None, NOON_US)
    assert hooks.events.page(LIVE, None, None, 10) == []


# ------------------------------------------------------------------------------- sent again


def test_an_event_is_sent_to_whom_it_is_said(hooks: Hooks) -> None:
    one, other, third = hooks.add(), hooks.add(), hooks.add()
    hooks.endpoints.change(DEMO, third.id, Change(enabled=False), NOON_US)
    live, umoja = hooks.add(LIVE), hooks.add(UMOJA)
    happened = an_event()
    hooks.events.add_for_nobody(happened)
    chosen = [one.id, third.id, live.id, umoja.id, "we_none"]
    assert hooks.events.send_to(DEMO, happened.id, chosen, NOON_US + 7) == 1
    (due,) = hooks.claim(NOON_US + 7)
    assert (due.endpoint, due.event, due.attempts) == (one, happened, 0)
    with pytest.raises(UnknownEvent):
        hooks.events.send_to(LIVE, happened.id, [live.id], NOON_US)
    assert hooks.events.send_to(DEMO, happened.id, [other.id, one.id], NOON_US) == 2


def test_a_test_is_sent_again_to_the_endpoint_that_it_was_made_for_alone(hooks: Hooks) -> None:
    one, _ = hooks.add(), hooks.add()
    made = an_event(kind=EventKind.TEST)._replace(subject_id=one.id)
    hooks.events.add_for_nobody(made)
    assert Events(hooks.events, hooks.endpoints, lambda: NOON_US).resend(DEMO, made.id) == 1
    assert [due.endpoint.id for due in hooks.claim()] == [one.id]


def test_what_was_delivered_is_sent_again_from_the_beginning(hooks: Hooks) -> None:
    endpoint = hooks.add()
    happened = an_event()
    hooks.dispatched(happened)
    for outcome in (failed, delivered):
        (due,) = hooks.claim()
        assert due.attempts == 0
        hooks.outbox.settle("one", [outcome(due, NOON_US)])
        assert hooks.claim(NOON_US + 10**9) == []
        assert hooks.events.send_to(DEMO, happened.id, [endpoint.id], NOON_US) == 1
    assert len(hooks.claim()) == 1


def test_what_waits_for_its_next_attempt_is_sent_at_once(hooks: Hooks) -> None:
    endpoint = hooks.add()
    happened = an_event()
    hooks.dispatched(happened)
    (due,) = hooks.claim()
    hooks.outbox.settle("one", [failed(due, NOON_US, next_us=NOON_US + MINUTE_US)])
    assert hooks.claim() == []
    hooks.events.send_to(DEMO, happened.id, [endpoint.id], NOON_US)
    assert [due.attempts for due in hooks.claim()] == [0]


def test_what_is_being_sent_at_this_moment_is_not_sent_twice_at_once(hooks: Hooks) -> None:
    endpoint = hooks.add()
    happened = an_event()
    hooks.dispatched(happened)
    (due,) = hooks.claim()
    assert hooks.events.send_to(DEMO, happened.id, [endpoint.id], NOON_US + 1) == 1
    assert hooks.claim(NOON_US + 1, "other") == []
    hooks.outbox.settle("one", [delivered(due, NOON_US + 2)])
    assert hooks.claim(NOON_US + 10**9) == []


def test_an_event_that_is_sent_before_its_deliveries_are_made_is_sent_once(hooks: Hooks) -> None:
    endpoint = hooks.add()
    happened = hooks.happen()
    hooks.events.send_to(DEMO, happened.id, [endpoint.id], NOON_US)
    hooks.dispatched()
    assert len(hooks.claim()) == 1
