"""Champion and challenger on the same scores, summed up by the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from alama.core import document
from alama.core.monitoring.rates import wilson
from alama.lenders.records import UnknownLender
from alama.monitoring import comparing, schema
from alama.monitoring.challengers import NoChallenger, Progress
from alama.monitoring.records import Crossed
from alama.platform.database.database import Database
from alama.platform.files.packaged import builtin
from tests.challenged import LATER_US, MODEL, OTHER, House
from tests.entries import DEMO, LIVE, NOON_US, a_request_id
from tests.stores import lenders_in

DAY_US = 86_400_000_000
NOON = datetime.fromtimestamp(NOON_US / 1_000_000, UTC)
TODAY = NOON_US // DAY_US
MATURE = TODAY - MODEL.outcome.days_past_due


@pytest.fixture
def house(database: Database) -> House:
    lenders_in(database, "demo")
    house = House(database)
    house.furnish()
    house.now_us = NOON_US
    return house


def a_pair(ours: tuple[int, str, str], theirs: tuple[int, str, str], **more: Any) -> dict[str, Any]:
    """What both said to one application: score, tier, decision; the champion's first."""
    return {
        "lender": "demo",
        "mode": "test",
        "model_id": MODEL.id,
        "request_id": a_request_id(),
        "score": theirs[0],
        "tier": theirs[1],
        "default_probability": 0.2,
        "decision": theirs[2],
        "given_model_id": builtin().id,
        "given_score": ours[0],
        "given_tier": ours[1],
        "given_default_probability": 0.1,
        "given_decision": ours[2],
    } | more


def a_loan(pair: dict[str, Any], *, defaulted: bool, due_day: int = MATURE) -> dict[str, Any]:
    """What became of it."""
    return {
        "lender": pair["lender"],
        "mode": pair["mode"],
        "request_id": pair["request_id"],
        "state": "defaulted" if defaulted else "repaid",
        "happened_on": due_day,
        "defaulted_on": due_day if defaulted else None,
        "recorded_us": NOON_US,
        "score_us": NOON_US,
        "score_month": 202611,
        "due_day": due_day,
        "model_id": pair["given_model_id"],
        "score": pair["given_score"],
        "tier": pair["given_tier"],
        "default_probability": pair["given_default_probability"],
        "decision": pair["given_decision"],
    }


def keep(house: House, pairs: list[dict[str, Any]], loans: list[dict[str, Any]]) -> None:
    with house.database.writing() as connection:
        connection.execute(insert(schema.shadow_scores), pairs)
        if loans:
            connection.execute(insert(schema.outcomes), loans)


APPROVED = (700, "A", "APPROVED")
DECLINED = (500, "E", "DECLINED")


def test_both_are_compared_on_what_both_have_scored(house: House) -> None:
    house.begin()
    pairs = [a_pair(APPROVED, APPROVED) for _ in range(3)] + [a_pair(APPROVED, DECLINED)]
    keep(house, pairs, [])
    found = house.comparing.compare(DEMO)
    assert (found.champion, found.challenger) == (builtin().id, MODEL.id)
    assert found.count == 4
    assert found.decisions == (
        Crossed("APPROVED", "APPROVED", 3),
        Crossed("APPROVED", "DECLINED", 1),
    )
    assert found.tiers == (Crossed("A", "A", 3), Crossed("A", "E", 1))
    assert found.champion_probability == pytest.approx(0.1)
    assert found.challenger_probability == pytest.approx(0.2)
    assert found.realised is None
    assert found.notes == (comparing.UNKNOWN,)


def test_what_became_of_mature_loans_is_held_against_both(house: House) -> None:
    house.begin()
    alike = [a_pair(APPROVED, APPROVED) for _ in range(6)]
    swapped = [a_pair(APPROVED, DECLINED) for _ in range(4)]
    young, unknown = a_pair(APPROVED, DECLINED), a_pair(APPROVED, APPROVED)
    loans = [
        *(a_loan(pair, defaulted=False) for pair in alike),
        *(a_loan(pair, defaulted=number < 3) for number, pair in enumerate(swapped)),
        a_loan(young, defaulted=True, due_day=MATURE + 1),
    ]
    keep(house, [*alike, *swapped, young, unknown], loans)
    found = house.comparing.compare(DEMO)
    realised = found.realised
    assert found.count == 12
    assert realised is not None
    assert (realised.count, realised.defaults) == (10, 3)
    assert realised.champion.auc is not None
    assert realised.champion.auc.value == 0.5
    assert realised.challenger.auc is not None
    assert realised.challenger.auc.value == pytest.approx(1 - 0.5 / 7)
    assert realised.difference is not None
    assert realised.difference.value == pytest.approx(0.5 - 0.5 / 7)
    assert realised.difference.low > 0
    assert [(one.tier, one.rate.count, one.rate.defaults) for one in realised.champion.tiers] == [
        ("A", 10, 3)
    ]
    assert [(one.tier, one.rate.count, one.rate.defaults) for one in realised.challenger.tiers] == [
        ("A", 6, 0),
        ("E", 4, 3),
    ]
    swap, same = realised.swaps
    assert (swap.champion, swap.challenger) == ("APPROVED", "DECLINED")
    assert (swap.rate.count, swap.rate.realised) == (4, 0.75)
    assert (swap.rate.low, swap.rate.high) == wilson(3, 4)
    assert (swap.rate.predicted, swap.challenger_predicted) == pytest.approx((0.1, 0.2))
    assert (same.champion, same.challenger, same.rate.defaults) == ("APPROVED", "APPROVED", 0)
    assert comparing.SELECTED in found.notes


