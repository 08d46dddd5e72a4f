"""Client of Alama, the self-hosted credit scoring service.

    with Alama("https://scores.example.com", key) as alama:
        score = alama.score(application)

`AsyncAlama` is the same for asyncio, `verify_webhook` is for receivers of events, and
`alama_client.testing` has a fake for your tests.
"""

from alama_client import errors
from alama_client.answers import (
    Answer,
    Application,
    Change,
    Counterfactual,
    ExplainedValue,
    Explanation,
    Health,
    ListedScore,
    LoanOnOffer,
    LoanResult,
    NewWebhookEndpoint,
    Obstacle,
    Offer,
    Outcome,
    OutcomeResult,
    OwnKey,
    Reason,
    Review,
    Schedule,
    Score,
    ShapValue,
    StoredScore,
    TestSent,
    WebhookEndpoint,
)
from alama_client.async_client import AsyncAlama
from alama_client.client import Alama, Scored
from alama_client.errors import *  # noqa: F403  one class a code; `errors.__all__` has them
from alama_client.webhooks import (
    Event,
    ModelActivatedEvent,
    ModelDriftDetectedEvent,
    OtherEvent,
    OutcomeRecordedEvent,
    PolicyActivatedEvent,
    ScoreCreatedEvent,
    ScoreReviewedEvent,
    WebhookEndpointDisabledEvent,
    WebhookTestEvent,
    verify_webhook,
)

__all__ = [
    "Alama",
    "Answer",
    "Application",
    "AsyncAlama",
    "Change",
    "Counterfactual",
    "Event",
    "ExplainedValue",
    "Explanation",
    "Health",
    "ListedScore",
    "LoanOnOffer",
    "LoanResult",
    "ModelActivatedEvent",
    "ModelDriftDetectedEvent",
    "NewWebhookEndpoint",
    "Obstacle",
    "Offer",
    "OtherEvent",
    "Outcome",
    "OutcomeRecordedEvent",
    "OutcomeResult",
    "OwnKey",
    "PolicyActivatedEvent",
    "Reason",
    "Review",
    "Schedule",
    "Score",
    "ScoreCreatedEvent",
    "ScoreReviewedEvent",
    "Scored",
    "ShapValue",
    "StoredScore",
    "TestSent",
    "WebhookEndpoint",
    "WebhookEndpointDisabledEvent",
    "WebhookTestEvent",
    "verify_webhook",
]
__all__ += errors.__all__
