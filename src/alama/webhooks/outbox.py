"""The outbox: events become deliveries, workers take them, and what came of each is settled.

Nothing here waits for a worker that died: what it claimed comes due again. On PostgreSQL workers
skip what another has locked; SQLite has one writer at a time, so all is looked for before, and
what is written is checked again, in short transactions: scores wait for each of them.

An event may arrive twice: a worker that is killed after it has sent one and before `settle` leaves
its claim to come due again, and whoever takes it next sends it once more, under the same id.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import bindparam, exists, func, select, tuple_, update

from alama.lenders.installation import Installation, operator
from alama.platform import event_bundles
from alama.platform.acts import ActLog
from alama.platform.database import tables
from alama.platform.database.books import NO_BOOK, StoredBook, books_after, within
from alama.platform.database.statements import Prepared, insert_into
from alama.platform.event_bundles import COLUMNS, Bundle, announce
from alama.platform.events import Event, EventKind
from alama.webhooks import deliveries as delivery_rows
from alama.webhooks import endpoint_store, resends, schema
from alama.webhooks.deliveries import EVENT_COLUMNS, KEY, has_enough, to_be_sent
from alama.webhooks.endpoint_store import (
    ENABLED,
    ENDPOINTS,
    end_resend,
    endpoint_of,
    listed,
    locked,
)
from alama.webhooks.records import (
    ANSWER_OF_SUCCESS_MAX,
    Attempt,
    Backlog,
    DisabledReason,
    Due,
    Endpoint,
    Forgotten,
    Listed,
    Settled,
)
from alama.webhooks.schedule import failing_too_long
from alama.webhooks.slots import rounds
from alama.webhooks.upkeep import OldEvents, drop_attempts, put_away_waiting, recall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Update

    from alama.platform.database.database import Database


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


class Outbox:
    """The outbox in a database; what it disables is written to the log of acts."""

    def __init__(self, database: Database, log: ActLog) -> None:
        self._database = database
        self._log = log
        self._served = NO_BOOK  # the last whose turn it was
        self._recalled_us = 0
        self._old_events = OldEvents(database)

    @classmethod
    def at(cls, installed: Installation) -> Outbox:
        """What is to be sent to webhooks."""
        # Not the log of all others: a worker asks for no ring, with which they see who signs.
        signer = installed.vault.signer_of_now
        log = ActLog(installed.database, signer, installed.clock, operator())
        return cls(installed.database, log)

    # -------------------------------------------------------------------------------- dispatch

    def dispatch(self, now_us: int, limit: int) -> int:
        """Make deliveries of events that none were made of, until they are so many; how many.

        Those that were kept together are dispatched together, so there may be some more of them.
        The deliveries of an event are made once, whoever else is at it. Books take turns; of one
        the oldest come first, and none while each of its endpoints has enough to do. Disabled
        endpoints get none. All are due by now, though a clock elsewhere runs ahead.
        """
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
            return delivery_rows.dispatch(connection, chosen, now_us)

    def carry_on(self, now_us: int, limit: int) -> int:
        """Go on with what takes long, at most so many deliveries; how many they were.

        Sends again what somebody wished for, puts away what still waits for endpoints that were
        disabled, and has what a clock that ran ahead put off for longer than anything waits due
        now; it looks for that once a minute. To be called as often as `dispatch` is, with a pause
        after each call.
        """
        sent = resends.carry_on(self._database, now_us, limit)
        put_away = put_away_waiting(self._database, now_us, limit)
        return sent + put_away + self._recall(now_us, limit)

    def _recall(self, now_us: int, limit: int) -> int:
        """Bring back what a clock has put off, if it is time to look, or some was left."""
        if abs(now_us - self._recalled_us) < RECALL_EVERY_US:
            return 0
        recalled = recall(self._database, now_us, limit)
        if not recalled:
            self._recalled_us = now_us
        return recalled

    # -------------------------------------------------------------------------------- claims

    def endpoints(self) -> Listed:
        """All that are enabled."""
        query = ENDPOINTS.where(ENABLED).order_by(tables.webhook_endpoints.c.id)
        with self._database.reading() as connection:
            return listed(connection.execute(query))

    def due(self, now_us: int) -> Sequence[str]:
        """The ids of those that are enabled and have something due, in order: cheap to ask."""
        table = tables.webhook_endpoints
        query = select(table.c.id).where(ENABLED, _has_due(now_us)).order_by(table.c.id)
        with self._database.reading() as connection:
            return connection.execute(query).scalars().all()

    def claim(
        self, worker: str, slots: Mapping[str, int], now_us: int, until_us: int
    ) -> Sequence[Due]:
        """Take what is due, for each endpoint at most as many as it has slots, oldest first.

        In the order of the slots. Nobody else gets them before `until_us`; a worker that dies
        gives them back by that. What another worker is taking at this moment is left out.
        """
        with self._database.reading() as connection:
            wanted = [endpoint_id for endpoint_id, free in slots.items() if free > 0]
            endpoints = _with_something_due(connection, wanted, now_us)
            due = [
                one
                for endpoint_id in wanted
                if endpoint_id in endpoints
                for one in _due(connection, endpoints[endpoint_id], slots[endpoint_id], now_us)
            ]
        taken: list[Due] = []
        for first in range(0, len(due), CLAIMED_AT_ONCE):
            with self._database.writing() as connection:
                some = due[first : first + CLAIMED_AT_ONCE]
                taken += _take(connection, some, worker, now_us, until_us)
        return taken

    def give_back(self, worker: str, now_us: int) -> None:
        """Let go of everything that a worker has claimed: it is due at once."""
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
        """Note what came of claims, with their attempts; give the endpoints it has disabled.

        A claim that has gone to another worker meanwhile is left alone, but for its attempt. An
        endpoint that is disabled leaves its event and its act in the same transaction. Many are
        noted in several transactions; to say all of them again does no harm. A delivery
        ends `failing_since_us` of its endpoint; a failure begins it. Where it has another URL or
        generation by now, nothing follows for it.
        """
        disabled: list[Endpoint] = []
        for first in range(0, len(settled), SETTLED_AT_ONCE):
            with self._database.writing() as connection:
                some = settled[first : first + SETTLED_AT_ONCE]
                disabled += settle_some(connection, self._log, worker, some)
        return disabled

    # -------------------------------------------------------------------------------- upkeep

    def forget(self, before_us: int, limit: int) -> Forgotten:
        """Drop what is from before a time, at most so many events and attempts."""
        dropped = self._old_events.drop(before_us, limit)
        with self._database.writing() as connection:
            attempts = drop_attempts(connection, before_us, limit)
        return dropped._replace(some_left=dropped.some_left or attempts == limit)

    def backlog(self) -> Backlog:
        """Count what is on its way."""
        endpoints, deliveries = tables.webhook_endpoints, schema.deliveries
        events = select(func.coalesce(func.sum(tables.bundles.c.number), 0))
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
    round_about = (books_after(connection, tables.bundles, begin) for begin in (after, NO_BOOK))
    for book in chain.from_iterable(round_about):
        if book in books or len(books) == limit:
            break
        books[book] = None
    return list(books)


def _busy_books(
    connection: Connection, books: Sequence[StoredBook], now_us: int
) -> set[StoredBook]:
    """Give those of some books whose endpoints all have enough to do."""
    table = tables.webhook_endpoints
    query = select(table.c.lender, table.c.mode, has_enough(now_us, ENOUGH))
    query = query.where(ENABLED, tuple_(table.c.lender, table.c.mode).in_(books))
    have: dict[StoredBook, bool] = {}
    for lender, mode, enough in connection.execute(query):
        book = StoredBook(lender, mode)
        have[book] = have.get(book, True) and enough
    return {book for book, enough in have.items() if enough}


def _waiting_in(connection: Connection, book: StoredBook, limit: int) -> list[Bundle]:
    """Give the oldest bundles of a book, at most so many; without those that cannot be read."""
    table = tables.bundles
    query = select(*COLUMNS).where(within(table, book)).order_by(table.c.id)
    return [bundle for bundle, _ in event_bundles.sound(connection, query, limit)]


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
    table = tables.webhook_endpoints
    query = ENDPOINTS.where(ENABLED, table.c.id.in_(endpoint_ids), _has_due(now_us))
    return {endpoint.id: endpoint for endpoint in listed(connection.execute(query)).known}


# Made once: a claim asks it of each endpoint, and making it takes longer than the answer.
_DUE: Final = (
    select(schema.deliveries.c.attempts, *EVENT_COLUMNS)
    .join(tables.events, tables.events.c.id == schema.deliveries.c.event_id)
    .where(
        tables.events.c.lender == bindparam("lender"),
        tables.events.c.mode == bindparam("mode"),
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


# ------------------------------------------------------------------------------- settling


_OVER: Final[dict[str, Any]] = {
    "attempts": bindparam("number"),
    "claimed_by": None,
    "next_us": None,
}


def _mine(*more: ColumnElement[bool]) -> Update:
    """Change a delivery, if the claim on it is still this worker's."""
    table = schema.deliveries
    return update(table).where(
        table.c.endpoint_id == bindparam("to"),
        table.c.event_id == bindparam("of"),
        table.c.claimed_by == bindparam("worker"),
        *more,
    )


