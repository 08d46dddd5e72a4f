"""Webhook endpoints and events, made up, in a database: for tests of what keeps and sends them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from alama.platform import ids
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.platform.events import Event, EventKind, event
from alama.protection.rotation import Rotation, RotationStore
from alama.vault.vault import Vault
from alama.webhooks import secrets
from alama.webhooks.endpoint_store import EndpointStore
from alama.webhooks.event_store import EventStore
from alama.webhooks.outbox import Outbox
from alama.webhooks.records import (
    ATTEMPT_PREFIX,
    ENDPOINT_PREFIX,
    LEASE_US,
    Attempt,
    DisabledReason,
    Due,
    Endpoint,
    Secrets,
    Settled,
    Verdict,
    Waiting,
)
from tests.entries import DEMO, NOON_US
from tests.stores import acts_in
from tests.vaults import vault_of

LATER_US = NOON_US + 10**12
SECRET = b"s" * secrets.SECRET_BYTES
NEW_SECRET = b"n" * secrets.SECRET_BYTES

_numbers = count(1)


def _new_id(prefix: str, at_us: int) -> str:
    return ids.sortable(prefix, at_us, next(_numbers).to_bytes(ids.RANDOM_BYTES, "big"))


def an_endpoint(vault: Vault, book: Book = DEMO, **more: Any) -> Endpoint:
    """An endpoint that wants everything, unless it is told otherwise; its secret is `SECRET`."""
    endpoint_id = _new_id(ENDPOINT_PREFIX, NOON_US)
    wrapped = secrets.wrapped(SECRET, vault.ring(book.lender), endpoint_id, book.mode.value)
    given = {"url": "https://hooks.example/in?token=hush", "kinds": (), "description": "", **more}
    return Endpoint(endpoint_id, book, created_us=NOON_US, secrets=wrapped, **given)


def an_event(
    book: Book = DEMO, kind: EventKind = EventKind.SCORE_CREATED, at_us: int = NOON_US
) -> Event:
    """An event that nobody has heard of yet; those of one moment sort as they were made."""
    chance = next(_numbers).to_bytes(ids.RANDOM_BYTES, "big")
    return event(book, kind, "req_1", {"request_id": "req_1"}, at_us, chance)


def tried(due: Due, at_us: int, *, status: int = 200, took_ms: int = 5) -> Attempt:
    """An attempt at a delivery, right after what is known of it."""
    endpoint = due.endpoint
    return Attempt(
        id=_new_id(ATTEMPT_PREFIX, at_us),
        lender=endpoint.book.lender,
        mode=endpoint.book.mode.value,
        endpoint_id=endpoint.id,
        event_id=due.event.id,
        number=due.attempts + 1,
        started_us=at_us,
        took_ms=took_ms,
        status=status,
        error=None,
        answer="",
    )


def settled(due: Due, attempt: Attempt, judged: Verdict) -> Settled:
    return Settled(attempt, judged, due.endpoint.url, due.endpoint.generation)


def delivered(due: Due, at_us: int) -> Settled:
    return settled(due, tried(due, at_us), Verdict(delivered=True))


def failed(
    due: Due, at_us: int, *, next_us: int | None = None, disable: DisabledReason | None = None
) -> Settled:
    judged = Verdict(delivered=False, next_us=next_us, disable=disable)
    return settled(due, tried(due, at_us, status=500), judged)


class Hooks:
    """All that webhooks keep in one database, as one process sees it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.vault = vault_of(database)
        self.vault.signer()
        self.log = acts_in(database)
        self.endpoints = EndpointStore(database, self.log, self.vault)
        self.events = EventStore(database)
        self.outbox = Outbox(database, self.log)

    def add(self, book: Book = DEMO, **more: Any) -> Endpoint:
        endpoint = an_endpoint(self.vault, book, **more)
        self.endpoints.add(endpoint)
        return endpoint

    def wrapped(self, endpoint: Endpoint, secret: bytes = NEW_SECRET) -> Secrets:
        """Another secret for an endpoint, as it is kept."""
        ring = self.vault.ring(endpoint.book.lender)
        return secrets.wrapped(secret, ring, endpoint.id, endpoint.book.mode.value)

    def rotate_lender(self) -> tuple[int, int]:
        """Give the demo lender another key; how many rows were to be moved, and how many were."""
        store = RotationStore(self.database, self.log, self.vault)
        rotation = Rotation(store, self.vault, lambda: NOON_US + 1)
        expected = rotation.begin_lender(DEMO.lender, None)
        moved: list[int] = []
        rotation.finish_lender(DEMO.lender, moved.append)
        return expected, sum(moved)

    def happen(
        self, book: Book = DEMO, kind: EventKind = EventKind.SCORE_CREATED, at_us: int = NOON_US
    ) -> Event:
        happened = an_event(book, kind, at_us)
        self.events.add(happened)
        return happened

    def dispatched(self, *events: Event) -> None:
        """Keep events, and make deliveries of all that there are, due when they happened."""
        for one in events:
            self.events.add(one)
        while self.outbox.dispatch(LATER_US, 100):
            pass

    def waiting(self, book: Book, now_us: int) -> Mapping[str, Waiting]:
        """What is on its way to all endpoints of a book."""
        endpoint_ids = [endpoint.id for endpoint in self.endpoints.of(book)]
        return self.events.waiting(book, endpoint_ids, now_us)

    def resent(self, now_us: int = NOON_US, limit: int = 50) -> int:
        """Carry on what takes long until it is done; how many deliveries that concerned."""
        done = 0
        while some := self.outbox.carry_on(now_us, limit):
            done += some
        return done

    def claim(self, now_us: int = NOON_US, worker: str = "one", places: int = 100) -> list[Due]:
        """Take what is due, of every endpoint."""
        free = {endpoint.id: places for endpoint in self.outbox.endpoints().known}
        return list(self.outbox.claim(worker, free, now_us, now_us + LEASE_US))
