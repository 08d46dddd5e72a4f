"""Endpoints, deliveries and attempts as they are kept, and the errors of this room."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.application import is_visible
from alama.core.errors import AlamaError
from alama.platform.book import Book
from alama.platform.errors import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.platform.events import Event, EventKind


ENDPOINT_PREFIX: Final = "we_"
ATTEMPT_PREFIX: Final = "att_"
ENDPOINTS_MAX: Final = 20
"""Of one book: every event is sent to each of them."""
ROTATION_OVERLAP_US: Final = 24 * 3_600 * 1_000_000
"""For how long the secret before signs too."""
KEPT_US: Final = 30 * 86_400 * 1_000_000
"""For how long events, and what became of them, can be read and sent again."""
LEASE_US: Final = 60 * 1_000_000
"""For which a delivery that a worker has claimed is nobody else's."""
ANSWER_OF_SUCCESS_MAX: Final = 256
"""Characters that are kept of what a receiver said to a delivery that went well."""
COUNTED_MAX: Final = 10_000
"""What waits for an endpoint is counted so far: the answer must not wait for it."""
RESENT_COUNTED_MAX: Final = 100_000
"""What is to be sent again is counted so far."""
DESCRIPTION_MAX: Final = 200
"""Characters of what somebody says an endpoint is for."""


class UnknownEndpoint(AlamaError):
    """No such webhook endpoint in this book."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_webhook_endpoint", "Unknown webhook endpoint")

    def __init__(self) -> None:
        # No more than that: whether another lender has it is not the caller's business.
        super().__init__("there is no webhook endpoint with this id")


class UnknownEvent(AlamaError):
    """No such event in this book, or none any more."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_event", "Unknown event")

    def __init__(self) -> None:
        # No more than that: whether another lender has it is not the caller's business.
        super().__init__("there is no event with this id", hint="events are kept for 30 days")


class EndpointDisabled(AlamaError):
    """The webhook endpoint is disabled, so nothing is sent to it."""

    kind = Kind(HTTPStatus.CONFLICT, "webhook_endpoint_disabled", "Webhook endpoint disabled")

    def __init__(self) -> None:
        super().__init__(
            "this webhook endpoint is disabled", hint="enable it, and then have it sent"
        )


class TooManyEndpoints(AlamaError):
    """A book has as many webhook endpoints as it may have."""

    kind = Kind(HTTPStatus.CONFLICT, "too_many_endpoints", "Too many webhook endpoints")

    def __init__(self, most: int) -> None:
        super().__init__(
            f"there are {most} webhook endpoints already",
            hint="remove one, or have one of them pass events on",
        )


class DisabledReason(StrEnum):
    """Why an endpoint is sent nothing more; rows hold text, for one may be of a newer release."""

    REQUESTED = "requested"
    """Somebody asked for it."""
    GONE = "gone"
    """Its receiver said 410 Gone."""
    FAILING = "failing"
    """Nothing has arrived for days."""


class SendError(StrEnum):
    """Why an attempt had no answer; rows hold text, as above."""

    TIMEOUT = "timeout"
    URL_REFUSED = "url_refused"
    """Whoever runs the service has become stricter since the URL was taken."""
    NAME_NOT_RESOLVED = "name_not_resolved"
    ADDRESS_FORBIDDEN = "address_forbidden"
    CONNECTION_FAILED = "connection_failed"
    CONNECTION_LOST = "connection_lost"
    TLS_FAILED = "tls_failed"
    MALFORMED_ANSWER = "malformed_answer"
    SECRET_UNREADABLE = "secret_unreadable"  # noqa: S105  the code of an error
    """The vault did not open what signs."""
    NAMES_BUSY = "names_busy"
    """Too many names were being looked up already."""
    DEFECT = "defect"
    """It broke in our own hands."""


ADDRESS_REFUSED: Final = "address_refused"

_OF_OUR_NETWORK: Final = frozenset({SendError.NAME_NOT_RESOLVED, SendError.ADDRESS_FORBIDDEN})


def told_to_lenders(error: str | None) -> str | None:
    """Give the code of an error as a lender may know it; the log and the command line have it all.

    Which names there are in the operator's network is nobody else's business: one that is not there
    and one that may not be spoken to are the same.
    """
    return ADDRESS_REFUSED if error in _OF_OUR_NETWORK else error


class Secrets(NamedTuple):
    """What signs for an endpoint, each secret wrapped by the lender's key `lender_key_id`.

    The one before signs too until `previous_until_us`.
    """

    lender_key_id: str
    current: bytes
    previous: bytes | None = None
    previous_until_us: int | None = None


