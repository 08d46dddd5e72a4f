"""Webhook endpoints: where the events of a lender are sent, and the secrets that sign for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from alama.platform import addresses, ids
from alama.platform.events import Event, EventKind, event
from alama.webhooks import secrets
from alama.webhooks.endpoint_store import EndpointStore
from alama.webhooks.event_store import EventStore
from alama.webhooks.records import (
    ENDPOINT_PREFIX,
    ROTATION_OVERLAP_US,
    Attempt,
    Change,
    Endpoint,
    EndpointDisabled,
    Secrets,
    UnknownEndpoint,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.lenders.installation import Installation
    from alama.platform.addresses import Reach
    from alama.platform.book import Book
    from alama.platform.clock import Clock
    from alama.vault.vault import Vault


CheckUrl = Callable[[str], None]
"""Raises `InvalidUrl` where events cannot be sent to a URL, whatever answers there."""

TEST_MESSAGE = "This is a test: if you can read it and its signature holds, all is well."


class NewEndpoint(NamedTuple):
    """What a lender says of an endpoint that is to be; no kinds stand for all of them."""

    url: str
    kinds: tuple[EventKind, ...] = ()
    description: str = ""


class Endpoints:
    """What can be done with the endpoints of a book. Nothing of another book is ever found.

    `by` is who says so, for the audit: the id of a key, or None for whoever runs this process.
    """

    def __init__(
        self,
        store: EndpointStore,
        events: EventStore,
        vault: Vault,
        clock: Clock,
        check_url: CheckUrl,
    ) -> None:
        self._store = store
        self._events = events
        self._vault = vault
        self._clock = clock
        self.check_url = check_url

    @classmethod
    def at(cls, installed: Installation, reach: Reach) -> Endpoints:
        """Where the events of an installation are sent; `reach` says where that may be."""
        store = EndpointStore(installed.database, installed.log, installed.vault)
        check_url = partial(addresses.check, reach=reach)
        events = EventStore(installed.database)
        return cls(store, events, installed.vault, installed.clock, check_url)

    def add(self, book: Book, new: NewEndpoint, by: str | None = None) -> tuple[str, Endpoint]:
        """Add one; the first of the pair is its secret, which is never to be had again.

        `InvalidUrl`, `TooManyEndpoints`. The lender is one that is known to be there.
        """
        self.check_url(new.url)
        now_us, secret = self._clock(), secrets.new()
        endpoint_id = ids.sortable(ENDPOINT_PREFIX, now_us, os.urandom(ids.RANDOM_BYTES))
        endpoint = Endpoint(
            id=endpoint_id,
            book=book,
            url=addresses.normal(new.url),
            kinds=_in_order(new.kinds),
            description=new.description,
            created_us=now_us,
            secrets=self._wrapped(book, endpoint_id, secret),
        )
        self._store.add(endpoint, by)
        return secrets.shown(secret), endpoint

    def of(self, book: Book) -> Sequence[Endpoint]:
        """Give those of a book, oldest first."""
        return self._store.of(book)

    def find(self, book: Book, endpoint_id: str) -> Endpoint:
        """Give one of a book, or raise `UnknownEndpoint`."""
        return self._store.find(book, require_endpoint_id(endpoint_id))

    def change(
        self, book: Book, endpoint_id: str, change: Change, by: str | None = None
    ) -> Endpoint:
        """Change one, and give it as it is then; `UnknownEndpoint`, `InvalidUrl`."""
        if change.url is not None:
            self.check_url(change.url)
            change = change._replace(url=addresses.normal(change.url))
        if change.kinds is not None:
            change = change._replace(kinds=_in_order(change.kinds))
        endpoint_id = require_endpoint_id(endpoint_id)
        return self._store.change(book, endpoint_id, change, self._clock(), by)

    def remove(self, book: Book, endpoint_id: str, by: str | None = None) -> None:
        """Remove one with its secrets, or raise `UnknownEndpoint`.

        What waits for it is not sent. What was tried there cannot be read any more, and is dropped
        when its time is over.
        """
        self._store.remove(book, require_endpoint_id(endpoint_id), by)

    def rotate(
        self,
        book: Book,
        endpoint_id: str,
        overlap_us: int = ROTATION_OVERLAP_US,
        by: str | None = None,
    ) -> tuple[str, Endpoint]:
        """Make a new secret, which is never to be had again; the old one signs too for so long.

        0 ends the old one at once. Where one older than that signs too by now, it goes on instead,
        to the end it has. `UnknownEndpoint`.
        """
        now_us, secret = self._clock(), secrets.new()
        kept = self._wrapped(book, require_endpoint_id(endpoint_id), secret)
        if overlap_us:
            kept = kept._replace(previous_until_us=now_us + overlap_us)
        endpoint = self._store.replace_secrets(book, endpoint_id, kept, now_us, by)
        return secrets.shown(secret), endpoint

    def test(self, book: Book, endpoint_id: str) -> Event:
        """Have an event sent to one endpoint alone, whatever kinds it wants.

        `UnknownEndpoint`, `EndpointDisabled`.
        """
        endpoint = require_enabled(self.find(book, endpoint_id))
        now_us = self._clock()
        data = {"endpoint_id": endpoint.id, "message": TEST_MESSAGE}
        chance = os.urandom(ids.RANDOM_BYTES)
        sent = event(book, EventKind.TEST, endpoint.id, data, now_us, chance)
        self._events.add_for_nobody(sent)
        self._events.send_to(book, sent.id, [endpoint.id], now_us)
        return sent

    def attempts(
        self, book: Book, endpoint_id: str, before: str | None, limit: int
    ) -> Sequence[Attempt]:
        """Give what was tried at one, newest first, from just before an id on."""
        return self._store.attempts(book, require_endpoint_id(endpoint_id), before, limit)

    def _wrapped(self, book: Book, endpoint_id: str, secret: bytes) -> Secrets:
        ring = self._vault.ring(book.lender)
        return secrets.wrapped(secret, ring, endpoint_id, book.mode.value)


def require_endpoint_id(text: str) -> str:
    """Give an id of an endpoint again; `UnknownEndpoint` for what can be none."""
    if not ids.is_sortable(ENDPOINT_PREFIX, text):
        raise UnknownEndpoint
    return text


def require_enabled(endpoint: Endpoint) -> Endpoint:
    """Give an endpoint again, or raise `EndpointDisabled`: nothing is sent to it."""
    if endpoint.disabled_us is not None:
        raise EndpointDisabled
    return endpoint


def _in_order(kinds: Sequence[EventKind]) -> tuple[EventKind, ...]:
    """Give kinds once each, in the order in which they are listed everywhere."""
    return tuple(kind for kind in EventKind if kind in kinds)
