"""What receivers of webhooks get: the `data` of each kind of event, field by field."""

from __future__ import annotations

from datetime import date, datetime
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


class OutcomeRecorded(msgspec.Struct, frozen=True):
    """Something new is known of a loan, and this is how it stands now."""

    mode: Mode
    request_id: RequestId
    outcome: Annotated[
        str,
        Meta(
            description="The latest: `repaid`, `defaulted`, `written_off` or `restructured`. An "
            "open set: expect more."
        ),
    ]
    date: Annotated[date, Meta(description="When that happened, as the lender said it.")]
    is_default: Annotated[
        bool, Meta(description="Whether it was ever a default, also if it is repaid by now.")
    ]
    tier: Tier
    model: ModelHash


class ScoreReviewed(msgspec.Struct, frozen=True):
    """An officer decided on a score. `GET /v1/scores/{request_id}` says who, and why."""

    mode: Mode
    request_id: RequestId
    decision: Annotated[str, Meta(description="What the officer decided: APPROVED or DECLINED.")]
    given_decision: Decision
    overrides: Annotated[bool, Meta(description="Whether the service had decided otherwise.")]
    tier: Tier
    model: ModelHash


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


class DriftName(msgspec.Struct, frozen=True):
    """A field, or the score, that stands further from the training rows than chance explains."""

    name: Annotated[str, Meta(description="The field; `score` for the scores themselves.")]
    psi: Annotated[float, Meta(description="Its population stability index in these days.")]
    limit: Annotated[float, Meta(description="What the index was to stay below.")]


class DriftDetected(msgspec.Struct, frozen=True):
    """Applicants, or their scores, have moved away from the training rows, and it lasts."""

    mode: Mode
    model: ModelHash
    card: Annotated[str, Meta(description="The scorecard that met them.")]
    names: Annotated[
        tuple[DriftName, ...],
        Meta(
            description="What has just drifted: over its limit in these days, and in the window "
            "before them."
        ),
    ]
    first_day: Annotated[date, Meta(description="The first day of the window, UTC.")]
    last_day: Annotated[date, Meta(description="The last day of the window, UTC.")]
    scores: Annotated[int, Meta(description="Scores that the card gave in these days.")]


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
    EventKind.SCORE_REVIEWED: ScoreReviewed,
    EventKind.OUTCOME_RECORDED: OutcomeRecorded,
    EventKind.MODEL_ACTIVATED: Activated,
    EventKind.DRIFT_DETECTED: DriftDetected,
    EventKind.POLICY_ACTIVATED: Activated,
    EventKind.ENDPOINT_DISABLED: EndpointDisabled,
    EventKind.TEST: Tested,
}

SUMMARIES: Final[Mapping[EventKind, str]] = {
    EventKind.SCORE_CREATED: "A score was given",
    EventKind.SCORE_REVIEWED: "An officer decided on a score",
    EventKind.OUTCOME_RECORDED: "Something new is known of a loan",
    EventKind.MODEL_ACTIVATED: "Another model answers",
    EventKind.DRIFT_DETECTED: "Applicants have moved away from the training rows",
    EventKind.POLICY_ACTIVATED: "Another policy answers",
    EventKind.ENDPOINT_DISABLED: "An endpoint was disabled",
    EventKind.TEST: "A test was asked for",
}
