"""The sandbox: each fixture leads where its name says, is stored and replays as any score does."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from alama.core.errors import InvalidApplication
from alama.core.lending.circumstances import LISTED
from alama.core.lending.policy import HOLDS, Rule
from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.core.product import PRODUCT
from alama.lenders.records import Key
from alama.platform.book import USUAL_SCOPES
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import Busy
from alama.platform.files.packaged import language
from alama.platform.http.exchange import Arrival
from alama.scoring import sandbox
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.records import IdempotencyInFlight, IdempotencyKeyReused
from alama.scoring.replay import open_score
from alama.scoring.scoring import Answer, Given, Scoring, only_once
from tests.callers import Lender
from tests.clocks import HandClock
from tests.databases import sqlite_url
from tests.entries import DEMO, LIVE, NOON_US, a_request_id
from tests.protected import APPLICATION, House, the_active_model
from tests.stored import CommitAtOnce
from tools import fixtures

PAGE = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text("utf-8")
ROW = re.compile(r"^\| `(fixture-.*?)` \| (.*?) \| (.*?) \|$", re.MULTILINE)
ROWS = {name: (decision, told) for name, decision, told in ROW.findall(PAGE)}
OF_BORROWERS = {Rule.LATE_ON_A_LOAN, Rule.ASKED_OFTEN, Rule.EXPOSURE, Rule.LADDER}
NOT_BY_AN_APPLICATION = {
    *HOLDS,
    *LISTED,
    *OF_BORROWERS,
    Rule.EXPLORED,
    Rule.SELDOM_BOOKED,
    Rule.TOO_FEW_FIELDS,
}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    yield House(database, HandClock())
    database.close()


@cache
def active_in(currency: str) -> ActiveModel:
    return fixtures.active_in(currency)


# ------------------------------------------------------------------------------- where they lead


@pytest.mark.parametrize("currency", REFERENCE_INFLOW_MONTHLY)
def test_every_fixture_leads_where_it_says(currency: str) -> None:
    """`python -m tools.fixtures` finds others where a new built-in model leads elsewhere."""
    active = active_in(currency)
    astray = [name for name, one in sandbox.fixtures().items() if not fixtures.holds(one, active)]
    assert astray == []


def test_there_is_a_fixture_for_every_rule_and_reason_that_an_application_can_lead_to() -> None:
    reasons = {one.reason for one in sandbox.fixtures().values()}
    assert set(Rule) - NOT_BY_AN_APPLICATION <= reasons
    others = {"field_lowers_score", "lender_rule", *NOT_BY_AN_APPLICATION}
    assert set(language("en").texts) - others <= reasons


def test_the_page_names_every_fixture_and_what_it_leads_to() -> None:
    happenings = {sandbox.SLOW, sandbox.TOO_MANY, sandbox.BUSY}
    assert ROWS.keys() == {*sandbox.fixtures(), *happenings}
    for name, one in sandbox.fixtures().items():
        decision, told = ROWS[name]
        assert decision == f"`{one.decision}`"
        if one.recourse is None and name not in {"fixture-approved", "fixture-review"}:
            assert told == f"`{one.reason}`"
    assert f"200, after {sandbox.SLOW_S:.0f} seconds" in ROWS[sandbox.SLOW][0]
    assert f"more than {sandbox.SLOW_AT_ONCE} at once" in ROWS[sandbox.SLOW][1]
    for code in NOT_BY_AN_APPLICATION:
        assert f"`{code.value}`" in PAGE


def test_what_a_policy_forbids_is_not_sent_for_the_caller() -> None:
    active = active_in("KES")
    one = sandbox.fixtures()["fixture-approved"]
    assert "weekend_activity" in one.application
    place = PRODUCT.position["weekend_activity"]
    policy = active.policy
    before = policy.forbidden
    try:
        policy.forbidden = ((place, "weekend_activity"),)
        body = sandbox.stand_in_for(one, active, one.name)
    finally:
        policy.forbidden = before
    assert "weekend_activity" not in json.loads(body)


# ------------------------------------------------------------------------------- what is stored


def test_a_fixture_is_stored_as_what_was_scored_and_replays(house: House) -> None:
    sent = house.score("fixture-unaffordable")
    stored = house.scores.find(DEMO, sent)
    sealed = open_score(house.vault, stored)
    kept = json.loads(sealed.application)
    assert kept.pop("applicant_ref") == "fixture-unaffordable"
    assert kept == sandbox.fixtures()["fixture-unaffordable"].application
    assert stored.row.decision == "DECLINED"
    assert "unaffordable" in sealed.assessment.rules
    assert house.replayed(sent) == ()
    exported = house.applicants.export(DEMO, "fixture-unaffordable")
    assert [one.request_id for one in exported.scores] == [sent]
    house.applicants.erase(DEMO, "fixture-unaffordable")
    assert house.is_erased(sent)


def test_in_live_mode_a_fixture_is_a_reference_like_any_other(house: House) -> None:
    ordinary, named = (house.score(who, LIVE) for who in ("A-1", "fixture-declined"))
    first, second = (house.scores.find(LIVE, one) for one in (ordinary, named))
    assert second.row.score == first.row.score
    body = json.loads(open_score(house.vault, second).application)
    assert body == APPLICATION | {"applicant_ref": "fixture-declined"}
    house.score("fixture-none-such", LIVE)


def test_other_words_that_begin_so_are_left_alone(house: House) -> None:
    sent = house.score("A-1", region="fixture-town")
    assert b"fixture-town" in open_score(house.vault, house.scores.find(DEMO, sent)).application


def test_a_fixture_that_is_none_is_refused_with_the_nearest(house: House) -> None:
    with pytest.raises(InvalidApplication) as caught:
        house.score("fixture-aproved")
    (problem,) = caught.value.problems
    assert (problem.pointer, problem.code) == ("/applicant_ref", "unknown_fixture")
    assert "fixture-approved" in problem.detail
    assert "fixture-aproved" not in problem.detail


def test_what_was_sent_keeps_the_rules_though_another_takes_its_place(house: House) -> None:
    with pytest.raises(InvalidApplication):
        house.score("fixture-approved", stability_score=58)


def test_an_idempotency_key_stands_for_what_was_sent(house: House) -> None:
    first, again = (house.ask("fixture-review", "order-1") for _ in range(2))
    assert (first.replayed, again.replayed) == (False, True)
    assert first.reply == again.reply
    with pytest.raises(IdempotencyKeyReused):
        house.ask("fixture-declined", "order-1")


# ------------------------------------------------------------------------------- what goes wrong


def scoring_in(house: House) -> tuple[Scoring, Caller]:
    key = Key("key_1", DEMO.lender, DEMO.mode, b"", "abcd", USUAL_SCOPES, NOON_US)
    caller = Caller(key, DEMO, the_active_model(), house.vault.ring("demo"))
    ledger = CommitAtOnce(house.scores)
    return Scoring(ledger, house.vault, house.scores.find), caller


async def slow(scoring: Scoring, caller: Caller, key: bytes | None = None) -> Answer:
    body = json.dumps(APPLICATION | {"applicant_ref": sandbox.SLOW}).encode()
    arrival = Arrival(a_request_id(), NOON_US, time.perf_counter())
    once = None if key is None else only_once(key, body, b"")
    return await scoring.score(caller, arrival, body, _milliseconds, once)


def _milliseconds(given: Given) -> bytes:
    return str(given.processing_ms).encode()


def test_a_slow_answer_keeps_nobody_else_waiting(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "SLOW_S", 1.0)

    async def together() -> list[Answer]:
        scoring, caller = scoring_in(house)
        return await asyncio.gather(*(slow(scoring, caller) for _ in range(5)))

    began = time.perf_counter()
    answers = asyncio.run(together())
    assert time.perf_counter() - began < 5 * 1.0
    assert all(int(answer.reply) >= 1_000 for answer in answers)
    assert len(house.scores.page(DEMO, None, 10)) == 5


def test_while_a_slow_answer_is_awaited_its_idempotency_key_is_in_flight(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "SLOW_S", 0.2)
    monkeypatch.setattr("alama.scoring.scoring.IN_FLIGHT_WAIT_S", 0.05)

    async def twice() -> tuple[Any, Any]:
        scoring, caller = scoring_in(house)
        two = (slow(scoring, caller, b"order-1") for _ in range(2))
        first, second = await asyncio.gather(*two, return_exceptions=True)
        return first, second

    first, second = asyncio.run(twice())
    assert first.replayed is False
    assert isinstance(second, IdempotencyInFlight)


def test_slow_answers_are_bounded_and_a_place_is_free_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "SLOW_S", 0.1)
    monkeypatch.setattr(sandbox, "SLOW_AT_ONCE", 2)

    async def three() -> list[Any]:
        scoring, caller = scoring_in(house)
        found = await asyncio.gather(
            *(slow(scoring, caller) for _ in range(3)), return_exceptions=True
        )
        return [*found, await slow(scoring, caller)]

    *_, refused, last = asyncio.run(three())
    assert isinstance(refused, Busy)
    assert isinstance(last, Answer)


@pytest.mark.parametrize(
    ("reference", "status", "code"),
    [(sandbox.TOO_MANY, 429, "too_many_requests"), (sandbox.BUSY, 503, "busy")],
)
@pytest.mark.parametrize("path", ["/v1/score", "/v1/explain"])
def test_a_refusal_comes_with_when_to_try_again_and_stores_nothing(
    lender: Lender, path: str, reference: str, status: int, code: str
) -> None:
    for _ in range(2):
        body = APPLICATION | {"applicant_ref": reference}
        received = lender.ask("POST", path, body, {"idempotency-key": "order-1"})
        assert (received.status, received.json()["code"]) == (status, code)
        assert received.headers["retry-after"] == "1"
    assert lender.read("/v1/scores")["data"] == []
