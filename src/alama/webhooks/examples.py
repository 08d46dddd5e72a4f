"""Examples of webhooks for the OpenAPI document, and what receivers get."""

from __future__ import annotations

import base64
import hmac
import json
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.platform import addresses, events
from alama.platform.book import Book, Mode
from alama.platform.events import EventKind, ScoreGiven
from alama.platform.http import fields
from alama.platform.http.operation import AT_US, JSON, REQUEST_ID, Json, reference
from alama.platform.http.problems import InvalidRequest
from alama.webhooks import endpoints_api, events_api, records
from alama.webhooks.endpoints import TEST_MESSAGE
from alama.webhooks.endpoints_api import (
    ATTEMPT_ID_EXAMPLE,
    ENDPOINT_ID_EXAMPLE,
    RULES,
    NewWebhookEndpoint,
)
from alama.webhooks.events_api import DATA, EVENT_ID_EXAMPLE, SUMMARIES, camel, schema_name
from alama.webhooks.records import (
    ROTATION_OVERLAP_US,
    Attempt,
    DisabledReason,
    Endpoint,
    Secrets,
    Waiting,
)

if TYPE_CHECKING:
    from alama.core.errors import AlamaError

_CHANCE: Final = bytes.fromhex("9b20c7d4e11f83")
_ADDED_US: Final = 1_789_996_400_123_456
_KEY: Final = bytes(range(32))
SECRET: Final = "whsec_" + base64.b64encode(_KEY).decode()
_SENT_US: Final = 1_790_000_000_123_456
_CHANCE_OF_EVENT: Final = bytes.fromhex("5d1f0a9c3b7e42")
"""With these the test is, byte for byte, the one in docs/receiving-webhooks.md."""

_BOOK: Final = Book("demo", Mode.TEST)
_SECRETS: Final = Secrets("vk_example", b"", b"", AT_US + ROTATION_OVERLAP_US)
_ENDPOINT: Final = Endpoint(
    id=ENDPOINT_ID_EXAMPLE,
    book=_BOOK,
    url="https://loans.example.com/hooks/alama",
    kinds=(EventKind.SCORE_CREATED,),
    description="the loan system",
    created_us=_ADDED_US,
    secrets=_SECRETS,
)
_WAITS: Final = {
    ENDPOINT_ID_EXAMPLE: Waiting(count=3, next_us=AT_US + 300_000_000, is_overdue=False)
}
_WRONG: Final = b'{"url": "http://127.0.0.1/hook", "kinds": "score.created", "descripton": "ours"}'


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    told = {"url": _ENDPOINT.url, "kinds": list(_ENDPOINT.kinds), "description": "the loan system"}
    return {
        "new_endpoint": {"summary": "An endpoint for scores alone", "value": told},
        "endpoint_change": {"summary": "Turn it on again", "value": {"enabled": True}},
        "rotation": {
            "summary": "Both secrets sign for 24 hours",
            "value": {"expire_previous": False},
        },
        "rotation_now": {
            "summary": "The old secret is known to others: it ends at once",
            "value": {"expire_previous": True},
        },
        "resend_since": {
            "summary": "What was missed",
            "value": {"since": "2026-11-15T10:00:00Z"},
        },
        "resend_to": {
            "summary": "To one endpoint alone",
            "value": {"endpoint_id": ENDPOINT_ID_EXAMPLE},
        },
    }


class Delivery(NamedTuple):
    """What a receiver gets: headers of ours, by name, that hold for the body."""

    headers: dict[str, str]
    body: Json


def deliveries(model_id: str, policy_id: str) -> dict[EventKind, Delivery]:
    """Give what is sent to a receiver, signed by `SECRET`, by the kind of event."""
    active = {"model": model_id, "policy": policy_id, "activated_at": events.moment(_SENT_US)}
    data: dict[EventKind, Json] = {
        EventKind.SCORE_REVIEWED: {
            "request_id": REQUEST_ID,
            "decision": "APPROVED",
            "given_decision": "REVIEW",
            "overrides": False,
            "tier": "C",
            "model": model_id,
        },
        EventKind.OUTCOME_RECORDED: {
            "request_id": REQUEST_ID,
            "outcome": "repaid",
            "date": "2026-11-16",
            "is_default": False,
            "tier": "B",
            "model": model_id,
        },
        EventKind.MODEL_ACTIVATED: active,
        EventKind.DRIFT_DETECTED: {
            "model": model_id,
            "card": "full",
            "names": [
                {"name": "score", "psi": 0.1443, "limit": 0.1},
                {"name": "avg_inflow", "psi": 0.3918, "limit": 0.1},
            ],
            "first_day": "2026-11-12",
            "last_day": "2026-11-14",
            "scores": 1324,
        },
        EventKind.POLICY_ACTIVATED: active,
        EventKind.ENDPOINT_DISABLED: {
            "endpoint_id": ENDPOINT_ID_EXAMPLE,
            "reason": DisabledReason.FAILING.value,
        },
        EventKind.TEST: {"endpoint_id": ENDPOINT_ID_EXAMPLE, "message": TEST_MESSAGE},
    }
    made = [_score(model_id, policy_id)]
    made += [
        events.event(_BOOK, kind, "", told, _SENT_US, _CHANCE_OF_EVENT)
        for kind, told in data.items()
    ]
    return {EventKind(one.kind): _delivery(one) for one in made}


