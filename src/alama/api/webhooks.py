"""Webhook endpoints: /v1/webhook_endpoints, where a lender says where it wants to be told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, structs

from alama.api import fields, parameters, render_webhooks
from alama.api.bodies import json_body, optional_json_body
from alama.api.exchange import PRIVATE, Reply, private_json
from alama.api.problems import InvalidRequest
from alama.api.wire_webhooks import (
    RULES,
    NewWebhookEndpoint,
    ResendSince,
    SecretRotation,
    TestRequest,
    WebhookEndpointChange,
)
from alama.core.errors import FieldProblem
from alama.service.keys import Scope
from alama.service.patience import in_time
from alama.service.webhooks import descriptions
from alama.service.webhooks.endpoints import NewEndpoint
from alama.service.webhooks.eventlog import NotYet
from alama.service.webhooks.records import ATTEMPT_PREFIX, ROTATION_OVERLAP_US, Change

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.api.admission import Admission
    from alama.api.exchange import Call
    from alama.api.fields import Check
    from alama.service.webhooks.endpoints import Endpoints
    from alama.service.webhooks.eventlog import Events

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
        secret, kept = await in_time(lambda: self._endpoints.add(caller.book, new, caller.key.id))
        body = render_webhooks.endpoint_created(secret, kept)
        return private_json(body, headers, HTTPStatus.CREATED)

    async def list(self, call: Call) -> Reply:
        """GET /v1/webhook_endpoints: all of them."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        found = await in_time(lambda: self._endpoints.of(caller.book))
        waits = await in_time(lambda: self._events.waiting(caller.book, [one.id for one in found]))
        return private_json(render_webhooks.endpoints(found, waits), headers)

    async def find(self, call: Call) -> Reply:
        """GET /v1/webhook_endpoints/{endpoint_id}: one of them."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        found = await in_time(lambda: self._endpoints.find(caller.book, endpoint_id))
        waits = await in_time(lambda: self._events.waiting(caller.book, [found.id]))
        return private_json(render_webhooks.endpoint(found, waits), headers)

    async def change(self, call: Call) -> Reply:
        """PATCH /v1/webhook_endpoints/{endpoint_id}: another address, other kinds, on or off."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(WebhookEndpointChange, await json_body(call), RULES, self._checks)
        given = {name: value for name, value in structs.asdict(sent).items() if value is not UNSET}
        change = Change(**given)
        found = await in_time(
            lambda: self._endpoints.change(caller.book, endpoint_id, change, caller.key.id)
        )
        waits = await in_time(lambda: self._events.waiting(caller.book, [found.id]))
        return private_json(render_webhooks.endpoint(found, waits), headers)

    async def remove(self, call: Call) -> Reply:
        """DELETE /v1/webhook_endpoints/{endpoint_id}: nothing more is sent there."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        await in_time(lambda: self._endpoints.remove(caller.book, endpoint_id, caller.key.id))
        return Reply(HTTPStatus.NO_CONTENT, [PRIVATE, *headers], b"")

    async def rotate_secret(self, call: Call) -> Reply:
        """POST /v1/webhook_endpoints/{endpoint_id}/rotate_secret: another secret."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(SecretRotation, await optional_json_body(call), RULES)
        overlap_us = 0 if sent.expire_previous else ROTATION_OVERLAP_US
        secret, kept = await in_time(
            lambda: self._endpoints.rotate(caller.book, endpoint_id, overlap_us, caller.key.id)
        )
        return private_json(render_webhooks.rotated(secret, kept), headers)

    async def test(self, call: Call) -> Reply:
        """POST /v1/webhook_endpoints/{endpoint_id}/test: an event for this endpoint alone."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        fields.read(TestRequest, await optional_json_body(call), RULES)
        endpoint_id = call.path_part("endpoint_id")
        sent = await in_time(lambda: self._endpoints.test(caller.book, endpoint_id))
        return private_json(render_webhooks.test_sent(sent), headers, HTTPStatus.ACCEPTED)

    async def attempts(self, call: Call) -> Reply:
        """GET /v1/webhook_endpoints/{endpoint_id}/attempts: what was tried, newest first."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        asked = parameters.read(call, ("limit", "cursor"))
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), ATTEMPT_PREFIX)
        endpoint_id = call.path_part("endpoint_id")
        # One more than asked for tells whether there is a next page.
        tried = await in_time(
            lambda: self._endpoints.attempts(caller.book, endpoint_id, cursor, limit + 1)
        )
        return private_json(render_webhooks.attempts(tried, limit), headers)

    async def resend(self, call: Call) -> Reply:
        """POST /v1/webhook_endpoints/{endpoint_id}/resend: all events since a time, again."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(ResendSince, await json_body(call), RULES)
        since_us = (sent.since - _EPOCH) // _MICROSECOND
        try:
            count = await in_time(
                lambda: self._events.resend_since(caller.book, endpoint_id, since_us)
            )
        except NotYet as error:
            told = f"{error}: {error.hint}"
            raise InvalidRequest([FieldProblem("since", "out_of_range", told)]) from None
        return private_json(render_webhooks.events_resent(count), headers, HTTPStatus.ACCEPTED)


def _one_line(text: str) -> None:
    if not descriptions.fits(text):
        raise ValueError
