"""Parameters and links of webhooks, each described once and pointed to."""

from __future__ import annotations

from typing import Any, Final

from alama.api import examples_webhooks, wire_webhooks
from alama.service.webhooks.events import EventKind

Json = dict[str, Any]

_CURSOR: Final = "The `next_cursor` of the page before; left out for the newest."


def _cursor(pattern: str, example: str) -> Json:
    return {
        "name": "cursor",
        "in": "query",
        "description": _CURSOR,
        "schema": {"type": "string", "pattern": pattern},
        "example": example,
    }


PARAMETERS: Final[dict[str, Json]] = {
    "endpoint_id": {
        "name": "endpoint_id",
        "in": "path",
        "required": True,
        "description": "The `id` that the endpoint was created with.",
        "schema": {"type": "string", "pattern": wire_webhooks.ENDPOINT_ID},
        "example": examples_webhooks.ENDPOINT_ID,
    },
    "event_id": {
        "name": "event_id",
        "in": "path",
        "required": True,
        "description": "The `id` of the event, which is the header `webhook-id` of a delivery.",
        "schema": {"type": "string", "pattern": wire_webhooks.EVENT_ID},
        "example": examples_webhooks.EVENT_ID,
    },
    "kind": {
        "name": "kind",
        "in": "query",
        "description": "Events of this kind alone.",
        "schema": {"type": "string", "enum": list(EventKind)},
        "example": EventKind.SCORE_CREATED.value,
    },
    "event_cursor": _cursor(wire_webhooks.EVENT_ID, examples_webhooks.EVENT_ID),
    "attempt_cursor": _cursor(wire_webhooks.ATTEMPT_ID, examples_webhooks.ATTEMPT_ID),
}


def _link(operation: str, told: str, parameter: str, place: str) -> Json:
    return {
        "operationId": operation,
        "description": told,
        "parameters": {parameter: f"$response.body#/{place}"},
    }


def _of_endpoint(operation: str, told: str) -> Json:
    return _link(operation, told, "endpoint_id", "id")


LINKS: Final[dict[str, Json]] = {
    "getWebhookEndpoint": _of_endpoint("getWebhookEndpoint", "Read the endpoint."),
    "updateWebhookEndpoint": _of_endpoint("updateWebhookEndpoint", "Change the endpoint."),
    "rotateWebhookSecret": _of_endpoint("rotateWebhookSecret", "Replace its secret."),
    "sendTestEvent": _of_endpoint("sendTestEvent", "See whether events arrive."),
    "resendSince": _of_endpoint("resendSince", "Send it what it has missed."),
    "listAttempts": _of_endpoint("listAttempts", "See what was tried there."),
    "deleteWebhookEndpoint": _of_endpoint("deleteWebhookEndpoint", "Remove the endpoint."),
    "getEvent": _link("getEvent", "Read the event.", "event_id", "event"),
    "resendEvent": _link("resendEvent", "Send the event again.", "event_id", "event"),
    "listEvents": _link("listEvents", "Read the next page.", "cursor", "next_cursor"),
}
