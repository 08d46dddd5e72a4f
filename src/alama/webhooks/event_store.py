"""Events in a database: read in pages, sent again, and what of them waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import func, or_, select

from alama.platform import event_bundles, ids
from alama.platform.database import tables
from alama.platform.database.books import in_book
from alama.platform.event_bundles import unfolded
from alama.platform.events import Event
from alama.webhooks import deliveries, resends, schema
from alama.webhooks.deliveries import EVENT_COLUMNS, delivery, of_kinds, retained, send_again
from alama.webhooks.endpoint_store import ENABLED, ENDPOINTS, endpoint_of, held, one_of
from alama.webhooks.records import (
    ATTEMPT_PREFIX,
    COUNTED_MAX,
    Endpoint,
    UnknownEndpoint,
    UnknownEvent,
    Waiting,
)
from alama.webhooks.schedule import ASKS_TO_WAIT, LEFT_ALONE_S_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from alama.platform.book import Book
    from alama.platform.database.database import Database


OVERDUE_US: Final = 60 * 1_000_000
SILENT_US: Final = 2 * OVERDUE_US
"""Where something has been due for the first, and nobody's delivery was tried for the second, no
worker seems to run: workers look for what is due twice a second, and leave a receiver that fails
alone for a minute at a time. Only one that has asked us to wait is left alone for longer."""

_LATEST: Final = 16
"""Attempts at an endpoint that may have been under way together: any of them may have asked."""


class EventStore:
    """The events in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, event: Event) -> None:
        """Keep an event, to be sent to whoever wants it."""
        with self._database.writing() as connection:
            event_bundles.keep(connection, event)

    def add_for_nobody(self, event: Event) -> None:
        """Keep an event that is sent to nobody but those it is sent to by `send_to`."""
        with self._database.writing() as connection:
            deliveries.keep(connection, [event])

    def page(self, book: Book, kind: str | None, before: str | None, limit: int) -> Sequence[Event]:
        """Events of a book, newest first, from just before an id on."""
        with self._database.reading() as connection:
            undispatched = event_bundles.newest(connection, book, kind, before, limit)
            rows = connection.execute(_newest(book, kind, before, limit))
            found = {event.id: event for event in (*undispatched, *map(Event._make, rows))}
        return sorted(found.values(), key=lambda event: event.id, reverse=True)[:limit]

    def find(self, book: Book, event_id: str) -> Event:
        """One of them, or `UnknownEvent`."""
        with self._database.reading() as connection:
            bundle = event_bundles.find(connection, book, event_id)
            if bundle is not None:
                return next(event for event in unfolded(bundle) if event.id == event_id)
            return _found(connection, _one_of(book, event_id))

    def send_to(self, book: Book, event_id: str, endpoint_ids: Sequence[str], now_us: int) -> int:
        """Have an event sent, again or for the first time, at once; to how many it will be.

        What is being sent at this moment is not sent twice at once. Endpoints that are disabled or
        of another book are left out; `UnknownEvent`.
        """
        table = tables.webhook_endpoints
        chosen = ENDPOINTS.where(in_book(table, book), table.c.id.in_(endpoint_ids), ENABLED)
        # Looked for before anything is locked; what is there no more has been dispatched since.
        with self._database.reading() as connection:
            bundle = event_bundles.find(connection, book, event_id)
        with self._database.writing() as connection:
            if bundle is not None:
                deliveries.dispatch_one(connection, bundle, now_us)
            event = _found(connection, retained(_one_of(book, event_id)))
            endpoints = [endpoint_of(row) for row in connection.execute(held(chosen))]
            send_again(connection, [delivery(one, event.id, now_us) for one in endpoints], now_us)
        return len(endpoints)

    def send_since(self, book: Book, endpoint_id: str, since_us: int, now_us: int) -> int:
        """Have everything from a time until now that an endpoint wants sent to it; how many.

        They are counted up to `RESENT_COUNTED_MAX`, which stands for that many or more. The wish is
        noted, and workers carry it on: see `Outbox.carry_on`. While it stands, asking again for the
        same or for less begins nothing anew. Tests are left out, and so is everything where it is
        disabled. `UnknownEndpoint` if it is not of the book.
        """
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
        """What is on its way to some endpoints of a book, by their ids.

        Those that are disabled, of another book, or wait for nothing are left out.
        """
        chosen = tables.webhook_endpoints.c.id.in_(endpoint_ids)
        asked_for = ENDPOINTS.where(in_book(tables.webhook_endpoints, book), chosen, ENABLED)
        with self._database.reading() as connection:
            enabled = connection.execute(asked_for).all()
            coming = _undispatched(connection, book)
            found = {row.id: _at(connection, endpoint_of(row), coming, now_us) for row in enabled}
        return {endpoint_id: some for endpoint_id, some in found.items() if some.count}


