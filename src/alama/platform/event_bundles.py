"""Events, written in the transaction of what they speak of: those of one commit in one row."""

from __future__ import annotations

import os
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import delete, func, select, tuple_

from alama.platform import ids
from alama.platform.database import tables
from alama.platform.database.books import in_book
from alama.platform.events import PREFIX, Event, EventKind, event

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection, Select
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.platform.book import Book


EVENTS_MAX: Final = 16
"""In a row: a worker takes it whole, and each of them may become twenty deliveries."""

SPAN_US: Final = 60 * 1_000_000
"""At most between the first and the last of a row, so that one need not look far for an event."""


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

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it among those of all books."""
        return self[:3]


class _Event(msgspec.Struct, frozen=True, array_like=True):
    id: str
    subject_id: str
    created_us: int
    payload: bytes


_belongs: Final = attrgetter("lender", "mode", "kind")
_place: Final = attrgetter("lender", "mode", "kind", "id")
_content: Final = attrgetter("id", "subject_id", "created_us", "payload")

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(list[_Event]).decode


def is_wanted(connection: Connection, book: Book, kind: EventKind) -> bool:
    """Whether a webhook endpoint of a book is to hear of such events.

    One that is disabled counts: it may ask for them when it is enabled again.
    """
    table = tables.webhook_endpoints
    wanted = connection.execute(select(table.c.kinds).where(in_book(table, book))).scalars()
    return any(_names(kinds, kind) for kinds in wanted)


def _names(kinds: str, kind: str) -> bool:
    """Whether an endpoint's kinds have one of them: none named are all."""
    return not kinds or kind in kinds.split()


