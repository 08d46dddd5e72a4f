"""Webhooks over HTTP: /v1/webhook_endpoints and /v1/events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, structs

from alama.core.errors import FieldProblem
from alama.platform import events
from alama.platform.book import Book, Scope
from alama.platform.days import moment
from alama.platform.events import EventKind
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body, optional_json_body
from alama.platform.http.exchange import PRIVATE, Call, Reply, private_json
from alama.platform.http.problems import BadParameter, InvalidRequest
from alama.platform.timeouts import run_with_timeout
from alama.webhooks import records as descriptions
from alama.webhooks.endpoints import Endpoints, NewEndpoint
from alama.webhooks.events import Events, NotYet
from alama.webhooks.records import (
    ADDRESS_REFUSED,
    ATTEMPT_PREFIX,
    ROTATION_OVERLAP_US,
    Attempt,
    Change,
    Endpoint,
    Waiting,
    told_to_lenders,
)
from alama.webhooks.wire import (
    RULES,
    AttemptPage,
    DeliveryAttempt,
    Event,
    EventPage,
    EventResent,
    EventsResent,
    NewWebhookEndpoint,
    PendingDeliveries,
    ResendSince,
    ResendTo,
    RotatedSecret,
    SecretRotation,
    TestRequest,
    TestSent,
    WebhookEndpoint,
    WebhookEndpointChange,
    WebhookEndpointCreated,
    WebhookEndpointList,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.platform.http.fields import Check
    from alama.scoring.admission import Admission

    Waits = Mapping[str, Waiting]
    """By the ids of endpoints; one that waits for nothing is not in it."""


_encode: Final = msgspec.json.Encoder().encode


def endpoint_reply(kept: Endpoint, waits: Waits) -> bytes:
    """Give an endpoint; its secrets are never part of it."""
    return _encode(WebhookEndpoint(**_told(kept, waits)))


def endpoint_created_reply(secret: str, kept: Endpoint) -> bytes:
    """Give a new endpoint, which waits for nothing, and its secret for the only time."""
    return _encode(WebhookEndpointCreated(**_told(kept, {}), secret=secret))


def endpoints_reply(kept: Sequence[Endpoint], waits: Waits) -> bytes:
    """Give all endpoints of a book."""
    return _encode(WebhookEndpointList([WebhookEndpoint(**_told(one, waits)) for one in kept]))


def rotated_reply(secret: str, kept: Endpoint) -> bytes:
    """Give a new secret for the only time."""
    return _encode(RotatedSecret(secret, _time(kept.secrets.previous_until_us)))


def test_sent_reply(sent: events.Event) -> bytes:
    """Name the test event that is on its way."""
    return _encode(TestSent(sent.id))


def attempts_reply(tried: Sequence[Attempt], limit: int) -> bytes:
    """Give one page of attempts; where there may be more, the last id is the next cursor."""
    shown = [_attempt(one) for one in tried[:limit]]
    return _encode(AttemptPage(shown, shown[-1].id if len(tried) > limit else None))


def attempt_line(tried: Attempt) -> bytes:
    """Give one attempt to whoever runs the service, who may know why and how long exactly."""
    told = _attempt(tried)
    return _encode(msgspec.structs.replace(told, took_ms=tried.took_ms, error=tried.error))


def event_reply(kept: events.Event) -> bytes:
    """Give an event with what is sent of it."""
    return _encode(_event(kept))


def event_page_reply(kept: Sequence[events.Event], limit: int) -> bytes:
    """Give one page of events, as `attempts` does."""
    shown = [_event(one) for one in kept[:limit]]
    return _encode(EventPage(shown, shown[-1].id if len(kept) > limit else None))


def events_resent_reply(count: int) -> bytes:
    """Say how many events are on their way again."""
    return _encode(EventsResent(count))


def event_resent_reply(count: int) -> bytes:
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


# Webhook endpoints: /v1/webhook_endpoints, where a lender says where it wants to be told.


PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class WebhookEndpoints:
    """What callers can do with the endpoints of their book."""

    def __init__(self, admission: Admission, endpoints: Endpoints, events: Events) -> None:
        """Use the use cases."""
        self._admission = admission
        self._endpoints = endpoints
        self._events = events
        self._checks: Mapping[str, Check] = {
            "url": endpoints.check_url,
            "description": _one_line,
        }

    async def add(self, call: Call) -> Reply:
        """POST /v1/webhook_endpoints: a new endpoint, and its secret."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewWebhookEndpoint, await json_body(call), RULES, self._checks)
        new = NewEndpoint(sent.url, sent.kinds, sent.description)
        secret, kept = await run_with_timeout(
            lambda: self._endpoints.add(caller.book, new, caller.key.id)
        )
        body = endpoint_created_reply(secret, kept)
        return private_json(body, headers, HTTPStatus.CREATED)

    async def list(self, call: Call) -> Reply:
        """GET /v1/webhook_endpoints: all of them."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        found = await run_with_timeout(lambda: self._endpoints.of(caller.book))
        waits = await run_with_timeout(
            lambda: self._events.waiting(caller.book, [one.id for one in found])
        )
        return private_json(endpoints_reply(found, waits), headers)

    async def find(self, call: Call) -> Reply:
        """GET /v1/webhook_endpoints/{endpoint_id}: one of them."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        found = await run_with_timeout(lambda: self._endpoints.find(caller.book, endpoint_id))
        waits = await run_with_timeout(lambda: self._events.waiting(caller.book, [found.id]))
        return private_json(endpoint_reply(found, waits), headers)

    async def change(self, call: Call) -> Reply:
        """PATCH /v1/webhook_endpoints/{endpoint_id}: another address, other kinds, on or off."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(WebhookEndpointChange, await json_body(call), RULES, self._checks)
        given = {name: value for name, value in structs.asdict(sent).items() if value is not UNSET}
        change = Change(**given)
        found = await run_with_timeout(
            lambda: self._endpoints.change(caller.book, endpoint_id, change, caller.key.id)
        )
        waits = await run_with_timeout(lambda: self._events.waiting(caller.book, [found.id]))
        return private_json(endpoint_reply(found, waits), headers)

    async def remove(self, call: Call) -> Reply:
        """DELETE /v1/webhook_endpoints/{endpoint_id}: nothing more is sent there."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        await run_with_timeout(
            lambda: self._endpoints.remove(caller.book, endpoint_id, caller.key.id)
        )
        return Reply(HTTPStatus.NO_CONTENT, [PRIVATE, *headers], b"")

    async def rotate_secret(self, call: Call) -> Reply:
        """POST /v1/webhook_endpoints/{endpoint_id}/rotate_secret: another secret."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(SecretRotation, await optional_json_body(call), RULES)
        overlap_us = 0 if sent.expire_previous else ROTATION_OVERLAP_US
        secret, kept = await run_with_timeout(
            lambda: self._endpoints.rotate(caller.book, endpoint_id, overlap_us, caller.key.id)
        )
        return private_json(rotated_reply(secret, kept), headers)

    async def test(self, call: Call) -> Reply:
        """POST /v1/webhook_endpoints/{endpoint_id}/test: an event for this endpoint alone."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        fields.read(TestRequest, await optional_json_body(call), RULES)
        endpoint_id = call.path_part("endpoint_id")
        sent = await run_with_timeout(lambda: self._endpoints.test(caller.book, endpoint_id))
        return private_json(test_sent_reply(sent), headers, HTTPStatus.ACCEPTED)

    async def attempts(self, call: Call) -> Reply:
        """GET /v1/webhook_endpoints/{endpoint_id}/attempts: what was tried, newest first."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        asked = parameters.read(call, ("limit", "cursor"))
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), ATTEMPT_PREFIX)
        endpoint_id = call.path_part("endpoint_id")
        # One more than asked for tells whether there is a next page.
        tried = await run_with_timeout(
            lambda: self._endpoints.attempts(caller.book, endpoint_id, cursor, limit + 1)
        )
        return private_json(attempts_reply(tried, limit), headers)

    async def resend(self, call: Call) -> Reply:
        """POST /v1/webhook_endpoints/{endpoint_id}/resend: all events since a time, again."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(ResendSince, await json_body(call), RULES)
        since_us = (sent.since - _EPOCH) // _MICROSECOND
        try:
            count = await run_with_timeout(
                lambda: self._events.resend_since(caller.book, endpoint_id, since_us)
            )
        except NotYet as error:
            told = f"{error}: {error.hint}"
            raise InvalidRequest([FieldProblem("since", "out_of_range", told)]) from None
        return private_json(events_resent_reply(count), headers, HTTPStatus.ACCEPTED)


