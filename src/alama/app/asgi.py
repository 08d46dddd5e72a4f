"""The application: what is served, and which path leads where. `/api/v1/...` is `/v1/...`.

So are all others that callers use. What is for whoever runs the service has no second path: a proxy
that closes the first would have to know of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, get_type_hints

from starlette.routing import Route, Router

from alama.monitoring.api import MonitoringEndpoint
from alama.monitoring.outcomes import Outcomes
from alama.monitoring.outcomes_api import OutcomeEndpoints
from alama.monitoring.report import Monitoring
from alama.monitoring.reviews import Reviews
from alama.monitoring.reviews_api import ReviewEndpoints
from alama.onboarding.api import OnboardingEndpoints
from alama.onboarding.approval import Approval
from alama.onboarding.candidates_api import CandidateEndpoints
from alama.onboarding.jobs_api import JobEndpoints
from alama.onboarding.remote import OnboardingApi
from alama.platform.files import packaged
from alama.platform.http.documents import DocumentEndpoints
from alama.platform.http.endpoint import Endpoint, Watch
from alama.platform.http.exchange import Call, Handler, Reply
from alama.platform.http.operation import operations_of
from alama.platform.http.problems import NoSuchPath
from alama.platform.http.status import OPERATORS, HealthCheck, StatusEndpoints
from alama.protection.receipts import Receipts
from alama.protection.receipts_api import ReceiptEndpoint
from alama.scoring.api import ScoreEndpoint
from alama.scoring.explain_api import ExplainEndpoint
from alama.scoring.scores_api import StoredScoreEndpoints
from alama.webhooks.endpoints import Endpoints
from alama.webhooks.endpoints_api import WebhookEndpoints
from alama.webhooks.events import Events
from alama.webhooks.events_api import EventEndpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

    from alama.lenders.installation import Installation
    from alama.platform.addresses import Reach
    from alama.platform.clock import Clock
    from alama.platform.http.operation import Json
    from alama.platform.timeouts import WorkQueue
    from alama.scoring.admission import Admission
    from alama.scoring.explaining import Explaining
    from alama.scoring.scoring import Scoring
    from alama.scoring.store import Scores


PREFIX: Final = "/api"

ELSEWHERE: Final = {"/v1/score": "stored scores are read at /v1/scores"}
"""What to add where a method is refused, by path."""


class Running(NamedTuple):
    """What endpoints use that lives as long as the process."""

    admission: Admission
    scores: Scores
    scoring: Scoring
    explaining: Explaining
    reports: WorkQueue
    health: HealthCheck


class Served(NamedTuple):
    """Everything that is served, in the order of the OpenAPI document."""

    score: ScoreEndpoint
    explain: ExplainEndpoint
    scores: StoredScoreEndpoints
    receipts: ReceiptEndpoint
    reviews: ReviewEndpoints
    outcomes: OutcomeEndpoints
    monitoring: MonitoringEndpoint
    webhooks: WebhookEndpoints
    events: EventEndpoints
    onboarding: OnboardingEndpoints
    jobs: JobEndpoints
    candidates: CandidateEndpoints
    status: StatusEndpoints
    documents: DocumentEndpoints

    @classmethod
    def at(
        cls,
        installed: Installation,
        running: Running,
        reach: Reach,
        model_id: str,
        document: Callable[[], Json],
    ) -> Served:
        """Put it together from an installation; `model_id` names the model of test keys."""
        admission, languages = running.admission, packaged.languages()
        reviews, remote = Reviews.at(installed), OnboardingApi.at(installed)
        endpoints, events = Endpoints.at(installed, reach), Events.at(installed)
        return cls(
            score=ScoreEndpoint(admission, running.scoring, languages),
            explain=ExplainEndpoint(admission, running.explaining, languages),
            scores=StoredScoreEndpoints(admission, running.scores, installed.vault, reviews.sequel),
            receipts=ReceiptEndpoint(admission, Receipts.at(installed)),
            reviews=ReviewEndpoints(admission, reviews),
            outcomes=OutcomeEndpoints(admission, Outcomes.at(installed)),
            monitoring=MonitoringEndpoint(admission, Monitoring.at(installed), running.reports),
            webhooks=WebhookEndpoints(admission, endpoints, events),
            events=EventEndpoints(admission, events),
            onboarding=OnboardingEndpoints(admission, remote),
            jobs=JobEndpoints(admission, remote),
            candidates=CandidateEndpoints(admission, remote, Approval.at(installed)),
            status=StatusEndpoints(running.health, model_id),
            documents=DocumentEndpoints(document),
        )


ENDPOINTS: Final[tuple[type, ...]] = tuple(get_type_hints(Served).values())
"""The classes whose operations are served."""


def routes(served: Iterable[object]) -> Mapping[str, Mapping[str, Handler]]:
    """Give the paths and their methods."""
    paths: dict[str, dict[str, Handler]] = {"/": {"GET": _front}}
    for endpoints in served:
        for name, operation in operations_of(type(endpoints)):
            paths.setdefault(operation.path, {})[operation.method] = getattr(endpoints, name)
    return paths


async def _front(_: Call) -> Reply:
    """Lead people to the page. No part of the contract: a program asks for /docs."""
    # Seen from where one is: the service may stand below any prefix.
    return Reply(302, [(b"location", b"docs")], b"")


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
