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
from tests.entries import DEMO, NOON_US, UMOJA, an_entry
from tests.stores import acts_in, lenders_in, scores_in
from tests.vaults import vault_of

LIVE = Book(DEMO.lender, Mode.LIVE)


@pytest.fixture(autouse=True)
def lender(database: Database) -> None:
    lenders_in(database, DEMO.lender, UMOJA.lender)


@pytest.fixture
def endpoints(database: Database) -> Endpoints:
    vault = vault_of(database)
    stored = EndpointStore(database, acts_in(database), vault)
    return Endpoints(stored, EventStore(database), vault, lambda: NOON_US, lambda _: None)


def hear(endpoints: Endpoints, book: Book = DEMO, *kinds: EventKind) -> str:
    """Add an endpoint, and give its id."""
    _, added = endpoints.add(book, NewEndpoint("https://example.com", kinds))
    return added.id


def event_of(entry: Entry) -> Event:
    """What is announced of a score."""
    row = entry.score
    given = ScoreGiven(
        *(row.mode, row.request_id, row.score, row.tier, row.decision),
        *(row.model_id, row.policy_id),
    )
    return score_created(row.lender, given, row.created_us)


def events_in(database: Database) -> list[Event]:
    with database.reading() as connection:
        rows = connection.execute(select(*COLUMNS).order_by(tables.bundles.c.id)).all()
    return [event for row in rows for event in unfolded(Bundle._make(row))]


def test_scores_are_kept_with_their_events_where_somebody_wants_to_hear_of_them(
    database: Database, endpoints: Endpoints
) -> None:
    hear(endpoints)
    entries = [an_entry() for _ in range(70)]
    others = [an_entry(LIVE), an_entry(UMOJA), an_entry()._replace(announced=False)]
    scores_in(database).commit([*entries, *others])
    assert events_in(database) == [event_of(entry) for entry in entries]


def test_a_retry_leaves_no_second_event(database: Database, endpoints: Endpoints) -> None:
    hear(endpoints)
    scores = scores_in(database)
    first = an_entry(idempotency_key="order-1")
    scores.commit([first])
    retry, new = an_entry(idempotency_key="order-1"), an_entry()
    earlier, none = scores.commit([retry, new])
    assert earlier is not None
    assert none is None
    assert events_in(database) == [event_of(first), event_of(new)]


def test_what_could_not_be_kept_is_not_announced(database: Database, endpoints: Endpoints) -> None:
    hear(endpoints)
    scores = scores_in(database)
    first = an_entry()
    scores.commit([first])
    with pytest.raises(StoreUnavailable):
        scores.commit([an_entry(), first])
    assert events_in(database) == [event_of(first)]


def test_a_book_wants_what_one_of_its_endpoints_wants_be_it_disabled(
    database: Database, elsewhere: Database, endpoints: Endpoints
) -> None:
    """Another process keeps the scores, and knows of each change with its next commit."""
    scores, kind = scores_in(elsewhere), EventKind.SCORE_CREATED

    def heard_of(book: Book = DEMO) -> bool:
        entry = an_entry(book)
        scores.commit([entry])
        return event_of(entry) in events_in(database)

    assert not heard_of()
    hear(endpoints, DEMO, EventKind.POLICY_ACTIVATED)
    assert not heard_of()
    all_kinds = hear(endpoints)
    assert heard_of()
    assert not heard_of(LIVE)
    assert not heard_of(UMOJA)
    endpoints.change(DEMO, all_kinds, Change(enabled=False, kinds=(kind,)))
    assert heard_of()
    endpoints.change(DEMO, all_kinds, Change(kinds=(EventKind.MODEL_ACTIVATED,)))
    assert not heard_of()
    endpoints.change(DEMO, all_kinds, Change(kinds=(kind, EventKind.MODEL_ACTIVATED)))
    assert heard_of()
    endpoints.remove(DEMO, all_kinds)
    assert not heard_of()
