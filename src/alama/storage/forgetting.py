"""What workers do away with: what is old, and what waits for endpoints that want it no more."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from sqlalchemy import case, delete, exists, func, or_, select, update

from alama.service import ids
from alama.service.webhooks.events import PREFIX
from alama.service.webhooks.records import ATTEMPT_PREFIX, Forgotten
from alama.storage import bundles, schema
from alama.storage.deliveries import KEY
from alama.storage.endpoints import ENABLED, locked
from alama.storage.event_books import (
    EVENT_KEY,
    NO_BOOK,
    StoredBook,
    StoredKey,
    books_after,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from alama.storage.database import Database


_FIRST_WANTED: Final = case(
    (ENABLED, schema.webhook_endpoints.c.generation),
    else_=schema.webhook_endpoints.c.generation + 1,
)
"""The first generation that an endpoint is sent deliveries of: none that there is, if disabled.

A bound that an index begins or ends at: by any other words all that waits would be read."""


class OldEvents:
    """Events whose time is over: they go with their deliveries, in one book after the other."""

    def __init__(self, database: Database) -> None:
        """Begin with the first book."""
        self._database = database
        self._book = NO_BOOK  # the one it goes on with

    def drop(self, before_us: int, limit: int) -> Forgotten:
        """Drop some from before a time, at most so many, of a book the oldest first.

        Also bundles, until so many are gone; and when no events are left in any book, deliveries
        as old whose event is gone: nothing could be sent of them.
        """
        end, numbers = ids.beginning(PREFIX, before_us), (0, 0)
        undispatched = _drop_undispatched(self._database, end, limit)
        with self._database.reading() as connection:
            old = _old_events(connection, self._book, end, limit)
        if old:
            with self._database.writing() as connection:
                numbers = _drop_events(connection, old)
        events, undelivered = numbers
        gone = Forgotten(events + undispatched, undispatched, undelivered, some_left=True)
        if len(old) == limit:
            self._book = StoredBook(old[-1].lender, old[-1].mode)
            return gone
        self._book = NO_BOOK
        strays = _drop_strays(self._database, end, limit)
        return gone._replace(some_left=undispatched >= limit or strays == limit)


def _drop_undispatched(database: Database, end: str, limit: int) -> int:
    """Drop bundles that end before an id, until so many events are gone; how many they were."""
    table = schema.bundles
    old: list[tuple[str, ...]] = []
    left = limit
    with database.reading() as connection:
        for book in books_after(connection, table, NO_BOOK):
            query = select(table.c.id, table.c.number).where(within(table, book), table.c.id < end)
            for bundle_id, number in connection.execute(query.order_by(table.c.id).limit(limit)):
                if left > 0:
                    old.append((*book, bundle_id))
                    left -= number
            if left <= 0:
                break
    if not old:
        return 0
    with database.writing() as connection:
        return sum(bundles.remove_free(connection, old).values())


def _old_events(connection: Connection, begin: StoredBook, end: str, limit: int) -> list[StoredKey]:
    """Give events with ids before one, at most so many, of a book and of those after it."""
    table = schema.events
    found: list[StoredKey] = []
    for book in chain([begin], books_after(connection, table, begin)):
        query = select(table.c.id).where(within(table, book), table.c.id < end).order_by(table.c.id)
        some = connection.execute(query.limit(limit - len(found))).scalars()
        found += [StoredKey(*book, event_id) for event_id in some]
        if len(found) == limit:
            break
    return found


def _drop_events(connection: Connection, old: Sequence[StoredKey]) -> tuple[int, int]:
    """Drop those of some events that nobody else is at; how many, and of how much on its way."""
    events, deliveries = schema.events, schema.deliveries
    told = [events.c[name] for name in StoredKey._fields]
    query = select(*told).where(EVENT_KEY.in_(old)).with_for_update(skip_locked=True)
    keys = [tuple(row) for row in connection.execute(query)]
    event_ids = [event_id for *_, event_id in keys]
    undelivered = _undelivered(connection, event_ids)
    connection.execute(delete(deliveries).where(deliveries.c.event_id.in_(event_ids)))
    connection.execute(delete(events).where(EVENT_KEY.in_(keys)))
    return len(keys), undelivered


def _drop_strays(database: Database, end: str, limit: int) -> int:
    """Drop deliveries with events before an id that are gone, at most so many; how many they were.

    What is as old and has an event should be gone with that by now, so there is little to read. An
    endpoint that was removed has no book in which to look for the event: its deliveries go at once.
    """
    events, endpoints, deliveries = schema.events, schema.webhook_endpoints, schema.deliveries
    has_event = exists().where(
        endpoints.c.id == deliveries.c.endpoint_id,
        events.c.lender == endpoints.c.lender,
        events.c.mode == endpoints.c.mode,
        events.c.id == deliveries.c.event_id,
    )
    query = select(deliveries.c.endpoint_id, deliveries.c.event_id)
    strays = query.where(deliveries.c.event_id < end, ~has_event).order_by(deliveries.c.event_id)
    with database.reading() as connection:
        found = [tuple(row) for row in connection.execute(strays.limit(limit))]
    if found:
        still = query.where(KEY.in_(found)).with_for_update(skip_locked=True)
        with database.writing() as connection:
            mine = [tuple(row) for row in connection.execute(still)]
            connection.execute(delete(deliveries).where(KEY.in_(mine)))
    return len(found)


def _undelivered(connection: Connection, event_ids: Sequence[str]) -> int:
    """Count what is still on its way of some events, to whoever would have it."""
    table, deliveries = schema.webhook_endpoints, schema.deliveries
    query = (
        select(func.count())
        .select_from(deliveries.join(table, table.c.id == deliveries.c.endpoint_id))
        .where(
            deliveries.c.event_id.in_(event_ids),
            deliveries.c.next_us.is_not(None),
            deliveries.c.generation == table.c.generation,
            ENABLED,
        )
    )
    return connection.execute(query).scalar_one()


def drop_attempts(connection: Connection, before_us: int, limit: int) -> int:
    """Drop attempts from before a time, oldest first, at most so many; how many they were."""
    table = schema.webhook_attempts
    is_old = table.c.id < ids.beginning(ATTEMPT_PREFIX, before_us)
    query = select(table.c.id).where(is_old).order_by(table.c.id).limit(limit)
    old = connection.execute(query.with_for_update(skip_locked=True)).scalars().all()
    if old:
        connection.execute(delete(table).where(table.c.id.in_(old)))
    return len(old)


def put_away(database: Database, now_us: int, limit: int) -> int:
    """Give up some of what nobody is to be sent any more: of one endpoint; how many they were.

    A claim on one of them stands: what arrives at this moment is still noted as delivered.
    """
    table, deliveries = schema.webhook_endpoints, schema.deliveries
    waits = exists().where(
        deliveries.c.endpoint_id == table.c.id,
        deliveries.c.generation < _FIRST_WANTED,
        deliveries.c.next_us.is_not(None),
    )
    concerned = select(table.c.id).where(or_(~ENABLED, table.c.generation > 0), waits).limit(1)
    with database.reading() as connection:
        endpoint_id = connection.execute(concerned).scalar()
    if endpoint_id is None:
        return 0
    standing = select(_FIRST_WANTED).where(table.c.id == endpoint_id)
    with database.writing() as connection:
        # What it is may have changed since.
        first_wanted = connection.execute(locked(standing)).scalar()
        if first_wanted is None:
            return 0
        query = (
            select(deliveries.c.event_id)
            .where(
                deliveries.c.endpoint_id == endpoint_id,
                deliveries.c.generation < first_wanted,
                deliveries.c.next_us.is_not(None),
            )
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        found = connection.execute(query).scalars().all()
        over = update(deliveries).where(
            deliveries.c.endpoint_id == endpoint_id, deliveries.c.event_id.in_(found)
        )
        connection.execute(over.values(next_us=None, failed_us=now_us))
    return len(found)
