"""Examples of webhooks for the OpenAPI document, made by the code that answers callers."""

from __future__ import annotations

import base64
import hmac
import json
from functools import partial
from typing import Any, Final, NamedTuple

from alama.api import fields, render_webhooks
from alama.api.problems import InvalidRequest
from alama.api.wire_webhooks import RULES, NewWebhookEndpoint
from alama.service import ids
from alama.service.book import Book, Mode
from alama.service.webhooks import events, urls
from alama.service.webhooks.endpoints import TEST_MESSAGE
from alama.service.webhooks.events import EventKind, ScoreGiven
from alama.service.webhooks.reasons import DisabledReason
from alama.service.webhooks.records import (
    ATTEMPT_PREFIX,
    ENDPOINT_PREFIX,
    ROTATION_OVERLAP_US,
    Attempt,
    Endpoint,
    Secrets,
    Waiting,
)

Json = dict[str, Any]

AT_US: Final = 1_790_000_000_000_000
REQUEST_ID: Final = ids.request_id(AT_US, bytes.fromhex("5d1f0a9c3b7e42"))
_CHANCE: Final = bytes.fromhex("9b20c7d4e11f83")
_ADDED_US: Final = 1_789_996_400_123_456
ENDPOINT_ID: Final = ids.sortable(ENDPOINT_PREFIX, _ADDED_US, _CHANCE)
ATTEMPT_ID: Final = ids.sortable(ATTEMPT_PREFIX, AT_US, _CHANCE)
EVENT_ID: Final = events.PREFIX + REQUEST_ID[len(ids.PREFIX) :]
_KEY: Final = bytes(range(32))
SECRET: Final = "whsec_" + base64.b64encode(_KEY).decode()
_SENT_US: Final = 1_790_000_000_123_456
_CHANCE_OF_EVENT: Final = bytes.fromhex("5d1f0a9c3b7e42")
"""With these the test is, byte for byte, the one in docs/receiving-webhooks.md."""

_BOOK: Final = Book("demo", Mode.TEST)
_SECRETS: Final = Secrets("vk_example", b"", b"", AT_US + ROTATION_OVERLAP_US)
_ENDPOINT: Final = Endpoint(
    id=ENDPOINT_ID,
    book=_BOOK,
    url="https://loans.example.com/hooks/alama",
    kinds=(EventKind.SCORE_CREATED,),
    description="the loan system",
    created_us=_ADDED_US,
    secrets=_SECRETS,
)
_WAITS: Final = {ENDPOINT_ID: Waiting(count=3, next_us=AT_US + 300_000_000, is_overdue=False)}
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
            "value": {"endpoint_id": ENDPOINT_ID},
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
            "endpoint_id": ENDPOINT_ID,
            "reason": DisabledReason.FAILING.value,
        },
        EventKind.TEST: {"endpoint_id": ENDPOINT_ID, "message": TEST_MESSAGE},
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
    test = events.event(_BOOK, EventKind.TEST, ENDPOINT_ID, {}, AT_US, _CHANCE)
    tried = Attempt(
        id=ATTEMPT_ID,
        lender=_BOOK.lender,
        mode=_BOOK.mode.value,
        endpoint_id=ENDPOINT_ID,
        event_id=EVENT_ID,
        number=1,
        started_us=AT_US,
        took_ms=38,
        status=503,
        error=None,
        answer="upstream is being restarted",
    )
    bodies = {
        "endpoint_created": render_webhooks.endpoint_created(SECRET, _ENDPOINT),
        "endpoint_list": render_webhooks.endpoints([_ENDPOINT], _WAITS),
        "endpoint": render_webhooks.endpoint(_ENDPOINT, _WAITS),
        "rotated": render_webhooks.rotated(SECRET, _ENDPOINT),
        "test_sent": render_webhooks.test_sent(test),
        "attempts": render_webhooks.attempts([tried, tried], limit=1),
        "event": render_webhooks.event(score),
        "event_page": render_webhooks.event_page([score, score], limit=1),
        "events_resent": render_webhooks.events_resent(12),
        "event_resent": render_webhooks.event_resent(1),
    }
    return {name: {"value": json.loads(body)} for name, body in bodies.items()}


def broken_rules() -> InvalidRequest:
    """Give what is said of a body that breaks rules."""
    check_url = partial(urls.check, reach=urls.Reach())
    try:
        fields.read(NewWebhookEndpoint, _WRONG, RULES, {"url": check_url})
    except InvalidRequest as error:
        return error
    raise AssertionError("the body was not refused")
