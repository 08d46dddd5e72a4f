"""An outbox in a SQLite file whose database can be away, and a watch that remembers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, select

from alama.platform import event_bundles
from alama.platform.acts import ActLog
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnavailable
from alama.platform.event_bundles import Bundle, unfolded
from alama.platform.events import Event, EventKind, event
from alama.webhooks import deliveries, schema
from alama.webhooks.outbox import Outbox
from alama.webhooks.records import (
    Backlog,
    DeliveryResult,
    Due,
    Endpoint,
    Forgotten,
    Secrets,
    Settled,
)
from tests.databases import sqlite_url
from tests.stores import acts_in, lenders_in
from tests.webhooked import Hooks

OK = DeliveryResult(200, None, "", 1)
BROKEN = DeliveryResult(500, None, "", 1)
GONE = DeliveryResult(410, None, "", 1)
BUSY = DeliveryResult(503, None, "", 1, retry_after_s=3_600)


def an_endpoint(lender: str = "demo", number: int = 0) -> Endpoint:
    """An endpoint that is in no database."""
    return Endpoint(
        id=f"we_{lender}_{number}",
        book=Book(lender, Mode.TEST),
        url="https://example.com/",
        kinds=(),
        description="",
        created_us=0,
        secrets=Secrets("lk", b""),
    )


def an_event(lender: str = "demo", number: int = 0) -> Event:
    """An event that is in no database."""
    book = Book(lender, Mode.TEST)
    return event(book, EventKind.TEST, "we_x", {}, number, number.to_bytes(7, "big"))


class UnsteadyDatabase(Database):
    """A database that is away while a test says so."""

    away = False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        self._require()
        with super().reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        self._require()
        with super().writing() as connection:
            yield connection

    def _require(self) -> None:
        if self.away:
            raise StoreUnavailable("away")


class WatchedOutbox(Outbox):
    """An outbox that remembers what was settled, and how often it was asked what for."""

    def __init__(self, database: UnsteadyDatabase, log: ActLog) -> None:
        super().__init__(database, log)
        self.database = database
        self.settled: list[Settled] = []
        self.settlements = 0
        self.looks = 0

    def announce(self, *events: Event) -> None:
        """Let things happen, whether or not the database is away for others."""
        with self.database.engine.begin() as connection:
            for one in events:
                event_bundles.keep(connection, one)

    def announce_to_nobody(self, event: Event) -> None:
        """Let something have happened that has no deliveries left."""
        with self.database.engine.begin() as connection:
            deliveries.keep(connection, [event])

    @property
    def events(self) -> list[str]:
        """The events that are kept."""
        with self.database.engine.begin() as connection:
            held = connection.execute(select(*event_bundles.COLUMNS)).all()
            undispatched = [one.id for row in held for one in unfolded(Bundle._make(row))]
            return [*undispatched, *connection.execute(select(tables.events.c.id)).scalars()]

    @property
    def claimed(self) -> list[str]:
        """The events that a worker holds."""
        table = schema.deliveries
        with self.database.engine.begin() as connection:
            query = select(table.c.event_id).where(table.c.claimed_by.is_not(None))
            return list(connection.execute(query).scalars())

    def due(self, now_us: int) -> Sequence[str]:
        found = super().due(now_us)
        self.looks += 1
        return found

    def settle(self, worker: str, settled: Sequence[Settled]) -> Sequence[Endpoint]:
        disabled = super().settle(worker, settled)
        self.settled += settled
        self.settlements += 1
        return disabled


@contextmanager
def opened(folder: Path, *lenders: str) -> Iterator[WatchedOutbox]:
    """Make a database in a folder, with an endpoint for each lender."""
    with closing(databases.connect(sqlite_url(folder))) as database:
        migrate.upgrade(database)
        lenders_in(database, *lenders)
        hooks = Hooks(database)
        for lender in lenders:
            hooks.add(Book(lender, Mode.TEST))
        unsteady = UnsteadyDatabase(database.engine, database._hot, database._file)
        yield WatchedOutbox(unsteady, acts_in(database))


class Told:
    """A watch that remembers what it was told."""

    counts = True

    def __init__(self) -> None:
        self.attempts: list[Settled] = []
        self.ended: list[Endpoint] = []
        self.faults: list[Exception] = []
        self.outages: list[Exception] = []
        self.backlogs: list[Backlog] = []
        self.forgotten: list[Forgotten] = []
        self.failed_chores: list[str] = []
        self.damaged: list[str] = []

    def attempted(self, _: Due, settled: Settled) -> None:
        self.attempts.append(settled)

    def disabled(self, endpoint: Endpoint) -> None:
        self.ended.append(endpoint)

    def broke(self, _: Due, error: Exception) -> None:
        self.faults.append(error)

    def unreadable(self, endpoint_id: str) -> None:
        self.damaged.append(endpoint_id)

    def unavailable(self, error: StoreUnavailable) -> None:
        self.outages.append(error)

    def available(self) -> None:
        pass

    def backlog(self, backlog: Backlog) -> None:
        self.backlogs.append(backlog)

    def forgot(self, forgotten: Forgotten) -> None:
        self.forgotten.append(forgotten)

    def chore_failed(self, chore: str, _: Exception) -> None:
        self.failed_chores.append(chore)
