"""The application: which path leads where. `/api/v1/...` is the same as `/v1/...`.

So are all others that callers use. What is for whoever runs the service has no second path: a proxy
that closes the first would have to know of it.
"""

from __future__ import annotations

import asyncio
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.routing import Route, Router

from alama.app import openapi
from alama.platform.http.endpoint import Endpoint, Watch
from alama.platform.http.exchange import JSON, Call, Handler, Headers, Reply
from alama.platform.http.operation import HTML
from alama.platform.http.problems import NoSuchPath
from alama.platform.http.reference import Reference
from alama.platform.http.status import OPERATORS, StatusEndpoints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

    from alama.monitoring.api import MonitoringEndpoint
    from alama.monitoring.outcomes_api import OutcomeEndpoints
    from alama.monitoring.reviews_api import ReviewEndpoints
    from alama.onboarding.api import OnboardingEndpoints
    from alama.platform.clock import Clock
    from alama.scoring.api import ScoreEndpoints
    from alama.scoring.explain_api import ExplainEndpoint
    from alama.webhooks.api import EventEndpoints, WebhookEndpoints


# Asked for again each time, and answered by 304 until an upgrade brings another version.
REVALIDATE: Final = (b"cache-control", b"no-cache")


class Published(NamedTuple):
    """A document, ready to be sent."""

    etag: bytes
    headers: Headers
    body: bytes

    def to(self, call: Call) -> Reply:
        """Answer a call; without the body where the caller has it already."""
        names = call.headers.get(b"if-none-match", b"").split(b",")
        if {self.etag, b"*"} & {name.strip().removeprefix(b"W/") for name in names}:
            return Reply(304, [REVALIDATE, (b"etag", self.etag)], b"")
        return Reply(200, [*self.headers, REVALIDATE, (b"etag", self.etag)], self.body)


class DocumentEndpoints:
    """Answers without a key. A document is made when it is first asked for, and then kept."""

    async def front(self, _: Call) -> Reply:
        """GET /: where people come first. No part of the contract: a program asks for /docs."""
        # Seen from where one is: the service may stand below any prefix.
        return Reply(302, [(b"location", b"docs")], b"")

    async def openapi(self, call: Call) -> Reply:
        """GET /openapi.json: the contract for machines."""
        published = await asyncio.to_thread(_openapi)
        return published.to(call)

    async def reference(self, call: Call) -> Reply:
        """GET /docs: the contract for people."""
        published = await asyncio.to_thread(_reference)
        return published.to(call)


@cache
def _openapi() -> Published:
    body = openapi.encoded()
    # Any tool that runs in a browser may read it: there is nothing in it that is not public.
    return Published(_etag(body), [JSON, (b"access-control-allow-origin", b"*")], body)


@cache
def _reference() -> Published:
    page = Reference(openapi.document())
    body = page.html.encode()
    headers = [
        (b"content-type", HTML.encode()),
        (b"content-security-policy", page.content_security_policy.encode()),
        (b"referrer-policy", b"no-referrer"),
    ]
    return Published(_etag(body), headers, body)


def _etag(body: bytes) -> bytes:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()


PREFIX: Final = "/api"

ELSEWHERE: Final = {"/v1/score": "stored scores are read at /v1/scores"}
"""What to add where a method is refused, by path."""


class Served(NamedTuple):
    """Everything that is served."""

    scores: ScoreEndpoints
    explain: ExplainEndpoint
    reviews: ReviewEndpoints
    outcomes: OutcomeEndpoints
    monitoring: MonitoringEndpoint
    webhooks: WebhookEndpoints
    events: EventEndpoints
    onboarding: OnboardingEndpoints
    status: StatusEndpoints
    documents: DocumentEndpoints


