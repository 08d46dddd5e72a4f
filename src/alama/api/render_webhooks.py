"""Endpoints, attempts and events, as the contract says them."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama.api.render import moment
from alama.api.wire_webhooks import (
    AttemptPage,
    DeliveryAttempt,
    Event,
    EventPage,
    EventResent,
    EventsResent,
    PendingDeliveries,
    RotatedSecret,
    TestSent,
    WebhookEndpoint,
    WebhookEndpointCreated,
    WebhookEndpointList,
)
from alama.service.webhooks.reasons import ADDRESS_REFUSED, told_to_lenders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from alama.service.webhooks import events
    from alama.service.webhooks.records import Attempt, Endpoint, Waiting

    Waits = Mapping[str, Waiting]
    """By the ids of endpoints; one that waits for nothing is not in it."""

_encode: Final = msgspec.json.Encoder().encode


def endpoint(kept: Endpoint, waits: Waits) -> bytes:
    """Give an endpoint; its secrets are never part of it."""
    return _encode(WebhookEndpoint(**_told(kept, waits)))


def endpoint_created(secret: str, kept: Endpoint) -> bytes:
    """Give a new endpoint, which waits for nothing, and its secret for the only time."""
    return _encode(WebhookEndpointCreated(**_told(kept, {}), secret=secret))


def endpoints(kept: Sequence[Endpoint], waits: Waits) -> bytes:
    """Give all endpoints of a book."""
    return _encode(WebhookEndpointList([WebhookEndpoint(**_told(one, waits)) for one in kept]))


def rotated(secret: str, kept: Endpoint) -> bytes:
    """Give a new secret for the only time."""
    return _encode(RotatedSecret(secret, _time(kept.secrets.previous_until_us)))


def test_sent(sent: events.Event) -> bytes:
    """Name the test event that is on its way."""
    return _encode(TestSent(sent.id))


def attempts(tried: Sequence[Attempt], limit: int) -> bytes:
    """Give one page of attempts; where there may be more, the last id is the next cursor."""
    shown = [_attempt(one) for one in tried[:limit]]
    return _encode(AttemptPage(shown, shown[-1].id if len(tried) > limit else None))


def attempt_line(tried: Attempt) -> bytes:
    """Give one attempt to whoever runs the service, who may know why and how long exactly."""
    told = _attempt(tried)
    return _encode(msgspec.structs.replace(told, took_ms=tried.took_ms, error=tried.error))


def event(kept: events.Event) -> bytes:
    """Give an event with what is sent of it."""
    return _encode(_event(kept))


def event_page(kept: Sequence[events.Event], limit: int) -> bytes:
    """Give one page of events, as `attempts` does."""
    shown = [_event(one) for one in kept[:limit]]
    return _encode(EventPage(shown, shown[-1].id if len(kept) > limit else None))


def events_resent(count: int) -> bytes:
    """Say how many events are on their way again."""
    return _encode(EventsResent(count))


def event_resent(count: int) -> bytes:
    """Say to how many endpoints an event is on its way again."""
    return _encode(EventResent(count))


def _told(kept: Endpoint, waits: Waits) -> dict[str, Any]:
    return {
        "id": kept.id,
        "url": kept.url,
        "kinds": list(kept.kinds),
        "description": kept.description,
        "enabled": kept.disabled_us is None,
        "created_at": moment(kept.created_us),
        "failing_since": _time(kept.failing_since_us),
        "disabled_at": _time(kept.disabled_us),
        "disabled_reason": kept.disabled_reason,
        "pending": _pending(waits.get(kept.id)),
    }


def _pending(waiting: Waiting | None) -> PendingDeliveries:
    if waiting is None:
        return PendingDeliveries(0, None)
    return PendingDeliveries(waiting.count, _time(waiting.next_us))


def _attempt(tried: Attempt) -> DeliveryAttempt:
    status, error = tried.status, told_to_lenders(tried.error)
    return DeliveryAttempt(
        tried.id,
        tried.event_id,
        tried.number,
        moment(tried.started_us),
        # A name that is there is found sooner than one that is not.
        None if error == ADDRESS_REFUSED else tried.took_ms,
        status is not None and HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES,
        status,
        error,
        tried.answer,
    )


def _event(kept: events.Event) -> Event:
    payload = msgspec.Raw(kept.payload)
    return Event(kept.id, kept.kind, moment(kept.created_us), kept.subject_id, payload)


def _time(moment_us: int | None) -> datetime | None:
    return None if moment_us is None else moment(moment_us)
