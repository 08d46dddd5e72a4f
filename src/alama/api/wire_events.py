"""What receivers of webhooks get: the `data` of each kind of event, field by field."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.api.wire import Decision, ModelHash, PolicyHash, RequestId, Score, Tier
from alama.service.webhooks.events import EventKind

if TYPE_CHECKING:
    from collections.abc import Mapping

Mode = Annotated[str, Meta(description="test or live.")]


class ScoreCreated(msgspec.Struct, frozen=True):
    """A score was given. `GET /v1/scores/{request_id}` has the rest of it."""

    mode: Mode
    request_id: RequestId
    score: Score
    tier: Tier
    decision: Decision
    model: ModelHash
    policy: PolicyHash


class Activated(msgspec.Struct, frozen=True):
    """What answers from now on."""

    mode: Mode
    model: Annotated[
        str | None, Meta(description="Content hash; null: the model that comes with Alama.")
    ]
    policy: Annotated[
        str | None, Meta(description="Content hash; null: the policy that comes with Alama.")
    ]
    activated_at: Annotated[datetime, Meta(tz=True, description="Since when, in UTC.")]


class EndpointDisabled(msgspec.Struct, frozen=True):
    """Nothing more is sent to an endpoint, of which its lender has others."""

    mode: Mode
    endpoint_id: Annotated[str, Meta(description="Which endpoint.")]
    reason: Annotated[
        str,
        Meta(
            description="Why: `gone`, its receiver answered 410; `failing`, nothing arrived for "
            "five days. An open set: expect more."
        ),
    ]


class Tested(msgspec.Struct, frozen=True):
    """Somebody asked for a test of this endpoint."""

    mode: Mode
    endpoint_id: Annotated[str, Meta(description="Which endpoint.")]
    message: Annotated[str, Meta(description="For people.")]


DATA: Final[Mapping[EventKind, type[msgspec.Struct]]] = {
    EventKind.SCORE_CREATED: ScoreCreated,
    EventKind.MODEL_ACTIVATED: Activated,
    EventKind.POLICY_ACTIVATED: Activated,
    EventKind.ENDPOINT_DISABLED: EndpointDisabled,
    EventKind.TEST: Tested,
}

SUMMARIES: Final[Mapping[EventKind, str]] = {
    EventKind.SCORE_CREATED: "A score was given",
    EventKind.MODEL_ACTIVATED: "Another model answers",
    EventKind.POLICY_ACTIVATED: "Another policy answers",
    EventKind.ENDPOINT_DISABLED: "An endpoint was disabled",
    EventKind.TEST: "A test was asked for",
}
