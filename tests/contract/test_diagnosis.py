"""What a database says of itself, SQLite and PostgreSQL."""

from __future__ import annotations

from sqlalchemy import insert, select

from alama.operations import diagnosis
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.webhooks import schema
from tests.entries import DEMO, NOON_US
from tests.webhooked import Hooks, an_endpoint, an_event


def test_round_trips_are_counted_and_take_time(database: Database) -> None:
    took = diagnosis.round_trips_us(database, 5)
    assert len(took) == 5
    assert took == sorted(took)
    assert took[0] >= 0


def test_what_is_tried_to_be_written_is_taken_back(database: Database) -> None:
    diagnosis.try_to_write(database)
    diagnosis.try_to_write(database)
    with database.reading() as connection:
        assert connection.execute(select(tables.facts)).all() == []


def test_few_scores_tell_nothing_of_their_size(database: Database) -> None:
    assert diagnosis.scores_about(database) is None


def test_events_that_nobody_has_looked_at_are_seen(hooks: Hooks, database: Database) -> None:
    assert diagnosis.oldest_event_us(database) is None
    hooks.events.add(an_event(DEMO))
    assert diagnosis.oldest_event_us(database) == NOON_US


def test_endpoints_are_listed_with_those_that_are_disabled(
    hooks: Hooks, database: Database
) -> None:
    endpoint = an_endpoint(hooks.vault)
    hooks.endpoints.add(endpoint)
    assert [one.id for one in diagnosis.endpoints(database).known] == [endpoint.id]
    with database.writing() as connection:
        table = tables.webhook_endpoints
        connection.execute(table.update().values(disabled_us=NOON_US, disabled_reason="gone"))
    (one,) = diagnosis.endpoints(database).known
    assert one.disabled_us == NOON_US


def test_the_last_attempt_is_seen(database: Database) -> None:
    assert diagnosis.last_attempt_us(database) is None
    row = {
        "lender": "demo",
        "mode": "test",
        "endpoint_id": "we_1",
        "event_id": "evt_1",
        "number": 1,
        "took_ms": 1,
        "answer": "",
    }
    with database.writing() as connection:
        for at_us in (NOON_US, NOON_US + 5):
            more = {"id": f"wa_{at_us}", "started_us": at_us, "status": 200}
            connection.execute(insert(schema.webhook_attempts), row | more)
    assert diagnosis.last_attempt_us(database) == NOON_US + 5
