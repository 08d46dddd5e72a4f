"""The event of a score stands if and only if the score does, in every database."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnavailable
from alama.platform.event_bundles import COLUMNS, Bundle, unfolded
from alama.platform.events import Event, EventKind, ScoreGiven, score_created
from alama.scoring.records import Entry
from alama.webhooks.endpoint_store import EndpointStore
from alama.webhooks.endpoints import Endpoints, NewEndpoint
from alama.webhooks.event_store import EventStore
from alama.webhooks.records import Change
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import acts_in, lenders_in, registry_in, scores_in
from tests.vaults import vault_of

LIVE = Book(DEMO.lender, Mode.LIVE)


@pytest.fixture(autouse=True)
def lender(database: Database) -> None:
    lenders_in(database, DEMO.lender)


def announced(entry: Entry) -> Entry:
    """The same entry, of which somebody wants to hear."""
    row = entry.score
    given = ScoreGiven(row.mode, row.request_id, row.score, row.tier, row.decision, "m", "p")
    return entry._replace(event=score_created(row.lender, given, row.created_us))


def events_in(database: Database) -> list[Event]:
    with database.reading() as connection:
        rows = connection.execute(select(*COLUMNS).order_by(tables.bundles.c.id)).all()
    return [event for row in rows for event in unfolded(Bundle._make(row))]


def test_events_are_kept_as_they_were_made_with_their_scores(database: Database) -> None:
    entries = [announced(an_entry()) for _ in range(70)]
    scores_in(database).commit([*entries, an_entry()])
    assert events_in(database) == [entry.event for entry in entries]


def test_a_retry_leaves_no_second_event(database: Database) -> None:
    scores = scores_in(database)
    first = announced(an_entry(idempotency_key="order-1"))
    scores.commit([first])
    retry, new = announced(an_entry(idempotency_key="order-1")), announced(an_entry())
    earlier, none = scores.commit([retry, new])
    assert earlier is not None
    assert none is None
    assert events_in(database) == [first.event, new.event]


def test_what_could_not_be_kept_is_not_announced(database: Database) -> None:
    scores = scores_in(database)
    first = announced(an_entry())
    scores.commit([first])
    with pytest.raises(StoreUnavailable):
        scores.commit([announced(an_entry()), first])
    assert events_in(database) == [first.event]


def test_a_book_wants_what_one_of_its_endpoints_wants_be_it_disabled(database: Database) -> None:
    registry, vault = registry_in(database), vault_of(database)
    stored = EndpointStore(database, acts_in(database), vault)
    endpoints = Endpoints(stored, EventStore(database), vault, lambda: NOON_US, lambda _: None)
    kind = EventKind.SCORE_CREATED
    assert not registry.wants(DEMO, kind)
    endpoints.add(DEMO, NewEndpoint("https://example.com", (EventKind.POLICY_ACTIVATED,)))
    assert not registry.wants(DEMO, kind)
    _, all_kinds = endpoints.add(DEMO, NewEndpoint("https://example.com"))
    assert registry.wants(DEMO, kind)
    assert not registry.wants(LIVE, kind)
    endpoints.change(DEMO, all_kinds.id, Change(enabled=False, kinds=(kind,)))
    assert registry.wants(DEMO, kind)
    endpoints.remove(DEMO, all_kinds.id)
    assert not registry.wants(DEMO, kind)
