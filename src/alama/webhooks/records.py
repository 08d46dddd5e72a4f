"""Endpoints, deliveries and attempts, as they are kept, and what follows from an attempt."""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.application import is_visible
from alama.core.errors import AlamaError
from alama.platform.book import Book, Mode
from alama.platform.errors import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.platform.events import Event, EventKind


class UnknownEndpoint(AlamaError):
    """No such webhook endpoint in this book."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_webhook_endpoint", "Unknown webhook endpoint")

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__("there is no webhook endpoint with this id")


class UnknownEvent(AlamaError):
    """No such event in this book, or none any more."""

    kind = Kind(HTTPStatus.NOT_FOUND, "unknown_event", "Unknown event")

    def __init__(self) -> None:
        """Say no more: whether another lender has it is not the caller's business."""
        super().__init__("there is no event with this id", hint="events are kept for 30 days")


class EndpointDisabled(AlamaError):
    """The webhook endpoint is disabled, so nothing is sent to it."""

    kind = Kind(HTTPStatus.CONFLICT, "webhook_endpoint_disabled", "Webhook endpoint disabled")

    def __init__(self) -> None:
        """Say what to do first."""
        super().__init__(
            "this webhook endpoint is disabled", hint="enable it, and then have it sent"
        )


class TooManyEndpoints(AlamaError):
    """A book has as many webhook endpoints as it may have."""

    kind = Kind(HTTPStatus.CONFLICT, "too_many_endpoints", "Too many webhook endpoints")

    def __init__(self, most: int) -> None:
        """Say how many that are."""
        super().__init__(
            f"there are {most} webhook endpoints already",
            hint="remove one, or have one of them pass events on",
        )


# Why nothing arrived, and why an endpoint is disabled: the closed sets of this release.
#
# Rows hold them as text, for one may be of a newer release.


class DisabledReason(StrEnum):
    """Why an endpoint is sent nothing more."""

    REQUESTED = "requested"
    """Somebody asked for it."""
    GONE = "gone"
    """Its receiver said 410 Gone."""
    FAILING = "failing"
    """Nothing has arrived for days."""


class SendError(StrEnum):
    """Why an attempt had no answer."""

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


OURS: Final = frozenset(
    {
        SendError.URL_REFUSED,
        SendError.SECRET_UNREADABLE,
        SendError.NAMES_BUSY,
        SendError.DEFECT,
    }
)
"""These say nothing of the receiver."""

ADDRESS_REFUSED: Final = "address_refused"

_OF_OUR_NETWORK: Final = frozenset({SendError.NAME_NOT_RESOLVED, SendError.ADDRESS_FORBIDDEN})


def told_to_lenders(error: str | None) -> str | None:
    """Give the code of an error as a lender may know it; the log and the command line have it all.

    Which names there are in the operator's network is nobody else's business: one that is not there
    and one that may not be spoken to are the same.
    """
    return ADDRESS_REFUSED if error in _OF_OUR_NETWORK else error


# What follows from an attempt: delivered, tried again later, given up, or the end of an endpoint.
#
# Pure: the time and the chance that spreads attempts are arguments.


WAITS_S: Final = (
    5,
    60,
    5 * 60,
    30 * 60,
    2 * 3_600,
    5 * 3_600,
    10 * 3_600,
    14 * 3_600,
    20 * 3_600,
    24 * 3_600,
)
"""After the first attempt, after the second, ... : about three days, then it is given up."""

ATTEMPTS_MAX: Final = len(WAITS_S) + 1

JITTER: Final = 0.1
"""Each wait is longer or shorter by up to this share: what failed together comes back apart."""

RETRY_AFTER_S_MAX: Final = 24 * 3_600
"""A receiver may ask for patience, but not for silence."""

LEFT_ALONE_S_MAX: Final = 3_600
"""For which an endpoint is left alone at its own wish: each delivery may wait longer, but whether
all of them are to is asked again."""

FAILING_US_MAX: Final = 5 * 86_400 * 1_000_000
"""An endpoint that nothing has reached for so long is sent nothing more."""

