"""Calls the service by the client that openapi-python-client has made. Runs in .venv-clients."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from client import AuthenticatedClient
from client.api.monitoring import get_monitoring
from client.api.outcomes import record_outcomes
from client.api.scores import create_score, explain_application, get_receipt, get_score, list_scores
from client.api.status import get_health
from client.api.webhooks import (
    create_webhook_endpoint,
    delete_webhook_endpoint,
    get_event,
    send_test_event,
)
from client.models import (
    Application,
    CreateScoreExpandItem,
    Event,
    ExplainApplicationLockedItem,
    ExplainReply,
    Health,
    MonitoringReport,
    NewOutcome,
    NewOutcomeOutcome,
    NewWebhookEndpoint,
    NewWebhookEndpointKindsItem,
    OutcomeResults,
    Problem,
    Receipt,
    ScorePage,
    ScoreRecord,
    ScoreReply,
    TestSent,
    WebhookEndpointCreated,
    WebhookTestEvent,
)
from client.types import Unset
from httpx import Timeout


def main(url: str, key: str, retried: str) -> dict[str, object]:
    client = AuthenticatedClient(base_url=url, token=key, timeout=Timeout(30))
    compact = Application(
        mobile_money_months=24, monthly_inflow=18500, stability_score=0.62, airtime_regularity=0.71
    )
    declined = Application(
        mm_months=9,
        avg_inflow=14200,
        balance_stability=0.34,
        airtime_regularity=0.45,
        requested_amount=9000,
        requested_term_days=30,
    )
    expand = [CreateScoreExpandItem.BASE_SCORE, CreateScoreExpandItem.OFFER]
    locked = ExplainApplicationLockedItem
    health = get_health.sync(client=client)
    score, again = (
        create_score.sync(client=client, body=compact, expand=expand, idempotency_key=retried)
        for _ in range(2)
    )
    assert isinstance(score, ScoreReply)
    assert isinstance(again, ScoreReply)
    explained = explain_application.sync(
        client=client,
        body=declined,
        target="B",
        locked=[locked.REQUESTED_AMOUNT, locked.REQUESTED_TERM_DAYS],
    )
    page = list_scores.sync(client=client, limit=1)
    stored = get_score.sync(score.request_id, client=client)
    receipt = get_receipt.sync(score.request_id, client=client)
    outcome = NewOutcome(score.request_id, NewOutcomeOutcome.REPAID, datetime.now(UTC).date())
    outcomes = record_outcomes.sync(client=client, body=outcome)
    report = get_monitoring.sync(client=client, days=30)
    wanted = [NewWebhookEndpointKindsItem.SCORE_CREATED]
    new = NewWebhookEndpoint("https://loans.example.com/hook", kinds=wanted)
    endpoint = create_webhook_endpoint.sync(client=client, body=new)
    assert isinstance(endpoint, WebhookEndpointCreated)
    test = send_test_event.sync(endpoint.id, client=client)
    assert isinstance(test, TestSent)
    event = get_event.sync(test.event, client=client)
    assert isinstance(event, Event)
    delete_webhook_endpoint.sync(endpoint.id, client=client)
    refused = create_score.sync(client=client, body=Application(airtime_regularity=0.5))
    assert isinstance(health, Health)
    assert isinstance(explained, ExplainReply)
    assert isinstance(page, ScorePage)
    assert isinstance(stored, ScoreRecord)
    assert isinstance(receipt, Receipt)
    assert isinstance(outcomes, OutcomeResults)
    assert isinstance(report, MonitoringReport)
    assert isinstance(refused, Problem)
    return {
        "health": health.status,
        "score": score.score,
        "base_score": score.base_score,
        "offered": not isinstance(score.offer, Unset),
        "replayed": again.request_id == score.request_id,
        "recourse": explained.recourse,
        "listed": len(page.data),
        "stored_at": stored.created_at.isoformat(),
        "created_us": receipt.score.created_us,
        "outcome": outcomes.results[0].result,
        "monitored": report.volume.scores,
        "enabled": endpoint.enabled,
        "disabled_at": endpoint.disabled_at,
        "event": event.payload.type_,
        "told": WebhookTestEvent.from_dict(event.payload.to_dict()).data.message,
        "refused": refused.code,
    }


print(json.dumps(main(*sys.argv[1:])))  # noqa: T201  its reader is another program
