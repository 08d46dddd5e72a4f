"""Events over HTTP: /v1/events, and what each kind of event tells."""

from __future__ import annotations

import re
from datetime import date, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.platform import events
from alama.platform.book import Book, Scope
from alama.platform.days import moment
from alama.platform.events import EventKind
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import optional_json_body
from alama.platform.http.exchange import Call, Moment, Reply, encode_json, private_json
from alama.platform.http.fields import Rule
from alama.platform.http.operation import (
    BODY,
    Json,
    Link,
    Operation,
    Success,
    cursor_parameter,
    path_parameter,
    reference,
)
from alama.platform.http.problems import BadParameter
from alama.platform.timeouts import run_with_timeout
from alama.scoring.api import Decision, ModelHash, PolicyHash, RequestId, Score, Tier
from alama.webhooks import records
from alama.webhooks.records import RESENT_COUNTED_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.scoring.admission import Admission
    from alama.webhooks.events import Events


TAG: Final = "Webhooks"
MAY_BE_LEFT_OUT: Final = "May be left out, with all its fields."
PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100

ENDPOINT_ID: Final = "^we_[0-9a-f]{28}$"
EVENT_ID: Final = "^evt_[0-9a-f]{28}$"

EventId = Annotated[
    str,
    Meta(
        pattern=EVENT_ID,
        description="Names the event for ever, and is the header `webhook-id` of each delivery.",
    ),
]

RULES: Final = {
    "endpoint_id": Rule(str, "must be the id of a webhook endpoint"),
}
"""What the fields of bodies must be, by their names."""


# ------------------------------------------------------------------------------- requests


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


REQUESTS: Final = (ResendTo,)


# -------------------------------------------------------------------------------- replies


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
        Meta(
            description="The body of each delivery: `type`, `timestamp` and `data`.",
            extra_json_schema=reference("EventPayload"),
        ),
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


REPLIES: Final = (Event, EventPage, EventsResent, EventResent)


def event_reply(kept: events.Event) -> bytes:
    """Give an event with what is sent of it."""
    return encode_json(_event(kept))


def event_page_reply(kept: Sequence[events.Event], limit: int) -> bytes:
    """Give one page of events, as `attempts` does."""
    shown = [_event(one) for one in kept[:limit]]
    return encode_json(EventPage(shown, shown[-1].id if len(kept) > limit else None))


def event_resent_reply(count: int) -> bytes:
    """Say to how many endpoints an event is on its way again."""
    return encode_json(EventResent(count))


def _event(kept: events.Event) -> Event:
    payload = msgspec.Raw(kept.payload)
    return Event(kept.id, kept.kind, moment(kept.created_us), kept.subject_id, payload)


# ------------------------------------------------------------------------------ operations


EVENT_ID_EXAMPLE: Final = "evt_065bfeda25e0005d1f0a9c3b7e42"

PARAMETERS: Final[dict[str, Json]] = {
    "event_id": path_parameter(
        "event_id",
        "The `id` of the event, which is the header `webhook-id` of a delivery.",
        EVENT_ID,
        EVENT_ID_EXAMPLE,
    ),
    "kind": {
        "name": "kind",
        "in": "query",
        "description": "Events of this kind alone.",
        "schema": {"type": "string", "enum": list(EventKind)},
        "example": EventKind.SCORE_CREATED.value,
    },
    "event_cursor": cursor_parameter(EVENT_ID, EVENT_ID_EXAMPLE),
}

GET_EVENT: Final = Link("getEvent", "Read the event.", "event_id", "event")
RESEND_EVENT: Final = Link("resendEvent", "Send the event again.", "event_id", "event")
LIST_EVENTS: Final = Link("listEvents", "Read the next page.", "cursor", "next_cursor")


