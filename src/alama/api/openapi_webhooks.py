"""The `webhooks` of the OpenAPI document: what is sent to receivers, and what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from alama.api.examples_webhooks import SECRET
from alama.api.operation import JSON
from alama.api.schemas import reference
from alama.api.wire_events import DATA, SUMMARIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.api.examples_webhooks import Delivery
    from alama.service.webhooks.events import EventKind

Json = dict[str, Any]

_HEADERS: Final = {
    "webhook-id": "The id of the event, the same at every attempt: what you have had before, drop.",
    "webhook-timestamp": "When this attempt was made, in seconds since 1970.",
    "webhook-signature": "`v1,` and the Base64 of HMAC-SHA256 of id, timestamp and body, with dots "
    f"between. Two, parted by a space, while a secret is rotated. The examples are signed by "
    f"`{SECRET}`, their bodies written compactly.",
}
_DESCRIPTION: Final = """\
Signed as Standard Webhooks 1.0 says. It arrives at least once, not always in order. Answer with a \
2xx within 15 seconds; anything else is tried again for about three days, and 410 disables the \
endpoint."""


def webhooks(such_as: Mapping[EventKind, Delivery]) -> Json:
    """Describe the request that each kind of event becomes; there is an example of each."""
    return {kind.value: {"post": _sent(kind, such_as[kind])} for kind in DATA}


def _sent(kind: EventKind, example: Delivery) -> Json:
    return {
        "operationId": f"receive {kind.value}",
        "tags": ["Webhooks"],
        "summary": SUMMARIES[kind],
        "description": _DESCRIPTION,
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "description": told,
                "schema": {"type": "string"},
                "example": example.headers[name],
            }
            for name, told in _HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": _payload(kind), "example": example.body}},
        },
        "responses": {"2XX": {"description": "It has arrived."}},
    }


def _payload(kind: EventKind) -> Json:
    return {
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"description": "The kind of event.", "type": "string", "const": kind.value},
            "timestamp": {
                "description": "When it happened, in UTC.",
                "type": "string",
                "format": "date-time",
            },
            "data": reference(DATA[kind].__name__),
        },
    }
