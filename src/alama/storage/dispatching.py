"""Dispatch: events get rows of their own, and a delivery for each endpoint that wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import tuple_

from alama.service.webhooks.events import Event
from alama.storage import bundles, schema
from alama.storage.bundles import unfolded
from alama.storage.deliveries import deliver_new, delivery
from alama.storage.endpoints import ENABLED, ENDPOINTS, held, listed
from alama.storage.prepared import Prepared
from alama.storage.upserts import insert_into

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from alama.service.webhooks.records import Endpoint
    from alama.storage.bundles import Bundle

# What is there already stays: a database that somebody has put together is no reason to stop.
_NEW: Final = Prepared(
    lambda connection: insert_into(connection, schema.events).on_conflict_do_nothing(),
    Event._fields,
)


def keep(connection: Connection, events: Sequence[Event]) -> None:
    """Write down events whose deliveries are made, or that have none."""
    _NEW.run(connection, [event._asdict() for event in events])


def dispatch(connection: Connection, found: Sequence[Bundle], now_us: int) -> int:
    """Make deliveries of what bundles hold, but for those that others are at; of how many events.

    What they hold was read before anything is locked: it never changes.
    """
    taken = bundles.remove_free(connection, [bundle.key for bundle in found])
    return _deliver(connection, [bundle for bundle in found if bundle.key in taken], now_us)


def dispatch_one(connection: Connection, found: Bundle, now_us: int) -> None:
    """Make deliveries of what a bundle holds, or wait until somebody else has made them."""
    if bundles.remove(connection, found.key):
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
    table = schema.webhook_endpoints
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
