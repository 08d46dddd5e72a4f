"""GET /v1/monitoring, on a real database."""

from __future__ import annotations

import msgspec
import pytest

from alama.core.monitoring.figures import MonitoringReport
from alama.lenders.installation import Installation
from alama.platform.book import Scope
from tests.callers import Lender
from tests.served import BODY, MODEL

PATH = "/v1/monitoring"


def figures(lender: Lender, query: str = "") -> MonitoringReport:
    received = lender.ask("GET", PATH + query)
    assert received.status == 200, received.body
    return msgspec.json.decode(received.body, type=MonitoringReport)


@pytest.fixture
def scored(lender: Lender) -> Lender:
    assert lender.ask("POST", "/v1/score", BODY).status == 200
    return lender


def test_the_figures_of_the_book_are_given(scored: Lender) -> None:
    found = figures(scored)
    assert (found.lender, found.mode, found.currency) == (scored.book.lender, "test", "KES")
    assert (found.volume.scores, len(found.volume.days)) == (1, 90)
    assert found.model is not None
    assert found.model.id == MODEL.id
    assert sum(found.volume.decisions.values()) == 1


def test_nobody_on_the_way_may_keep_them(scored: Lender) -> None:
    headers = scored.ask("GET", PATH).headers
    assert headers["cache-control"] == "no-store"
    assert "accept" in headers["vary"].split(", ")


def test_people_get_a_page_that_needs_nothing_from_elsewhere(scored: Lender) -> None:
    received = scored.ask("GET", PATH, headers={"accept": "text/html,*/*"})
    assert received.status == 200
    assert received.headers["content-type"] == "text/html; charset=utf-8"
    assert received.headers["content-security-policy"].startswith("default-src 'none'")
    assert received.headers["cache-control"] == "no-store"
    assert received.body.startswith(b"<!DOCTYPE html>")
    assert f"Monitoring of {scored.book.lender}" in received.body.decode()


def test_who_would_rather_have_json_gets_it(scored: Lender) -> None:
    received = scored.ask("GET", PATH, headers={"accept": "text/html;q=0.1, application/json"})
    assert received.headers["content-type"] == "application/json"


def test_another_book_is_not_in_it(scored: Lender, installed: Installation) -> None:
    assert figures(Lender(installed)).volume.scores == 0
    assert figures(scored).volume.scores == 1


def test_days_say_how_long_the_period_is(lender: Lender) -> None:
    found = figures(lender, "?days=7")
    assert len(found.volume.days) == 7
    assert (found.last_day - found.first_day).days == 6


@pytest.mark.parametrize("days", ["0", "731", "-1", "x", "1.5", "", "9999"])
def test_days_are_a_whole_number(lender: Lender, days: str) -> None:
    received = lender.ask("GET", f"{PATH}?days={days}")
    assert received.status == 400
    told = received.json()
    assert told["code"] == "invalid_parameter"
    assert told["detail"] == "Days must be a whole number from 1 to 730."


def test_a_model_may_be_named_if_it_answered_here(scored: Lender) -> None:
    found = figures(scored, f"?model={MODEL.id}")
    assert found.model is not None
    assert found.model.id == MODEL.id
    received = scored.ask("GET", f"{PATH}?model=sha256:{'0' * 64}")
    assert (received.status, received.json()["code"]) == (404, "unknown_model")
    assert "0000" not in received.json()["detail"]


def test_who_comes_when_too_many_reports_wait_is_told_when_to_come_back(
    scored: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.served.REPORTS_MAX", 0)
    received = scored.ask("GET", PATH)
    assert (received.status, received.json()["code"]) == (503, "busy")
    assert received.json()["detail"].startswith("Too many reports are asked for at once.")
    assert received.headers["retry-after"] == "1"


def test_a_key_needs_the_scope(installed: Installation) -> None:
    received = Lender(installed, scopes=(Scope.READ,)).ask("GET", PATH)
    assert received.status == 403
    assert received.json()["code"] == "scope_missing"
