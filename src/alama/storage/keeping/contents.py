"""What a database holds, in a few figures: for whoever keeps a copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, inspect, select

from alama.service.book import Mode
from alama.storage import schema
from alama.storage.upgrading.plan import found_in

if TYPE_CHECKING:
    from sqlalchemy import Connection


class Contents(NamedTuple):
    """The schema that it stands at, how many scores there are, and when the newest was given.

    The time is in microseconds since 1970, UTC; None where there is no score.
    """

    version: str | None
    scores: int
    newest_us: int | None


def contents(connection: Connection) -> Contents:
    """Count within the transaction of a connection, be its schema an older one."""
    version = found_in(connection)
    if not inspect(connection).has_table(schema.scores.name):
        return Contents(version, 0, None)
    count = connection.execute(select(func.count()).select_from(schema.scores)).scalar_one()
    lenders = connection.execute(select(schema.lenders.c.id)).scalars().all()
    newest = [_newest(connection, lender, mode.value) for lender in lenders for mode in Mode]
    return Contents(version, count, max(filter(None, newest), default=None))


def _newest(connection: Connection, lender: str, mode: str) -> int | None:
    """Give the time of the last score of a book: its id is the greatest, and has an index."""
    table = schema.scores
    query = (
        select(table.c.created_us)
        .where(table.c.lender == lender, table.c.mode == mode)
        .order_by(table.c.request_id.desc())
        .limit(1)
    )
    found: int | None = connection.execute(query).scalar()
    return found
