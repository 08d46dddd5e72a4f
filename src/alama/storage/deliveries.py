"""Deliveries as rows: an event on its way to an endpoint, for the first time or again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, or_, select, tuple_

from alama.storage import schema
from alama.storage.prepared import Prepared
from alama.storage.upserts import insert_into

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from alama.service.webhooks.records import Endpoint

KEY: Final = tuple_(schema.deliveries.c.endpoint_id, schema.deliveries.c.event_id)


def to_be_sent() -> ColumnElement[bool]:
    """Choose deliveries, beside their endpoint, that are not over; there is an index of these."""
    table, deliveries = schema.webhook_endpoints, schema.deliveries
    return (
        (deliveries.c.endpoint_id == table.c.id)
        & (deliveries.c.generation == table.c.generation)
        & deliveries.c.next_us.is_not(None)
    )


def has_enough(now_us: int, enough: int) -> ColumnElement[bool]:
    """Say of the endpoint beside it whether so many deliveries are due there."""
    next_us = schema.deliveries.c.next_us
    due = select(next_us).where(to_be_sent(), next_us <= now_us).order_by(next_us)
    return due.correlate(schema.webhook_endpoints).limit(1).offset(enough - 1).exists()


def delivery(endpoint: Endpoint, event_id: str, due_us: int) -> dict[str, Any]:
    """Give the row of an event of a book that is on its way to an endpoint of it, due at a time."""
    return {
        "endpoint_id": endpoint.id,
        "event_id": event_id,
        "attempts": 0,
        "generation": endpoint.generation,
        "next_us": due_us,
    }


_NEW: Final = Prepared(
    lambda connection: insert_into(connection, schema.deliveries).on_conflict_do_nothing(),
    ("endpoint_id", "event_id", "attempts", "generation", "next_us"),
)


def deliver_new(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Write deliveries down; those that are there already stay as they are."""
    _NEW.run(connection, rows)


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
