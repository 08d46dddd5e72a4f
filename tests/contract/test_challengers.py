"""Challengers: one at a time in a book, each asked once about every score, and never in the way."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from alama.core import document
from alama.lenders import schema as lenders_schema
from alama.lenders.records import UnknownLender
from alama.monitoring.challengers import (
    Challengers,
    ChallengerThere,
    NoChallenger,
    Progress,
    Shadow,
)
from alama.monitoring.shadowing import SETTLED_US, Round
from alama.platform import ids
from alama.platform.acts import ActKind
from alama.platform.book import Book, Mode
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.platform.files.packaged import builtin
from alama.protection.applicants import Applicants, ApplicantStore
from alama.scoring import schema
from tests.challenged import LATER_US, MODEL, OTHER, House, a_challenger, said_to_the_sample
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.onboarded import acts_of
from tests.stores import acts_in, lenders_in


@pytest.fixture
def house(database: Database) -> House:
    lenders_in(database, "demo", "umoja")
    house = House(database)
    house.furnish()
    return house


# ------------------------------------------------------------------------------- begin and end


def test_a_challenger_is_found_as_it_was_begun_and_in_its_book_alone(house: House) -> None:
    begun = house.begin()
    assert house.challengers.of(DEMO) == [begun]
    assert house.challengers.of(LIVE) == house.challengers.of(UMOJA) == []
    assert house.challengers.running() == [begun]
    assert house.registry.model(MODEL.id) == document.encode(MODEL)


def test_a_book_has_one_challenger_at_a_time_and_others_have_theirs(house: House) -> None:
    house.begin()
    with pytest.raises(ChallengerThere, match="challenges the model of demo in test mode"):
        house.begin(model=OTHER)
    house.begin(LIVE, OTHER)
    house.begin(UMOJA)
    assert len(house.challengers.running()) == 3


def test_of_many_at_once_one_begins(house: House, elsewhere: Database) -> None:
    stores = (house.challengers, Challengers(elsewhere, acts_in(elsewhere)))
    start = threading.Barrier(4)

    def begin(number: int) -> bool:
        start.wait()
        challenger = a_challenger(since_us=NOON_US + number)
        try:
            stores[number % 2].begin(challenger, document.encode(MODEL))
        except ChallengerThere:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(begin, range(4))) == 1
    assert len(house.challengers.running()) == 1


def test_a_challenger_that_is_ended_stays_known_and_another_may_follow(house: House) -> None:
    house.begin()
    ended = house.challengers.end(DEMO, NOON_US, "A. Wanjiru", "no better")
    assert ended.ended_us == NOON_US
    assert house.challengers.running() == []
    with pytest.raises(NoChallenger):
        house.challengers.end(DEMO, NOON_US, "A. Wanjiru", "no better")
    second = house.begin(model=OTHER, since_us=NOON_US)
    assert house.challengers.of(DEMO) == [second, ended]


def test_both_are_acts_with_who_and_why(house: House) -> None:
    house.begin()
    house.challengers.end(DEMO, NOON_US, "A. Wanjiru", "no better")
    begun, ended = acts_of(house.database)[-2:]
    assert (begun.kind, begun.subject, begun.by) == (ActKind.CHALLENGER_SET, MODEL.id, "W. Mutua")
    assert (begun.lender, begun.mode, begun.details["reason"]) == ("demo", "test", "retrained")
    assert (ended.kind, ended.subject, ended.by) == (
        ActKind.CHALLENGER_ENDED,
        MODEL.id,
        "A. Wanjiru",
    )
    assert ended.details == {"reason": "no better", "scored": 0, "failed": 0}


def test_nobody_challenges_for_a_lender_that_is_not_there(house: House) -> None:
    nobody = Book("nobody", Mode.TEST)
    with pytest.raises(UnknownLender):
        house.begin(nobody)
    with pytest.raises(UnknownLender):
        house.challengers.end(nobody, NOON_US, "W. Mutua", "none")


# ------------------------------------------------------------------------------- rounds


def test_a_challenger_is_asked_about_every_score_once_beside_what_was_said(house: House) -> None:
    house.begin()
    asked = house.score(3)
    house.score(2, LIVE)
    house.score(2, UMOJA)
    assert house.asking.round(house.now()) == Round(3, 0, None, lag_us=0, some_left=False)
    rows = house.shadows()
    assert [row["request_id"] for row in rows] == asked
    said = said_to_the_sample()
    for row in rows:
        assert (row["lender"], row["mode"], row["model_id"]) == ("demo", "test", MODEL.id)
        assert (row["given_model_id"], row["given_score"]) == (builtin().id, said.score)
        assert row["given_decision"] == said.decision.value
        assert row["score"] != said.score
    assert house.asking.round(house.now()) == Round(0, 0, None, lag_us=0, some_left=False)
    now = house.now()
    assert (now.scored, now.failed, now.error, now.reached) == (3, 0, None, asked[-1])


def test_scores_are_asked_about_in_small_rounds_the_oldest_first(house: House) -> None:
    house = House(house.database, at_once=2)
    house.begin()
    asked = house.score(3)
    first = house.asking.round(house.now())
    assert (first.scored, first.some_left) == (2, True)
    assert first.lag_us == LATER_US - ids.time_us(asked[1])
    second = house.asking.round(house.now())
    assert second == Round(1, 0, None, lag_us=0, some_left=False)
    assert [row["request_id"] for row in house.shadows()] == asked


def test_what_was_scored_a_moment_ago_waits_for_others_that_may_come_late(house: House) -> None:
    house.begin()
    house.now_us = NOON_US + SETTLED_US - 1
    house.score()
    assert house.asking.round(house.now()).scored == 0
    late = house.score(at_us=NOON_US - 500_000)
    house.now_us = LATER_US
    assert house.asking.round(house.now()).scored == 2
    assert house.shadows()[0]["request_id"] == late[0]


def test_what_was_scored_before_it_began_is_let_be(house: House) -> None:
    house.score(2, at_us=NOON_US - 10_000_000)
    house.begin()
    assert house.asking.round(house.now()).scored == 0
    assert house.shadows() == []


def test_of_two_workers_that_ask_about_the_same_scores_one_counts(house: House) -> None:
    read = house.begin()
    (request_id,) = house.score()
    assert house.asking.round(read).scored == 1
    assert house.asking.round(read) == Round(0, 0, None, lag_us=0, some_left=False)
    assert not house.challengers.advance(read, Progress(request_id, failed=1, error="KeyError"))
    assert (house.now().scored, house.now().failed) == (1, 0)
    assert len(house.shadows()) == 1


def test_nothing_is_kept_of_a_round_that_ends_after_the_challenger_did(house: House) -> None:
    read = house.begin()
    (request_id,) = house.score()
    house.challengers.end(DEMO, NOON_US, "W. Mutua", "enough")
    shadow = Shadow(request_id, 600, "B", 0.1, "APPROVED", "m", 610, "B", 0.1, "APPROVED")
    assert not house.challengers.advance(read, Progress(request_id, [shadow]))
    assert house.shadows() == []


def test_what_a_model_cannot_answer_is_counted_by_its_kind_and_the_rest_goes_on(
    house: House,
) -> None:
    house.begin()
    house.score()
    house.score(sent=b'{"mm_months": "Zq7marked"}')
    house.score()
    found = house.asking.round(house.now())
    assert (found.scored, found.failed, found.error) == (2, 1, "InvalidApplication")
    now = house.now()
    assert (now.scored, now.failed, now.error) == (2, 1, "InvalidApplication")


def test_what_was_erased_or_is_damaged_is_passed_over(house: House) -> None:
    house.begin()
    house.score(reference="cust-1")
    (damaged,) = house.score()
    house.score()
    store = ApplicantStore(house.database, acts_in(house.database))
    applicants = Applicants(store, house.vault, lambda: NOON_US)
    applicants.erase(DEMO, "cust-1", None)
    spoil = update(schema.scores).where(schema.scores.c.request_id == damaged)
    with house.database.writing() as connection:
        connection.execute(spoil.values(sealed=b"spoilt"))
    found = house.asking.round(house.now())
    assert (found.scored, found.failed) == (1, 0)
    assert house.asking.round(house.now()).scored == 0


def test_what_the_challenger_decided_itself_is_no_comparison(house: House) -> None:
    house.begin()
    house.score(model_id=MODEL.id)
    house.score()
    assert house.asking.round(house.now()).scored == 1


def test_a_damaged_model_is_told_of_and_loses_nothing(house: House) -> None:
    house.begin()
    house.score()
    spoil = (
        update(lenders_schema.models)
        .where(lenders_schema.models.c.id == MODEL.id)
        .values(document=b"{}")
    )
    with house.database.writing() as connection:
        connection.execute(spoil)
    with pytest.raises(Exception, match="model"):
        house.asking.round(house.now())
    house.registry.keep_model(MODEL.id, document.encode(MODEL), NOON_US)
    assert house.asking.round(house.now()).scored == 1


def test_a_policy_that_is_not_there_any_more_is_told_of(house: House) -> None:
    house.begin()
    house.score()
    with house.database.writing() as connection:
        connection.execute(lenders_schema.policies.delete())
    with pytest.raises(StoreUnfit):
        house.asking.round(house.now())
