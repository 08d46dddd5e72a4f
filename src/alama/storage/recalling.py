"""What a clock that ran ahead has put off: it is due now, and not when that time comes.

Times in the outbox are those of the worker that wrote them. One whose clock was a year ahead, and
that died, leaves claims that end in a year; what it tried in vain would be tried again in a year.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import or_, select, update

from alama.service.webhooks.records import LEASE_US
from alama.storage import schema
from alama.storage.deliveries import KEY, to_be_sent
from alama.storage.endpoints import ENABLED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from alama.storage.database import Database

CLAIM_US_MAX: Final = 2 * LEASE_US
"""No claim of a clock that is nearly right ends later than this from now."""

WAIT_US_MAX: Final = 27 * 3_600 * 1_000_000
"""Nothing is put off for longer: the longest wait is a day, and a tenth more."""

_KEYS: Final = select(schema.deliveries.c.endpoint_id, schema.deliveries.c.event_id)


def recall(database: Database, now_us: int, limit: int) -> int:
    """Have some of what is put off for too long due now, at most so many; how many they were."""
    with database.reading() as connection:
        found = _claimed_for_long(connection, now_us, limit) or _far_off(connection, now_us, limit)
    if not found:
        return 0
    put_off = or_(_is_claimed_for_long(now_us), _is_far_off(now_us))
    still = _KEYS.where(KEY.in_(found), put_off).with_for_update(skip_locked=True)
    with database.writing() as connection:
        keys = _all(connection, still)
        back = update(schema.deliveries).where(KEY.in_(keys))
        connection.execute(back.values(next_us=now_us, claimed_by=None))
    return len(keys)


def _claimed_for_long(connection: Connection, now_us: int, limit: int) -> Sequence[tuple[Any, ...]]:
    return _all(connection, _KEYS.where(_is_claimed_for_long(now_us)).limit(limit))


def _far_off(connection: Connection, now_us: int, limit: int) -> Sequence[tuple[Any, ...]]:
    """Look at one endpoint after the other: each has the latest at the end of an index."""
    table, deliveries = schema.webhook_endpoints, schema.deliveries
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