def _newest(book: Book, kind: str | None, before: str | None, limit: int) -> Select[Any]:
    # By their ids: an index has all that chooses these, and SQLite would sooner read a month of
    # scores than look up what else there is of a few.
    event_id = tables.events.c.id
    chosen = (
        select(event_id).where(in_book(tables.events, book)).order_by(event_id.desc()).limit(limit)
    )
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
    return _of(book).where(tables.events.c.id == event_id)


def _of(book: Book) -> Select[Any]:
    return select(*EVENT_COLUMNS).where(in_book(tables.events, book))


# ------------------------------------------------------------------------------- what waits


class _Undispatched(NamedTuple):
    """Events of one kind that are yet to become deliveries."""

    kind: str
    number: int
    oldest_us: int


def _at(
    connection: Connection, endpoint: Endpoint, coming: Sequence[_Undispatched], now_us: int
) -> Waiting:
    wanted = [some for some in coming if endpoint.wants(some.kind)]
    count = _count(connection, endpoint) + sum(some.number for some in wanted)
    due_us = [*_next_us(connection, endpoint, now_us), *(some.oldest_us for some in wanted)]
    again = resends.left(connection, endpoint, COUNTED_MAX)
    if again is not None and again.number:
        count += again.number
        due_us.append(again.since_us)
    next_us = min(due_us, default=None)
    is_late = next_us is not None and next_us < now_us - OVERDUE_US
    return Waiting(
        min(count, COUNTED_MAX),
        next_us,
        is_late
        and not _is_somebody_there(connection, now_us)
        and not _asked_to_wait(connection, endpoint, now_us),
    )


def _undispatched(connection: Connection, book: Book) -> list[_Undispatched]:
    table = tables.bundles
    bundles = select(table.c.kind, table.c.number, table.c.created_us)
    some = bundles.where(in_book(table, book)).order_by(table.c.id).limit(COUNTED_MAX).subquery()
    query = select(some.c.kind, func.sum(some.c.number), func.min(some.c.created_us))
    return [_Undispatched._make(row) for row in connection.execute(query.group_by(some.c.kind))]


def _on_their_way(endpoint: Endpoint) -> tuple[ColumnElement[bool], ...]:
    """Choose deliveries to an endpoint that are not over; there is an index of these alone."""
    table = schema.deliveries
    return (
        table.c.endpoint_id == endpoint.id,
        table.c.generation == endpoint.generation,
        table.c.next_us.is_not(None),
    )


def _count(connection: Connection, endpoint: Endpoint) -> int:
    table = schema.deliveries
    some = select(table.c.next_us).where(*_on_their_way(endpoint)).limit(COUNTED_MAX).subquery()
    return connection.execute(select(func.count()).select_from(some)).scalar_one()


def _next_us(connection: Connection, endpoint: Endpoint, now_us: int) -> Sequence[int]:
    """Give when the next is due, if one is: of those that are being sent nobody knows."""
    table = schema.deliveries
    is_free = or_(table.c.claimed_by.is_(None), table.c.next_us <= now_us)
    query = select(table.c.next_us).where(*_on_their_way(endpoint), is_free)
    return connection.execute(query.order_by(table.c.next_us).limit(1)).scalars().all()


def _is_somebody_there(connection: Connection, now_us: int) -> bool:
    """Say whether anything was tried lately, for whomever: a worker works for all of them."""
    attempt_id = schema.webhook_attempts.c.id
    query = select(attempt_id).where(
        attempt_id >= ids.beginning(ATTEMPT_PREFIX, now_us - SILENT_US),
        attempt_id < ids.beginning(ATTEMPT_PREFIX, now_us + SILENT_US),
    )
    return connection.execute(query.limit(1)).first() is not None


def _asked_to_wait(connection: Connection, endpoint: Endpoint, now_us: int) -> bool:
    """Say whether an endpoint may be left alone at its own wish."""
    table = schema.webhook_attempts
    latest = (
        select(table.c.status)
        .where(
            in_book(table, endpoint.book),
            table.c.endpoint_id == endpoint.id,
            table.c.id >= ids.beginning(ATTEMPT_PREFIX, now_us - LEFT_ALONE_S_MAX * 1_000_000),
        )
        .order_by(table.c.id.desc())
        .limit(_LATEST)
    )
    return not ASKS_TO_WAIT.isdisjoint(connection.execute(latest).scalars())
