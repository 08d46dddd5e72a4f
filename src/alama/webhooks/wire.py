"""The public contract of webhooks and events: what goes over the wire, field by field."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.core.application import HIDDEN
from alama.platform import addresses
from alama.platform.events import EventKind
from alama.platform.http.fields import Rule
from alama.scoring.wire import Decision, ModelHash, PolicyHash, RequestId, Score, Tier
from alama.webhooks import records as descriptions
from alama.webhooks.records import COUNTED_MAX, RESENT_COUNTED_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping


KINDS_MAX: Final = 20
"""More than there are: one may stand twice."""

ENDPOINT_ID: Final = "^we_[0-9a-f]{28}$"
EVENT_ID: Final = "^evt_[0-9a-f]{28}$"
ATTEMPT_ID: Final = "^att_[0-9a-f]{28}$"

Url = Annotated[
    str,
    Meta(
        description="Where events are sent. It begins with https:// and has no user, password or "
        "fragment. Names that lead to private addresses are refused when an event is sent.",
        examples=["https://loans.example.com/hooks/alama"],
        # Only told here: `urls.check` says of each rule what is wrong, and what to do.
        extra_json_schema={
            "maxLength": addresses.LENGTH_MAX,
            "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$",
        },
    ),
]
Kinds = Annotated[
    tuple[EventKind, ...],
    Meta(
        max_length=KINDS_MAX,
        description="Which events are sent there. Left out or empty: all, those of later versions "
        "included.",
        examples=[[EventKind.SCORE_CREATED.value]],
    ),
]
Description = Annotated[
    str,
    Meta(
        max_length=descriptions.DESCRIPTION_MAX,
        pattern=rf"^[^{HIDDEN}]*$",
        description="What the endpoint is for, in your own words: one line.",
        examples=["the loan system"],
    ),
]
EndpointId = Annotated[
    str, Meta(pattern=ENDPOINT_ID, description="Names the endpoint for as long as it is there.")
]
EventId = Annotated[
    str,
    Meta(
        pattern=EVENT_ID,
        description="Names the event for ever, and is the header `webhook-id` of each delivery.",
    ),
]
Moment = Annotated[datetime, Meta(tz=True, description="In UTC.")]

RULES: Final = {
    "url": Rule(
        str, f"must be a URL that begins with https://, at most {addresses.LENGTH_MAX} characters"
    ),
    "kinds": Rule(
        list,
        f"must be a list of at most {KINDS_MAX} kinds of events, of {', '.join(EventKind)}; leave "
        "it out or send [] for all",
        tuple(EventKind),
    ),
    "description": Rule(
        str, f"must be one line of at most {descriptions.DESCRIPTION_MAX} characters"
    ),
    "enabled": Rule(bool, "must be true or false"),
    "expire_previous": Rule(bool, "must be true or false"),
    "since": Rule(str, "must be a time with its zone, such as 2026-11-15T10:00:00Z"),
    "endpoint_id": Rule(str, "must be the id of a webhook endpoint"),
}
"""What the fields of bodies must be, by their names."""


# ------------------------------------------------------------------------------- requests


class NewWebhookEndpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A webhook endpoint that is to be."""

    url: Url
    kinds: Kinds = ()
    description: Description = ""


class WebhookEndpointChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a webhook endpoint is to become; a field that is left out stays as it is."""

    url: Url | UnsetType = UNSET
    kinds: Kinds | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    enabled: Annotated[
        bool | UnsetType,
        Meta(
            description="false: nothing more is sent, and what is on its way is given up. true: "
            "events are sent again from now on; `resend` brings those from before."
        ),
    ] = UNSET


class SecretRotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the secret of a webhook endpoint is replaced."""

    expire_previous: Annotated[
        bool,
        Meta(
            description="true: the old secret signs nothing any more. false: for 24 hours both do."
        ),
    ] = False


class TestRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a test: nothing."""


class ResendSince(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From when on events are to be sent again."""

    since: Annotated[
        datetime,
        Meta(
            tz=True,
            description="RFC 3339, with a zone, and not in the future. Events are kept for 30 "
            "days: nothing from before that is sent.",
            examples=["2026-11-15T10:00:00Z"],
        ),
    ]


class ResendTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where one event is to be sent again."""

    endpoint_id: (
        Annotated[
            str,
            Meta(
                pattern=ENDPOINT_ID,
                description="This endpoint alone; left out: each that wants events of its kind.",
            ),
        ]
        | UnsetType
    ) = UNSET


REQUESTS: Final = (
    NewWebhookEndpoint,
    WebhookEndpointChange,
    SecretRotation,
    ResendSince,
    ResendTo,
)


# -------------------------------------------------------------------------------- replies


class PendingDeliveries(msgspec.Struct, frozen=True):
    """What is on its way to an endpoint."""

    count: Annotated[
        int,
        Meta(
            ge=0,
            le=COUNTED_MAX,
            description=f"Events that have not arrived yet and will be tried. {COUNTED_MAX:,} "
            "stand for that many or more.",
        ),
    ]
    next_attempt_at: Annotated[
        datetime | None,
        Meta(
            description="When the next attempt is due, in UTC; a time that has passed: as soon as "
            "may be. null: nothing waits, or all of it is being sent right now."
        ),
    ]


class WebhookEndpoint(msgspec.Struct, frozen=True):
    """Where the events of a lender and mode are sent."""

    id: EndpointId
    url: Annotated[str, Meta(description="Where events are sent.")]
    kinds: Annotated[
        list[str],
        Meta(description="Which events are sent there. Empty: all. An open set: expect more."),
    ]
    description: Annotated[str, Meta(description="What it is for, in your own words.")]
    enabled: Annotated[bool, Meta(description="Whether events are sent there.")]
    created_at: Moment
    failing_since: Annotated[
        datetime | None,
        Meta(
            description="Since when nothing has arrived, though it was tried; after five days of "
            "it the endpoint is disabled. null: what was tried last has arrived."
        ),
    ]
    disabled_at: Annotated[
        datetime | None, Meta(description="Since when nothing is sent; null: it is enabled.")
    ]
    disabled_reason: Annotated[
        str | None,
        Meta(
            description="Why nothing is sent: `requested`, somebody said so; `gone`, the receiver "
            "answered 410; `failing`, nothing arrived for five days. An open set: expect more. "
            "null: it is enabled."
        ),
    ]
    pending: PendingDeliveries


Secret = Annotated[
    str,
    Meta(
        pattern="^whsec_[A-Za-z0-9+/]{43}=$",
        description="Verifies deliveries (Standard Webhooks). It is never shown again: keep it.",
    ),
]


class WebhookEndpointCreated(WebhookEndpoint, frozen=True, kw_only=True):
    """A new webhook endpoint, and its secret."""

    secret: Secret


class WebhookEndpointList(msgspec.Struct, frozen=True):
    """All webhook endpoints of a lender and mode, oldest first."""

    data: Annotated[list[WebhookEndpoint], Meta(description="Twenty at most.")]


class RotatedSecret(msgspec.Struct, frozen=True):
    """The secret that signs from now on."""

    secret: Secret
    previous_expires_at: Annotated[
        datetime | None,
        Meta(description="Until then the old secret signs too; null: it signs nothing more."),
    ]


class TestSent(msgspec.Struct, frozen=True):
    """A test event that is on its way."""

    event: EventId


class DeliveryAttempt(msgspec.Struct, frozen=True):
    """One try to deliver one event to one endpoint."""

    id: Annotated[str, Meta(pattern=ATTEMPT_ID, description="Names the attempt.")]
    event: EventId
    number: Annotated[int, Meta(ge=1, description="Of this event at this endpoint: 1, 2, ...")]
    started_at: Moment
    took_ms: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="Milliseconds, to the end of the answer; null where the error is "
            "`address_refused`.",
        ),
    ]
    delivered: Annotated[bool, Meta(description="Whether the answer was a 2xx.")]
    status: Annotated[
        int | None, Meta(description="HTTP status of the answer; null: there was none.")
    ]
    error: Annotated[
        str | None,
        Meta(
            description="Why there was no answer, such as `timeout`, `connection_failed` or "
            "`tls_failed`. An open set: expect more. null: there was one."
        ),
    ]
    answer: Annotated[
        str,
        Meta(
            description="How the answer began, as text: up to 4 KiB of a failure, up to 256 "
            "characters of a success."
        ),
    ]


class AttemptPage(msgspec.Struct, frozen=True):
    """What was tried at an endpoint, newest first."""

    data: Annotated[list[DeliveryAttempt], Meta(description="At most `limit` of them.")]
    next_cursor: Annotated[
        str | None, Meta(description="Send it as `cursor` for the next page; null on the last.")
    ]


class Event(msgspec.Struct, frozen=True):
    """Something that happened, and what is sent to tell of it."""

    id: EventId
    kind: Annotated[str, Meta(description="What happened. An open set: expect more.")]
    created_at: Moment
    subject: Annotated[
        str, Meta(description="Id of what it speaks of: a score, a model, a policy, an endpoint.")
    ]
    payload: Annotated[
        msgspec.Raw,
        Meta(description="The body of each delivery: `type`, `timestamp` and `data`."),
    ]


class EventPage(msgspec.Struct, frozen=True):
    """Events, newest first."""

    data: Annotated[list[Event], Meta(description="At most `limit` of them.")]
    next_cursor: Annotated[
        str | None, Meta(description="Send it as `cursor` for the next page; null on the last.")
    ]


class EventsResent(msgspec.Struct, frozen=True):
    """How many events will be sent to an endpoint again."""

    events: Annotated[
        int,
        Meta(
            ge=0,
            le=RESENT_COUNTED_MAX,
            description="Those since the time that the endpoint wants. "
            f"{RESENT_COUNTED_MAX:,} stand for that many or more.",
        ),
    ]


class EventResent(msgspec.Struct, frozen=True):
    """To how many endpoints an event is on its way again."""

    deliveries: Annotated[
        int, Meta(ge=0, description="How many endpoints; those that are disabled get none.")
    ]


REPLIES: Final = (
    WebhookEndpoint,
    WebhookEndpointCreated,
    WebhookEndpointList,
    RotatedSecret,
    TestSent,
    AttemptPage,
    Event,
    EventPage,
    EventsResent,
    EventResent,
)


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
