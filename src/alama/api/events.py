"""Events: /v1/events, what was announced in the last thirty days."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from alama.api import fields, parameters, render_webhooks
from alama.api.bodies import optional_json_body
from alama.api.exchange import private_json
from alama.api.problems import BadParameter
from alama.api.wire_webhooks import RULES, ResendTo
from alama.service.keys import Scope
from alama.service.patience import in_time
from alama.service.webhooks import events
from alama.service.webhooks.events import EventKind

if TYPE_CHECKING:
    from alama.api.admission import Admission
    from alama.api.exchange import Call, Reply
    from alama.service.book import Book
    from alama.service.webhooks.eventlog import Events

PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100


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
        found = await in_time(lambda: self._events.page(caller.book, kind, cursor, limit + 1))
        return private_json(render_webhooks.event_page(found, limit), headers)

    async def find(self, call: Call) -> Reply:
        """GET /v1/events/{event_id}: one of them."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        event_id = call.path_part("event_id")
        found = await in_time(lambda: self._events.find(caller.book, event_id))
        return private_json(render_webhooks.event(found), headers)

    async def resend(self, call: Call) -> Reply:
        """POST /v1/events/{event_id}/resend: one of them, again."""
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        event_id = call.path_part("event_id")
        sent = fields.read(ResendTo, await optional_json_body(call), RULES)
        count = await in_time(lambda: self._resent(caller.book, event_id, sent))
        return private_json(render_webhooks.event_resent(count), headers, HTTPStatus.ACCEPTED)

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