def test_the_champion_is_the_model_that_decided_last_and_others_are_left_out(house: House) -> None:
    house.begin()
    house.registry.keep_model(OTHER.id, document.encode(OTHER), NOON_US)
    earlier = a_pair(APPROVED, DECLINED, given_model_id=OTHER.id)
    pairs = [earlier, a_pair(APPROVED, APPROVED)]
    keep(house, pairs, [a_loan(pair, defaulted=True) for pair in pairs])
    found = house.comparing.compare(DEMO)
    assert (found.champion, found.count) == (builtin().id, 1)
    assert comparing.OTHERS.format(1) in found.notes
    assert found.realised is not None
    assert (found.realised.count, found.realised.difference) == (1, None)


def test_a_loan_of_another_book_is_none_of_this_one(house: House) -> None:
    house.begin()
    pair = a_pair(APPROVED, APPROVED)
    keep(house, [pair], [a_loan(pair | {"mode": "live"}, defaulted=True)])
    assert house.comparing.compare(DEMO).realised is None


def test_a_challenger_that_has_answered_nothing_yet_is_compared_with_nobody(house: House) -> None:
    house.begin()
    found = house.comparing.compare(DEMO)
    assert (found.champion, found.count, found.decisions, found.realised) == (None, 0, (), None)


def test_both_are_named_and_the_day_of_the_first_score_is_told(house: House) -> None:
    house.begin()
    days_ago = [2, 1, 0]
    ids = [a_request_id(NOON_US - days * DAY_US) for days in days_ago]
    keep(house, [a_pair(APPROVED, APPROVED, request_id=one) for one in ids], [])
    found = house.comparing.compare(DEMO)
    assert (found.champion_name, found.challenger_name) == (builtin().name, MODEL.name)
    assert found.scores_from == (NOON - timedelta(days=2)).date()


def test_scores_that_wait_to_be_asked_about_are_counted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.begin()
    house.score(5)
    house.score(2, LIVE)
    assert house.comparing.compare(DEMO).waiting == 0  # nobody asks about them so soon
    house.now_us = LATER_US
    found = house.comparing.compare(DEMO)
    assert found.waiting == 5
    assert comparing.WAITING in found.notes
    monkeypatch.setattr(comparing, "WAITING_MAX", 3)
    found = house.comparing.compare(DEMO)
    assert (found.waiting, found.waiting_max) == (3, 3)
    house.asking.round(house.now())
    found = house.comparing.compare(DEMO)
    assert (found.count, found.waiting) == (5, 0)


def test_for_one_that_is_ended_nothing_waits(house: House) -> None:
    house.begin()
    house.score(5)
    house.now_us = LATER_US
    house.challengers.end(DEMO, LATER_US, "W. Mutua", "enough")
    assert house.comparing.compare(DEMO).waiting == 0


def test_how_often_it_failed_is_told(house: House) -> None:
    house.begin(failed=2, error="KeyError")
    assert house.comparing.compare(DEMO).notes[-1] == comparing.FAILED.format(2, "KeyError")


def test_the_last_challenger_is_compared_after_its_end(house: House) -> None:
    house.begin()
    house.challengers.end(DEMO, NOON_US, "W. Mutua", "enough")
    assert house.comparing.compare(DEMO).ended_at == NOON


def test_a_book_without_a_challenger_has_nothing_to_compare(house: House) -> None:
    with pytest.raises(NoChallenger) as refused:
        house.comparing.compare(LIVE)
    assert refused.value.hint == "begin with one"
    with pytest.raises(UnknownLender):
        house.comparing.compare(DEMO._replace(lender="nobody"))


def test_a_model_that_challenged_twice_is_compared_on_all_of_it(house: House) -> None:
    house.begin()
    first = house.now()
    assert house.challengers.advance(first, Progress(a_request_id(), failed=2, error="KeyError"))
    keep(house, [a_pair(APPROVED, APPROVED)], [])
    house.challengers.end(DEMO, NOON_US, "W. Mutua", "a pause")
    house.begin(since_us=NOON_US + 1)
    assert house.challengers.advance(house.now(), Progress(a_request_id(), failed=1))
    keep(house, [a_pair(APPROVED, APPROVED)], [])
    found = house.comparing.compare(DEMO)
    assert (found.count, found.failed) == (2, 3)
    assert (found.begun_at, found.ended_at) == (NOON - timedelta(seconds=1), None)
    assert comparing.FAILED.format(3, "KeyError") in found.notes


def test_a_challenger_that_answers_itself_by_now_is_to_be_ended(house: House) -> None:
    house.begin()
    keep(house, [a_pair(APPROVED, APPROVED)], [])
    house.registry.deploy(DEMO, MODEL.id, None, NOON_US)
    note, *_ = house.comparing.compare(DEMO).notes
    assert note == comparing.ITSELF
    house.challengers.end(DEMO, NOON_US, "W. Mutua", "it has won")
    assert note not in house.comparing.compare(DEMO).notes
