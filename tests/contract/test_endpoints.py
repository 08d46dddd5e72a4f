"""What every store of endpoints does: see `alama.webhooks.endpoint_store.EndpointStore`."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from sqlalchemy import text

from alama.core.chain import MAIN
from alama.lenders.records import UnknownLender
from alama.platform import acts
from alama.platform.acts import Act, ActKind
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database.database import Database
from alama.platform.events import EventKind
from alama.protection.audit.records import Trouble
from alama.protection.audit.store import Trail
from alama.webhooks import secrets
from alama.webhooks.endpoint_store import whereabouts
from alama.webhooks.records import (
    ENDPOINTS_MAX,
    Change,
    DisabledReason,
    TooManyEndpoints,
    UnknownEndpoint,
)
from tests.audited import verdict_on
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.webhooked import SECRET, Hooks, an_endpoint, an_event, failed

OTHERS = (LIVE, UMOJA, Book("nobody", Mode.TEST))
NEWER_KIND = "score.reviewed"


def acts_of(database: Database) -> list[Act]:
    found = [acts.decode(link.body) for link in Trail(database).links(MAIN, 0, 200)]
    return [act for act in found if act.kind is not ActKind.LENDER_ADDED]


# ------------------------------------------------------------------------------- books


def test_what_is_added_is_found_as_it_was(hooks: Hooks) -> None:
    kinds = (EventKind.SCORE_CREATED, EventKind.POLICY_ACTIVATED)
    first = hooks.add(description="caf\u00e9", kinds=kinds)
    second = hooks.add()
    assert hooks.endpoints.find(DEMO, first.id) == first
    assert hooks.endpoints.of(DEMO) == [first, second]
    assert secrets.of_endpoint(hooks.vault, first, NOON_US) == [SECRET]


def test_no_book_sees_or_changes_the_endpoints_of_another(hooks: Hooks) -> None:
    endpoint = hooks.add()
    store = hooks.endpoints
    for book in OTHERS:
        assert store.of(book) == []
        for deed in (
            lambda book=book: store.find(book, endpoint.id),
            lambda book=book: store.change(book, endpoint.id, Change(url="x"), NOON_US),
            lambda book=book: store.remove(book, endpoint.id),
            lambda book=book: store.replace_secrets(
                book, endpoint.id, hooks.wrapped(endpoint), NOON_US
            ),
            lambda book=book: store.attempts(book, endpoint.id, None, 10),
        ):
            with pytest.raises(UnknownEndpoint):
                deed()
    assert store.of(DEMO) == [endpoint]


def test_an_endpoint_of_no_lender_is_refused(hooks: Hooks) -> None:
    endpoint = an_endpoint(hooks.vault)
    with pytest.raises(UnknownLender):
        hooks.endpoints.add(msgspec.structs.replace(endpoint, book=Book("nobody", Mode.TEST)))


def test_a_book_has_twenty_endpoints_and_another_book_has_its_own(hooks: Hooks) -> None:
    for _ in range(ENDPOINTS_MAX):
        hooks.add()
    with pytest.raises(TooManyEndpoints):
        hooks.add()
    hooks.add(LIVE)
    hooks.endpoints.remove(DEMO, hooks.endpoints.of(DEMO)[3].id)
    hooks.add()
    assert len(hooks.endpoints.of(DEMO)) == ENDPOINTS_MAX


def test_of_those_who_add_the_last_one_at_once_one_does(hooks: Hooks, address: str) -> None:
    for _ in range(ENDPOINTS_MAX - 1):
        hooks.add()
    together = threading.Barrier(3)

    def add() -> bool:
        other = databases.connect(address)
        try:
            there = Hooks(other)
            endpoint = an_endpoint(there.vault)
            together.wait(60)
            there.endpoints.add(endpoint)
        except TooManyEndpoints:
            return False
        finally:
            other.close()
        return True

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(lambda _: add(), range(3))) == [False, False, True]


# ------------------------------------------------------------------------------- changes


def test_a_change_touches_what_it_names_and_nothing_else(hooks: Hooks) -> None:
    endpoint = hooks.add(description="before")
    kinds = (EventKind.MODEL_ACTIVATED,)
    change = Change(url="https://other.example/", kinds=kinds)
    changed = hooks.endpoints.change(DEMO, endpoint.id, change, NOON_US + 1)
    assert changed == msgspec.structs.replace(endpoint, url="https://other.example/", kinds=kinds)
    assert hooks.endpoints.find(DEMO, endpoint.id) == changed
    every = hooks.endpoints.change(DEMO, endpoint.id, Change(kinds=(), description=""), NOON_US)
    assert (every.kinds, every.description) == ((), "")


def test_a_disabled_endpoint_says_since_when_and_nothing_is_sent_to_it(hooks: Hooks) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    disabled = hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US + 1)
    assert disabled.disabled_us == NOON_US + 1
    assert disabled.disabled_reason == DisabledReason.REQUESTED
    again = hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US + 9)
    assert again == disabled
    hooks.dispatched(an_event())
    assert hooks.outbox.endpoints().known == []
    assert hooks.outbox.claim("one", {endpoint.id: 9}, NOON_US, NOON_US + 60) == []
    assert hooks.outbox.backlog() == (0, 0)


def test_what_waited_when_it_was_disabled_does_not_come_when_it_is_enabled_again(
    hooks: Hooks,
) -> None:
    endpoint = hooks.add()
    hooks.dispatched(*(an_event() for _ in range(5)))
    (due,) = hooks.claim(places=1)
    hooks.outbox.settle("one", [failed(due, NOON_US, next_us=NOON_US + 5)])
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US + 1)
    enabled = hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=True), NOON_US + 2)
    assert enabled == msgspec.structs.replace(endpoint, generation=1)  # and not failing any more
    assert hooks.claim(NOON_US + 10**9) == []
    later = an_event()
    hooks.dispatched(later)
    assert [due.event.id for due in hooks.claim()] == [later.id]


# ------------------------------------------------------------------------------- newer kinds


def test_a_kind_of_a_newer_release_is_kept_and_stands_for_nothing_else(hooks: Hooks) -> None:
    newer = hooks.add(kinds=(NEWER_KIND,))
    some = hooks.add(kinds=(EventKind.SCORE_CREATED, NEWER_KIND))
    assert hooks.outbox.endpoints().known == [newer, some]
    hooks.dispatched(an_event(), an_event(kind=EventKind.MODEL_ACTIVATED))
    assert [due.endpoint.id for due in hooks.claim()] == [some.id]
    assert hooks.events.send_since(DEMO, newer.id, 0, NOON_US) == 0


def test_an_event_of_a_newer_release_goes_to_whoever_wants_it(hooks: Hooks) -> None:
    newer, every = hooks.add(kinds=(NEWER_KIND,)), hooks.add()
    hooks.add(kinds=(EventKind.SCORE_CREATED,))
    hooks.dispatched(an_event()._replace(kind=NEWER_KIND))
    assert [due.endpoint.id for due in hooks.claim()] == [newer.id, every.id]


def test_changing_something_else_keeps_a_kind_of_a_newer_release(hooks: Hooks) -> None:
    endpoint = hooks.add(kinds=(NEWER_KIND,))
    for change in (Change(description="x"), Change(enabled=False), Change(enabled=True)):
        changed = hooks.endpoints.change(DEMO, endpoint.id, change, NOON_US)
        assert changed.kinds == (NEWER_KIND,)
    wanted = Change(kinds=(EventKind.TEST,))
    assert hooks.endpoints.change(DEMO, endpoint.id, wanted, NOON_US).kinds == (EventKind.TEST,)


# ------------------------------------------------------------------------------- acts


def test_an_act_names_who_said_so(hooks: Hooks, database: Database) -> None:
    endpoint = an_endpoint(hooks.vault)
    hooks.endpoints.add(endpoint, "key_a")
    hooks.endpoints.change(DEMO, endpoint.id, Change(description="x"), NOON_US, "key_b")
    new = hooks.wrapped(endpoint)
    hooks.endpoints.replace_secrets(DEMO, endpoint.id, new, NOON_US, "key_c")
    hooks.endpoints.remove(DEMO, endpoint.id, "key_d")
    assert [act.by for act in acts_of(database)] == ["key_a", "key_b", "key_c", "key_d"]


def test_every_change_leaves_one_act_without_secrets_or_address(
    hooks: Hooks, database: Database
) -> None:
    endpoint = hooks.add(kinds=(EventKind.SCORE_CREATED,))
    hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=False), NOON_US + 1)
    until = hooks.wrapped(endpoint)._replace(previous_until_us=NOON_US + 2)
    hooks.endpoints.replace_secrets(DEMO, endpoint.id, until, NOON_US)
    hooks.endpoints.remove(DEMO, endpoint.id)
    place = whereabouts(endpoint.url)
    terms = place | {"kinds": "score.created"}
    assert place["host"] == "hooks.example"
    assert "hush" not in str(place)
    assert [(act.kind, act.details) for act in acts_of(database)] == [
        (ActKind.ENDPOINT_ADDED, terms | {"disabled_us": None}),
        (ActKind.ENDPOINT_CHANGED, terms | {"disabled_us": NOON_US + 1}),
        (ActKind.ENDPOINT_SECRET_ROTATED, {"previous_until_us": NOON_US + 2}),
        (ActKind.ENDPOINT_REMOVED, place),
    ]
    assert {(act.lender, act.mode, act.subject, act.by) for act in acts_of(database)} == {
        ("demo", "test", endpoint.id, "a test")
    }
    assert verdict_on(database).findings == []


def test_what_changes_nothing_leaves_no_act(hooks: Hooks, database: Database) -> None:
    endpoint = hooks.add(description="same")
    before = acts_of(database)
    same = Change(endpoint.url, (), "same", enabled=True)
    assert hooks.endpoints.change(DEMO, endpoint.id, same, NOON_US + 1) == endpoint
    assert hooks.endpoints.change(DEMO, endpoint.id, Change(), NOON_US + 1) == endpoint
    assert acts_of(database) == before


FORGERIES = {
    "another path": "UPDATE webhook_endpoints SET url = 'https://hooks.example/elsewhere'",
    "another host": "UPDATE webhook_endpoints SET url = 'https://evil.example/'",
    "no address": "UPDATE webhook_endpoints SET url = 'https://['",
    "more kinds": "UPDATE webhook_endpoints SET kinds = 'score.created model.activated'",
    "of another book": "UPDATE webhook_endpoints SET mode = 'live' WHERE mode = 'test'",
    "enabled again": "UPDATE webhook_endpoints SET disabled_us = NULL",
    "taken away": "DELETE FROM webhook_endpoints",
}


@pytest.mark.parametrize("what", FORGERIES)
def test_an_endpoint_that_was_changed_past_the_acts_is_found(
    hooks: Hooks, database: Database, what: str
) -> None:
    hooks.endpoints.remove(DEMO, hooks.add().id)
    hooks.add(kinds=(EventKind.SCORE_CREATED,))
    hooks.dispatched(an_event())
    (due,) = hooks.claim()
    hooks.outbox.settle("one", [failed(due, NOON_US, disable=DisabledReason.GONE)])
    assert verdict_on(database).findings == []
    with database.writing() as connection:
        connection.execute(text(FORGERIES[what]))
    found = verdict_on(database).findings
    assert {finding.trouble for finding in found} == {Trouble.STANDING}
    assert "elsewhere" not in repr(found)
