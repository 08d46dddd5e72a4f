"""What workers do away with: what is old, and what waits for endpoints that want it no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import case, delete, exists, func, or_, select, update

from alama.service import ids
from alama.service.webhooks.events import PREFIX
from alama.service.webhooks.records import ATTEMPT_PREFIX
from alama.storage import schema
from alama.storage.endpoints import ENABLED, locked

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


class DroppedEvents(NamedTuple):
    """Events that were dropped, and what of them nobody had heard; see `records.Forgotten`."""

    events: int
    undispatched: int
    undelivered: int


def drop_events(connection: Connection, before_us: int, limit: int) -> DroppedEvents:
    """Drop events from before a time with their deliveries, oldest first, at most so many.

    And deliveries as old whose event is gone: nothing could be sent of them.
    """
    events, deliveries = schema.events, schema.deliveries
    end = ids.beginning(PREFIX, before_us)
    query = (
        select(events.c.id, events.c.undispatched_us)
        .where(events.c.id < end)
        .order_by(events.c.id)
        .limit(limit)
    )
    old = connection.execute(query.with_for_update(skip_locked=True)).all()
    event_ids = [row.id for row in old]
    undelivered = _undelivered(connection, event_ids)
    connection.execute(delete(deliveries).where(deliveries.c.event_id.in_(event_ids)))
    connection.execute(delete(events).where(events.c.id.in_(event_ids)))
    is_passed = deliveries.c.event_id < (event_ids[-1] if len(old) == limit else end)
    has_event = exists().where(events.c.id == deliveries.c.event_id)
    connection.execute(delete(deliveries).where(is_passed, ~has_event))
    undispatched = sum(row.undispatched_us is not None for row in old)
    return DroppedEvents(len(old), undispatched, undelivered)


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
