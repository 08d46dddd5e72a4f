"""Section 3 of the product over the wire: the numbers of a score, advice that works, no trace."""

import json
import math
import time
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from sqlalchemy import select

from alama.lenders.schema import rates
from alama.operations.soundness import TABLES
from alama.platform import clock
from alama.platform.book import Book, Mode, Scope
from alama.policies import policies
from alama.training.population.people import PopulationOptions, batches
from tests.e2e.conftest import MARK
from tests.e2e.service import COMPACT, FULL, Service
from tests.lending import open_live

APPLICANTS = 120
LOGGED_S_MAX = 60.0
PROMISED = (
    *("score", "tier", "default_probability", "decision"),
    *("recommended_limit", "recommended_term_days", "recommended_apr"),
)
QUESTIONS = ("", "?limit=5", "?target=A", "?target=700", "?locked=requested_amount", "?target=B")

POOR: dict[str, Any] = {
    "mm_months": 9,
    "avg_inflow": 14_200.0,
    "avg_balance": 640.0,
    "balance_stability": 0.34,
    "counterparties": 8,
    "airtime_regularity": 0.45,
    "requested_amount": 9_000.0,
}
RESPELLED = {
    "mm_months": "mobile_money_months",
    "avg_inflow": "monthly_inflow",
    "balance_stability": "stability_score",
}


def explained(service: Service, body: dict[str, Any], query: str = "", key: str = "") -> Any:
    reply = service.explain(body, query=query, key=key or None)
    assert reply.status_code == 200, reply.text
    return reply.json()


def people() -> Iterator[dict[str, Any]]:
    """Synthetic applicants: all fields, the four alone in other spellings, and mixtures."""
    names = [*FULL]
    for number, row in enumerate(
        row
        for batch in batches(PopulationOptions(rows=APPLICANTS, seed=5))
        for row in batch.select(names).to_pylist()
    ):
        given = {name: value for name, value in row.items() if value is not None}
        if number % 4 == 1:
            given = {name: given[name] for name in (*RESPELLED, "airtime_regularity")}
        if number % 4 in {1, 2}:
            given = {RESPELLED.get(name, name): value for name, value in given.items()}
        if number % 4 == 3:
            given["mobile_money_months"] = given.pop("mm_months")
        yield given


def test_what_is_promised_is_what_a_score_then_gives(service: Service) -> None:
    ways = 0
    for body, query in zip(people(), cycle(QUESTIONS), strict=False):
        for way in explained(service, body, query)["counterfactuals"]:
            assert {change["feature"] for change in way["changes"]} <= body.keys()
            assert all(change["from"] == body[change["feature"]] for change in way["changes"])
            changes = {change["feature"]: change["to"] for change in way["changes"]}
            given = service.score(body | changes).json()
            assert {name: given[name] for name in PROMISED} == {
                name: way[name] for name in PROMISED
            }
            assert 1 <= len(changes) <= 3
            ways += 1
    assert ways > APPLICANTS


def test_it_says_of_an_application_what_a_score_says(service: Service) -> None:
    for body in people():
        reply = explained(service, body, "?language=fr")
        scored = service.score(body, query="?expand=base_score,reasons,model,policy&language=fr")
        given = scored.json()
        same = ("score", "tier", "default_probability", "decision", "base_score", "reasons")
        for name in (*same, "model", "policy"):
            assert reply[name] == given[name]
        told = [(one["feature"], one["contribution"]) for one in given["shap_values"]]
        assert [(one["feature"], one["contribution"]) for one in reply["shap_values"]] == told
        values = {one["feature"]: one["value"] for one in reply["shap_values"]}
        assert values.items() >= body.items()


def test_base_and_contributions_add_up_to_the_score_before_rounding(service: Service) -> None:
    for body in people():
        reply = explained(service, body)
        points = reply["base_score"] + sum(one["contribution"] for one in reply["shap_values"])
        odds = (1 - reply["default_probability"]) / reply["default_probability"]
        assert points == pytest.approx(660 + 40 * math.log2(odds / 19), abs=0.01)
        assert reply["score"] == round(points)


def test_the_first_reason_of_a_decline_is_what_declined_it(service: Service) -> None:
    reply = explained(service, POOR)
    assert (reply["decision"], reply["recourse"]) == ("DECLINED", "found")
    first, *others = reply["reasons"]
    assert (first["code"], first["feature"], first["contribution"]) == (
        "tier_below_cutoff",
        None,
        None,
    )
    assert 1 <= len(others) <= 3
    assert all(reason["contribution"] < 0 for reason in others)
    assert all(way["decision"] == "APPROVED" for way in reply["counterfactuals"])
    assert all(way["optimal"] for way in reply["counterfactuals"])
    costs = [way["cost"] for way in reply["counterfactuals"]]
    assert costs == sorted(costs)


