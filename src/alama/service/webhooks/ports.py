"""What webhooks need from a database. Every method may raise `StoreUnavailable`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.service.book import Book
    from alama.service.webhooks.events import Event
    from alama.service.webhooks.records import (
        Attempt,
        Backlog,
        Change,
        Due,
        Endpoint,
        Forgotten,
        Listed,
        Secrets,
        Settled,
        Waiting,
    )


class EndpointStore(Protocol):
    """The endpoints of each book. What changes one is written to the audit with it.

    `by` is who said so: the id of a key, or None for whoever runs this process.
    """

    def add(self, endpoint: Endpoint, by: str | None = None) -> None:
        """Add one; `TooManyEndpoints` if the book has its twenty, `UnknownLender`."""

    def of(self, book: Book) -> Sequence[Endpoint]:
        """Those of a book, oldest first."""
        ...

    def find(self, book: Book, endpoint_id: str) -> Endpoint:
        """One of them, or `UnknownEndpoint`."""
        ...

    def change(
        self, book: Book, endpoint_id: str, change: Change, now_us: int, by: str | None = None
    ) -> Endpoint:
        """Change one and give it as it is then; enabled again it is not failing; `UnknownEndpoint`.

        Disabled, what is on its way to it is given up: it does not come when it is enabled again.
        """
        ...

    def remove(self, book: Book, endpoint_id: str, by: str | None = None) -> None:
        """Remove one, or `UnknownEndpoint`; nothing more is sent to it, and nothing can be asked.

        What is left of its deliveries and attempts goes when their events do.
        """

    def replace_secrets(
        self, book: Book, endpoint_id: str, secrets: Secrets, now_us: int, by: str | None = None
    ) -> Endpoint:
        """Let another secret sign from now on, and give the endpoint, or `UnknownEndpoint`.

        With a `previous_until_us`, the one that signs at this moment goes on until then; which
        that is, the store sees: somebody else may have replaced it meanwhile. Where an older one
        signs too by now, that one goes on to the end it has, and the current one ends: receivers
        have the older.
        """
        ...

    def attempts(
        self, book: Book, endpoint_id: str, before: str | None, limit: int
    ) -> Sequence[Attempt]:
        """What was tried at an endpoint, newest first, from just before an id on."""
        ...


class EventStore(Protocol):
    """The events of each book, for thirty days."""

    def add(self, event: Event) -> None:
        """Keep an event, to be sent to whoever wants it."""

    def add_for_nobody(self, event: Event) -> None:
        """Keep an event that is sent to nobody but those it is sent to by `send_to`."""

    def page(self, book: Book, kind: str | None, before: str | None, limit: int) -> Sequence[Event]:
        """Events of a book, newest first, from just before an id on."""
        ...

    def find(self, book: Book, event_id: str) -> Event:
        """One of them, or `UnknownEvent`."""
        ...

    def send_to(self, book: Book, event_id: str, endpoint_ids: Sequence[str], now_us: int) -> int:
        """Have an event sent, again or for the first time, at once; to how many it will be.

        What is being sent at this moment is not sent twice at once. Endpoints that are disabled or
        of another book are left out; `UnknownEvent`.
        """
        ...

    def send_since(self, book: Book, endpoint_id: str, since_us: int, now_us: int) -> int:
        """Have everything from a time until now that an endpoint wants sent to it; how many.

        They are counted up to `RESENT_COUNTED_MAX`, which stands for that many or more. The wish is
        noted, and workers carry it on: see `Outbox.carry_on`. While it stands, asking again for the
        same or for less begins nothing anew. Tests are left out, and so is everything where it is
        disabled. `UnknownEndpoint` if it is not of the book.
        """
        ...

    def waiting(
        self, book: Book, endpoint_ids: Sequence[str], now_us: int
    ) -> Mapping[str, Waiting]:
        """What is on its way to some endpoints of a book, by their ids.

        Those that are disabled, of another book, or wait for nothing are left out.
        """
        ...


class Outbox(Protocol):
    """What is to be sent, of every book; several workers may take from it."""

    def dispatch(self, now_us: int, limit: int) -> int:
        """Make deliveries of events that none were made of, until they are so many; how many.

        Those that were kept together are dispatched together, so there may be some more of them.
        Each event once, whoever else is at it. Books take turns; of one the oldest come first, and
        none while each of its endpoints has enough to do. Disabled endpoints get none. All are due
        by now, though a clock elsewhere runs ahead.
        """
        ...

    def carry_on(self, now_us: int, limit: int) -> int:
        """Go on with what takes long, at most so many deliveries; how many they were.

        Sends again what somebody wished for, puts away what still waits for endpoints that were
        disabled, and has what a clock that ran ahead put off for longer than anything waits due
        now; it looks for that once a minute. To be called as often as `dispatch` is, with a pause
        after each call.
        """
        ...

    def endpoints(self) -> Listed:
        """All that are enabled."""
        ...

    def due(self, now_us: int) -> Sequence[str]:
        """The ids of those that are enabled and have something due, in order: cheap to ask."""
        ...

    def claim(
        self, worker: str, places: Mapping[str, int], now_us: int, until_us: int
    ) -> Sequence[Due]:
        """Take what is due, for each endpoint at most as many as it has places, oldest first.

        In the order of the places. Nobody else gets them before `until_us`; a worker that dies
        gives them back by that. What another worker is taking at this moment is left out.
        """
        ...

    def settle(self, worker: str, settled: Sequence[Settled]) -> Sequence[Endpoint]:
        """Note what came of claims, with their attempts; give the endpoints it has disabled.

        A claim that has gone to another worker meanwhile is left alone, but for its attempt. An
        endpoint that is disabled leaves its event and its act in the same transaction. Many are
        noted in several transactions; to say all of them again does no harm. A delivery
        ends `failing_since_us` of its endpoint; a failure begins it. Where it has another URL or
        generation by now, nothing follows for it.
        """
        ...

    def give_back(self, worker: str, now_us: int) -> None:
        """Let go of everything that a worker has claimed: it is due at once."""

    def forget(self, before_us: int, limit: int) -> Forgotten:
        """Drop what is from before a time, at most so many events and attempts."""
        ...

    def backlog(self) -> Backlog:
        """Count what is on its way."""
        ...
