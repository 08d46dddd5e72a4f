"""Events that are yet to be dispatched: those of one commit lie together, in one row.

Every score may have an event, and scoring waits while it is written. A row for each of them, with
its key in an index, cost a twentieth of all that scoring can do; a row for many costs next to
nothing. A worker makes rows of their own of them when it makes their deliveries, so whoever reads
events reads them here first and there afterwards: what moves meanwhile is then seen twice at most,
and never missed.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from sqlalchemy import select

from alama.service.webhooks.events import Event
from alama.storage import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection

    from alama.service.book import Book

EVENTS_MAX: Final = 16
"""In a row: a worker takes it whole, and each of them may become twenty deliveries."""


class Bundle(NamedTuple):
    """A row: events of one kind in one book. Its id is that of the last of them."""

    lender: str
    mode: str
    id: str
    first_id: str
    kind: str
    number: int
    created_us: int
    """When the first of them happened."""
    events: bytes


class _Event(msgspec.Struct, frozen=True, array_like=True):
    id: str
    subject_id: str
    created_us: int
    payload: bytes


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[_Event]).decode

_TABLE: Final = schema.bundles
COLUMNS: Final = [_TABLE.c[name] for name in Bundle._fields]

_belongs: Final = attrgetter("lender", "mode", "kind")
_place: Final = attrgetter("lender", "mode", "kind", "id")
_told: Final = attrgetter("id", "subject_id", "created_us", "payload")


def bundles(events: Iterable[Event]) -> list[Bundle]:
    """Put events together, as few rows as may be."""
    rows = []
    for (lender, mode, kind), some in groupby(sorted(events, key=_place), _belongs):
        ordered = list(some)
        for first in range(0, len(ordered), EVENTS_MAX):
            held = ordered[first : first + EVENTS_MAX]
            told = _encode([_told(one) for one in held])
            begin, end = held[0], held[-1]
            row = (lender, mode, end.id, begin.id, kind, len(held), begin.created_us, told)
            rows.append(Bundle._make(row))
    return rows


def unfolded(bundle: Bundle) -> list[Event]:
    """Give the events of a row, oldest first; none where it is damaged: it stays as it is."""
    try:
        held = _decode(bundle.events)
    except msgspec.MsgspecError:
        return []
    lender, mode, kind = bundle.lender, bundle.mode, bundle.kind
    return [
        Event(one.id, lender, mode, kind, one.subject_id, one.created_us, one.payload)
        for one in held
    ]


# ------------------------------------------------------------------------------- reading


def find(connection: Connection, book: Book, event_id: str) -> Bundle | None:
    """Give the row that holds an event, if one does."""
    around = (_TABLE.c.first_id <= event_id) & (_TABLE.c.id >= event_id)
    query = select(*COLUMNS).where(of(book), around).order_by(_TABLE.c.id)
    for row in connection.execute(query):
        bundle = Bundle._make(row)
        if any(event.id == event_id for event in unfolded(bundle)):
            return bundle
    return None


def newest(
    connection: Connection, book: Book, kind: str | None, before: str | None, limit: int
) -> list[Event]:
    """Give the newest events of a book that are yet to be dispatched, at least the `limit` newest.

    Any of another row is older than the last ones of so many rows.
    """
    query = select(*COLUMNS).where(of(book)).order_by(_TABLE.c.id.desc())
    if kind is not None:
        query = query.where(_TABLE.c.kind == kind)
    if before is None:
        rows = connection.execute(query.limit(limit)).all()
        return [event for row in rows for event in unfolded(Bundle._make(row))]
    across = query.where(_TABLE.c.first_id < before, _TABLE.c.id >= before)
    whole = query.where(_TABLE.c.id < before).limit(limit)
    rows = [*connection.execute(across), *connection.execute(whole)]
    events = [event for row in rows for event in unfolded(Bundle._make(row))]
    return [event for event in events if event.id < before]


def between(
    connection: Connection, book: Book, kinds: Sequence[str], after_id: str, until_id: str
) -> int:
    """Count the events of some kinds between two ids that are yet to be dispatched."""
    table = _TABLE
    in_reach = select(*COLUMNS).where(
        of(book), table.c.id > after_id, table.c.first_id < until_id, table.c.kind.in_(kinds)
    )
    inside = (table.c.first_id > after_id) & (table.c.id < until_id)
    numbers = in_reach.where(inside).with_only_columns(table.c.number)
    whole: Sequence[int] = connection.execute(numbers).scalars().all()
    across = [Bundle._make(row) for row in connection.execute(in_reach.where(~inside))]
    held = (event.id for bundle in across for event in unfolded(bundle))
    return sum(whole) + sum(after_id < event_id < until_id for event_id in held)


def of(book: Book) -> ColumnElement[bool]:
    """Choose the rows of a book."""
    return (_TABLE.c.lender == book.lender) & (_TABLE.c.mode == book.mode.value)


# ------------------------------------------------------------------------------- writing


def keep(connection: Connection, event: Event) -> None:
    """Write down an event to be dispatched; it stands if and only if the transaction does."""
    connection.execute(_TABLE.insert(), [row._asdict() for row in bundles([event])])