class Endpoint(msgspec.Struct, frozen=True):
    """Where events of a book are sent. Times are microseconds since 1970, UTC.

    No kinds stand for all of them. One that this release does not know is kept, for a newer one has
    put it there: nothing of it happens here. `failing_since_us`: nothing has arrived since then,
    though it was tried. `disabled_reason` is a `DisabledReason`, or one of a newer release.
    `generation` counts how often it was enabled again: what waited before that is not sent.
    """

    id: str
    book: Book
    url: str
    kinds: tuple[str, ...]
    description: str
    created_us: int
    secrets: Secrets
    failing_since_us: int | None = None
    disabled_us: int | None = None
    disabled_reason: str | None = None
    generation: int = 0

    def wants(self, kind: str) -> bool:
        """Whether it is to hear of events of this kind."""
        return self.disabled_us is None and (not self.kinds or kind in self.kinds)


class Change(NamedTuple):
    """What an endpoint is to become; None leaves a thing as it is."""

    url: str | None = None
    kinds: tuple[EventKind, ...] | None = None
    description: str | None = None
    enabled: bool | None = None


def is_description(text: str) -> bool:
    """Say whether a text may be the description of an endpoint: one line, and not long."""
    return len(text) <= DESCRIPTION_MAX and is_visible(text)


class Due(NamedTuple):
    """A delivery that a worker has claimed: the event, where to, and how often it was tried."""

    endpoint: Endpoint
    event: Event
    attempts: int


class DeliveryResult(NamedTuple):
    """What came of an attempt: a status, or else the code of what went wrong.

    `text` is the beginning of what the receiver said, some kilobytes at most, fit to be
    shown. `retry_after_s` is how long it asks to be left alone.
    """

    status: int | None
    error: SendError | None
    text: str
    took_ms: int
    retry_after_s: int | None = None


class Verdict(NamedTuple):
    """What follows: delivered; or due again at `next_us`; or, with neither, given up.

    `disable` says why the endpoint is to be sent nothing more, if it is. It is a proposal, and
    `next_us` stands beside it: meanwhile something may have arrived, or the endpoint may have
    another URL. `ours`: the fault is ours, and nothing follows from it for the endpoint.
    """

    delivered: bool
    next_us: int | None = None
    disable: DisabledReason | None = None
    ours: bool = False


class Attempt(NamedTuple):
    """One try to deliver, in the order of its columns: a status, or else an error's code.

    `error` is a `SendError`, or one of a newer release.
    """

    id: str
    lender: str
    mode: str
    endpoint_id: str
    event_id: str
    number: int
    started_us: int
    took_ms: int
    status: int | None
    error: str | None
    answer: str


class Settled(NamedTuple):
    """What came of a claimed delivery, and what follows from it.

    `url` and `generation` are those of the endpoint when it was claimed: of one that has others by
    now it says nothing.
    """

    attempt: Attempt
    verdict: Verdict
    url: str
    generation: int


class Listed(NamedTuple):
    """Endpoints, and the ids of those whose rows cannot be read: they are in nobody's way."""

    known: Sequence[Endpoint]
    unreadable: frozenset[str]


class Backlog(NamedTuple):
    """How much is on its way: events that no delivery was made of, and deliveries not over."""

    events: int
    deliveries: int


class Waiting(msgspec.Struct, frozen=True):
    """What is on its way to one endpoint, also what is yet to become a delivery, or one again.

    `count` goes up to `COUNTED_MAX`, which stands for that many or more. `next_us` is when the
    next attempt is due; None: all of it is being sent at this moment. `is_overdue`: something has
    been due for more than a minute, the receiver has not asked us to wait, and nothing was tried
    for two minutes, here or anywhere else; no worker seems to run.
    """

    count: int
    next_us: int | None
    is_overdue: bool


class Forgotten(NamedTuple):
    """What was dropped because its time was over.

    `undispatched` of the events had become no delivery, and `undelivered` deliveries were still on
    their way to an endpoint that is enabled: what a receiver never heard of. `some_left`: there is
    more to drop.
    """

    events: int
    undispatched: int
    undelivered: int
    some_left: bool

    def with_more(self, more: Forgotten) -> Forgotten:
        """Add what was dropped after it."""
        return Forgotten(
            self.events + more.events,
            self.undispatched + more.undispatched,
            self.undelivered + more.undelivered,
            more.some_left,
        )
