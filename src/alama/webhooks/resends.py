"""Wishes to be sent everything since a time again: noted at once, and carried on by workers.

One transaction for all of it would hold up scoring: SQLite lets nobody else write meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import case, func, select, update

from alama.platform import event_bundles, ids
from alama.platform.database import tables
from alama.platform.database.books import in_book
from alama.platform.database.statements import insert_into
from alama.platform.events import PREFIX, EventKind
from alama.webhooks import schema
from alama.webhooks.deliveries import delivery, has_enough, of_kinds, retained, send_again
from alama.webhooks.endpoint_store import ENDPOINTS, end_resend, endpoint_of, held
from alama.webhooks.records import RESENT_COUNTED_MAX, Endpoint

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

    from alama.platform.database.database import Database


DUE_MAX: Final = 500
"""While so many are due at an endpoint, no more are added: what happens now comes after those, and
not after a million of last week."""


def note(connection: Connection, endpoint: Endpoint, since_us: int, now_us: int) -> None:
    """Note that an endpoint, which the transaction holds, is to be sent everything since a time.

    A wish that stands goes on from where it is, unless this one begins earlier.
    """
    since_id = ids.beginning(PREFIX, max(since_us, 0))
    table, statement = schema.webhook_resends, insert_into(connection, schema.webhook_resends)
    new = statement.excluded
    is_earlier = new.since_id < table.c.since_id
    merged = {
        "since_id": case((is_earlier, new.since_id), else_=table.c.since_id),
        "after_id": case((is_earlier, new.after_id), else_=table.c.after_id),
        "until_id": case((new.until_id > table.c.until_id, new.until_id), else_=table.c.until_id),
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=["endpoint_id"], set_=merged),
        {
            "endpoint_id": endpoint.id,
            "since_id": since_id,
            "after_id": since_id,
            "until_id": _end(now_us),
            "carried_us": now_us,
        },
    )


def count(connection: Connection, endpoint: Endpoint, since_us: int, now_us: int) -> int:
    """Count what an endpoint wants from a time until now, up to `RESENT_COUNTED_MAX`."""
    since_id, until_id = ids.beginning(PREFIX, max(since_us, 0)), _end(now_us)
    # Those that are yet to be dispatched are sent by that, whether or not the wish gets there.
    coming = event_bundles.between(
        connection, endpoint.book, _kinds(endpoint), since_id, until_id, RESENT_COUNTED_MAX
    )
    some = _wanted(endpoint, since_id, until_id).limit(RESENT_COUNTED_MAX)
    return min(coming + _count(connection, some), RESENT_COUNTED_MAX)


class Left(NamedTuple):
    """What is left of a wish: how many events, and since when nobody has gone on with it."""

    number: int
    since_us: int


def left(connection: Connection, endpoint: Endpoint, limit: int) -> Left | None:
    """Give what is left of the wish of an endpoint, counted up to a limit, if one stands."""
    table = schema.webhook_resends
    query = select(table).where(table.c.endpoint_id == endpoint.id)
    wish = connection.execute(query).first()
    if wish is None:
        return None
    some = _wanted(endpoint, wish.after_id, wish.until_id).limit(limit)
    return Left(_count(connection, some), wish.carried_us)


def carry_on(database: Database, now_us: int, limit: int) -> int:
    """Go on with the wish that has waited longest, at most so many events; how many they were."""
    with database.reading() as connection:
        endpoint_id = connection.execute(_next(now_us)).scalar()
    if endpoint_id is None:
        return 0
    with database.writing() as connection:
        return _carry(connection, endpoint_id, now_us, limit)


def _next(now_us: int) -> Select[Any]:
    """Select the endpoint whose turn it is, of those that have not enough to do already."""
    resends, table = schema.webhook_resends, tables.webhook_endpoints
    return (
        select(resends.c.endpoint_id)
        .join(table, table.c.id == resends.c.endpoint_id)
        .where(~has_enough(now_us, DUE_MAX))
        .order_by(resends.c.carried_us, resends.c.endpoint_id)
        .limit(1)
    )


def _carry(connection: Connection, endpoint_id: str, now_us: int, limit: int) -> int:
    table, endpoints = schema.webhook_resends, tables.webhook_endpoints
    row = connection.execute(held(ENDPOINTS.where(endpoints.c.id == endpoint_id))).first()
    wish = connection.execute(
        select(table).where(table.c.endpoint_id == endpoint_id).with_for_update(skip_locked=True)
    ).first()
    if row is None or wish is None:
        return 0  # removed, done, or in the hands of another worker
    endpoint = endpoint_of(row)
    query = _wanted(endpoint, wish.after_id, wish.until_id).limit(limit)
    event_ids = connection.execute(retained(query)).scalars().all()
    send_again(connection, [delivery(endpoint, one, now_us) for one in event_ids], now_us)
    if len(event_ids) < limit:
        end_resend(connection, endpoint_id)
    else:
        further = update(table).where(table.c.endpoint_id == endpoint_id)
        connection.execute(further.values(after_id=event_ids[-1], carried_us=now_us))
    return len(event_ids)


def _wanted(endpoint: Endpoint, after_id: str, until_id: str) -> Select[Any]:
    """Select the ids of events that an endpoint wants, oldest first; tests are for one moment."""
    table = tables.events
    return (
        select(table.c.id)
        .where(
            in_book(table, endpoint.book),
            table.c.id > after_id,
            table.c.id < until_id,
            *of_kinds(_kinds(endpoint)),
        )
        .order_by(table.c.id)
    )


def _kinds(endpoint: Endpoint) -> list[str]:
    kinds = endpoint.kinds or [kind.value for kind in EventKind]
    return [kind for kind in kinds if kind != EventKind.TEST]


def _count(connection: Connection, query: Select[Any]) -> int:
    return connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()


def _end(now_us: int) -> str:
    """Give what sorts after the ids of this moment and before those of a later one."""
    return ids.beginning(PREFIX, now_us + 1)
