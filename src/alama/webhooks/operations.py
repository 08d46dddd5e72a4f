"""The operations of webhooks and events, as the OpenAPI document tells them."""

from __future__ import annotations

from typing import Final

from alama.core.errors import MalformedDocument
from alama.platform.book import Scope
from alama.platform.http.operation import RATE, Operation, Success, reference
from alama.platform.http.problems import (
    BadParameter,
    BodyTooLarge,
    InvalidRequest,
    UnsupportedMediaType,
)
from alama.webhooks import records as errors

_TAG: Final = "Webhooks"
_FIELDS: Final = "The fields. At most 64 KiB of UTF-8, not compressed."
_MAY_BE_LEFT_OUT: Final = "May be left out, with all its fields."
_BODY: Final = (
    MalformedDocument,
    BadParameter,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidRequest,
)
_OF_ENDPOINT: Final = (
    "getWebhookEndpoint",
    "updateWebhookEndpoint",
    "rotateWebhookSecret",
    "sendTestEvent",
    "resendSince",
    "listAttempts",
    "deleteWebhookEndpoint",
)
_OF_EVENT: Final = ("getEvent", "resendEvent")

WEBHOOK_OPERATIONS: Final = (
    Operation(
        path="/v1/webhook_endpoints",
        method="POST",
        id="createWebhookEndpoint",
        tag=_TAG,
        summary="Add a webhook endpoint",
        description="From now on events of the key's lender and mode are sent to the URL, signed "
        "as Standard Webhooks 1.0 says with the `secret` of the reply, which is never shown again. "
        "Each event arrives at least once, not always in order; its id is the header `webhook-id`. "
        "Scores are announced from at most a second after the reply on. There can be twenty "
        "endpoints. No `Idempotency-Key` is taken: if the reply was lost, look in the list, and "
        "remove the endpoint that nobody has the secret of before you add it again.",
        scope=Scope.WEBHOOKS_WRITE,
        body="NewWebhookEndpoint",
        body_told=_FIELDS,
        requests=("new_endpoint",),
        replies={
            201: Success(
                "The endpoint, and its secret.",
                reference("WebhookEndpointCreated"),
                headers=RATE,
                examples=("endpoint_created",),
                links=_OF_ENDPOINT,
            )
        },
        refusals=(*_BODY, errors.TooManyEndpoints),
    ),
    Operation(
        path="/v1/webhook_endpoints",
        method="GET",
        id="listWebhookEndpoints",
        tag=_TAG,
        summary="List webhook endpoints",
        description="Gives all endpoints of the key's lender and mode, oldest first. Secrets are "
        "no part of it.",
        scope=Scope.WEBHOOKS_READ,
        replies={
            200: Success(
                "All of them.",
                reference("WebhookEndpointList"),
                headers=RATE,
                examples=("endpoint_list",),
            )
        },
        refusals=(BadParameter,),
    ),
    Operation(
        path="/v1/webhook_endpoints/{endpoint_id}",
        method="GET",
        id="getWebhookEndpoint",
        tag=_TAG,
        summary="Read one webhook endpoint",
        description="Says where it leads, what is sent there, whether anything arrives, and what "
        "is on its way.",
        scope=Scope.WEBHOOKS_READ,
        parameters=("endpoint_id",),
        replies={
            200: Success(
                "The endpoint.",
                reference("WebhookEndpoint"),
                headers=RATE,
                examples=("endpoint",),
            )
        },
        refusals=(BadParameter, errors.UnknownEndpoint),
    ),
    Operation(
        path="/v1/webhook_endpoints/{endpoint_id}",
        method="PATCH",
        id="updateWebhookEndpoint",
        tag=_TAG,
        summary="Change a webhook endpoint, or turn it on or off",
        description="Changes the fields that are sent and leaves the others as they are. An "
        "endpoint at which nothing arrived for five days, or that answered 410, was disabled: "
        "`enabled` turns it on again.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        body="WebhookEndpointChange",
        body_told=_FIELDS,
        requests=("endpoint_change",),
        replies={
            200: Success(
                "The endpoint as it is now.",
                reference("WebhookEndpoint"),
                headers=RATE,
                examples=("endpoint",),
            )
        },
        refusals=(*_BODY, errors.UnknownEndpoint),
    ),
    Operation(
        path="/v1/webhook_endpoints/{endpoint_id}",
        method="DELETE",
        id="deleteWebhookEndpoint",
        tag=_TAG,
        summary="Remove a webhook endpoint",
        description="Nothing more is sent there, and its attempts can be read no more.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        replies={204: Success("It is gone.", None, headers=RATE)},
        refusals=(BadParameter, errors.UnknownEndpoint),
    ),
    Operation(
        path="/v1/webhook_endpoints/{endpoint_id}/rotate_secret",
        method="POST",
        id="rotateWebhookSecret",
        tag=_TAG,
        summary="Replace the secret of a webhook endpoint",
        description="Gives a new secret, which is never shown again. For 24 hours deliveries have "
        "two signatures, by the new secret and by the old one, so that receivers can change over. "
        "Replaced again within that time, the old one goes on to its end, and the one in between "
        "ends. If the old one is known to others, end it at once with `expire_previous`.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        body="SecretRotation",
        body_told=_MAY_BE_LEFT_OUT,
        body_required=False,
        requests=("rotation", "rotation_now"),
        replies={
            200: Success(
                "The new secret.",
                reference("RotatedSecret"),
                headers=RATE,
                examples=("rotated",),
            )
        },
        refusals=(*_BODY, errors.UnknownEndpoint),
    ),
    Operation(
        path="/v1/webhook_endpoints/{endpoint_id}/test",
        method="POST",
        id="sendTestEvent",
        tag=_TAG,
        summary="Send a test event",
        description="Has an event of the kind `webhook.test` sent to this endpoint alone, whatever "
        "kinds it wants. What came of it is among its attempts a moment later.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        replies={
            202: Success(
                "The event is on its way.",
                reference("TestSent"),
                headers=RATE,
                examples=("test_sent",),
                links=_OF_EVENT,
            )
        },
        refusals=(*_BODY, errors.UnknownEndpoint, errors.EndpointDisabled),
    ),
    Operation(
        path="/v1/webhook_endpoints/{endpoint_id}/attempts",
        method="GET",
        id="listAttempts",
        tag=_TAG,
        summary="List what was tried at a webhook endpoint",
        description="Gives every attempt of the last 30 days in pages, newest first: the status, "
        "or what went wrong, and how the answer began. Answers are kept as they came: a receiver "
        "should put nothing about people into them.",
        scope=Scope.WEBHOOKS_READ,
        parameters=("endpoint_id", "limit", "attempt_cursor"),
        replies={
            200: Success(
                "One page.",
                reference("AttemptPage"),
                headers=RATE,
                examples=("attempts",),
            )
        },
        refusals=(BadParameter, errors.UnknownEndpoint),
    ),
    Operation(
        path="/v1/webhook_endpoints/{endpoint_id}/resend",
        method="POST",
        id="resendSince",
        tag=_TAG,
        summary="Send all events since a time again",
        description="For a receiver that was away: has every event since the time that this "
        "endpoint wants sent to it, also those that it has had. They keep their ids. It takes a "
        "while where they are many; asking again meanwhile sends nothing twice. Tests are not "
        "among them.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("endpoint_id",),
        body="ResendSince",
        body_told=_FIELDS,
        requests=("resend_since",),
        replies={
            202: Success(
                "They are on their way.",
                reference("EventsResent"),
                headers=RATE,
                examples=("events_resent",),
            )
        },
        refusals=(*_BODY, errors.UnknownEndpoint, errors.EndpointDisabled),
    ),
    Operation(
        path="/v1/events",
        method="GET",
        id="listEvents",
        tag=_TAG,
        summary="List events, newest first",
        description="Gives the events of the key's lender and mode of the last 30 days in pages. "
        "`model.activated`, `model.drift_detected`, `policy.activated` and "
        "`webhook_endpoint.disabled` are always among them; `score.created` from a second after "
        "an endpoint that wants it was added until the last such was removed, also while it is "
        "disabled, and so is `outcome.recorded`.",
        scope=Scope.WEBHOOKS_READ,
        parameters=("kind", "limit", "event_cursor"),
        replies={
            200: Success(
                "One page.",
                reference("EventPage"),
                headers=RATE,
                examples=("event_page",),
                links=("listEvents",),
            )
        },
        refusals=(BadParameter,),
    ),
    Operation(
        path="/v1/events/{event_id}",
        method="GET",
        id="getEvent",
        tag=_TAG,
        summary="Read one event",
        description="Gives an event with what is sent of it, byte for byte as it is signed.",
        scope=Scope.WEBHOOKS_READ,
        parameters=("event_id",),
        replies={
            200: Success(
                "The event.",
                reference("Event"),
                headers=RATE,
                examples=("event",),
            )
        },
        refusals=(BadParameter, errors.UnknownEvent),
    ),
    Operation(
        path="/v1/events/{event_id}/resend",
        method="POST",
        id="resendEvent",
        tag=_TAG,
        summary="Send one event again",
        description="Has the event sent to one endpoint, or to each that wants events of its kind, "
        "also where it has arrived before. It keeps its id. A `webhook.test` goes to the endpoint "
        "that it was made for, unless another is named.",
        scope=Scope.WEBHOOKS_WRITE,
        parameters=("event_id",),
        body="ResendTo",
        body_told=_MAY_BE_LEFT_OUT,
        body_required=False,
        requests=("resend_to",),
        replies={
            202: Success(
                "It is on its way.",
                reference("EventResent"),
                headers=RATE,
                examples=("event_resent",),
            )
        },
        refusals=(*_BODY, errors.UnknownEvent, errors.UnknownEndpoint, errors.EndpointDisabled),
    ),
)