def test_both_spellings_lead_to_the_same_advice(service: Service) -> None:
    respelled = {RESPELLED.get(name, name): value for name, value in POOR.items()}
    plain, other = explained(service, POOR), explained(service, respelled)
    for ways in (plain, other):
        assert ways["recourse"] == "found"
    told = [
        [(RESPELLED.get(c["feature"], c["feature"]), c["to"], c["text"]) for c in way["changes"]]
        for way in plain["counterfactuals"]
    ]
    assert told == [
        [(c["feature"], c["to"], c["text"]) for c in way["changes"]]
        for way in other["counterfactuals"]
    ]


def test_on_a_compact_request_only_its_own_fields_change(service: Service) -> None:
    reply = explained(service, COMPACT | {"stability_score": 0.2}, "?limit=5&target=A")
    changed = {c["feature"] for way in reply["counterfactuals"] for c in way["changes"]}
    assert changed <= COMPACT.keys()
    assert {one["feature"] for one in reply["shap_values"]} == COMPACT.keys()


# ------------------------------------------------------------------------------------ no trace


def everything(service: Service) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, but for when a key was last used, and how often of late."""
    found: dict[str, list[dict[str, Any]]] = {}
    with service.installed.database.reading() as connection:
        for table in set(TABLES) - {rates}:
            rows = [dict(row) for row in connection.execute(select(table)).mappings()]
            for row in rows:
                row.pop("last_used_us", None)
            found[table.name] = sorted(rows, key=repr)
    return found


def logged_since(service: Service, start: int, requests: int) -> list[str]:
    """The lines of the log, once all these requests stand in it."""
    deadline = time.monotonic() + LOGGED_S_MAX
    while True:
        log = service.server.output()[start:]
        if log.count('"route":"/v1/explain"') >= requests and log.endswith("\n"):
            return log.splitlines()
        assert time.monotonic() < deadline, log
        time.sleep(0.05)


def test_nothing_is_stored_and_no_value_is_logged(service: Service) -> None:
    marked = POOR | {"region": MARK, "applicant_ref": f"{MARK}-1", "avg_inflow": 14_217.43}
    service.score()  # whatever the first request leaves behind
    before, start = everything(service), len(service.server.output())
    for query in QUESTIONS * 5:
        explained(service, marked, query)
    service.explain(marked, query=f"?target={MARK}")
    service.explain(marked | {"gender": MARK})
    service.explain(marked, idempotency_key=f"{MARK}-2")
    assert everything(service) == before
    for line in logged_since(service, start, 5 * len(QUESTIONS) + 3):
        assert MARK not in line
        assert "14217" not in line
        assert not json.loads(line).keys() & marked.keys()


# --------------------------------------------------------------------------- keys and books


def a_lender(service: Service, name: str) -> str:
    lender = f"{name}-{clock.wall_us()}"
    service.lender(lender)
    return lender


def test_a_key_needs_the_scope_of_scoring(service: Service) -> None:
    reader = service.key(scopes=(Scope.READ,))
    reply = service.explain(key=reader)
    assert (reply.status_code, reply.json()["code"]) == (403, "scope_missing")
    writer = service.key(scopes=(Scope.WRITE,))
    assert service.explain(key=writer).status_code == 200


def test_a_live_key_is_answered_by_the_lenders_own_once_it_is_onboarded(service: Service) -> None:
    book = Book(a_lender(service, "explained"), Mode.LIVE)
    refused = service.explain(key=service.key(book))
    assert (refused.status_code, refused.json()["code"]) == (403, "onboarding_incomplete")
    open_live(service.installed.registry, book)
    key = service.key(book)
    reply, given = explained(service, POOR, key=key), service.score(POOR, key=key).json()
    assert reply["score"] == given["score"]
    assert service.get(f"/v1/scores/{reply['request_id']}", key=key).status_code == 404


def test_where_the_lender_is_paused_that_is_what_binds(service: Service) -> None:
    book = Book(a_lender(service, "paused"), Mode.TEST)
    policies.pause(service.installed.registry, clock.wall_us, book, "payments are down")
    reply = explained(service, POOR, key=service.key(book))
    assert (reply["decision"], reply["recourse"]) == ("REVIEW", "no_recourse")
    (bound,) = reply["binding"]
    assert (bound["code"], bound["rule"], bound["features"]) == ("rule", "paused", [])
    assert bound["text"]
    assert reply["reasons"][0]["code"] == "paused"