class EventEndpoints:
    """What callers can do with the events of their book."""

    def __init__(self, admission: Admission, events: Events) -> None:
        self._admission = admission
        self._events = events

    @Operation(
        path="/v1/events",
        method="GET",
        id="listEvents",
        tag=TAG,
        summary="List events, newest first",
        description="Gives the events of the key's lender and mode of the last 30 days in pages. "
        "`model.activated`, `model.drift_detected`, `policy.activated` and "
        "`webhook_endpoint.disabled` are always among them; `score.created` and "
        "`outcome.recorded` from when an endpoint that wants them was added until the last such "
        "was removed, also while it is disabled.",
        scope=Scope.WEBHOOKS_READ,
        parameters=("kind", "limit", "event_cursor"),
        replies={
            200: Success(
                "One page.", reference("EventPage"), examples=("event_page",), links=(LIST_EVENTS,)
            )
        },
        refusals=(BadParameter,),
    )
    async def page(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        asked = parameters.read(call, ("kind", "limit", "cursor"))
        kind = _kind(asked.get("kind"))
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), events.PREFIX)
        # One more than asked for tells whether there is a next page.
        found = await run_with_timeout(
            lambda: self._events.page(caller.book, kind, cursor, limit + 1)
        )
        return private_json(event_page_reply(found, limit), headers)

    @Operation(
        path="/v1/events/{event_id}",
        method="GET",
        id="getEvent",
        tag=TAG,
        summary="Read one event",
        description="Gives an event with what is sent of it, byte for byte as it is signed.",
        scope=Scope.WEBHOOKS_READ,
        parameters=("event_id",),
        replies={200: Success("The event.", reference("Event"), examples=("event",))},
        refusals=(BadParameter, records.UnknownEvent),
    )
    async def find(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        event_id = call.path_part("event_id")
        found = await run_with_timeout(lambda: self._events.find(caller.book, event_id))
        return private_json(event_reply(found), headers)

    @Operation(
        path="/v1/events/{event_id}/resend",
        method="POST",
        id="resendEvent",
        tag=TAG,
        summary="Send one event again",
        description="Has the event sent to one endpoint, or to each that wants events of its kind, "
        "also where it has arrived before. It keeps its id. A `webhook.test` goes to the endpoint "
        "that it was made for, unless another is named.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("event_id",),
        body="ResendTo",
        body_told=MAY_BE_LEFT_OUT,
        body_required=False,
        requests=("resend_to",),
        replies={
            202: Success("It is on its way.", reference("EventResent"), examples=("event_resent",))
        },
        refusals=(*BODY, records.UnknownEvent, records.UnknownEndpoint, records.EndpointDisabled),
    )
    async def resend(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        event_id = call.path_part("event_id")
        sent = fields.read(ResendTo, await optional_json_body(call), RULES)
        count = await run_with_timeout(lambda: self._resent(caller.book, event_id, sent))
        return private_json(event_resent_reply(count), headers, HTTPStatus.ACCEPTED)

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


# ------------------------------------------------------------------- what receivers are sent


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


def camel(kind: EventKind) -> str:
    """Give the name of a kind as types and methods are named: `ScoreCreated`."""
    return "".join(word.capitalize() for word in re.split("[._]", kind.value))


def schema_name(kind: EventKind) -> str:
    """Give the name of the schema of a body: `ScoreCreatedEvent`."""
    return f"{camel(kind)}Event"


def payload_schemas() -> dict[str, Json]:
    """Describe the body of a delivery: what all have, then each kind, which `type` leads to."""
    names = {kind: schema_name(kind) for kind in DATA}
    return {
        "EventPayload": {
            "title": "EventPayload",
            "description": "What is sent to tell of an event; `data` is as the kind says.",
            "type": "object",
            "required": ["type", "timestamp"],
            "properties": {
                "type": {
                    "description": "The kind of event. An open set: expect more.",
                    "type": "string",
                },
                "timestamp": {
                    "description": "When it happened, in UTC.",
                    "type": "string",
                    "format": "date-time",
                },
            },
            "discriminator": {
                "propertyName": "type",
                "mapping": {kind.value: reference(name)["$ref"] for kind, name in names.items()},
            },
        },
        **{name: _payload(kind, name) for kind, name in names.items()},
    }


def _payload(kind: EventKind, name: str) -> Json:
    return {
        "title": name,
        "description": f"{SUMMARIES[kind]}.",
        "allOf": [
            reference("EventPayload"),
            {
                "type": "object",
                "required": ["data"],
                "properties": {"data": reference(DATA[kind].__name__)},
            },
        ],
    }
