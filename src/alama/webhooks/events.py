"""The events of a book: read for as long as they are kept, and sent again where one was missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core.errors import AlamaError
from alama.platform import events, ids
from alama.platform.events import Event, EventKind
from alama.webhooks.endpoint_store import EndpointStore
from alama.webhooks.endpoints import require_enabled, require_endpoint_id
from alama.webhooks.event_store import EventStore
from alama.webhooks.records import UnknownEvent, Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.lenders.installation import Installation
    from alama.platform.book import Book
    from alama.platform.clock import Clock


class NotYet(AlamaError):
    """Events are wanted since a time that has not come."""

    def __init__(self) -> None:
        super().__init__(
            "the time is in the future: nothing has happened since",
            hint="name one that has passed; events are kept for 30 days",
        )


class Events:
    """What can be done with the events of a book. Nothing of another book is ever found."""

    def __init__(self, store: EventStore, endpoints: EndpointStore, clock: Clock) -> None:
        self._store = store
        self._endpoints = endpoints
        self._clock = clock

    @classmethod
    def at(cls, installed: Installation) -> Events:
        """What was announced in an installation, and can be sent again."""
        endpoints = EndpointStore(installed.database, installed.log, installed.vault)
        return cls(EventStore(installed.database), endpoints, installed.clock)

    def page(
        self, book: Book, kind: EventKind | None, before: str | None, limit: int
    ) -> Sequence[Event]:
        """Give events of a kind or of all, newest first, from just before an id on."""
        return self._store.page(book, kind, before, limit)

    def find(self, book: Book, event_id: str) -> Event:
        """Give one of a book, or raise `UnknownEvent`."""
        if not ids.is_sortable(events.PREFIX, event_id):
            raise UnknownEvent
        return self._store.find(book, event_id)

    def resend(self, book: Book, event_id: str) -> int:
        """Have an event sent again to each endpoint that wants its kind; how many that are.

        A test goes to the endpoint that it was made for, and to nobody else.
        """
        found = self.find(book, event_id)
        if found.kind == EventKind.TEST:
            return self._store.send_to(book, found.id, [found.subject_id], self._clock())
        wanting = [one.id for one in self._endpoints.of(book) if one.wants(found.kind)]
        return self._store.send_to(book, found.id, wanting, self._clock())

    def resend_to(self, book: Book, event_id: str, endpoint_id: str) -> int:
        """Have an event sent again to one endpoint, whatever kinds it wants; 1.

        `UnknownEvent`, `UnknownEndpoint`, `EndpointDisabled`.
        """
        found = self.find(book, event_id)
        endpoint = self._endpoints.find(book, require_endpoint_id(endpoint_id))
        return self._store.send_to(book, found.id, [require_enabled(endpoint).id], self._clock())

    def resend_since(self, book: Book, endpoint_id: str, since_us: int) -> int:
        """Have all events since a time that an endpoint wants sent to it; how many that are.

        Workers do it little by little. While they are at it, asking again for the same or for less
        begins nothing anew. `NotYet`, `UnknownEndpoint`, `EndpointDisabled`.
        """
        now_us = self._clock()
        if since_us > now_us:
            raise NotYet
        endpoint = self._endpoints.find(book, require_endpoint_id(endpoint_id))
        return self._store.send_since(book, require_enabled(endpoint).id, since_us, now_us)

    def waiting(self, book: Book, endpoint_ids: Sequence[str]) -> Mapping[str, Waiting]:
        """Give what is on its way to some endpoints, by their ids, where there is anything.

        Each that is asked for takes its time: much may wait, and is counted.
        """
        return self._store.waiting(book, endpoint_ids, self._clock())
