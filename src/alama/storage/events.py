"""Events in a database: written, read in pages, and sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from alama.service.errors import UnknownEndpoint, UnknownEvent
from alama.service.webhooks.events import Event
from alama.storage import bundles, dispatching, resends, schema, waiting
from alama.storage.bundles import unfolded
from alama.storage.deliveries import delivery, send_again
from alama.storage.endpoints import ENABLED, ENDPOINTS, endpoint_of, held, one_of
from alama.storage.event_books import StoredBook, within
from alama.storage.event_rows import COLUMNS, of_kinds, retained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from alama.service.book import Book
    from alama.service.webhooks.records import Waiting
    from alama.storage.database import Database


class SqlEvents:
    """The events in a database; see `alama.service.webhooks.ports.EventStore`."""

    def __init__(self, database: Database) -> None:
        """Use an open database."""
        self._database = database

    def add(self, event: Event) -> None:
        with self._database.writing() as connection:
            bundles.keep(connection, event)

    def add_for_nobody(self, event: Event) -> None:
        with self._database.writing() as connection:
            dispatching.keep(connection, [event])

    def page(self, book: Book, kind: str | None, before: str | None, limit: int) -> Sequence[Event]:
        with self._database.reading() as connection:
            undispatched = bundles.newest(connection, book, kind, before, limit)
            rows = connection.execute(_newest(book, kind, before, limit))
            found = {event.id: event for event in (*undispatched, *map(Event._make, rows))}
        return sorted(found.values(), key=lambda event: event.id, reverse=True)[:limit]

    def find(self, book: Book, event_id: str) -> Event:
        with self._database.reading() as connection:
            bundle = bundles.find(connection, book, event_id)
            if bundle is not None:
                return next(event for event in unfolded(bundle) if event.id == event_id)
            return _found(connection, _one_of(book, event_id))

    def send_to(self, book: Book, event_id: str, endpoint_ids: Sequence[str], now_us: int) -> int:
        table = schema.webhook_endpoints
        chosen = ENDPOINTS.where(
            table.c.lender == book.lender,
            table.c.mode == book.mode.value,
            table.c.id.in_(endpoint_ids),
            ENABLED,
        )
        # Looked for before anything is locked; what is there no more has been dispatched since.
        with self._database.reading() as connection:
            bundle = bundles.find(connection, book, event_id)
        with self._database.writing() as connection:
            if bundle is not None:
                dispatching.dispatch_one(connection, bundle, now_us)
            event = _found(connection, retained(_one_of(book, event_id)))
            endpoints = [endpoint_of(row) for row in connection.execute(held(chosen))]
            send_again(connection, [delivery(one, event.id, now_us) for one in endpoints], now_us)
        return len(endpoints)

    def send_since(self, book: Book, endpoint_id: str, since_us: int, now_us: int) -> int:
        with self._database.writing() as connection:
            row = connection.execute(held(one_of(book, endpoint_id))).first()
            if row is None:
                raise UnknownEndpoint
            endpoint = endpoint_of(row)
            if endpoint.disabled_us is not None:
                return 0
            resends.note(connection, endpoint, since_us, now_us)
        with self._database.reading() as connection:
            return resends.count(connection, endpoint, since_us, now_us)

    def waiting(
        self, book: Book, endpoint_ids: Sequence[str], now_us: int
    ) -> Mapping[str, Waiting]:
        with self._database.reading() as connection:
            return waiting.waiting(connection, book, endpoint_ids, now_us)


def _newest(book: Book, kind: str | None, before: str | None, limit: int) -> Select[Any]:
    # By their ids: an index has all that chooses these, and SQLite would sooner read a month of
    # scores than look up what else there is of a few.
    event_id = schema.events.c.id
    chosen = select(event_id).where(_in(book)).order_by(event_id.desc()).limit(limit)
    if kind is not None:
        chosen = chosen.where(*of_kinds([kind]))
    if before is not None:
        chosen = chosen.where(event_id < before)
    return _of(book).where(event_id.in_(chosen)).order_by(event_id.desc())


def _found(connection: Connection, query: Select[Any]) -> Event:
    row = connection.execute(query).first()
    if row is None:
        raise UnknownEvent
    return Event._make(row)


def _one_of(book: Book, event_id: str) -> Select[Any]:
    return _of(book).where(schema.events.c.id == event_id)


def _of(book: Book) -> Select[Any]:
    return select(*COLUMNS).where(_in(book))


def _in(book: Book) -> ColumnElement[bool]:
    return within(schema.events, StoredBook(book.lender, book.mode.value))
