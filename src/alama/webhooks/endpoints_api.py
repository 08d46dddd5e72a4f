"""Webhook endpoints over HTTP: /v1/webhook_endpoints, where a lender wants to be told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from alama.core.application import HIDDEN
from alama.core.errors import FieldProblem
from alama.platform import addresses, events
from alama.platform.book import Scope
from alama.platform.days import moment, moment_if
from alama.platform.events import EventKind
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body, optional_json_body
from alama.platform.http.exchange import (
    INT32,
    PRIVATE,
    Call,
    Moment,
    Reply,
    Utc,
    created_json,
    encode_json,
    private_json,
)
from alama.platform.http.fields import Rule
from alama.platform.http.operation import (
    BODY,
    FIELDS_TOLD,
    RATE,
    Json,
    Link,
    Operation,
    Success,
    cursor_parameter,
    path_parameter,
    reference,
)
from alama.platform.http.problems import BadParameter, InvalidRequest
from alama.platform.timeouts import run_with_timeout
from alama.webhooks import events_api, records
from alama.webhooks.endpoints import Endpoints, NewEndpoint
from alama.webhooks.events import Events, NotYet
from alama.webhooks.events_api import (
    ENDPOINT_ID,
    GET_EVENT,
    MAY_BE_LEFT_OUT,
    PAGE_DEFAULT,
    PAGE_MAX,
    RESEND_EVENT,
    TAG,
    EventId,
    EventsResent,
)
from alama.webhooks.records import (
    ADDRESS_REFUSED,
    ATTEMPT_PREFIX,
    COUNTED_MAX,
    ROTATION_OVERLAP_US,
    Attempt,
    Change,
    Endpoint,
    Waiting,
    told_to_lenders,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.platform.http.fields import Check
    from alama.scoring.admission import Admission

    Waits = Mapping[str, Waiting]
    """By the ids of endpoints; one that waits for nothing is not in it."""


KINDS_MAX: Final = 20
"""More than there are: one may stand twice."""

ATTEMPT_ID: Final = "^att_[0-9a-f]{28}$"
Url = Annotated[
    str,
    Meta(
        description="Where events are sent. It begins with https:// and has no user, password or "
        "fragment. Names that lead to private addresses are refused when an event is sent.",
        examples=["https://loans.example.com/hooks/alama"],
        # Only told here: `addresses.check` says of each rule what is wrong, and what to do.
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
        max_length=records.DESCRIPTION_MAX,
        pattern=rf"^[^{HIDDEN}]*$",
        description="What the endpoint is for, in your own words: one line.",
        examples=["the loan system"],
    ),
]
EndpointId = Annotated[
    str, Meta(pattern=ENDPOINT_ID, description="Names the endpoint for as long as it is there.")
]

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
    "description": Rule(str, f"must be one line of at most {records.DESCRIPTION_MAX} characters"),
    "enabled": Rule(bool, "must be true or false"),
    "expire_previous": Rule(bool, "must be true or false"),
    "since": Rule(str, "must be a time with its zone, such as 2026-11-15T10:00:00Z"),
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


REQUESTS: Final = (NewWebhookEndpoint, WebhookEndpointChange, SecretRotation, ResendSince)


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
        Utc | None,
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
        Utc | None,
        Meta(
            description="Since when nothing has arrived, though it was tried; after five days of "
            "it the endpoint is disabled. null: what was tried last has arrived."
        ),
    ]
    disabled_at: Annotated[
        Utc | None, Meta(description="Since when nothing is sent; null: it is enabled.")
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
        Utc | None,
        Meta(description="Until then the old secret signs too; null: it signs nothing more."),
    ]


class TestSent(msgspec.Struct, frozen=True):
    """A test event that is on its way."""

    event: EventId


class DeliveryAttempt(msgspec.Struct, frozen=True):
    """One try to deliver one event to one endpoint."""

    id: Annotated[str, Meta(pattern=ATTEMPT_ID, description="Names the attempt.")]
    event: EventId
    number: Annotated[
        int,
        Meta(
            ge=1, description="Of this event at this endpoint: 1, 2, ...", extra_json_schema=INT32
        ),
    ]
    started_at: Moment
    took_ms: Annotated[
        Annotated[int, Meta(ge=0, extra_json_schema=INT32)] | None,
        Meta(
            description="Milliseconds, to the end of the answer; null where the error is "
            "`address_refused`.",
        ),
    ]
    delivered: Annotated[bool, Meta(description="Whether the answer was a 2xx.")]
    status: Annotated[
        Annotated[int, Meta(extra_json_schema=INT32)] | None,
        Meta(description="HTTP status of the answer; null: there was none."),
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


REPLIES: Final = (
    WebhookEndpoint,
    WebhookEndpointCreated,
    WebhookEndpointList,
    RotatedSecret,
    TestSent,
    AttemptPage,
)


def endpoint_reply(kept: Endpoint, waits: Waits) -> bytes:
    """Give an endpoint; its secrets are never part of it."""
    return encode_json(WebhookEndpoint(**_told(kept, waits)))


def endpoint_created_reply(secret: str, kept: Endpoint) -> bytes:
    """Give a new endpoint, which waits for nothing, and its secret for the only time."""
    return encode_json(WebhookEndpointCreated(**_told(kept, {}), secret=secret))


def endpoints_reply(kept: Sequence[Endpoint], waits: Waits) -> bytes:
    """Give all endpoints of a book."""
    return encode_json(WebhookEndpointList([WebhookEndpoint(**_told(one, waits)) for one in kept]))


def rotated_reply(secret: str, kept: Endpoint) -> bytes:
    """Give a new secret for the only time."""
    return encode_json(RotatedSecret(secret, moment_if(kept.secrets.previous_until_us)))


def test_sent_reply(sent: events.Event) -> bytes:
    """Name the test event that is on its way."""
    return encode_json(TestSent(sent.id))


def attempts_reply(tried: Sequence[Attempt], limit: int) -> bytes:
    """Give one page of attempts; where there may be more, the last id is the next cursor."""
    shown = [_attempt(one) for one in tried[:limit]]
    return encode_json(AttemptPage(shown, shown[-1].id if len(tried) > limit else None))


def attempt_line(tried: Attempt) -> bytes:
    """Give one attempt to whoever runs the service, who may know why and how long exactly."""
    told = _attempt(tried)
    took_ms = None if tried.error == ADDRESS_REFUSED else tried.took_ms
    return encode_json(msgspec.structs.replace(told, took_ms=took_ms, error=tried.error))


def events_resent_reply(count: int) -> bytes:
    """Say how many events are on their way again."""
    return encode_json(EventsResent(count))


def _told(kept: Endpoint, waits: Waits) -> dict[str, Any]:
    return {
        "id": kept.id,
        "url": kept.url,
        "kinds": list(kept.kinds),
        "description": kept.description,
        "enabled": kept.disabled_us is None,
        "created_at": moment(kept.created_us),
        "failing_since": moment_if(kept.failing_since_us),
        "disabled_at": moment_if(kept.disabled_us),
        "disabled_reason": kept.disabled_reason,
        "pending": _pending(waits.get(kept.id)),
    }


def _pending(waiting: Waiting | None) -> PendingDeliveries:
    if waiting is None:
        return PendingDeliveries(0, None)
    return PendingDeliveries(waiting.count, moment_if(waiting.next_us))


def _attempt(tried: Attempt) -> DeliveryAttempt:
    status, error = tried.status, told_to_lenders(tried.error)
    return DeliveryAttempt(
        tried.id,
        tried.event_id,
        tried.number,
        moment(tried.started_us),
        # A name that is there is found sooner than one that is not.
        None if error == ADDRESS_REFUSED else tried.took_ms,
        status is not None and HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES,
        status,
        error,
        tried.answer,
    )


# ------------------------------------------------------------------------------ operations


ENDPOINT_ID_EXAMPLE: Final = "we_065bfe03941e409b20c7d4e11f83"
ATTEMPT_ID_EXAMPLE: Final = "att_065bfeda25e0009b20c7d4e11f83"

PARAMETERS: Final[dict[str, Json]] = {
    "endpoint_id": path_parameter(
        "endpoint_id",
        "The `id` that the endpoint was created with.",
        ENDPOINT_ID,
        ENDPOINT_ID_EXAMPLE,
    ),
    **events_api.PARAMETERS,
    "attempt_cursor": cursor_parameter(ATTEMPT_ID, ATTEMPT_ID_EXAMPLE),
}

_OF_ENDPOINT: Final = (
    Link("getWebhookEndpoint", "Read the endpoint.", "endpoint_id", "id"),
    Link("updateWebhookEndpoint", "Change the endpoint.", "endpoint_id", "id"),
    Link("rotateWebhookSecret", "Replace its secret.", "endpoint_id", "id"),
    Link("sendTestEvent", "See whether events arrive.", "endpoint_id", "id"),
    Link("resendSince", "Send it what it has missed.", "endpoint_id", "id"),
    Link("listAttempts", "See what was tried there.", "endpoint_id", "id"),
    Link("deleteWebhookEndpoint", "Remove the endpoint.", "endpoint_id", "id"),
)
_OF_EVENT: Final = (GET_EVENT, RESEND_EVENT)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class WebhookEndpoints:
    """What callers can do with the endpoints of their book."""

    def __init__(self, admission: Admission, endpoints: Endpoints, events: Events) -> None:
        self._admission = admission
        self._endpoints = endpoints
        self._events = events
        self._checks: Mapping[str, Check] = {
            "url": endpoints.check_url,
            "description": _one_line,
        }

    @Operation(
        path="/v1/webhook_endpoints",
        method="POST",
        id="createWebhookEndpoint",
        tag=TAG,
        summary="Add a webhook endpoint",
        description="From now on events of the key's lender and mode are sent to the URL, signed "
        "as Standard Webhooks 1.0 says with the `secret` of the reply, which is never shown again. "
        "Each event arrives at least once, not always in order; its id is the header `webhook-id`. "
        "Whatever is scored after the reply is announced. There can be twenty endpoints. No "
        "`Idempotency-Key` is taken: if the reply was lost, look in the list, and remove the "
        "endpoint that nobody has the secret of before you add it again.",
        scope=Scope.WEBHOOKS_WRITE,
        body="NewWebhookEndpoint",
        body_told=FIELDS_TOLD,
        requests=("new_endpoint",),
        replies={
            201: Success(
                "The endpoint, and its secret.",
                reference("WebhookEndpointCreated"),
                headers=("Location", *RATE),
                examples=("endpoint_created",),
                links=_OF_ENDPOINT,
            )
        },
        refusals=(*BODY, records.TooManyEndpoints),
    )
    async def add(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewWebhookEndpoint, await json_body(call), RULES, self._checks)
        new = NewEndpoint(sent.url, sent.kinds, sent.description)
        secret, kept = await run_with_timeout(
            lambda: self._endpoints.add(caller.book, new, caller.key.id)
        )
        body = endpoint_created_reply(secret, kept)
        return created_json(body, headers, f"/v1/webhook_endpoints/{kept.id}")

    @Operation(
        path="/v1/webhook_endpoints",
        method="GET",
        id="listWebhookEndpoints",
        tag=TAG,
        summary="List webhook endpoints",
        description="Gives all endpoints of the key's lender and mode, oldest first. Secrets are "
        "no part of it.",
        scope=Scope.WEBHOOKS_READ,
        replies={
            200: Success(
                "All of them.", reference("WebhookEndpointList"), examples=("endpoint_list",)
            )
        },
        refusals=(BadParameter,),
    )
    async def list(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        found = await run_with_timeout(lambda: self._endpoints.of(caller.book))
        waits = await run_with_timeout(
            lambda: self._events.waiting(caller.book, [one.id for one in found])
        )
        return private_json(endpoints_reply(found, waits), headers)

    @Operation(
        path="/v1/webhook_endpoints/{endpoint_id}",
        method="GET",
        id="getWebhookEndpoint",
        tag=TAG,
        summary="Read one webhook endpoint",
        description="Says where it leads, what is sent there, whether anything arrives, and what "
        "is on its way.",
        scope=Scope.WEBHOOKS_READ,
        parameters=("endpoint_id",),
        replies={
            200: Success("The endpoint.", reference("WebhookEndpoint"), examples=("endpoint",))
        },
        refusals=(BadParameter, records.UnknownEndpoint),
    )
    async def find(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        found = await run_with_timeout(lambda: self._endpoints.find(caller.book, endpoint_id))
        waits = await run_with_timeout(lambda: self._events.waiting(caller.book, [found.id]))
        return private_json(endpoint_reply(found, waits), headers)

    @Operation(
        path="/v1/webhook_endpoints/{endpoint_id}",
        method="PATCH",
        id="updateWebhookEndpoint",
        tag=TAG,
        summary="Change a webhook endpoint, or turn it on or off",
        description="Changes the fields that are sent and leaves the others as they are. An "
        "endpoint at which nothing arrived for five days, or that answered 410, was disabled: "
        "`enabled` turns it on again.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        body="WebhookEndpointChange",
        body_told=FIELDS_TOLD,
        requests=("endpoint_change",),
        replies={
            200: Success(
                "The endpoint as it is now.", reference("WebhookEndpoint"), examples=("endpoint",)
            )
        },
        refusals=(*BODY, records.UnknownEndpoint),
    )
    async def change(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(WebhookEndpointChange, await json_body(call), RULES, self._checks)
        given = {name: value for name, value in structs.asdict(sent).items() if value is not UNSET}
        change = Change(**given)
        found = await run_with_timeout(
            lambda: self._endpoints.change(caller.book, endpoint_id, change, caller.key.id)
        )
        waits = await run_with_timeout(lambda: self._events.waiting(caller.book, [found.id]))
        return private_json(endpoint_reply(found, waits), headers)

    @Operation(
        path="/v1/webhook_endpoints/{endpoint_id}",
        method="DELETE",
        id="deleteWebhookEndpoint",
        tag=TAG,
        summary="Remove a webhook endpoint",
        description="Nothing more is sent there, and its attempts can be read no more.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        replies={204: Success("It is gone.", None)},
        refusals=(BadParameter, records.UnknownEndpoint),
    )
    async def remove(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        await run_with_timeout(
            lambda: self._endpoints.remove(caller.book, endpoint_id, caller.key.id)
        )
        return Reply(HTTPStatus.NO_CONTENT, [PRIVATE, *headers], b"")

    @Operation(
        path="/v1/webhook_endpoints/{endpoint_id}/rotate_secret",
        method="POST",
        id="rotateWebhookSecret",
        tag=TAG,
        summary="Replace the secret of a webhook endpoint",
        description="Gives a new secret, which is never shown again. For 24 hours deliveries have "
        "two signatures, by the new secret and by the old one, so that receivers can change over. "
        "Replaced again within that time, the old one goes on to its end, and the one in between "
        "ends. If the old one is known to others, end it at once with `expire_previous`.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        body="SecretRotation",
        body_told=MAY_BE_LEFT_OUT,
        body_required=False,
        requests=("rotation", "rotation_now"),
        replies={
            200: Success("The new secret.", reference("RotatedSecret"), examples=("rotated",))
        },
        refusals=(*BODY, records.UnknownEndpoint),
    )
    async def rotate_secret(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(SecretRotation, await optional_json_body(call), RULES)
        overlap_us = 0 if sent.expire_previous else ROTATION_OVERLAP_US
        secret, kept = await run_with_timeout(
            lambda: self._endpoints.rotate(caller.book, endpoint_id, overlap_us, caller.key.id)
        )
        return private_json(rotated_reply(secret, kept), headers)

    @Operation(
        path="/v1/webhook_endpoints/{endpoint_id}/test",
        method="POST",
        id="sendTestEvent",
        tag=TAG,
        summary="Send a test event",
        description="Has an event of the kind `webhook.test` sent to this endpoint alone, whatever "
        "kinds it wants. What came of it is among its attempts a moment later.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        replies={
            202: Success(
                "The event is on its way.",
                reference("TestSent"),
                examples=("test_sent",),
                links=_OF_EVENT,
            )
        },
        refusals=(*BODY, records.UnknownEndpoint, records.EndpointDisabled),
    )
    async def test(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        fields.read(TestRequest, await optional_json_body(call), RULES)
        endpoint_id = call.path_part("endpoint_id")
        sent = await run_with_timeout(lambda: self._endpoints.test(caller.book, endpoint_id))
        return private_json(test_sent_reply(sent), headers, HTTPStatus.ACCEPTED)

    @Operation(
        path="/v1/webhook_endpoints/{endpoint_id}/attempts",
        method="GET",
        id="listAttempts",
        tag=TAG,
        summary="List what was tried at a webhook endpoint",
        description="Gives every attempt of the last 30 days in pages, newest first: the status, "
        "or what went wrong, and how the answer began. Answers are kept as they came: a receiver "
        "should put nothing about people into them.",
        scope=Scope.WEBHOOKS_READ,
        parameters=("endpoint_id", "limit", "attempt_cursor"),
        replies={200: Success("One page.", reference("AttemptPage"), examples=("attempts",))},
        refusals=(BadParameter, records.UnknownEndpoint),
    )
    async def attempts(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_READ)
        asked = parameters.read(call, ("limit", "cursor"))
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), ATTEMPT_PREFIX)
        endpoint_id = call.path_part("endpoint_id")
        # One more than asked for tells whether there is a next page.
        tried = await run_with_timeout(
            lambda: self._endpoints.attempts(caller.book, endpoint_id, cursor, limit + 1)
        )
        return private_json(attempts_reply(tried, limit), headers)

    @Operation(
        path="/v1/webhook_endpoints/{endpoint_id}/resend",
        method="POST",
        id="resendSince",
        tag=TAG,
        summary="Send all events since a time again",
        description="For a receiver that was away: has every event since the time that this "
        "endpoint wants sent to it, also those that it has had. They keep their ids. It takes a "
        "while where they are many; asking again meanwhile sends nothing twice. Tests are not "
        "among them.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        body="ResendSince",
        body_told=FIELDS_TOLD,
        requests=("resend_since",),
        replies={
            202: Success(
                "They are on their way.", reference("EventsResent"), examples=("events_resent",)
            )
        },
        refusals=(*BODY, records.UnknownEndpoint, records.EndpointDisabled),
    )
    async def resend(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WEBHOOKS_WRITE)
        parameters.read(call, ())
        endpoint_id = call.path_part("endpoint_id")
        sent = fields.read(ResendSince, await json_body(call), RULES)
        since_us = (sent.since - _EPOCH) // _MICROSECOND
        try:
            count = await run_with_timeout(
                lambda: self._events.resend_since(caller.book, endpoint_id, since_us)
            )
        except NotYet as error:
            told = f"{error}: {error.hint}"
            raise InvalidRequest([FieldProblem("since", "out_of_range", told)]) from None
        return private_json(events_resent_reply(count), headers, HTTPStatus.ACCEPTED)


def _one_line(text: str) -> None:
    if not records.is_description(text):
        raise ValueError