ASKS_FOR_PATIENCE: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_SECONDS: Final = re.compile(r"[0-9]+")
_HEADER_LENGTH_MAX: Final = 40
_SECOND_US: Final = 1_000_000


class Tried(NamedTuple):
    """One attempt, as far as what follows depends on it.

    `attempts` counts it and those before; `status` is None where no answer came, and `error` says
    why; `retry_after_s` is what the answer asked for; `failing_since_us` is what the endpoint was
    like before.
    """

    attempts: int
    status: int | None
    retry_after_s: int | None
    failing_since_us: int | None
    error: SendError | None = None


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


def verdict(tried: Tried, now_us: int, chance: float) -> Verdict:
    """Judge an attempt that ended now; `chance` is from 0 to 1."""
    if tried.status is not None and HTTPStatus.OK <= tried.status < HTTPStatus.MULTIPLE_CHOICES:
        return Verdict(delivered=True)
    if tried.error in OURS:
        # Never given up: whatever we cannot do, it is not the receiver who is to miss something.
        attempts = min(tried.attempts, ATTEMPTS_MAX - 1)
        return Verdict(delivered=False, next_us=now_us + _ours_us(attempts, chance), ours=True)
    wait = wait_us(tried.attempts, asked_s(tried), chance)
    return Verdict(
        delivered=False,
        next_us=None if wait is None else now_us + wait,
        disable=_proposed(tried, now_us),
    )


def asked_s(tried: Tried) -> int:
    """Give for how many seconds the receiver asks to be left alone; 0 where it does not."""
    if tried.status not in ASKS_FOR_PATIENCE:
        return 0
    return tried.retry_after_s or 0


def _proposed(tried: Tried, now_us: int) -> DisabledReason | None:
    if tried.status == HTTPStatus.GONE:
        return DisabledReason.GONE
    return DisabledReason.FAILING if failing_too_long(tried.failing_since_us, now_us) else None


def failing_too_long(since_us: int | None, now_us: int) -> bool:
    """Say whether an endpoint that has failed since a time, if it has, is to be disabled."""
    return since_us is not None and now_us - since_us >= FAILING_US_MAX


def wait_us(attempts: int, patience_s: int, chance: float) -> int | None:
    """Give the wait after so many attempts; None: there is no other.

    What the receiver asked for, in seconds, makes it longer, never shorter.
    """
    assert attempts >= 1
    assert 0 <= chance <= 1
    if attempts >= ATTEMPTS_MAX:
        return None
    return max(_ours_us(attempts, chance), min(patience_s, RETRY_AFTER_S_MAX) * _SECOND_US)


def _ours_us(attempts: int, chance: float) -> int:
    return round(WAITS_S[attempts - 1] * _SECOND_US * (1 + JITTER * (2 * chance - 1)))


def retry_after_s(header: str, now_us: int) -> int | None:
    """Read a Retry-After header, seconds or a date, as whole seconds from now; None: it is neither.

    Never below zero, and never beyond `RETRY_AFTER_S_MAX`.
    """
    text = header.strip()
    if len(text) > _HEADER_LENGTH_MAX:
        return None
    if _SECONDS.fullmatch(text):
        return min(int(text), RETRY_AFTER_S_MAX)
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        wait_s = moment.timestamp() - now_us / _SECOND_US
    except (ValueError, OverflowError):
        return None
    return min(max(0, round(wait_s)), RETRY_AFTER_S_MAX)


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


class Due(NamedTuple):
    """A delivery that a worker has claimed: the event, where to, and how often it was tried."""

    endpoint: Endpoint
    event: Event
    attempts: int


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
    been due for more than a minute, the receiver has asked for no patience, and nothing was tried
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


def book_of(lender: str, mode: str) -> Book:
    """Give the book that a row belongs to."""
    return Book(lender, Mode(mode))


# Descriptions of endpoints: a line for people, whoever writes it and wherever.


LENGTH_MAX: Final = 200
"""Characters."""


def fits(text: str) -> bool:
    """Say whether a text may be a description."""
    return len(text) <= LENGTH_MAX and is_visible(text)
