"""Everything that is served, gathered from the rooms: endpoints, their types and their examples.

The routes are made of it, and so is the OpenAPI document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, get_type_hints

from alama.app import examples
from alama.core.monitoring.figures import MonitoringReport
from alama.core.receipts import Receipt
from alama.lenders.mappings import Mappings
from alama.memory.loans import Loans
from alama.monitoring import api as monitoring_api
from alama.monitoring import loans_api, outcomes_api, reviews_api
from alama.monitoring.outcomes import Outcomes
from alama.monitoring.report import Monitoring
from alama.monitoring.reviews import Reviews
from alama.onboarding import api as onboarding_api
from alama.onboarding import candidates_api, jobs_api
from alama.onboarding import examples as onboarding_examples
from alama.onboarding.approval import Approval
from alama.onboarding.remote import OnboardingApi
from alama.platform.files import packaged
from alama.platform.http import documents, problems, status
from alama.platform.http.operation import Json, operations_of
from alama.policies import catalogue_api
from alama.protection import applicants_api, receipts_api
from alama.protection.applicants import Applicants
from alama.protection.receipts import Receipts
from alama.scoring import api as scoring_api
from alama.scoring import explain_api, keys_api, lists_api, scores_api
from alama.statements import api as statements_api
from alama.statements import examples as statements_examples
from alama.statements.tables import Layout
from alama.webhooks import endpoints_api, events_api
from alama.webhooks import examples as webhooks_examples
from alama.webhooks.endpoints import Endpoints
from alama.webhooks.events import Events

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.lenders.installation import Installation
    from alama.platform.addresses import Reach
    from alama.platform.timeouts import WorkQueue
    from alama.scoring.admission import Admission
    from alama.scoring.explaining import Explaining
    from alama.scoring.scoring import Scoring
    from alama.scoring.store import Scores
    from alama.statements.desk import Desk


class Running(NamedTuple):
    """What endpoints use that lives as long as the process."""

    admission: Admission
    scores: Scores
    scoring: Scoring
    explaining: Explaining
    reports: WorkQueue
    desk: Desk
    health: status.HealthCheck


class Served(NamedTuple):
    """Everything that is served, in the order of the OpenAPI document."""

    score: scoring_api.ScoreEndpoint
    explain: explain_api.ExplainEndpoint
    fields: statements_api.FieldsEndpoint
    scores: scores_api.StoredScoreEndpoints
    receipts: receipts_api.ReceiptEndpoint
    reviews: reviews_api.ReviewEndpoints
    outcomes: outcomes_api.OutcomeEndpoints
    loans: loans_api.LoanEndpoints
    applicants: applicants_api.ApplicantEndpoints
    lists: lists_api.ListEndpoints
    monitoring: monitoring_api.MonitoringEndpoint
    webhooks: endpoints_api.WebhookEndpoints
    events: events_api.EventEndpoints
    onboarding: onboarding_api.OnboardingEndpoints
    jobs: jobs_api.JobEndpoints
    candidates: candidates_api.CandidateEndpoints
    catalogue: catalogue_api.CatalogueEndpoint
    keys: keys_api.KeyEndpoint
    health: status.StatusEndpoints
    contract: documents.DocumentEndpoints

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
            score=scoring_api.ScoreEndpoint(admission, running.scoring, languages),
            explain=explain_api.ExplainEndpoint(admission, running.explaining, languages),
            fields=statements_api.FieldsEndpoint(
                admission, running.desk, Mappings.at(installed, Layout)
            ),
            scores=scores_api.StoredScoreEndpoints(
                admission, running.scores, installed.vault, reviews.sequel
            ),
            receipts=receipts_api.ReceiptEndpoint(admission, Receipts.at(installed)),
            reviews=reviews_api.ReviewEndpoints(admission, reviews),
            outcomes=outcomes_api.OutcomeEndpoints(admission, Outcomes.at(installed)),
            loans=loans_api.LoanEndpoints(admission, Loans.at(installed)),
            applicants=applicants_api.ApplicantEndpoints(
                admission, Applicants.at(installed), running.scoring.forget
            ),
            lists=lists_api.ListEndpoints.at(admission, installed),
            monitoring=monitoring_api.MonitoringEndpoint(
                admission, Monitoring.at(installed), running.reports
            ),
            webhooks=endpoints_api.WebhookEndpoints(admission, endpoints, events),
            events=events_api.EventEndpoints(admission, events),
            onboarding=onboarding_api.OnboardingEndpoints(admission, remote),
            jobs=jobs_api.JobEndpoints(admission, remote),
            candidates=candidates_api.CandidateEndpoints(admission, remote, Approval.at(installed)),
            catalogue=catalogue_api.CatalogueEndpoint.at(admission, installed),
            keys=keys_api.KeyEndpoint.at(admission, installed),
            health=status.StatusEndpoints(running.health, model_id),
            contract=documents.DocumentEndpoints(document),
        )


ENDPOINTS: Final[tuple[type, ...]] = tuple(get_type_hints(Served).values())
"""The classes whose operations are served."""

OPERATIONS: Final = tuple(
    operation for endpoints in ENDPOINTS for _, operation in operations_of(endpoints)
)

REQUESTS: Final = (
    *reviews_api.REQUESTS,
    *outcomes_api.REQUESTS,
    *loans_api.REQUESTS,
    *applicants_api.REQUESTS,
    *lists_api.REQUESTS,
    *endpoints_api.REQUESTS,
    *events_api.REQUESTS,
    *onboarding_api.REQUESTS,
    *jobs_api.REQUESTS,
    *candidates_api.REQUESTS,
    *keys_api.REQUESTS,
)
REPLIES: Final = (
    scoring_api.ScoreReply,
    explain_api.ExplainReply,
    *statements_api.REPLIES,
    scores_api.ScoreRecord,
    scores_api.ScorePage,
    status.Health,
    problems.Problem,
    Receipt,
    *outcomes_api.REPLIES,
    *loans_api.REPLIES,
    *applicants_api.REPLIES,
    *lists_api.REPLIES,
    MonitoringReport,
    *endpoints_api.REPLIES,
    *events_api.REPLIES,
    *onboarding_api.REPLIES,
    *jobs_api.REPLIES,
    *candidates_api.REPLIES,
    *catalogue_api.REPLIES,
    *keys_api.REPLIES,
    *dict.fromkeys(events_api.DATA.values()),
)
PARAMETERS: Final[dict[str, Json]] = {
    **scoring_api.PARAMETERS,
    **scores_api.PARAMETERS,
    **lists_api.PARAMETERS,
    **monitoring_api.PARAMETERS,
    **endpoints_api.PARAMETERS,
    **jobs_api.PARAMETERS,
    **documents.PARAMETERS,
}


def request_examples() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    return {
        **examples.requests(),
        **reviews_api.requests(),
        **outcomes_api.requests(),
        **loans_api.requests(),
        **applicants_api.requests(),
        **lists_api.requests(),
        **webhooks_examples.requests(),
        **onboarding_examples.requests(),
        **keys_api.requests(),
    }


def reply_examples(said: examples.Replies) -> dict[str, Json]:
    """Give the bodies of replies by name."""
    return {
        **said.named(),
        **statements_examples.replies(),
        **reviews_api.replies(),
        **outcomes_api.replies(),
        **loans_api.replies(),
        **applicants_api.replies(),
        **lists_api.replies(),
        **monitoring_api.replies(said.model_id),
        **webhooks_examples.replies(said.model_id, said.policy_id),
        **onboarding_examples.replies(said.model_id),
        **catalogue_api.replies(),
        **keys_api.replies(),
        **status.examples(said.model_id),
    }
