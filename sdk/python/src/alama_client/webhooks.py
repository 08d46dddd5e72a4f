"""Webhooks: from bytes that came over the internet to typed events that can be trusted.

event = alama_client.verify_webhook(body, headers, secret)
match event:
    case ScoreCreatedEvent(request_id=request_id, decision="APPROVED"): ...
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003  answers are read by their types
from typing import TYPE_CHECKING, Any

from alama_client.answers import Answer, read
from alama_client.errors import InvalidArgument, InvalidSignature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOLERANCE_S = 300
_NOT_OURS = "no signature of this webhook was made with the secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Answer):
    """What all events have. `id` is the same each time one comes: do it once."""

    id: str
    type: str
    timestamp: datetime
    """When it happened; events may come in another order."""
    mode: str
    """`test` or `live`: a `test` decision is nobody's loan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEvent(Event):
    """An event of a kind that this version does not know: answer 2xx all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCreatedEvent(Event):
    """A score was given."""

    request_id: str
    score: int
    tier: str
    decision: str
    model: str
    policy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreReviewedEvent(Event):
    """An officer has decided on a score."""

    request_id: str
    decision: str
    given_decision: str
    overrides: bool
    tier: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecordedEvent(Event):
    """Something new is known of a loan."""

    request_id: str
    outcome: str
    date: str
    is_default: bool
    tier: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyActivatedEvent(Event):
    """Another policy answers; None stands for the one that comes with Alama."""

    model: str | None
    policy: str | None
    activated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelActivatedEvent(Event):
    """Another model answers; None stands for the one that comes with Alama."""

    model: str | None
    policy: str | None
    activated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(Answer):
    """A field, or the score, that has moved away from training."""

    name: str
    psi: float
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDriftDetectedEvent(Event):
    """Applicants have changed since the model was trained."""

    model: str
    card: str
    names: tuple[Drift, ...]
    first_day: str
    last_day: str
    scores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpointDisabledEvent(Event):
    """An endpoint was given up."""

    endpoint_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTestEvent(Event):
    """Somebody has asked for it."""

    endpoint_id: str
    message: str


_KINDS: Mapping[str, type[Event]] = {
    "score.created": ScoreCreatedEvent,
    "score.reviewed": ScoreReviewedEvent,
    "outcome.recorded": OutcomeRecordedEvent,
    "policy.activated": PolicyActivatedEvent,
    "model.activated": ModelActivatedEvent,
    "model.drift_detected": ModelDriftDetectedEvent,
    "webhook_endpoint.disabled": WebhookEndpointDisabledEvent,
    "webhook.test": WebhookTestEvent,
}


def verify_webhook(
    body: bytes | bytearray | memoryview | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance_s: float = TOLERANCE_S,
) -> Event:
    """Give the event of a webhook, or raise `InvalidSignature`.

    `body` is what came, byte for byte, before any framework has parsed it; text is taken as UTF-8.
    Of several secrets, as while one is replaced, any will do. A secret that is none raises
    `InvalidArgument`, whatever came.
    """
    keys = _keys(secret)
    came = _bytes(body)
    named = _named(headers)
    try:
        event_id, sent_at = named["webhook-id"], named["webhook-timestamp"]
        signatures = named["webhook-signature"].split()
        age_s = abs(time.time() - int(sent_at))
        signed = f"{event_id}.{sent_at}.".encode() + came
    except (KeyError, ValueError, OverflowError):
        raise InvalidSignature("a header of the webhook is missing or malformed") from None
    made = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    given = [_decoded(text) for version, _, text in map(_parted, signatures) if version == "v1"]
    # Every pair is compared, so that the time tells nothing of which one held.
    if not any([hmac.compare_digest(ours, theirs) for ours in made for theirs in given]):  # noqa: C419
        raise InvalidSignature(_NOT_OURS)
    if age_s > tolerance_s:
        raise InvalidSignature(f"the webhook was sent {age_s:.0f} s ago, or a clock is wrong")
    return _event(event_id, came)


def sign_webhook(
    body: bytes, event_id: str, secret: str, *, sent_at: int | None = None
) -> dict[str, str]:
    """Give the headers that Alama would send with a body, to try a receiver."""
    at = str(int(time.time()) if sent_at is None else sent_at)
    (key,) = _keys(secret)
    signature = hmac.digest(key, f"{event_id}.{at}.".encode() + body, hashlib.sha256)
    return {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": at,
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


def _event(event_id: str, body: bytes) -> Event:
    try:
        told: Any = json.loads(body)
        data: dict[str, Any] = dict(told["data"])
        kind = _KINDS.get(told["type"], OtherEvent)
        common = {"id": event_id, "type": told["type"], "timestamp": told["timestamp"]}
        return read(kind, {"mode": "", **data, **common}, told)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidSignature(f"it is signed, and no event all the same: {error}") from error


def _parted(signature: str) -> tuple[str, str, str]:
    return signature.partition(",")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # no base64, or not even ASCII
        return b""


def _keys(secret: str | Sequence[str]) -> list[bytes]:
    """Give the bytes that sign, or raise `InvalidArgument`: with none, anyone could sign."""
    try:
        secrets = [secret] if isinstance(secret, str) else list(secret)
        keys = [_decoded(each.strip().removeprefix("whsec_")) for each in secrets]
    except (AttributeError, TypeError):
        keys = []
    if not keys or b"" in keys:
        raise InvalidArgument("the secret of the webhook is empty, or is not whsec_ and base64")
    return keys


def _bytes(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode(errors="surrogatepass")
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise InvalidArgument("the body of a webhook is bytes or text, as it came")


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    """Give the headers by their names in lower case."""
    try:
        return {str.lower(name): str.strip(text) for name, text in headers.items()}
    except (AttributeError, TypeError):  # no mapping, or one of bytes
        words = "the headers of a webhook are a mapping of names to texts"
        raise InvalidArgument(words) from None
