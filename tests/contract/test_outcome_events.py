"""What is announced of outcomes, by every store: see `alama.monitoring.outcomes`."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from alama.monitoring.outcomes import BATCH_MAX, Outcomes
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.events import EventKind
from alama.scoring.sequels import Answer
from tests.contract.outcomes import (
    SENT,
    answers,
    defaulted,
    events,
    outcomes_in,
    repaid,
    rows,
    scored,
)
from tests.entries import DEMO, UMOJA
from tests.stores import lenders_in
from tests.webhooked import Hooks


@pytest.fixture
def outcomes(database: Database) -> Outcomes:
    lenders_in(database, DEMO.lender, UMOJA.lender)
    return outcomes_in(database)


@pytest.fixture
def told(outcomes: Outcomes, database: Database) -> Outcomes:
    """Outcomes of which somebody wants to hear."""
    Hooks(database).add()
    return outcomes


def test_an_event_tells_how_the_loan_stands_and_no_amounts(
    told: Outcomes, database: Database
) -> None:
    (request_id,) = scored(database)
    news = repaid(request_id, disbursed_amount=12_500.0, repaid_amount=13_000.0)
    told.record(DEMO, [news], SENT)
    (event,) = events(database)
    assert event.subject_id == request_id
    assert json.loads(event.payload)["data"] == {
        "mode": "test",
        "request_id": request_id,
        "outcome": "repaid",
        "date": "2026-12-15",
        "is_default": False,
        "tier": "B",
        "model": "sha256:model",
    }


def test_only_what_is_new_is_announced(told: Outcomes, database: Database) -> None:
    (request_id,) = scored(database)
    for news in [
        repaid(request_id, 95),
        repaid(request_id, 95),
        repaid(request_id, 80),
        defaulted(request_id, 90),
        defaulted(request_id, 88),
        defaulted(request_id, 95),
    ]:
        told.record(DEMO, [news], SENT)
    data = [json.loads(event.payload)["data"] for event in events(database)]
    assert sorted(one["is_default"] for one in data) == [False, True]
    assert {one["outcome"] for one in data} == {"repaid"}


def test_events_of_a_batch_lie_together(told: Outcomes, database: Database) -> None:
    ids = scored(database, 40)

    def bundles() -> int:
        with database.reading() as connection:
            return len(connection.execute(select(tables.bundles.c.id)).all())

    before = bundles()
    told.record(DEMO, [repaid(one) for one in ids], SENT)
    assert len(events(database)) == 40
    assert bundles() - before == 3


def test_events_of_one_loan_in_a_batch_are_in_order(told: Outcomes, database: Database) -> None:
    (request_id,) = scored(database)
    told.record(DEMO, [repaid(request_id, 30 + day) for day in range(20)], SENT)
    dates = [json.loads(event.payload)["data"]["date"] for event in events(database)]
    assert len(dates) == 20
    assert dates == sorted(dates)


def test_where_nobody_listens_nothing_is_announced(outcomes: Outcomes, database: Database) -> None:
    Hooks(database).add(kinds=(EventKind.SCORE_CREATED,))
    Hooks(database).add(UMOJA)
    outcomes.record(DEMO, [repaid(one) for one in scored(database)], SENT)
    assert events(database) == []


def test_a_full_batch_goes_in_at_once(told: Outcomes, database: Database) -> None:
    ids = scored(database, BATCH_MAX)
    results = told.record(DEMO, [repaid(one) for one in ids], SENT)
    assert answers(results) == [Answer.RECORDED] * BATCH_MAX
    assert len(rows(database)) == len(events(database)) == BATCH_MAX