def routes(serve: Served) -> Mapping[str, Mapping[str, Handler]]:
    """Give the paths and their methods."""
    return {
        "/": {"GET": serve.documents.front},
        "/v1/score": {"POST": serve.scores.score},
        "/v1/explain": {"POST": serve.explain.explain},
        "/v1/health": {"GET": serve.status.health},
        "/v1/scores": {"GET": serve.scores.page},
        "/v1/scores/{request_id}": {"GET": serve.scores.find},
        "/v1/scores/{request_id}/receipt": {"GET": serve.scores.receipt},
        "/v1/scores/{request_id}/review": {"POST": serve.reviews.review},
        "/v1/outcomes": {"POST": serve.outcomes.record},
        "/v1/monitoring": {"GET": serve.monitoring.report},
        "/v1/webhook_endpoints": {"POST": serve.webhooks.add, "GET": serve.webhooks.list},
        "/v1/webhook_endpoints/{endpoint_id}": {
            "GET": serve.webhooks.find,
            "PATCH": serve.webhooks.change,
            "DELETE": serve.webhooks.remove,
        },
        "/v1/webhook_endpoints/{endpoint_id}/rotate_secret": {"POST": serve.webhooks.rotate_secret},
        "/v1/webhook_endpoints/{endpoint_id}/test": {"POST": serve.webhooks.test},
        "/v1/webhook_endpoints/{endpoint_id}/attempts": {"GET": serve.webhooks.attempts},
        "/v1/webhook_endpoints/{endpoint_id}/resend": {"POST": serve.webhooks.resend},
        "/v1/events": {"GET": serve.events.page},
        "/v1/events/{event_id}": {"GET": serve.events.find},
        "/v1/events/{event_id}/resend": {"POST": serve.events.resend},
        "/v1/onboarding": {"GET": serve.onboarding.standing},
        "/v1/onboarding/terms": {"PUT": serve.onboarding.set_terms},
        "/v1/onboarding/histories": {"POST": serve.onboarding.hand_in},
        "/v1/onboarding/histories/{history_id}": {"GET": serve.onboarding.history},
        "/v1/onboarding/trainings": {"POST": serve.onboarding.train},
        "/v1/onboarding/jobs/{job_id}": {"GET": serve.onboarding.job},
        "/v1/onboarding/candidates/{candidate_id}": {"GET": serve.onboarding.candidate},
        "/v1/onboarding/candidates/{candidate_id}/signatures": {"POST": serve.onboarding.sign},
        "/v1/onboarding/rollbacks": {"POST": serve.onboarding.roll_back},
        "/livez": {"GET": serve.status.alive},
        "/readyz": {"GET": serve.status.health},
        "/openapi.json": {"GET": serve.documents.openapi},
        "/docs": {"GET": serve.documents.reference},
    }


def application(
    served: Served, clock: Clock, watch: Watch, lifespan: Lifespan[Router] | None = None
) -> ASGIApp:
    """Put the paths together."""
    endpoints = {
        path: Endpoint(path, handlers, clock, watch, ELSEWHERE.get(path))
        for path, handlers in routes(served).items()
    }
    router = Router(
        routes=[Route(path, endpoint) for path, endpoint in endpoints.items()],
        redirect_slashes=False,
        default=_Nowhere(clock, watch),
        lifespan=lifespan,
    )
    return _Front(router, endpoints)


class _Front:
    """Takes the prefix away, and knows the way to plain paths without a search."""

    def __init__(self, router: Router, served: Mapping[str, Endpoint]) -> None:
        self._router = router
        self._plain = {path: served[path] for path in served if "{" not in path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        path: str = scope["path"]
        if path.startswith(PREFIX + "/"):
            plain = path.removeprefix(PREFIX)
            if plain not in OPERATORS:
                path = plain
                scope = {**scope, "path": path}
        await self._plain.get(path, self._router)(scope, receive, send)


class _Nowhere:
    """Answers what leads nowhere."""

    def __init__(self, clock: Clock, watch: Watch) -> None:
        self._clock = clock
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handlers = {scope["method"]: _not_found}
        await Endpoint("unknown", handlers, self._clock, self._watch)(scope, receive, send)


async def _not_found(_: Call) -> Reply:
    raise NoSuchPath("nothing is served at this path", hint="/docs lists what is")