def _delivery(sent: events.Event) -> Delivery:
    at_s = sent.created_us // 1_000_000
    # Written once more: what signs in earnest is below another roof than the API.
    signed = b"%s.%d.%s" % (sent.id.encode(), at_s, sent.payload)
    signature = base64.b64encode(hmac.digest(_KEY, signed, "sha256")).decode()
    headers = {
        "webhook-id": sent.id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{signature}",
    }
    return Delivery(headers, json.loads(sent.payload))


def _score(model_id: str, policy_id: str) -> events.Event:
    given = ScoreGiven(_BOOK.mode.value, REQUEST_ID, 661, "B", "APPROVED", model_id, policy_id)
    return events.score_created(_BOOK.lender, given, AT_US)


def replies(model_id: str, policy_id: str) -> dict[str, Json]:
    """Give the bodies of replies by name."""
    score = _score(model_id, policy_id)
    test = events.event(_BOOK, EventKind.TEST, ENDPOINT_ID_EXAMPLE, {}, AT_US, _CHANCE)
    tried = Attempt(
        id=ATTEMPT_ID_EXAMPLE,
        lender=_BOOK.lender,
        mode=_BOOK.mode.value,
        endpoint_id=ENDPOINT_ID_EXAMPLE,
        event_id=EVENT_ID_EXAMPLE,
        number=1,
        started_us=AT_US,
        took_ms=38,
        status=503,
        error=None,
        answer="upstream is being restarted",
    )
    bodies = {
        "endpoint_created": endpoints_api.endpoint_created_reply(SECRET, _ENDPOINT),
        "endpoint_list": endpoints_api.endpoints_reply([_ENDPOINT], _WAITS),
        "endpoint": endpoints_api.endpoint_reply(_ENDPOINT, _WAITS),
        "rotated": endpoints_api.rotated_reply(SECRET, _ENDPOINT),
        "test_sent": endpoints_api.test_sent_reply(test),
        "attempts": endpoints_api.attempts_reply([tried, tried], limit=1),
        "event": events_api.event_reply(score),
        "event_page": events_api.event_page_reply([score, score], limit=1),
        "events_resent": endpoints_api.events_resent_reply(12),
        "event_resent": events_api.event_resent_reply(1),
    }
    return {name: {"value": json.loads(body)} for name, body in bodies.items()}


def refusals() -> dict[str, tuple[AlamaError, ...]]:
    """Give problems by the paths that they are met at."""
    endpoints = "/v1/webhook_endpoints"
    return {
        endpoints: (_broken_rules(), records.TooManyEndpoints(records.ENDPOINTS_MAX)),
        f"{endpoints}/{ENDPOINT_ID_EXAMPLE}": (records.UnknownEndpoint(),),
        f"{endpoints}/{ENDPOINT_ID_EXAMPLE}/test": (records.EndpointDisabled(),),
        f"/v1/events/{EVENT_ID_EXAMPLE}": (records.UnknownEvent(),),
    }


def _broken_rules() -> InvalidRequest:
    check_url = partial(addresses.check, reach=addresses.Reach())
    try:
        fields.read(NewWebhookEndpoint, _WRONG, RULES, {"url": check_url})
    except InvalidRequest as error:
        return error
    raise AssertionError("the body was not refused")


TAG_SENT: Final = "Deliveries"
"""No operation of ours has it: generators write a file a tag, and one would replace the other."""

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


def webhooks(model_id: str, policy_id: str) -> Json:
    """Describe the request that each kind of event becomes, with an example of each."""
    such_as = deliveries(model_id, policy_id)
    return {kind.value: {"post": _sent(kind, such_as[kind])} for kind in DATA}


def _sent(kind: EventKind, example: Delivery) -> Json:
    return {
        "operationId": f"receive{camel(kind)}",
        "tags": [TAG_SENT],
        "security": [],  # the signature is no scheme that a document has words for
        "x-internal": True,  # no client sends it: generators make the types and no method
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
            "content": {JSON: {"schema": reference(schema_name(kind)), "example": example.body}},
        },
        "responses": {"2XX": {"description": "It has arrived."}},
    }
