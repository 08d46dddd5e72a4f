"""However many deliveries there are, none of what a worker does all day reads through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from alama.lenders import keys
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.database.database import Database
from alama.platform.database.tables import COMMON_KINDS
from alama.platform.events import EventKind
from alama.webhooks.outbox import RECALL_EVERY_US
from alama.webhooks.records import Change
from tests.databases import sqlite_url
from tests.entries import DEMO, NOON_US
from tests.stores import registry_in
from tests.webhooked import LATER_US, Hooks, an_event, delivered, failed

LARGE = ("deliveries", "events", "webhook_attempts")
BY_KEY = "sqlite_autoindex_events_1"
WAITING = "sqlite_autoindex_bundles_1"
RARE = "ix_events_lender_mode_id_kind"
RARE_KINDS = (EventKind.MODEL_ACTIVATED, EventKind.POLICY_ACTIVATED)
ALL_OF_ONE = ("(endpoint_id=?)", "(lender=? AND mode=?)")


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    keys.add_lender(registry_in(database), lambda: NOON_US, "demo", "demo", "KES")
    yield Hooks(database)
    database.close()


def plans(database: Database, work: Callable[[], object]) -> list[str]:
    """What SQLite says of each step of each statement of some work."""
    said: list[tuple[str, Any]] = []

    def listen(*heard: Any) -> None:
        said.append((heard[2], heard[3][0] if heard[5] else heard[3]))

    event.listen(database.engine, "before_cursor_execute", listen)
    work()
    event.remove(database.engine, "before_cursor_execute", listen)
    steps = []
    with database.reading() as connection:
        for statement, parameters in said:
            if statement.startswith(("SELECT", "UPDATE", "DELETE")):
                explained = f"EXPLAIN QUERY PLAN {statement}"
                steps += [row[3] for row in connection.exec_driver_sql(explained, parameters)]
    return steps


def scans(steps: list[str]) -> list[str]:
    """The steps that go through all of something large, or all of an endpoint or of a book."""
    large = [step for step in steps if step.split()[1] in LARGE]
    return [step for step in large if step.startswith("SCAN") or step.endswith(ALL_OF_ONE)]


def test_no_statement_of_a_worker_scans_what_is_large(hooks: Hooks) -> None:
    endpoint, off = hooks.add(), hooks.add()
    for enabled in (False, True):  # of a second generation
        hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=enabled), NOON_US)
    for _ in range(3):
        hooks.happen()

    def work() -> None:
        hooks.outbox.dispatch(LATER_US, 10)
        hooks.endpoints.change(DEMO, off.id, Change(enabled=False), NOON_US)
        assert hooks.outbox.due(NOON_US) == [endpoint.id]
        first, second, _ = hooks.claim()
        hooks.outbox.settle(
            "one", [delivered(first, NOON_US), failed(second, NOON_US, next_us=NOON_US)]
        )
        hooks.events.send_since(DEMO, endpoint.id, 0, NOON_US)
        assert hooks.outbox.carry_on(NOON_US, 10) > 0
        hooks.claim(LATER_US)
        assert hooks.outbox.carry_on(NOON_US + RECALL_EVERY_US, 10) > 0
        hooks.outbox.give_back("one", NOON_US)
        hooks.outbox.forget(NOON_US + 1, 10)

    steps = plans(hooks.database, work)
    assert len(steps) > 20
    assert scans(steps) == []


def test_what_waited_before_it_was_enabled_again_is_found_beside_much_that_waits_since(
    hooks: Hooks,
) -> None:
    endpoint = hooks.add()
    hooks.dispatched(an_event())
    for enabled in (False, True):
        hooks.endpoints.change(DEMO, endpoint.id, Change(enabled=enabled), NOON_US)
    hooks.dispatched(an_event())
    steps = plans(hooks.database, lambda: hooks.outbox.carry_on(NOON_US, 10))
    assert sum(step.endswith("(endpoint_id=? AND generation<?)") for step in steps) == 2
    assert scans(steps) == []


def test_books_are_found_without_reading_all_that_is_in_them(hooks: Hooks) -> None:
    hooks.add()
    hooks.happen()
    for table, index, work in (
        ("bundles", WAITING, lambda: hooks.outbox.dispatch(LATER_US, 10)),
        ("events", BY_KEY, lambda: hooks.outbox.forget(NOON_US, 10)),
    ):
        steps = plans(hooks.database, work)
        for past_the_book in ("(lender=? AND mode>?)", "(lender>?)"):
            assert f"SEARCH {table} USING COVERING INDEX {index} {past_the_book}" in steps
        assert not [step for step in steps if "(lender,mode)" in step]  # which reads through it


def test_what_waits_is_shown_without_reading_what_is_over(hooks: Hooks) -> None:
    hooks.add()
    hooks.dispatched(an_event())
    hooks.happen()
    steps = plans(hooks.database, lambda: hooks.waiting(DEMO, LATER_US))
    assert scans(steps) == []
    assert any("ix_deliveries_endpoint_id_generation_next_us" in step for step in steps)


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        (None, f"COVERING INDEX {BY_KEY}"),
        (EventKind.SCORE_CREATED, f"INDEX {BY_KEY}"),
        (EventKind.OUTCOME_RECORDED, f"INDEX {BY_KEY}"),
        (EventKind.SCORE_REVIEWED, f"COVERING INDEX {RARE}"),
        (EventKind.MODEL_ACTIVATED, f"COVERING INDEX {RARE}"),
    ],
)
def test_a_page_of_events_is_read_from_an_index(
    hooks: Hooks, kind: EventKind | None, index: str
) -> None:
    hooks.events.add(an_event())
    steps = plans(hooks.database, lambda: hooks.events.page(DEMO, kind, "evt_f", 10))
    assert f"SEARCH events USING {index} (lender=? AND mode=? AND id<?)" in steps
    assert f"SEARCH events USING INDEX {BY_KEY} (lender=? AND mode=? AND id=?)" in steps


def test_kinds_of_which_there_are_as_many_as_scores_are_kinds() -> None:
    assert (EventKind.SCORE_CREATED.value, EventKind.OUTCOME_RECORDED.value) == COMMON_KINDS


@pytest.mark.parametrize("kinds", [RARE_KINDS[:1], RARE_KINDS])
def test_events_that_are_rare_are_sent_again_without_reading_the_scores_between(
    hooks: Hooks, kinds: tuple[EventKind, ...]
) -> None:
    endpoint = hooks.add(kinds=kinds)
    hooks.dispatched(an_event(kind=kinds[0]))

    def work() -> None:
        assert hooks.events.send_since(DEMO, endpoint.id, 0, NOON_US) == 1
        assert hooks.outbox.carry_on(NOON_US, 10) == 1

    steps = [step for step in plans(hooks.database, work) if step.startswith("SEARCH events")]
    assert len(steps) == 2
    assert all(RARE in step for step in steps)


def test_an_event_is_looked_for_among_the_few_bundles_around_it(hooks: Hooks) -> None:
    endpoint = hooks.add()
    waiting = hooks.happen()

    def work() -> None:
        hooks.events.find(DEMO, waiting.id)
        hooks.events.page(DEMO, EventKind.SCORE_CREATED, waiting.id, 10)
        hooks.events.send_since(DEMO, endpoint.id, NOON_US, NOON_US)
        hooks.events.send_to(DEMO, waiting.id, [endpoint.id], NOON_US)

    steps = [step for step in plans(hooks.database, work) if step.startswith("SEARCH bundles")]
    assert len(steps) > 5
    bounds = ("(lender=? AND mode=? AND id>? AND id<?)", "(lender=? AND mode=? AND id<?)")
    by_key = ("(lender=? AND mode=? AND id=?)",)
    assert all(step.endswith(bounds + by_key) for step in steps)
