"""What every store can tell of a book in sums: see `alama.monitoring.records`."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import insert

from alama.core.tally import CardTally, Tally, encode
from alama.monitoring import schema
from alama.monitoring.records import (
    DayScore,
    KnownRow,
    OverrideRow,
    RateRow,
    ReviewRow,
    ScoreCount,
    whole_days,
)
from alama.monitoring.store import SqlMonitoring
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnfit
from alama.scoring import schema as scoring_schema
from alama.scoring.counts import fold_counts
from tests.entries import DEMO, LIVE, NOON_US, UMOJA, a_request_id, an_entry
from tests.stores import insert_scores

MODEL = "sha256:model"
OTHER = "sha256:other"
DAY = NOON_US // DAY_US
DUE = DAY + 60


def loan(book: Book = DEMO, **more: Any) -> dict[str, Any]:
    """A loan that was repaid, and that was due 60 days after noon."""
    return {
        "lender": book.lender,
        "mode": book.mode.value,
        "request_id": a_request_id(),
        "state": "repaid",
        "happened_on": DUE,
        "defaulted_on": None,
        "disbursed_amount": None,
        "repaid_amount": None,
        "recorded_us": NOON_US,
        "key_id": None,
        "score_us": NOON_US,
        "score_month": 202611,
        "due_day": DUE,
        "model_id": MODEL,
        "score": 650,
        "tier": "B",
        "default_probability": 0.25,
        "decision": "APPROVED",
    } | more


def a_default(book: Book = DEMO, **more: Any) -> dict[str, Any]:
    return loan(book, **({"state": "defaulted", "defaulted_on": DUE + 30} | more))


def review(of: dict[str, Any], decision: str, given: str, **more: Any) -> dict[str, Any]:
    copied = ("lender", "mode", "request_id", "score_us", "model_id", "score", "tier")
    return {name: of[name] for name in (*copied, "default_probability")} | {
        "decision": decision,
        "reason": "income_verified",
        "person": "W. Mutua",
        "reviewed_us": NOON_US,
        "key_id": None,
        "given_decision": given,
        "seal_key_id": None,
        "applicant_key_id": None,
        "note": b"",
        **more,
    }


def keep(
    database: Database, *loans: dict[str, Any], reviews: list[dict[str, Any]] | None = None
) -> None:
    with database.writing() as connection:
        connection.execute(insert(schema.outcomes), list(loans))
        if reviews:
            connection.execute(insert(tables.reviews), reviews)


@pytest.fixture
def store(database: Database) -> SqlMonitoring:
    return SqlMonitoring(database)


# ------------------------------------------------------------------------------------ rates


def test_rates_are_summed_by_model_month_and_tier(database: Database, store: SqlMonitoring) -> None:
    keep(
        database,
        loan(),
        a_default(default_probability=0.5),
        loan(tier="A", default_probability=0.125),
        loan(score_month=202610),
        loan(model_id=OTHER),
    )
    assert store.rates(DEMO, {MODEL: DUE + 1, OTHER: DUE + 1}) == [
        RateRow(MODEL, 202610, "B", 1, 0, 0.25, 0, 0.0, 0.0),
        RateRow(MODEL, 202611, "A", 1, 0, 0.125, 0, 0.0, 0.0),
        RateRow(MODEL, 202611, "B", 2, 1, 0.75, 0, 0.0, 0.0),
        RateRow(OTHER, 202611, "B", 1, 0, 0.25, 0, 0.0, 0.0),
    ]


def test_each_model_has_its_own_maturity_and_others_are_left_out(
    database: Database, store: SqlMonitoring
) -> None:
    keep(database, loan(), loan(due_day=DUE + 1), loan(model_id=OTHER), loan(model_id="sha256:x"))
    found = store.rates(DEMO, {MODEL: DUE + 1, OTHER: DUE})
    assert [(row.model_id, row.count) for row in found] == [(MODEL, 1)]
    assert store.rates(DEMO, {}) == []


def test_losses_are_of_defaults_with_both_amounts(database: Database, store: SqlMonitoring) -> None:
    keep(
        database,
        a_default(disbursed_amount=1_000.0, repaid_amount=250.0),
        a_default(disbursed_amount=500.0, repaid_amount=0.0),
        a_default(disbursed_amount=500.0),
        loan(disbursed_amount=900.0, repaid_amount=1_000.0),
    )
    (row,) = store.rates(DEMO, {MODEL: DUE + 1})
    assert (row.defaults, row.valued, row.disbursed, row.repaid) == (3, 2, 1_500.0, 250.0)
    squares = (row.disbursed_squared, row.repaid_squared, row.crossed)
    assert squares == (1_250_000.0, 62_500.0, 250_000.0)


def test_a_default_that_was_repaid_later_still_counts(
    database: Database, store: SqlMonitoring
) -> None:
    keep(database, loan(defaulted_on=DUE + 30))
    (row,) = store.rates(DEMO, {MODEL: DUE + 1})
    assert row.defaults == 1


def test_loans_are_counted_by_score(database: Database, store: SqlMonitoring) -> None:
    keep(
        database,
        loan(),
        a_default(),
        loan(score=700, default_probability=0.125),
        loan(score=700, score_us=NOON_US - 1),
        loan(score=700, due_day=DUE + 1),
        loan(score=700, model_id=OTHER),
    )
    low = ScoreCount(650, 2, 1, 0.5)
    assert store.by_score(DEMO, MODEL, DUE + 1) == [low, ScoreCount(700, 2, 0, 0.375)]


def test_loans_are_counted_by_the_day_of_their_score_from_one_on(
    database: Database, store: SqlMonitoring
) -> None:
    keep(
        database,
        loan(),
        a_default(),
        loan(score=700, default_probability=0.125),
        loan(score_us=(DAY + 1) * DAY_US),
        loan(score_us=DAY * DAY_US - 1),
        loan(score_us=DAY * DAY_US, score=700, default_probability=0.125),
        loan(due_day=DUE + 1),
        loan(model_id=OTHER),
    )
    today = [DayScore(DAY, 650, 2, 1, 0.5), DayScore(DAY, 700, 2, 0, 0.25)]
    tomorrow = DayScore(DAY + 1, 650, 1, 0, 0.25)
    yesterday = DayScore(DAY - 1, 650, 1, 0, 0.25)
    assert store.by_day(DEMO, MODEL, DUE + 1, DAY) == [*today, tomorrow]
    assert store.by_day(DEMO, MODEL, DUE + 1, DAY - 1) == [yesterday, *today, tomorrow]


# ------------------------------------------------------------------------------------ known


def test_what_is_known_is_counted_mature_or_not(database: Database, store: SqlMonitoring) -> None:
    keep(
        database,
        loan(),
        loan(due_day=DUE + 500),
        loan(defaulted_on=DUE),
        a_default(decision="REVIEW"),
    )
    assert store.known(DEMO) == [
        KnownRow(MODEL, 202611, "APPROVED", "repaid", 3, 1),
        KnownRow(MODEL, 202611, "REVIEW", "defaulted", 1, 1),
    ]


def test_terms_are_counted_in_days_from_the_day_of_the_score(
    database: Database, store: SqlMonitoring
) -> None:
    keep(
        database, loan(), loan(due_day=DAY + 30), loan(score_us=DAY * DAY_US), loan(model_id=OTHER)
    )
    assert store.terms(DEMO, MODEL) == {60: 2, 30: 1}


# ---------------------------------------------------------------------------------- reviews


def test_reviews_are_counted_by_what_was_said_and_decided(
    database: Database, store: SqlMonitoring
) -> None:
    loans = [loan() for _ in range(4)]
    reviews = [
        review(loans[0], "APPROVED", "REVIEW"),
        review(loans[1], "APPROVED", "REVIEW"),
        review(loans[2], "APPROVED", "DECLINED", reason="guaranteed"),
        review(loans[3], "DECLINED", "REVIEW", score_us=NOON_US - 1),
    ]
    keep(database, *loans, reviews=reviews)
    assert store.reviewed(DEMO, NOON_US) == [
        ReviewRow("DECLINED", "APPROVED", "guaranteed", 1),
        ReviewRow("REVIEW", "APPROVED", "income_verified", 2),
    ]


def test_overrides_are_held_against_their_mature_loans(
    database: Database, store: SqlMonitoring
) -> None:
    loans = [loan(), a_default(), loan(due_day=DUE + 1), loan()]
    reviews = [review(one, "APPROVED", "DECLINED") for one in loans[:3]]
    keep(database, *loans, reviews=reviews)
    assert store.overridden(DEMO, MODEL, DUE + 1) == [
        OverrideRow("DECLINED", "APPROVED", 2, 1, 0.5)
    ]


# ------------------------------------------------------------------------------------- days


def a_tally(count: int) -> Tally:
    return Tally({"full": CardTally([[count]], [count], {"A": count}, {"APPROVED": count})})


def keep_day(database: Database, book: Book, day: int, counts: bytes, writer: str = "w") -> None:
    row = {
        "lender": book.lender,
        "mode": book.mode.value,
        "day": day,
        "model_id": MODEL,
        "writer": writer,
        "counts": counts,
    }
    with database.writing() as connection:
        connection.execute(insert(scoring_schema.daily_counts), row)


def test_days_come_one_after_the_other_in_the_parts_they_were_written_in(
    database: Database, store: SqlMonitoring
) -> None:
    for day, writer in ((DAY, "a"), (DAY, "b"), (DAY - 1, "a"), (DAY - 2, "a"), (DAY + 1, "a")):
        keep_day(database, DEMO, day, encode(a_tally(day - DAY + 10)), writer)
    found = store.days(DEMO, DAY - 1, DAY)
    counted = [(one.day, one.model_id, one.tally.count) for one in found]
    assert counted == [(DAY - 1, MODEL, 9), (DAY, MODEL, 10), (DAY, MODEL, 10)]


def test_whole_days_are_the_same_before_and_after_folding(
    database: Database, store: SqlMonitoring
) -> None:
    for day, writer, size in ((DAY - 1, "a", 8), (DAY - 1, "b", 8), (DAY, "a", 15), (DAY, "b", 15)):
        keep_day(database, DEMO, day, encode(a_tally(size)), writer)
    before = list(whole_days(store.days(DEMO, DAY - 1, DAY)))
    fold_counts(database, DAY + 1)
    assert list(whole_days(store.days(DEMO, DAY - 1, DAY))) == before
    assert [bool(one.tally.cards["full"].bands) for one in before] == [False, True]


def test_the_oldest_score_that_is_kept_has_a_day(store: SqlMonitoring, database: Database) -> None:
    days = [(DEMO, 3), (DEMO, 5), (UMOJA, 9), (LIVE, 7)]
    entries = [an_entry(book, at_us=NOON_US - ago * DAY_US) for book, ago in days]
    assert store.oldest_day(DEMO) is None
    insert_scores(database, *(entry.score for entry in entries))
    assert store.oldest_day(DEMO) == DAY - 5


def test_damaged_counts_are_told(database: Database, store: SqlMonitoring) -> None:
    keep_day(database, DEMO, DAY, b"\xff")
    with pytest.raises(StoreUnfit):
        list(store.days(DEMO, DAY, DAY))


# ------------------------------------------------------------------------------------ books


@pytest.mark.parametrize("other", [LIVE, UMOJA, Book("umoja", Mode.LIVE)])
def test_nothing_of_another_book_is_counted(
    database: Database, store: SqlMonitoring, other: Book
) -> None:
    theirs = a_default(other)
    keep(database, theirs, reviews=[review(theirs, "APPROVED", "DECLINED")])
    keep_day(database, other, DAY, encode(a_tally(3)))
    assert store.rates(DEMO, {MODEL: DUE + 1}) == []
    assert store.by_score(DEMO, MODEL, DUE + 1) == []
    assert store.by_day(DEMO, MODEL, DUE + 1, 0) == []
    assert store.known(DEMO) == []
    assert store.terms(DEMO, MODEL) == {}
    assert store.reviewed(DEMO, 0) == []
    assert store.overridden(DEMO, MODEL, DUE + 1) == []
    assert list(store.days(DEMO, DAY, DAY)) == []
    assert store.known(other) != []
