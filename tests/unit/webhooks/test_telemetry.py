from __future__ import annotations

import json

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from alama.app.watching import watching_deliveries
from alama.monitoring.shadowing import Round
from alama.platform.errors import StoreUnavailable
from alama.platform.telemetry.log import JsonLines, Log
from alama.webhooks.metrics import DeliveryMetrics
from alama.webhooks.records import Attempt, Backlog, Due, Forgotten, Settled, Verdict
from alama.webhooks.telemetry import DeliveryWatch
from tests.challenged import a_challenger
from tests.outboxes import an_endpoint, an_event

DUE = Due(an_endpoint(), an_event(), 0)


def settled(
    *, status: int | None = 200, error: str | None = None, next_us: int | None = None
) -> Settled:
    event = DUE.event
    attempt = Attempt(
        "att_1", "demo", "test", DUE.endpoint.id, event.id, 1, 0, 250, status, error, "said"
    )
    judged = Verdict(delivered=status == 200, next_us=next_us)
    return Settled(attempt, judged, DUE.endpoint.url, DUE.endpoint.generation)


def lines(capfd: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines()]


def test_a_delivery_is_counted_and_makes_no_line(capfd: pytest.CaptureFixture[str]) -> None:
    registry = CollectorRegistry()
    DeliveryWatch(Log(JsonLines()), DeliveryMetrics(registry)).attempted(DUE, settled())
    shown = generate_latest(registry).decode()
    assert 'alama_webhook_attempts_total{outcome="delivered"} 1.0' in shown
    assert "alama_webhook_attempt_seconds_sum 0.25" in shown
    assert lines(capfd) == []


def test_a_failed_attempt_makes_one_line_without_the_address_or_the_answer(
    capfd: pytest.CaptureFixture[str],
) -> None:
    watch = DeliveryWatch(Log(JsonLines()))
    watch.attempted(DUE, settled(status=None, error="timeout", next_us=5))
    watch.attempted(DUE, settled(status=500))
    first, second = lines(capfd)
    assert first.pop("time")
    assert first == {
        "level": "warning",
        "event": "delivery_failed",
        "lender": "demo",
        "mode": "test",
        "endpoint_id": DUE.endpoint.id,
        "event_id": DUE.event.id,
        "attempt": 1,
        "ms": 250,
        "error": "timeout",
    }
    assert (second["event"], second["status"]) == ("delivery_given_up", 500)


def test_a_disabled_endpoint_is_told_with_the_reason(capfd: pytest.CaptureFixture[str]) -> None:
    registry = CollectorRegistry()
    DeliveryWatch(Log(JsonLines()), DeliveryMetrics(registry)).disabled(an_endpoint())
    (line,) = lines(capfd)
    assert line["event"] == "endpoint_disabled"
    assert "alama_webhook_endpoints_disabled_total 1.0" in generate_latest(registry).decode()


def test_an_endpoint_whose_row_is_damaged_is_told_with_what_to_do(
    capfd: pytest.CaptureFixture[str],
) -> None:
    DeliveryWatch(Log(JsonLines())).unreadable("we_1")
    (line,) = lines(capfd)
    assert (line["level"], line["event"], line["endpoint_id"]) == ("error", "defect", "we_1")
    assert "from a backup" in str(line["hint"])


def test_what_is_on_its_way_is_shown() -> None:
    registry = CollectorRegistry()
    watch = DeliveryWatch(Log(JsonLines()), DeliveryMetrics(registry))
    assert watch.counts
    watch.backlog(Backlog(3, 7))
    shown = generate_latest(registry).decode()
    assert 'alama_webhook_backlog{of="events"} 3.0' in shown
    assert 'alama_webhook_backlog{of="deliveries"} 7.0' in shown


def test_what_nobody_has_heard_of_is_told_when_it_is_forgotten(
    capfd: pytest.CaptureFixture[str],
) -> None:
    registry = CollectorRegistry()
    forgotten = Forgotten(9, 3, 7, some_left=False)
    DeliveryWatch(Log(JsonLines()), DeliveryMetrics(registry)).forgot(forgotten)
    DeliveryWatch(Log(JsonLines())).forgot(forgotten)
    shown = generate_latest(registry).decode()
    assert 'alama_webhook_forgotten_total{of="events"} 3.0' in shown
    assert 'alama_webhook_forgotten_total{of="deliveries"} 7.0' in shown
    line, _ = lines(capfd)
    assert (line["event"], line["level"]) == ("events_forgotten", "warning")
    assert (line["undispatched"], line["undelivered"]) == (3, 7)


def test_without_metrics_nobody_counts(capfd: pytest.CaptureFixture[str]) -> None:
    watch = watching_deliveries("json", 0)
    assert not watch.counts
    watch.backlog(Backlog(3, 7))
    watch.started("sqlite")
    watch.stopped()
    began, ended = lines(capfd)
    assert (began["event"], began["database"]) == ("deliveries_started", "sqlite")
    assert ended["event"] == "deliveries_stopped"


def test_trouble_is_told_once_and_holds_no_message(capfd: pytest.CaptureFixture[str]) -> None:
    watch = DeliveryWatch(Log(JsonLines()))
    watch.available()
    watch.unavailable(StoreUnavailable("away"))
    watch.unavailable(StoreUnavailable("away"))
    watch.broke(DUE, KeyError("hush"))
    watch.chore_failed("forget_events", ValueError("hush"))
    said = capfd.readouterr().err
    assert said.count("database_unavailable") == 1
    assert "KeyError" in said
    assert "forget_events" in said
    assert "hush" not in said


def test_what_challengers_were_asked_is_counted_and_the_furthest_behind_is_told(
    capfd: pytest.CaptureFixture[str],
) -> None:
    registry = CollectorRegistry()
    watch = DeliveryWatch(Log(JsonLines()), DeliveryMetrics(registry))
    first = Round(200, 3, "KeyError", lag_us=2_500_000, some_left=True)
    watch.challenged([first, Round(10, 0, None, lag_us=0, some_left=False)])
    shown = generate_latest(registry).decode()
    assert 'alama_challenger_scores_total{outcome="scored"} 210.0' in shown
    assert 'alama_challenger_scores_total{outcome="failed"} 3.0' in shown
    assert "alama_challenger_lag_seconds 2.5" in shown
    watch.challenged([])
    assert "alama_challenger_lag_seconds 0.0" in generate_latest(registry).decode()
    assert lines(capfd) == []


def test_a_challenger_that_cannot_be_asked_makes_one_line_without_what_the_error_says(
    capfd: pytest.CaptureFixture[str],
) -> None:
    challenger = a_challenger()
    DeliveryWatch(Log(JsonLines())).challenger_failed(challenger, ValueError("Zq7marked"))
    (line,) = lines(capfd)
    assert (line["event"], line["lender"], line["mode"]) == ("challenger_failed", "demo", "test")
    assert line["model_id"] == challenger.model_id
    assert "Zq7marked" not in json.dumps(line)