class Audience:
    """Asks as `is_wanted` does, for many books at once, in the driver's own language."""

    def __init__(self, kind: EventKind, mark: str) -> None:
        """Write the statement; `mark` stands for a parameter."""
        table = tables.webhook_endpoints.name
        self._kind = kind.value
        self._one = f"({mark}, {mark})"
        self._select = f"SELECT lender, mode, kinds FROM {table} WHERE (lender, mode) IN "  # noqa: S608  our own names

    def of(self, cursor: DBAPICursor, books: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
        """Give those of some books, by lender and mode, in which somebody wants to hear of it."""
        values = ", ".join([self._one] * len(books))
        cursor.execute(f"{self._select}(VALUES {values})", tuple(chain.from_iterable(books)))
        return {
            (lender, mode) for lender, mode, kinds in cursor.fetchall() if _names(kinds, self._kind)
        }


def bundles(events: Iterable[Event]) -> list[Bundle]:
    """Put events together, as few rows as may be."""
    rows = []
    for (lender, mode, kind), some in groupby(sorted(events, key=_place), _belongs):
        ordered = list(some)
        for first in range(0, len(ordered), EVENTS_MAX):
            for held in _near(ordered[first : first + EVENTS_MAX]):
                encoded = _encode([_content(one) for one in held])
                begin, end = held[0], held[-1]
                row = (lender, mode, end.id, begin.id, kind, len(held), begin.created_us, encoded)
                rows.append(Bundle._make(row))
    return rows


def _near(events: list[Event]) -> list[list[Event]]:
    """Give events that may lie in one row: all of them, unless somebody has set the clock."""
    if _beyond(events[0].id) > events[-1].id:
        return [events]
    return [[event] for event in events]


def _beyond(event_id: str) -> str:
    """Give the id after which no row holds an event that is not after this one."""
    return ids.later(PREFIX, event_id, SPAN_US)


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


_TABLE: Final = tables.bundles
_KEY: Final = (_TABLE.c.lender, _TABLE.c.mode, _TABLE.c.id)
COLUMNS: Final = [_TABLE.c[name] for name in Bundle._fields]


def find(connection: Connection, book: Book, event_id: str) -> Bundle | None:
    """Give the row that holds an event, if one does."""
    around = select(*COLUMNS).where(
        in_book(_TABLE, book), _TABLE.c.first_id <= event_id, *_from(event_id)
    )
    found = (Bundle._make(row) for row in connection.execute(around))
    return next((one for one in found if event_id in (e.id for e in unfolded(one))), None)


def newest(
    connection: Connection, book: Book, kind: str | None, before: str | None, limit: int
) -> list[Event]:
    """Give the newest events of a book that are yet to be dispatched, at least the `limit` newest.

    Any of another row is older than the last ones of so many rows.
    """
    query = select(*COLUMNS).where(in_book(_TABLE, book)).order_by(_TABLE.c.id.desc())
    if kind is not None:
        query = query.where(_TABLE.c.kind == kind)
    if before is None:
        return [event for _, held in sound(connection, query, limit) for event in held]
    across = query.where(_TABLE.c.first_id < before, *_from(before))
    split = [unfolded(Bundle._make(row)) for row in connection.execute(across)]
    whole = [held for _, held in sound(connection, query.where(_TABLE.c.id < before), limit)]
    return [event for held in (*split, *whole) for event in held if event.id < before]


def sound(
    connection: Connection, query: Select[Any], limit: int
) -> list[tuple[Bundle, list[Event]]]:
    """Give the first of some rows with what they hold, past those that are damaged."""
    found: list[tuple[Bundle, list[Event]]] = []
    seen = 0
    while len(found) < limit:
        rows = connection.execute(query.limit(limit).offset(seen)).all()
        bundles = [Bundle._make(row) for row in rows]
        found += [(bundle, held) for bundle in bundles if (held := unfolded(bundle))]
        seen += len(rows)
        if len(rows) < limit:
            break
    return found[:limit]


def between(
    connection: Connection,
    book: Book,
    kinds: Sequence[str],
    after_id: str,
    until_id: str,
    rows_max: int,
) -> int:
    """Count events of some kinds between two ids that are yet to be dispatched, of so many rows."""
    first_id, last_id = _TABLE.c.first_id, _TABLE.c.id
    some = select(*COLUMNS).where(in_book(_TABLE, book), _TABLE.c.kind.in_(kinds))
    whole = some.where(first_id > after_id, last_id > after_id, last_id < until_id)
    numbers = whole.with_only_columns(_TABLE.c.number).limit(rows_max).subquery()
    inside = connection.execute(select(func.coalesce(func.sum(numbers.c.number), 0))).scalar_one()
    begin = some.where(first_id <= after_id, *_from(after_id))
    end = some.where(first_id > after_id, first_id < until_id, *_from(until_id))
    across = [*connection.execute(begin), *connection.execute(end)]
    held = (event.id for row in across for event in unfolded(Bundle._make(row)))
    return int(inside) + sum(after_id < event_id < until_id for event_id in held)


def _from(event_id: str) -> tuple[ColumnElement[bool], ...]:
    """Choose rows that end with an event or after it, as far as they may hold one before that."""
    return (_TABLE.c.id >= event_id, _TABLE.c.id < _beyond(event_id))


# ------------------------------------------------------------------------------- writing


def keep(connection: Connection, event: Event) -> None:
    """Write down an event to be dispatched; it stands if and only if the transaction does."""
    connection.execute(_TABLE.insert(), [row._asdict() for row in bundles([event])])


def announce(
    connection: Connection,
    book: Book,
    kind: EventKind,
    subject_id: str,
    data: dict[str, Any],
    at_us: int,
) -> None:
    """Write down what has just happened, in the transaction of it."""
    happened = event(book, kind, subject_id, data, at_us, os.urandom(ids.RANDOM_BYTES))
    keep(connection, happened)


def remove_free(connection: Connection, keys: Sequence[tuple[str, ...]]) -> dict[Any, int]:
    """Remove those of some rows that nobody else is at; the numbers of their events, by key."""
    free = select(*_KEY).where(tuple_(*_KEY).in_(keys)).with_for_update(skip_locked=True)
    return _removed(connection, tuple_(*_KEY).in_(free))


def remove(connection: Connection, key: tuple[str, str, str]) -> dict[Any, int]:
    """Remove one row, or wait until somebody else has; the number of its events, by its key."""
    return _removed(connection, tuple_(*_KEY) == key)


def _removed(connection: Connection, chosen: ColumnElement[bool]) -> dict[Any, int]:
    gone = delete(_TABLE).where(chosen).returning(*_KEY, _TABLE.c.number)
    return {(lender, mode, one): number for lender, mode, one, number in connection.execute(gone)}
