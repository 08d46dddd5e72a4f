"""Events and deliveries as rows: chosen, made of what was announced, and begun anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, literal_column, or_, select, tuple_

from alama.platform import event_bundles
from alama.platform.database import tables
from alama.platform.database.statements import Prepared, insert_into
from alama.platform.database.tables import COMMON_KINDS
from alama.platform.event_bundles import Bundle, unfolded
from alama.platform.events import Event
from alama.webhooks import schema
from alama.webhooks.endpoint_store import ENABLED, ENDPOINTS, held, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from alama.webhooks.records import Endpoint


# ------------------------------------------------------------------------------- events


EVENT_COLUMNS: Final = [tables.events.c[name] for name in Event._fields]


def retained(query: Select[Any]) -> Select[Any]:
    """Have the selected events stay until the commit: nobody forgets them meanwhile."""
    return query.with_for_update(read=True, key_share=True)


def of_kinds(kinds: Sequence[str]) -> list[ColumnElement[bool]]:
    """Choose events by their kinds; the rare ones have an index of ids of their own."""
    kind = tables.events.c.kind
    chosen = kind == kinds[0] if len(kinds) == 1 else kind.in_(kinds)
    if any(common in kinds for common in COMMON_KINDS):
        return [chosen]
    return [chosen, *(kind != literal_column(f"'{common}'") for common in COMMON_KINDS)]


# What is there already stays: a database that somebody has put together is no reason to stop.
_NEW_EVENT: Final = Prepared(
    lambda connection: insert_into(connection, tables.events).on_conflict_do_nothing(),
    Event._fields,
)


def keep(connection: Connection, events: Sequence[Event]) -> None:
    """Write down events whose deliveries are made, or that have none."""
    _NEW_EVENT.run(connection, [event._asdict() for event in events])


# ------------------------------------------------------------------------------- deliveries


KEY: Final = tuple_(schema.deliveries.c.endpoint_id, schema.deliveries.c.event_id)


def to_be_sent() -> ColumnElement[bool]:
    """Choose deliveries, beside their endpoint, that are not over; there is an index of these."""
    table, deliveries = tables.webhook_endpoints, schema.deliveries
    return (
        (deliveries.c.endpoint_id == table.c.id)
        & (deliveries.c.generation == table.c.generation)
        & deliveries.c.next_us.is_not(None)
    )


def has_enough(now_us: int, enough: int) -> ColumnElement[bool]:
    """Say of the endpoint beside it whether so many deliveries are due there."""
    next_us = schema.deliveries.c.next_us
    due = select(next_us).where(to_be_sent(), next_us <= now_us).order_by(next_us)
    return due.correlate(tables.webhook_endpoints).limit(1).offset(enough - 1).exists()


def delivery(endpoint: Endpoint, event_id: str, due_us: int) -> dict[str, Any]:
    """Give the row of an event of a book that is on its way to an endpoint of it, due at a time."""
    return {
        "endpoint_id": endpoint.id,
        "event_id": event_id,
        "attempts": 0,
        "generation": endpoint.generation,
        "next_us": due_us,
    }


_NEW_DELIVERY: Final = Prepared(
    lambda connection: insert_into(connection, schema.deliveries).on_conflict_do_nothing(),
    ("endpoint_id", "event_id", "attempts", "generation", "next_us"),
)


def deliver_new(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Write deliveries down; those that are there already stay as they are."""
    _NEW_DELIVERY.run(connection, rows)


def send_again(connection: Connection, rows: Sequence[dict[str, Any]], now_us: int) -> None:
    """Have deliveries begin anew, at once; what is being sent at this moment is left to that."""
    if not rows:
        return
    table, statement = schema.deliveries, insert_into(connection, schema.deliveries)
    new = statement.excluded
    in_flight = and_(
        table.c.claimed_by.is_not(None),
        table.c.next_us > now_us,
        table.c.generation == new.generation,
    )
    anew = {
        "attempts": 0,
        "generation": new.generation,
        "next_us": new.next_us,
        "claimed_by": None,
        "delivered_us": None,
        "failed_us": None,
    }
    key = ["endpoint_id", "event_id"]
    idle = or_(table.c.next_us.is_(None), ~in_flight)
    connection.execute(
        statement.on_conflict_do_update(index_elements=key, set_=anew, where=idle), rows
    )


# ------------------------------------------------------------------------------- dispatch


def dispatch(connection: Connection, found: Sequence[Bundle], now_us: int) -> int:
    """Make deliveries of what bundles hold, but for those that others are at; of how many events.

    What they hold was read before anything is locked: it never changes.
    """
    taken = event_bundles.remove_free(connection, [bundle.key for bundle in found])
    return _deliver(connection, [bundle for bundle in found if bundle.key in taken], now_us)


def dispatch_one(connection: Connection, found: Bundle, now_us: int) -> None:
    """Make deliveries of what a bundle holds, or wait until somebody else has made them."""
    if event_bundles.remove(connection, found.key):
        _deliver(connection, [found], now_us)


def _deliver(connection: Connection, mine: Sequence[Bundle], now_us: int) -> int:
    events = [event for bundle in mine for event in unfolded(bundle)]
    keep(connection, events)
    deliver_new(connection, _deliveries(connection, events, now_us))
    return len(events)


def _deliveries(
    connection: Connection, events: Sequence[Event], now_us: int
) -> list[dict[str, Any]]:
    """Give a delivery of each event to each endpoint that wants it.

    The endpoints stay as they are until the commit: none of them is removed or disabled meanwhile.
    """
    table = tables.webhook_endpoints
    books = {(event.lender, event.mode) for event in events}
    query = ENDPOINTS.where(ENABLED, tuple_(table.c.lender, table.c.mode).in_(books))
    endpoints: dict[tuple[str, str], list[Endpoint]] = {book: [] for book in books}
    for endpoint in listed(connection.execute(held(query))).known:
        endpoints[endpoint.book.lender, endpoint.book.mode.value].append(endpoint)
    return [
        delivery(endpoint, event.id, min(event.created_us, now_us))
        for event in events
        for endpoint in endpoints[event.lender, event.mode]
        if endpoint.wants(event.kind)
    ]
