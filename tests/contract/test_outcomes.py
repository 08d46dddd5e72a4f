"""What every store makes of outcomes: see `alama.monitoring.outcomes.OutcomeStore`."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import date

import pytest
from sqlalchemy import select

from alama.monitoring import schema as monitoring_schema
from alama.monitoring.outcomes import Outcomes, OutcomeStore, Result
from alama.platform.acts import SHA256
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.platform.days import DAY_US, day_number
from alama.platform.errors import StoreUnfit
from alama.scoring import schema
from alama.scoring.sequels import Answer
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.contract.outcomes import (
    NOW_US,
    SENT,
    TODAY,
    acts,
    answers,
    defaulted,
    outcomes_in,
    repaid,
    rows,
    scored,
)
from tests.entries import DEMO, LIVE, NOON_US, UMOJA, a_request_id
from tests.protected import House
from tests.stores import acts_in, lenders_in
from tests.vaults import vault_of


@pytest.fixture
def outcomes(database: Database) -> Outcomes:
    lenders_in(database, DEMO.lender, UMOJA.lender)
    return outcomes_in(database)


# ------------------------------------------------------------------------------------- rows


def test_an_outcome_is_kept_with_what_its_score_said(
    outcomes: Outcomes, database: Database
) -> None:
    (request_id,) = scored(database)
    news = repaid(request_id, disbursed_amount=12_500.0, repaid_amount=13_000.25)
    results = outcomes.record(DEMO, [news], SENT._replace(key_id="key_1"))
    assert results == [Result(request_id, Answer.RECORDED, is_default=False)]
    assert rows(database) == [
        {
            "lender": "demo",
            "mode": "test",
            "request_id": request_id,
            "state": "repaid",
            "happened_on": day_number(date(2026, 12, 15)),
            "defaulted_on": None,
            "settled_on": None,
            "corrections": "",
            "disbursed_amount": 12_500.0,
            "repaid_amount": 13_000.25,
            "recorded_us": NOW_US,
            "key_id": "key_1",
            "score_us": NOON_US,
            "score_month": 202611,
            "due_day": TODAY + 60,
            "model_id": "sha256:model",
            "score": 661,
            "tier": "B",
            "default_probability": 0.049,
            "decision": "APPROVED",
            "propensity": None,
            "product": None,
        }
    ]


def test_what_is_sent_twice_counts_once(outcomes: Outcomes, database: Database) -> None:
    news = [repaid(one) for one in scored(database, 3)]
    outcomes.record(DEMO, news, SENT)
    before = rows(database)
    again = outcomes_in(database, NOW_US + DAY_US).record(DEMO, news, SENT._replace(key_id="key_2"))
    assert answers(again) == [Answer.UNCHANGED] * 3
    assert rows(database) == before


def test_news_out_of_order_leave_the_latest_and_keep_the_default(
    outcomes: Outcomes, database: Database
) -> None:
    (request_id,) = scored(database)
    late = outcomes.record(DEMO, [repaid(request_id, 95)], SENT)
    early = outcomes.record(DEMO, [defaulted(request_id, 90)], SENT)
    assert early == [Result(request_id, Answer.OLDER, is_default=True)]
    assert late == [Result(request_id, Answer.RECORDED, is_default=False)]
    (row,) = rows(database)
    assert (row["state"], row["happened_on"]) == ("repaid", TODAY + 95)
    assert row["defaulted_on"] == TODAY + 90


def test_the_same_loan_twice_in_one_batch_is_judged_one_after_the_other(
    outcomes: Outcomes, database: Database
) -> None:
    (request_id,) = scored(database)
    news = [defaulted(request_id, 90), repaid(request_id, 95), repaid(request_id, 95)]
    results = outcomes.record(DEMO, news, SENT)
    assert answers(results) == [Answer.RECORDED, Answer.UPDATED, Answer.UNCHANGED]
    assert [one.is_default for one in results] == [True, True, True]
    (row,) = rows(database)
    assert (row["state"], row["defaulted_on"]) == ("repaid", TODAY + 90)


def test_something_else_of_the_same_day_changes_nothing(
    outcomes: Outcomes, database: Database
) -> None:
    (request_id,) = scored(database)
    outcomes.record(DEMO, [repaid(request_id, 90, repaid_amount=100.0)], SENT)
    before = rows(database)
    (result,) = outcomes.record(DEMO, [repaid(request_id, 90, repaid_amount=110.0)], SENT)
    assert result == Result(request_id, Answer.CONFLICT, is_default=False)
    assert "corrects: true" in str(result.message)
    assert rows(database) == before


def test_a_default_counts_though_something_else_of_its_day_stands(
    outcomes: Outcomes, database: Database
) -> None:
    (request_id,) = scored(database)
    outcomes.record(DEMO, [repaid(request_id, 90)], SENT)
    (result,) = outcomes.record(DEMO, [defaulted(request_id, 90)], SENT)
    assert result == Result(request_id, Answer.CONFLICT, is_default=True)
    (row,) = rows(database)
    assert (row["state"], row["defaulted_on"]) == ("repaid", row["happened_on"])


def test_what_was_corrected_does_not_come_back_with_an_old_file(
    outcomes: Outcomes, database: Database
) -> None:
    (request_id,) = scored(database)
    wrong, right = defaulted(request_id, 90), repaid(request_id, 80, corrects=True)
    outcomes.record(DEMO, [wrong, right], SENT)
    before = rows(database)
    results = outcomes.record(DEMO, [wrong, right, wrong], SENT)
    assert [one.answer for one in results] == [Answer.CONFLICT, Answer.UNCHANGED, Answer.CONFLICT]
    assert rows(database) == before
    assert not before[0]["defaulted_on"]


def test_a_correction_takes_a_default_back(outcomes: Outcomes, database: Database) -> None:
    (request_id,) = scored(database)
    outcomes.record(DEMO, [defaulted(request_id)], SENT)
    right = repaid(request_id, 30, corrects=True)
    (result,) = outcomes.record(DEMO, [right], SENT)
    assert result == Result(request_id, Answer.CORRECTED, is_default=False)
    (row,) = rows(database)
    assert (row["state"], row["happened_on"]) == ("repaid", TODAY + 30)
    assert row["defaulted_on"] is None
    assert answers(outcomes.record(DEMO, [right], SENT)) == [Answer.UNCHANGED]


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("book", [LIVE, UMOJA])
def test_a_score_of_another_book_is_as_unknown_as_none(
    outcomes: Outcomes, database: Database, book: Book
) -> None:
    (theirs,) = scored(database, book=book)
    nobodys = a_request_id()
    far = 10_000  # nor is anything else said of it
    results = outcomes.record(DEMO, [repaid(theirs, far), repaid(nobodys, far)], SENT)
    assert results == [Result(one, Answer.UNKNOWN_SCORE, None) for one in (theirs, nobodys)]
    assert rows(database) == []


def test_what_is_refused_keeps_nothing_else_from_being_kept(
    outcomes: Outcomes, database: Database
) -> None:
    first, second, third = scored(database, 3)
    news = [repaid(first, 102), repaid(second, -2), repaid(a_request_id()), repaid(third)]
    assert answers(outcomes.record(DEMO, news, SENT)) == [
        Answer.IN_THE_FUTURE,
        Answer.BEFORE_THE_LOAN,
        Answer.UNKNOWN_SCORE,
        Answer.RECORDED,
    ]
    assert [row["request_id"] for row in rows(database)] == [third]


def test_a_day_counts_as_soon_as_it_has_begun_somewhere_and_until_it_is_over_everywhere(
    outcomes: Outcomes, database: Database
) -> None:
    # Noon in London: on Kiritimati it is tomorrow already, and nowhere yesterday any more.
    first, second, third = scored(database, 3)
    news = [repaid(first, 101), repaid(second, 0), repaid(third, -1)]
    found = answers(outcomes.record(DEMO, news, SENT))
    assert found == [Answer.RECORDED, Answer.RECORDED, Answer.BEFORE_THE_LOAN]


# ------------------------------------------------------------------------------------- the audit


def test_a_batch_is_one_act_with_counts_and_a_hash(outcomes: Outcomes, database: Database) -> None:
    ids = scored(database, 2)
    news = [*map(repaid, ids), repaid(a_request_id())]
    outcomes.record(DEMO, news, SENT._replace(key_id="key_1", by="key_1"))
    (act,) = acts(database)
    assert (act.lender, act.mode, act.by) == ("demo", "test", "key_1")
    details = dict(act.details)
    assert details == {"recorded": 2, "unknown_score": 1, SHA256: SENT.sha256}
    assert ids[0] not in str(act)


def test_the_audit_holds_with_outcomes_in_it_until_and_after_they_are_deleted(
    database: Database,
) -> None:
    clock = HandClock()
    house = House(database, clock)
    request_id = house.score()
    outcomes_in(database).record(DEMO, [repaid(request_id)], SENT)
    assert verdict_on(database).findings == []
    clock.now_us += 2 * 365 * DAY_US
    plan = house.retention.plan(DEMO, 365)
    assert list(house.retention.carry_out(plan, "a test")) == [1]
    assert rows(database) == []
    assert verdict_on(database).findings == []


def test_where_nothing_is_written_nothing_is_noted(outcomes: Outcomes, database: Database) -> None:
    news = [repaid(one) for one in scored(database)]
    outcomes.record(DEMO, news, SENT)
    outcomes.record(DEMO, news, SENT)
    outcomes.record(DEMO, [repaid(a_request_id())], SENT)
    assert len(acts(database)) == 1


# ------------------------------------------------------------------------------------- at once


def test_news_of_the_same_loans_sent_at_once_by_two_processes_are_both_heard(
    outcomes: Outcomes, database: Database, elsewhere: Database
) -> None:
    ids = scored(database, 50)
    early = [defaulted(one, 90) for one in ids]
    late = [repaid(one, 95) for one in reversed(ids)]
    other = outcomes_in(elsewhere)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(outcomes.record, DEMO, early, SENT)
        second = pool.submit(other.record, DEMO, late, SENT)
        found = set(answers(first.result())), set(answers(second.result()))
    assert found in (
        ({Answer.RECORDED}, {Answer.UPDATED}),
        ({Answer.OLDER}, {Answer.RECORDED}),
    )
    assert {row["state"] for row in rows(database)} == {"repaid"}
    assert {row["defaulted_on"] for row in rows(database)} == {TODAY + 90}


@pytest.mark.usefixtures("outcomes")
def test_news_that_had_to_wait_are_heard_when_it_is_their_turn(
    database: Database, elsewhere: Database
) -> None:
    (request_id,) = scored(database)
    store, turn = (
        OutcomeStore(elsewhere, acts_in(elsewhere), vault_of(elsewhere)),
        threading.Event(),
    )

    def late() -> int:
        # Asked at the beginning it would not have been their turn yet.
        return NOW_US + DAY_US if turn.is_set() else NOW_US - DAY_US

    with ThreadPoolExecutor(1) as pool:
        with database.writing() as connection:
            locked = select(schema.scores.c.request_id).with_for_update()
            assert connection.execute(locked).scalar() == request_id
            waiting = pool.submit(Outcomes(store, late).record, DEMO, [repaid(request_id)], SENT)
            wait([waiting], timeout=0.2)
            turn.set()
        assert answers(waiting.result()) == [Answer.RECORDED]
    assert [row["recorded_us"] for row in rows(database)] == [NOW_US + DAY_US]


def test_a_state_that_no_loan_can_be_in_is_told_with_the_score(
    outcomes: Outcomes, database: Database
) -> None:
    (request_id,) = scored(database)
    outcomes.record(DEMO, [repaid(request_id)], SENT)
    with database.writing() as connection:
        connection.execute(monitoring_schema.outcomes.update().values(state="vanished"))
    with pytest.raises(StoreUnfit, match=request_id):
        outcomes.record(DEMO, [repaid(request_id, 40)], SENT)
