"""The outbox: events become deliveries, and workers take them, each its own.

Nothing here waits for a worker that died: what it claimed comes due again. On PostgreSQL workers
skip what another has locked; SQLite has one writer at a time, so all is looked for before, and
what is written is checked again, in short transactions: scores wait for each of them.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, exists, func, select, tuple_, update

from alama.service.webhooks.events import Event
from alama.service.webhooks.records import Backlog, Due
from alama.service.webhooks.rounds import rounds
from alama.storage import (
    bundles,
    dispatching,
    event_rows,
    forgetting,
    recalling,
    resends,
    schema,
    settling,
)
from alama.storage.bundles import COLUMNS
from alama.storage.deliveries import KEY, has_enough, to_be_sent
from alama.storage.endpoints import ENABLED, ENDPOINTS, listed
from alama.storage.event_books import NO_BOOK, StoredBook, books_after, within
from alama.storage.forgetting import OldEvents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from alama.service.webhooks.records import Endpoint, Forgotten, Listed, Settled
    from alama.storage.acts import ActLog
    from alama.storage.bundles import Bundle
    from alama.storage.database import Database

CLAIMED_AT_ONCE: Final = 64
"""Deliveries that are taken in one transaction."""

SETTLED_AT_ONCE: Final = 64
"""Deliveries that are noted in one transaction: with all that receivers said some 5 ms."""

ENOUGH: Final = 100
"""Deliveries that are due: while each endpoint of a book has so many, its events wait as such. More
could not be sent any sooner, and scoring waits while they are made."""

OF_EACH_MIN: Final = 10
"""Bundles that are read of each book where many wait: a few of them will do."""

RECALL_EVERY_US: Final = 60 * 1_000_000
"""Between two looks for what a clock has put off: they find nothing, but for a mishap."""


class SqlOutbox:
    """The outbox in a database; see `alama.service.webhooks.ports.Outbox`."""

    def __init__(self, database: Database, log: ActLog) -> None:
        """Use an open database; what is disabled is written to the log of acts."""
        self._database = database
        self._log = log
        self._served = NO_BOOK  # the last whose turn it was
        self._recalled_us = 0
        self._old_events = OldEvents(database)

    # -------------------------------------------------------------------------------- dispatch

    def dispatch(self, now_us: int, limit: int) -> int:
        with self._database.reading() as connection:
            waiting = _waiting_books(connection, self._served, limit)
            busy = _busy_books(connection, waiting, now_us)
            books = [book for book in waiting if book not in busy]
            each = max(limit // max(len(books), 1) + 1, OF_EACH_MIN)
            of_each = [_waiting_in(connection, book, each) for book in books]
        chosen = _first(rounds(of_each), limit)
        if not chosen:
            return 0
        self._served = StoredBook(chosen[-1].lender, chosen[-1].mode)
        with self._database.writing() as connection:
            return dispatching.dispatch(connection, chosen, now_us)

    def carry_on(self, now_us: int, limit: int) -> int:
        sent = resends.carry_on(self._database, now_us, limit)
        put_away = forgetting.put_away(self._database, now_us, limit)
        return sent + put_away + self._recall(now_us, limit)

    def _recall(self, now_us: int, limit: int) -> int:
        """Bring back what a clock has put off, if it is time to look, or some was left."""
        if abs(now_us - self._recalled_us) < RECALL_EVERY_US:
            return 0
        recalled = recalling.recall(self._database, now_us, limit)
        if not recalled:
            self._recalled_us = now_us
        return recalled

    # -------------------------------------------------------------------------------- claims

    def endpoints(self) -> Listed:
        query = ENDPOINTS.where(ENABLED).order_by(schema.webhook_endpoints.c.id)
        with self._database.reading() as connection:
            return listed(connection.execute(query))

    def due(self, now_us: int) -> Sequence[str]:
        table = schema.webhook_endpoints
        query = select(table.c.id).where(ENABLED, _has_due(now_us)).order_by(table.c.id)
        with self._database.reading() as connection:
            return connection.execute(query).scalars().all()

    def claim(
        self, worker: str, places: Mapping[str, int], now_us: int, until_us: int
    ) -> Sequence[Due]:
        with self._database.reading() as connection:
            wanted = [endpoint_id for endpoint_id, free in places.items() if free > 0]
            endpoints = _with_something_due(connection, wanted, now_us)
            due = [
                one
                for endpoint_id in wanted
                if endpoint_id in endpoints
                for one in _due(connection, endpoints[endpoint_id], places[endpoint_id], now_us)
            ]
        taken: list[Due] = []
        for first in range(0, len(due), CLAIMED_AT_ONCE):
            with self._database.writing() as connection:
                some = due[first : first + CLAIMED_AT_ONCE]
                taken += _take(connection, some, worker, now_us, until_us)
        return taken

    def give_back(self, worker: str, now_us: int) -> None:
        table = schema.deliveries
        # Looked for before anything is locked: SQLite has one writer at a time.
        mine = (table.c.claimed_by == worker) & table.c.next_us.is_not(None)
        query = select(table.c.endpoint_id, table.c.event_id).where(mine)
        with self._database.reading() as connection:
            claimed = [tuple(row) for row in connection.execute(query)]
        if not claimed:
            return
        still = query.where(KEY.in_(claimed)).with_for_update(skip_locked=True)
        with self._database.writing() as connection:
            found = [tuple(row) for row in connection.execute(still)]
            back = update(table).where(KEY.in_(found))
            connection.execute(back.values(next_us=now_us, claimed_by=None))

    # -------------------------------------------------------------------------------- settling

    def settle(self, worker: str, settled: Sequence[Settled]) -> Sequence[Endpoint]:
        disabled: list[Endpoint] = []
        for first in range(0, len(settled), SETTLED_AT_ONCE):
            with self._database.writing() as connection:
                some = settled[first : first + SETTLED_AT_ONCE]
                disabled += settling.settle(connection, self._log, worker, some)
        return disabled

    # -------------------------------------------------------------------------------- upkeep

    def forget(self, before_us: int, limit: int) -> Forgotten:
        dropped = self._old_events.drop(before_us, limit)
        with self._database.writing() as connection:
            attempts = forgetting.drop_attempts(connection, before_us, limit)
        return dropped._replace(some_left=dropped.some_left or attempts == limit)

    def backlog(self) -> Backlog:
        endpoints, deliveries = schema.webhook_endpoints, schema.deliveries
        events = select(func.coalesce(func.sum(schema.bundles.c.number), 0))
        on_their_way = (
            select(func.count())
            .select_from(endpoints.join(deliveries, to_be_sent()))
            .where(ENABLED)
        )
        with self._database.reading() as connection:
            return Backlog(
                connection.execute(events).scalar_one(),
                connection.execute(on_their_way).scalar_one(),
            )


# ------------------------------------------------------------------------------- dispatch


def _waiting_books(connection: Connection, after: StoredBook, limit: int) -> list[StoredBook]:
    """Give books in which events wait, at most so many, beginning with those after one."""
    books: dict[StoredBook, None] = {}
    round_about = (books_after(connection, schema.bundles, begin) for begin in (after, NO_BOOK))
    for book in chain.from_iterable(round_about):
        if book in books or len(books) == limit:
            break
        books[book] = None
    return list(books)


def _busy_books(
    connection: Connection, books: Sequence[StoredBook], now_us: int
) -> set[StoredBook]:
    """Give those of some books whose endpoints all have enough to do."""
    table = schema.webhook_endpoints
    query = select(table.c.lender, table.c.mode, has_enough(now_us, ENOUGH))
    query = query.where(ENABLED, tuple_(table.c.lender, table.c.mode).in_(books))
    have: dict[StoredBook, bool] = {}
    for lender, mode, enough in connection.execute(query):
        book = StoredBook(lender, mode)
        have[book] = have.get(book, True) and enough
    return {book for book, enough in have.items() if enough}


def _waiting_in(connection: Connection, book: StoredBook, limit: int) -> list[Bundle]:
    """Give the oldest bundles of a book, at most so many; without those that cannot be read."""
    table = schema.bundles
    query = select(*COLUMNS).where(within(table, book)).order_by(table.c.id)
    return [bundle for bundle, _ in bundles.sound(connection, query, limit)]


def _first(found: Iterator[Bundle], limit: int) -> list[Bundle]:
    """Take bundles until so many events are in them."""
    chosen: list[Bundle] = []
    while sum(bundle.number for bundle in chosen) < limit and (one := next(found, None)):
        chosen.append(one)
    return chosen


# ------------------------------------------------------------------------------- claims


def _has_due(now_us: int) -> ColumnElement[bool]:
    return exists().where(to_be_sent(), schema.deliveries.c.next_us <= now_us)


def _with_something_due(
    connection: Connection, endpoint_ids: Sequence[str], now_us: int
) -> dict[str, Endpoint]:
    table = schema.webhook_endpoints
    query = ENDPOINTS.where(ENABLED, table.c.id.in_(endpoint_ids), _has_due(now_us))
    return {endpoint.id: endpoint for endpoint in listed(connection.execute(query)).known}


# Made once: a claim asks it of each endpoint, and making it takes longer than the answer.
_DUE: Final = (
    select(schema.deliveries.c.attempts, *event_rows.COLUMNS)
    .join(schema.events, schema.events.c.id == schema.deliveries.c.event_id)
    .where(
        schema.events.c.lender == bindparam("lender"),
        schema.events.c.mode == bindparam("mode"),
        schema.deliveries.c.endpoint_id == bindparam("endpoint_id"),
        schema.deliveries.c.generation == bindparam("generation"),
        schema.deliveries.c.next_us <= bindparam("now_us"),
    )
    .order_by(schema.deliveries.c.next_us)
    .limit(bindparam("limit"))
)


def _due(connection: Connection, endpoint: Endpoint, limit: int, now_us: int) -> list[Due]:
    """Give deliveries to an endpoint that are due, oldest first."""
    chosen = {
        "lender": endpoint.book.lender,
        "mode": endpoint.book.mode.value,
        "endpoint_id": endpoint.id,
        "generation": endpoint.generation,
        "now_us": now_us,
        "limit": limit,
    }
    return [
        Due(endpoint, Event._make(event), attempts)
        for attempts, *event in connection.execute(_DUE, chosen)
    ]


def _take(
    connection: Connection, due: Sequence[Due], worker: str, now_us: int, until_us: int
) -> list[Due]:
    """Claim those of some deliveries that nobody else has taken since they were found."""
    table = schema.deliveries
    keys = [(one.endpoint.id, one.event.id) for one in due]
    still = select(table.c.endpoint_id, table.c.event_id)
    still = still.where(KEY.in_(keys), table.c.next_us <= now_us)
    mine = update(table).where(KEY.in_(still.with_for_update(skip_locked=True)))
    rows = connection.execute(
        mine.values(next_us=until_us, claimed_by=worker).returning(
            *still.selected_columns, table.c.attempts
        )
    )
    attempts = {(row.endpoint_id, row.event_id): row.attempts for row in rows}
    return [
        one._replace(attempts=attempts[key])
        for one, key in zip(due, keys, strict=True)
        if key in attempts
    ]