def _one_line(text: str) -> None:
    if not descriptions.is_description(text):
        raise ValueError


class EventEndpoints:
    """What callers can do with the events of their book."""

    def __init__(self, admission: Admission, events: Events) -> None:
        """Use the use cases."""
        self._admission = admission
        self._events = events

    async def page(self, call: Call) -> Reply:
        """GET /v1/events: events in pages, newest first."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        asked = parameters.read(call, ("kind", "limit", "cursor"))
        kind = _kind(asked.get("kind"))
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), events.PREFIX)
        # One more than asked for tells whether there is a next page.
        found = await run_with_timeout(
            lambda: self._events.page(caller.book, kind, cursor, limit + 1)
        )
        return private_json(event_page_reply(found, limit), headers)

    async def find(self, call: Call) -> Reply:
        """GET /v1/events/{event_id}: one of them."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        event_id = call.path_part("event_id")
        found = await run_with_timeout(lambda: self._events.find(caller.book, event_id))
        return private_json(event_reply(found), headers)

    async def resend(self, call: Call) -> Reply:
        """POST /v1/events/{event_id}/resend: one of them, again."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        event_id = call.path_part("event_id")
        sent = fields.read(ResendTo, await optional_json_body(call), RULES)
        count = await run_with_timeout(lambda: self._resent(caller.book, event_id, sent))
        return private_json(event_resent_reply(count), headers, HTTPStatus.ACCEPTED)

    def _resent(self, book: Book, event_id: str, sent: ResendTo) -> int:
        if sent.endpoint_id is UNSET:
            return self._events.resend(book, event_id)
        return self._events.resend_to(book, event_id, sent.endpoint_id)


def _kind(asked: str | None) -> EventKind | None:
    if asked is None:
        return None
    try:
        return EventKind(asked)
    except ValueError:
        raise BadParameter(f"kind must be one of {', '.join(EventKind)}") from None
