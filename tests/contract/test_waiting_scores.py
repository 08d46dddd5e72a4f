"""Scores that wait for a person: what every store gives, and what it reads for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import insert, text

from alama.core.lending.policy import Decision
from alama.monitoring.store import SqlMonitoring
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.scoring import schema
from alama.scoring.records import Wanted
from alama.scoring.sequels import APPROVED, LEFT_OPEN, Judgement, ReviewReason
from alama.scoring.store import Scores
from tests.clocks import HandClock
from tests.entries import DEMO, LIVE, NOON_US, UMOJA, a_request_id, an_entry
from tests.protected import House
from tests.stores import lenders_in, plan_of_page, scores_in

DOUBTFUL: dict[str, Any] = {
    "mobile_money_months": 12,
    "monthly_inflow": 9_000,
    "stability_score": 0.5,
    "airtime_regularity": 0.5,
}
SAID = Judgement(APPROVED, ReviewReason.KNOWN_CUSTOMER, "W. Mutua", "")
WAITING = Wanted(waiting=True)
INDEX = "ix_scores_lender_mode_decision_request_id"


@pytest.fixture
def house(database: Database) -> House:
    return House(database, HandClock())


def waiting(scores: Scores, book: Book = DEMO, before: str | None = None) -> list[str]:
    return [row.request_id for row in scores.page(book, before, 100, WAITING)]


def test_a_score_waits_until_it_is_reviewed(house: House) -> None:
    first, second = house.score(**DOUBTFUL), house.score("A-1", **DOUBTFUL)
    assert [row.decision for row in house.scores.page(DEMO, None, 100, WAITING)] == [LEFT_OPEN] * 2
    assert waiting(house.scores) == [second, first]
    house.reviews.review(DEMO, second, SAID)
    assert waiting(house.scores) == [first]


def test_a_score_of_an_applicant_who_was_erased_waits_for_nobody(house: House) -> None:
    erased, other, nameless = (house.score(who, **DOUBTFUL) for who in ("A-1", "A-2", None))
    house.applicants.erase(DEMO, "A-1")
    assert waiting(house.scores) == [nameless, other]
    assert erased in [row.request_id for row in house.scores.page(DEMO, None, 100)]


def test_pages_of_what_waits_hold_every_such_score_of_the_book_once(database: Database) -> None:
    lenders_in(database, "demo", "umoja")
    scores = scores_in(database)
    decisions = [Decision.REVIEW, Decision.APPROVED, Decision.REVIEW, Decision.DECLINED]
    entries = [
        an_entry(book, at_us=NOON_US + number, decision=decision)
        for book in (DEMO, LIVE, UMOJA)
        for number, decision in enumerate(decisions * 3)
    ]
    scores.commit(entries)
    for book in (DEMO, LIVE, UMOJA):
        rows = [entry.score for entry in entries if entry.score.book == book]
        expected = [row.request_id for row in reversed(rows) if row.decision == LEFT_OPEN]
        assert waiting(scores, book) == expected
        gathered: list[str] = []
        while page := scores.page(book, gathered[-1] if gathered else None, 4, WAITING):
            gathered += [row.request_id for row in page]
        assert gathered == expected
        assert waiting(scores, book, expected[2]) == expected[3:]


def test_monitoring_counts_what_is_listed_and_nothing_else(house: House) -> None:
    counted = SqlMonitoring(house.database).waiting
    assert counted(DEMO) == 0
    first, second, _ = (house.score(who, **DOUBTFUL) for who in ("A-1", "A-2", None))
    assert counted(DEMO) == len(waiting(house.scores)) == 3
    house.reviews.review(DEMO, second, SAID)
    assert counted(DEMO) == len(waiting(house.scores)) == 2
    house.applicants.erase(DEMO, "A-1")
    assert counted(DEMO) == len(waiting(house.scores)) == 1
    assert first not in waiting(house.scores)
    assert counted(LIVE) == counted(UMOJA) == 0


# ------------------------------------------------------------------------------------- plans


def many(rare: int) -> Sequence[dict[str, object]]:
    """A book in which one score of some was left open."""
    row = an_entry().score
    return [
        row._replace(
            request_id=a_request_id(), decision=APPROVED if number % rare else LEFT_OPEN
        )._asdict()
        for number in range(4_000)
    ]


@pytest.mark.parametrize("page", ["first", "later"])
def test_what_waits_is_found_without_reading_the_scores_between(
    database: Database, page: str
) -> None:
    rows = many(rare=100)
    with database.writing() as connection:
        connection.execute(insert(schema.scores), rows)
        connection.execute(text("ANALYZE scores"))
    before = None if page == "first" else str(rows[2_000]["request_id"])
    plan = plan_of_page(database, before, WAITING)
    assert f"INDEX {INDEX}" in plan or f"Index Scan Backward using {INDEX} on scores" in plan
    for whole in ("SCAN ", "Seq Scan on scores", "Sort", "TEMP B-TREE"):
        assert whole not in plan