_CLAIM: Final = ("to", "of", "worker", "number")
_DELIVERED: Final = Prepared(
    lambda _: _mine().values(_OVER | {"delivered_us": bindparam("at_us"), "failed_us": None}),
    (*_CLAIM, "at_us"),
)
_AGAIN: Final = Prepared(
    lambda _: _mine(schema.deliveries.c.next_us.is_not(None)).values(
        _OVER | {"next_us": bindparam("due_us")}
    ),
    (*_CLAIM, "due_us"),
)
_GIVEN_UP: Final = Prepared(
    lambda _: _mine().values(_OVER | {"failed_us": bindparam("at_us")}), (*_CLAIM, "at_us")
)
_ATTEMPTS: Final = Prepared(
    # Once, though a worker that heard nothing of its commit says it again.
    lambda connection: insert_into(connection, schema.webhook_attempts).on_conflict_do_nothing(),
    Attempt._fields,
)


def settle_some(
    connection: Connection, log: ActLog, worker: str, settled: Sequence[Settled]
) -> list[Endpoint]:
    """Note what came of some claims; see `Outbox.settle`."""
    concerned = {one.attempt.endpoint_id for one in settled}
    query = ENDPOINTS.where(tables.webhook_endpoints.c.id.in_(concerned))
    found = [endpoint_of(row) for row in connection.execute(locked(query))]
    # Of one that was removed meanwhile nothing is noted any more.
    at_each: dict[str, list[Settled]] = {endpoint.id: [] for endpoint in found}
    for one in settled:
        at_each.get(one.attempt.endpoint_id, []).append(one)
    noted = list(chain.from_iterable(at_each.values()))
    _write_results(connection, worker, noted)
    _ATTEMPTS.run(connection, [_kept(one)._asdict() for one in noted])
    changed = [_after(endpoint, at_each[endpoint.id]) for endpoint in found]
    _write_states(connection, found, changed)
    disabled = [
        now
        for was, now in zip(found, changed, strict=True)
        if was.disabled_us is None and now.disabled_us is not None
    ]
    for endpoint in disabled:
        end_resend(connection, endpoint.id)
        _announce_end(connection, endpoint)
    for endpoint in disabled:
        log.append(connection, endpoint_store.endpoint_disabled(endpoint))
    return disabled


