"""What is on its way to the endpoints of a book, for people to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import func, or_, select

from alama.service import ids
from alama.service.webhooks.records import ATTEMPT_PREFIX, COUNTED_MAX, Waiting
from alama.service.webhooks.schedule import ASKS_FOR_PATIENCE, LEFT_ALONE_S_MAX
from alama.storage import bundles, resends, schema
from alama.storage.endpoints import ENABLED, ENDPOINTS, endpoint_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from alama.service.book import Book
    from alama.service.webhooks.records import Endpoint

OVERDUE_US: Final = 60 * 1_000_000
SILENT_US: Final = 2 * OVERDUE_US
"""Where something has been due for the first, and nobody's delivery was tried for the second, no
worker seems to run: workers look for what is due twice a second, and leave a receiver that fails
alone for a minute at a time. Only one that has asked for patience is left alone for longer."""

_LATEST: Final = 16
"""Attempts at an endpoint that may have been under way together: any of them may have asked."""


class _Undispatched(NamedTuple):
    """Events of one kind that are yet to become deliveries."""

    kind: str
    number: int
    oldest_us: int


def waiting(
    connection: Connection, book: Book, endpoint_ids: Sequence[str], now_us: int
) -> dict[str, Waiting]:
    """Give what waits, by endpoint; see `alama.service.webhooks.ports.EventStore`."""
    table = schema.webhook_endpoints
    in_book = (table.c.lender == book.lender) & (table.c.mode == book.mode.value)
    asked_for = ENDPOINTS.where(in_book, table.c.id.in_(endpoint_ids), ENABLED)
    enabled = connection.execute(asked_for).all()
    coming = _undispatched(connection, book)
    found = {row.id: _at(connection, endpoint_of(row), coming, now_us) for row in enabled}
    return {endpoint_id: some for endpoint_id, some in found.items() if some.count}


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
        and not _asked_for_patience(connection, endpoint, now_us),
    )


def _undispatched(connection: Connection, book: Book) -> list[_Undispatched]:
    table = schema.bundles
    told = select(table.c.kind, table.c.number, table.c.created_us).where(bundles.of(book))
    some = told.order_by(table.c.id).limit(COUNTED_MAX).subquery()
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


def _asked_for_patience(connection: Connection, endpoint: Endpoint, now_us: int) -> bool:
    """Say whether an endpoint may be left alone at its own wish."""
    table = schema.webhook_attempts
    latest = (
        select(table.c.status)
        .where(
            table.c.lender == endpoint.book.lender,
            table.c.mode == endpoint.book.mode.value,
            table.c.endpoint_id == endpoint.id,
            table.c.id >= ids.beginning(ATTEMPT_PREFIX, now_us - LEFT_ALONE_S_MAX * 1_000_000),
        )
        .order_by(table.c.id.desc())
        .limit(_LATEST)
    )
    return not ASKS_FOR_PATIENCE.isdisjoint(connection.execute(latest).scalars())
