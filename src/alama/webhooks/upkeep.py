"""Upkeep of the outbox: old events go, unwanted deliveries are given up, stuck ones come back.

As in `alama.webhooks.outbox`, rows are looked for before anything is locked, and checked again.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import (
    case,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    update,
)

from alama.platform import event_bundles, ids
from alama.platform.database import tables
from alama.platform.database.books import NO_BOOK, StoredBook, books_after, within
from alama.platform.events import PREFIX
from alama.webhooks import schema
from alama.webhooks.deliveries import KEY, to_be_sent
from alama.webhooks.endpoint_store import ENABLED, locked
from alama.webhooks.records import ATTEMPT_PREFIX, LEASE_US, Forgotten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from alama.platform.database.database import Database


_EVENT_KEY: Final = tuple_(tables.events.c.lender, tables.events.c.mode, tables.events.c.id)
"""What a `_StoredKey` is compared with."""


class _StoredKey(NamedTuple):
    """What names an event among those of all books."""

    lender: str
    mode: str
    id: str


_FIRST_WANTED: Final = case(
    (ENABLED, tables.webhook_endpoints.c.generation),
    else_=tables.webhook_endpoints.c.generation + 1,
)
"""The first generation that an endpoint is sent deliveries of: none that there is, if disabled.

A bound that an index begins or ends at: by any other words all that waits would be read."""


class OldEvents:
    """Events whose time is over: they go with their deliveries, in one book after the other."""

    def __init__(self, database: Database) -> None:
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
    table = tables.bundles
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
        return sum(event_bundles.remove_free(connection, old).values())


def _old_events(
    connection: Connection, begin: StoredBook, end: str, limit: int
) -> list[_StoredKey]:
    """Give events with ids before one, at most so many, of a book and of those after it."""
    table = tables.events
    found: list[_StoredKey] = []
    for book in chain([begin], books_after(connection, table, begin)):
        query = select(table.c.id).where(within(table, book), table.c.id < end).order_by(table.c.id)
        some = connection.execute(query.limit(limit - len(found))).scalars()
        found += [_StoredKey(*book, event_id) for event_id in some]
        if len(found) == limit:
            break
    return found


def _drop_events(connection: Connection, old: Sequence[_StoredKey]) -> tuple[int, int]:
    """Drop those of some events that nobody else is at; how many, and of how much on its way."""
    events, deliveries = tables.events, schema.deliveries
    columns = [events.c[name] for name in _StoredKey._fields]
    query = select(*columns).where(_EVENT_KEY.in_(old)).with_for_update(skip_locked=True)
    keys = [tuple(row) for row in connection.execute(query)]
    event_ids = [event_id for *_, event_id in keys]
    undelivered = _undelivered(connection, event_ids)
    connection.execute(delete(deliveries).where(deliveries.c.event_id.in_(event_ids)))
    connection.execute(delete(events).where(_EVENT_KEY.in_(keys)))
    return len(keys), undelivered


def _drop_strays(database: Database, end: str, limit: int) -> int:
    """Drop deliveries with events before an id that are gone, at most so many; how many they were.

    What is as old and has an event should be gone with that by now, so there is little to read. An
    endpoint that was removed has no book in which to look for the event: its deliveries go at once.
    """
    events, endpoints, deliveries = tables.events, tables.webhook_endpoints, schema.deliveries
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
    table, deliveries = tables.webhook_endpoints, schema.deliveries
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


def put_away_waiting(database: Database, now_us: int, limit: int) -> int:
    """Give up some of what nobody is to be sent any more: of one endpoint; how many they were.

    A claim on one of them stands: what arrives at this moment is still noted as delivered.
    """
    table, deliveries = tables.webhook_endpoints, schema.deliveries
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


# ------------------------------------------------------------------------------- clocks

# Times in the outbox are those of the worker that wrote them. One whose clock was a year ahead, and
# that died, leaves claims that end in a year; what it tried in vain would be tried again in a year.

CLAIM_US_MAX: Final = 2 * LEASE_US
"""No claim of a clock that is nearly right ends later than this from now."""

WAIT_US_MAX: Final = 27 * 3_600 * 1_000_000
"""Nothing is put off for longer: the longest wait is a day, and a tenth more."""

_KEYS: Final = select(schema.deliveries.c.endpoint_id, schema.deliveries.c.event_id)


def recall(database: Database, now_us: int, limit: int) -> int:
    """Have some of what is put off for too long due now, at most so many; how many they were."""
    with database.reading() as connection:
        claimed = _all(connection, _KEYS.where(_is_claimed_for_long(now_us)).limit(limit))
        found = claimed or _far_off(connection, now_us, limit)
    if not found:
        return 0
    put_off = or_(_is_claimed_for_long(now_us), _is_far_off(now_us))
    still = _KEYS.where(KEY.in_(found), put_off).with_for_update(skip_locked=True)
    with database.writing() as connection:
        keys = _all(connection, still)
        back = update(schema.deliveries).where(KEY.in_(keys))
        connection.execute(back.values(next_us=now_us, claimed_by=None))
    return len(keys)


def _far_off(connection: Connection, now_us: int, limit: int) -> Sequence[tuple[Any, ...]]:
    """Look at one endpoint after the other: each has the latest at the end of an index."""
    table, deliveries = tables.webhook_endpoints, schema.deliveries
    some = select(deliveries.c.event_id).where(to_be_sent(), _is_far_off(now_us)).exists()
    concerned = select(table.c.id, table.c.generation).where(ENABLED, some).limit(1)
    endpoint = connection.execute(concerned).first()
    if endpoint is None:
        return []
    of_it = (deliveries.c.endpoint_id == endpoint.id) & (
        deliveries.c.generation == endpoint.generation
    )
    return _all(connection, _KEYS.where(of_it, _is_far_off(now_us)).limit(limit))


def _is_claimed_for_long(now_us: int) -> ColumnElement[bool]:
    table = schema.deliveries
    return table.c.claimed_by.is_not(None) & (table.c.next_us > now_us + CLAIM_US_MAX)


def _is_far_off(now_us: int) -> ColumnElement[bool]:
    return schema.deliveries.c.next_us > now_us + WAIT_US_MAX


def _all(connection: Connection, query: Select[Any]) -> Sequence[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(query)]