def _write_results(connection: Connection, worker: str, settled: Sequence[Settled]) -> None:
    """Write what came of each claim that is still this worker's.

    One that was given up while it was under way may still have arrived, but is not tried again.
    """
    for statement, chosen in (
        (_DELIVERED, [one for one in settled if one.verdict.delivered]),
        (_AGAIN, [one for one in settled if _is_due_again(one)]),
        (_GIVEN_UP, [one for one in settled if not (one.verdict.delivered or _is_due_again(one))]),
    ):
        statement.run(connection, [_result(one, worker) for one in chosen])


def _is_due_again(settled: Settled) -> bool:
    return not settled.verdict.delivered and settled.verdict.next_us is not None


def _result(settled: Settled, worker: str) -> dict[str, Any]:
    attempt = settled.attempt
    result: dict[str, Any] = {
        "to": attempt.endpoint_id,
        "of": attempt.event_id,
        "worker": worker,
        "number": attempt.number,
    }
    if _is_due_again(settled):
        return result | {"due_us": settled.verdict.next_us}
    return result | {"at_us": _ended_us(settled)}


def _ended_us(settled: Settled) -> int:
    return settled.attempt.started_us + 1_000 * settled.attempt.took_ms


def _kept(settled: Settled) -> Attempt:
    """Give an attempt as it is kept: what somebody says who is content is seldom read."""
    attempt = settled.attempt
    if not settled.verdict.delivered:
        return attempt
    return attempt._replace(answer=attempt.answer[:ANSWER_OF_SUCCESS_MAX])


def _after(endpoint: Endpoint, settled: Sequence[Settled]) -> Endpoint:
    """Give an endpoint as it is after attempts, some of which may be at what it was before."""
    if endpoint.disabled_us is not None:
        return endpoint
    is_now = (endpoint.url, endpoint.generation)
    at_it = [one for one in settled if (one.url, one.generation) == is_now]
    failing_us = endpoint.failing_since_us
    for one in sorted(at_it, key=_ended_us):
        if one.verdict.delivered:
            failing_us = None
        elif failing_us is None and not one.verdict.ours:
            failing_us = one.attempt.started_us
    now = msgspec.structs.replace(endpoint, failing_since_us=failing_us)
    for one in at_it:
        if one.verdict.disable is not None and _stands(one, failing_us):
            return msgspec.structs.replace(
                now, disabled_us=_ended_us(one), disabled_reason=one.verdict.disable.value
            )
    return now


def _stands(settled: Settled, failing_us: int | None) -> bool:
    """Say whether an endpoint is to be disabled still: something may have arrived meanwhile."""
    if settled.verdict.disable is not DisabledReason.FAILING:
        return True
    return failing_too_long(failing_us, _ended_us(settled))


def _write_states(
    connection: Connection, before: Iterable[Endpoint], after: Iterable[Endpoint]
) -> None:
    table = tables.webhook_endpoints
    for was, now in zip(before, after, strict=True):
        if was != now:
            connection.execute(
                update(table)
                .where(table.c.id == now.id)
                .values(
                    failing_since_us=now.failing_since_us,
                    disabled_us=now.disabled_us,
                    disabled_reason=now.disabled_reason,
                )
            )


def _announce_end(connection: Connection, endpoint: Endpoint) -> None:
    assert endpoint.disabled_us is not None
    data = {"endpoint_id": endpoint.id, "reason": endpoint.disabled_reason}
    kind = EventKind.ENDPOINT_DISABLED
    announce(connection, endpoint.book, kind, endpoint.id, data, endpoint.disabled_us)
