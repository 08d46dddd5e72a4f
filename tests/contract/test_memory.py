"""What a book remembers of its borrowers, on both databases: stories, races, news, forgetting."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select, update

from alama.core.lending import draft, policy_text
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.memory import Amount, Remembered
from alama.core.monitoring.news import News, State
from alama.lenders.records import Key
from alama.memory import schema
from alama.memory.borrower import (
    NOBODY,
    Answer,
    Borrower,
    Ending,
    LoanEvent,
    LoanEventKind,
    hour_of,
    remembered,
)
from alama.memory.loans import Loans, Sent, Told
from alama.memory.store import BorrowerRow, Borrowers, Memory
from alama.monitoring.outcomes import Outcomes, OutcomeStore
from alama.monitoring.outcomes import Sent as SentNews
from alama.platform.book import USUAL_SCOPES
from alama.platform.database.tables import METADATA
from alama.platform.days import DAY_US, day_of
from alama.platform.errors import StoreUnfit
from alama.platform.http.exchange import Arrival
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring import scoring as scoring_module
from alama.scoring.directory import Caller
from alama.scoring.group_commit import GroupCommit
from alama.scoring.holds import Day
from alama.scoring.replay import open_score
from alama.scoring.scoring import Given, Scoring
from alama.scoring.sequels import Judgement, ReviewReason
from tests import protected
from tests.clocks import HandClock
from tests.entries import DEMO, LIVE, NOON_US, a_request_id
from tests.protected import APPLICATION, House, the_active_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.platform.database.database import Database

REF = "cust-1"
TODAY = day_of(NOON_US)
RICH: dict[str, Any] = {
    "monthly_inflow": 90_000.0,
    "mobile_money_months": 60,
    "requested_amount": 20_000,
}


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def house(database: Database, clock: HandClock) -> House:
    return House(database, clock)


def loans_in(house: House) -> Loans:
    return Loans(house.database, house.log, house.vault, house.clock)


def known_in(house: House, reference: str = REF) -> Borrower:
    subject = house.vault.ring("demo").subject("test", reference)
    return Memory(house.database, house.vault).of(DEMO, subject)


def figures_in(house: House, reference: str = REF) -> Remembered:
    return remembered(known_in(house, reference), hour_of(house.clock()))


def tell(house: House, *events: LoanEvent, reference: str = REF) -> list[Answer]:
    told = [Told(reference, event) for event in events]
    return [one.answer for one in loans_in(house).record(DEMO, told, Sent(by="a test"))]


def lent(amount: float = 20_000.0, day: int = TODAY, **more: Any) -> LoanEvent:
    due = (Amount(day + 30, amount * 1.1),)
    return LoanEvent("L-1", LoanEventKind.DISBURSED, day, amount, dues=due, **more)


def paid(amount: float, day: int = TODAY, name: str | None = None) -> LoanEvent:
    return LoanEvent("L-1", LoanEventKind.PAYMENT, day, amount, name)


def closed(day: int = TODAY, ending: Ending = Ending.REPAID) -> LoanEvent:
    return LoanEvent("L-1", LoanEventKind.CLOSED, day, ending=ending)


def said(house: House, request_id: str) -> tuple[str, int, tuple[str, ...]]:
    found = open_score(house.vault, house.scores.find(DEMO, request_id)).assessment
    return found.decision.value, found.offer.limit, found.rules


# ---------------------------------------------------------------------------- the two stories


def test_five_loans_in_a_row_are_one(house: House) -> None:
    given = [said(house, house.score(REF, **RICH)) for _ in range(5)]
    assert given[0] == ("APPROVED", 20_000, ())
    assert [decision for decision, *_ in given[1:]] == ["DECLINED"] * 4
    assert all("ladder" in rules for *_, rules in given[1:])
    assert sum(limit for _, limit, _ in given) == 20_000


def test_whoever_asks_for_less_and_less_is_seen_by_a_person(house: House) -> None:
    poor: dict[str, Any] = {"monthly_inflow": 4_000.0, "existing_repayments": 1_100}
    amounts = (15_000, 9_000, 6_000, 3_000)
    given = [said(house, house.score(REF, **poor, requested_amount=one)) for one in amounts]
    assert "asked_often" in given[3][2]
    assert all("asked_often" not in rules for *_, rules in given[:3])
    assert given[3][0] != "APPROVED"


def test_nobody_who_is_not_named_is_remembered(house: House) -> None:
    given = [said(house, house.score(None, **RICH)) for _ in range(5)]
    assert {decision for decision, *_ in given} == {"APPROVED"}
    with house.database.reading() as connection:
        assert not connection.execute(select(func.count()).select_from(schema.borrowers)).scalar()


# ---------------------------------------------------------------------------------- the race


def race(database: Database, clock: HandClock, count: int, told: list[str]) -> None:
    """Score one borrower many times at once, as one process does."""
    house = House(database, clock)
    key = Key("key_1", DEMO.lender, DEMO.mode, b"", "abcd", USUAL_SCOPES, NOON_US)
    caller = Caller(key, DEMO, the_active_model(), house.vault.ring("demo"))
    body = json.dumps(APPLICATION | RICH | {"applicant_ref": REF}).encode()

    async def story() -> None:
        ledger = GroupCommit(house.scores, lambda _: None)
        scoring = Scoring(ledger, house.vault, house.scores.find)
        ledger.start()
        arrivals = [Arrival(a_request_id(), NOON_US, time.perf_counter()) for _ in range(count)]
        answers = await asyncio.gather(
            *(scoring.score(caller, one, body, identity, None) for one in arrivals)
        )
        told.extend(answer.reply.decode() for answer in answers)
        await ledger.close()

    asyncio.run(story())


def identity(given: Given) -> bytes:
    return given.request_id.encode()


def test_sixty_four_at_once_over_two_processes_are_approved_once(
    database: Database, elsewhere: Database, clock: HandClock
) -> None:
    house = House(database, clock)
    told: list[str] = []
    racers = [
        threading.Thread(target=race, args=(one, clock, 32, told)) for one in (database, elsewhere)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(120)
    assert len(told) == 64
    given = [said(house, request_id) for request_id in told]
    assert sum(limit for decision, limit, _ in given if decision == "APPROVED") == 20_000
    assert sum("asked_often" in rules for *_, rules in given) == 61
    assert figures_in(house).applications_1d == 64
    assert all(house.replayed(request_id) == () for request_id in told[::8])


def test_a_process_that_knows_an_older_version_decides_again(
    database: Database, elsewhere: Database, clock: HandClock
) -> None:
    here, there = House(database, clock), House(elsewhere, clock)
    for number in range(4):
        (here if number % 2 else there).score(REF)
    assert figures_in(here).applications_1d == 4


def test_who_is_decided_on_again_finds_the_room_of_a_cap_as_it_was(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    capped = (
        draft.default_text("KES") + b'[[portfolio]]\nname = "one"\nper = "day"\nnumber_max = 1\n'
    )
    policy, active, day = policy_text.read(capped), the_active_model(), Day()
    day.settle(policy, None, {})
    ready = ReadyPolicy(policy, active.model)
    house.registry.keep_policy(policy.id, capped, house.clock())
    monkeypatch.setattr(
        protected, "the_active_model", lambda: active._replace(policy=ready, day=day)
    )
    tell(house, lent(), closed())  # which the process that scores does not know yet
    assert said(house, house.score(REF, **RICH))[0] == "APPROVED"
    assert said(house, house.score("cust-2", **RICH))[2] == ("one",)


# ------------------------------------------------------------------------------------- loans


def test_a_loan_is_remembered_in_any_order_and_once(house: House) -> None:
    events = [lent(), paid(2_000.0), paid(2_000.0), paid(2_000.0, name="P-2"), closed(TODAY + 1)]
    assert tell(house, *events[:4])[2] is Answer.UNCHANGED
    assert figures_in(house).open_balance == pytest.approx(18_000.0)
    house.clock.now_us += DAY_US
    tell(house, events[4])
    wanted = figures_in(house)
    assert (wanted.open_loans, wanted.loans_repaid, wanted.largest_repaid) == (0, 1, 20_000.0)
    chance = random.Random(1)  # noqa: S311  an order, no secret
    for number in range(6):
        reference, again = f"other-{number}", chance.sample(events * 2, len(events) * 2)
        tell(house, *again, reference=reference)
        assert figures_in(house, reference) == wanted


def test_whoever_is_scored_elsewhere_while_their_first_loan_is_told_is_read_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, asked = Borrowers.write, []

    def late(self: Borrowers, cursor: DBAPICursor, rows: Sequence[BorrowerRow]) -> set[str]:
        asked.append(rows)
        return set() if len(asked) == 1 else write(self, cursor, rows)

    monkeypatch.setattr(Borrowers, "write", late)
    assert tell(house, lent()) == [Answer.RECORDED]
    assert len(asked) == 2
    assert figures_in(house).open_loans == 1


def test_nothing_is_taken_for_known_where_what_is_remembered_is_damaged(house: House) -> None:
    tell(house, lent())
    with house.database.writing() as connection:
        connection.execute(update(schema.borrowers).values(sealed=b"damaged"))
    with pytest.raises(StoreUnfit, match="is damaged"):
        tell(house, paid(2_000.0))


def test_what_contradicts_what_was_said_is_refused_unless_it_corrects(house: House) -> None:
    assert tell(house, lent(20_000.0), lent(5_000.0)) == [Answer.RECORDED, Answer.CONFLICT]
    assert tell(house, lent(5_000.0, corrects=True), lent(20_000.0)) == [
        Answer.CORRECTED,
        Answer.CONFLICT,
    ]
    assert figures_in(house).open_balance == pytest.approx(5_500.0)
    assert tell(house, paid(1.0, TODAY + 2)) == [Answer.IN_THE_FUTURE]


def test_a_loan_that_was_paid_back_opens_the_next_rung(house: House) -> None:
    house.score(REF, **RICH)
    tell(house, lent())
    assert said(house, house.score(REF, **RICH))[0] == "DECLINED"
    house.clock.now_us += 2 * DAY_US
    tell(house, closed(TODAY + 2))
    asked: dict[str, Any] = RICH | {"requested_amount": 40_000}
    decision, limit, _ = said(house, house.score(REF, **asked))
    assert (decision, limit > 20_000) == ("APPROVED", True)


def test_nobody_gets_a_second_loan_while_one_is_late(house: House) -> None:
    tell(house, lent(2_000.0, TODAY - 40))
    assert said(house, house.score(REF))[2] == ("late_on_a_loan",)


def test_an_approval_that_was_cancelled_counts_no_more(house: House) -> None:
    request_id = house.score(REF, **RICH)
    cancelled = LoanEvent(
        "L-9", LoanEventKind.CLOSED, TODAY, request_id=request_id, ending=Ending.CANCELLED
    )
    tell(house, cancelled)
    assert figures_in(house).open_balance == 0.0
    assert said(house, house.score(REF, **RICH))[0] == "APPROVED"


@pytest.mark.parametrize("approved", ["named", "not named", "elsewhere"])
def test_a_loan_that_a_clock_ahead_dates_tomorrow_is_owed_today_too(
    house: House, approved: str
) -> None:
    request_id = None if approved == "elsewhere" else house.score(REF, **RICH)
    tell(house, lent(day=TODAY + 1, request_id=request_id if approved == "named" else None))
    for _ in range(2):
        found = figures_in(house)
        assert (found.open_loans, found.days_since_last_loan) == (1, 0)
        assert found.open_balance == pytest.approx(22_000.0)
        assert said(house, house.score(REF, **RICH))[0] == "DECLINED"
        house.clock.now_us += DAY_US - (house.clock.now_us - NOON_US)


def test_a_loan_that_names_no_score_and_its_outcome_are_one_loan(house: House) -> None:
    first = house.score(REF, **RICH)
    tell(house, lent(), paid(2_000.0))
    outcomes = Outcomes(OutcomeStore(house.database, house.log, house.vault), house.clock)
    house.clock.now_us += 21 * DAY_US
    outcomes.record(DEMO, [News(first, State.DEFAULTED, TODAY + 20, 20_000.0)], SentNews())
    assert figures_in(house).open_loans == 1
    assert figures_in(house).open_balance == pytest.approx(20_000.0)
    news = News(first, State.REPAID, TODAY + 21, 20_000.0, 22_000.0)
    outcomes.record(DEMO, [news], SentNews())
    found = figures_in(house)
    assert (found.open_loans, found.loans_repaid, found.largest_repaid) == (0, 1, 20_000.0)
    # A loan of another month is another loan, whatever names it.
    later = LoanEvent("L-2", LoanEventKind.DISBURSED, TODAY + 20, 5_000.0)
    tell(house, later)
    assert figures_in(house).open_loans == 1


def test_the_id_of_a_payment_is_its_own_within_its_loan_alone(house: House) -> None:
    second = [one._replace(loan="L-2") for one in (lent(), paid(1_000.0, name="P-1"))]
    unnamed, named = paid(500.0), paid(700.0, name=f"{TODAY} 500.0")
    told = [lent(), paid(1_000.0, name="P-1"), *second, unnamed, named]
    assert set(tell(house, *told)) == {Answer.RECORDED}
    assert set(tell(house, *told)) == {Answer.UNCHANGED}
    assert figures_in(house).open_balance == pytest.approx(44_000.0 - 3_200.0)


def test_a_reference_of_one_letter_is_a_reference(house: House) -> None:
    house.score("x", **RICH)
    tell(house, lent(), reference=" x ".strip())
    assert said(house, house.score("x", **RICH))[0] == "DECLINED"
    assert figures_in(house, "X").applications_1d == 0
    house.applicants.erase(DEMO, "x")
    assert figures_in(house, "x").open_loans == 0


def test_outcomes_are_remembered_as_loans(house: House) -> None:
    request_id = house.score(REF, **RICH)
    house.clock.now_us += 20 * DAY_US
    store = OutcomeStore(house.database, house.log, house.vault)
    outcomes = Outcomes(store, house.clock)
    news = News(request_id, State.REPAID, day_of(house.clock()), 18_000.0, 19_000.0)
    outcomes.record(DEMO, [news], SentNews())
    found = figures_in(house)
    assert (found.loans_repaid, found.largest_repaid, found.open_loans) == (1, 18_000.0, 0)
    late = News(house.score("cust-2", **RICH), State.DEFAULTED, TODAY + 90)
    house.clock.now_us += 100 * DAY_US
    outcomes.record(DEMO, [late], SentNews())
    assert figures_in(house, "cust-2").days_past_due > 0


def test_what_an_officer_decides_is_remembered(house: House) -> None:
    request_id = house.score(REF, **RICH)
    no = Judgement("DECLINED", ReviewReason.OTHER, "A. Wanjiru")
    house.reviews.review(DEMO, request_id, no)
    assert figures_in(house).open_balance == 0.0


# ------------------------------------------------------------------------------ bit for bit


def test_what_was_read_is_frozen_and_replays_whatever_happens_later(house: House) -> None:
    chance = random.Random(7)  # noqa: S311  as above
    given = []
    for number in range(12):
        given.append(house.score(REF, requested_amount=chance.choice((3_000, 8_000, 20_000))))
        event = chance.choice((lent(corrects=True), paid(1_000.0, name=str(number)), closed()))
        tell(house, event)
        house.clock.now_us += chance.choice((1, 9, 40)) * 3_600_000_000
    before = [house.scores.find(DEMO, one).row.sealed for one in given]
    assert [house.replayed(one) for one in given] == [()] * 12
    assert [house.scores.find(DEMO, one).row.sealed for one in given] == before


# -------------------------------------------------------------------------------- forgetting


def rows_of(database: Database) -> Counter[str]:
    with database.reading() as connection:
        return Counter(connection.execute(select(schema.borrowers.c.applicant_key_id)).scalars())


def everything_in(database: Database) -> bytes:
    """What a dump of the database would hold."""
    values: list[object] = []
    with database.reading() as connection:
        for table in METADATA.sorted_tables:
            values += [value for row in connection.execute(select(table)) for value in row]
    return b"\0".join(v if isinstance(v, bytes) else str(v).encode() for v in values)


def test_erasure_leaves_nothing_and_nobody_brings_it_back(
    database: Database, elsewhere: Database, clock: HandClock
) -> None:
    house, other = House(database, clock), House(elsewhere, clock)
    key = Key("key_1", DEMO.lender, DEMO.mode, b"", "abcd", USUAL_SCOPES, NOON_US)
    caller = Caller(key, DEMO, the_active_model(), other.vault.ring("demo"))
    body = json.dumps(APPLICATION | {"applicant_ref": REF}).encode()

    async def story() -> None:
        ledger = GroupCommit(other.scores, lambda _: None)
        scoring = Scoring(ledger, other.vault, other.scores.find)
        ledger.start()
        for erases in (False, True, False):
            arrival = Arrival(a_request_id(), NOON_US, time.perf_counter())
            await scoring.score(caller, arrival, body, identity, None)
            assert caller.subject(REF) in everything_in(database)
            if erases:
                await asyncio.to_thread(house.applicants.erase, DEMO, REF)
                assert rows_of(database) == {}
                assert caller.subject(REF) not in everything_in(database)
        await ledger.close()

    asyncio.run(story())
    assert figures_in(house).applications_1d == 1


def test_who_was_erased_or_stays_away_is_forgotten_by_the_process_too(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring_module, "IDLE_S", 0.01)
    key = Key("key_1", DEMO.lender, DEMO.mode, b"", "abcd", USUAL_SCOPES, NOON_US)
    caller = Caller(key, DEMO, the_active_model(), house.vault.ring("demo"))
    body = json.dumps(APPLICATION | {"applicant_ref": REF}).encode()
    kept: list[int] = []
    decided: list[str] = []

    def noted(given: Given) -> bytes:
        decided.append(given.request_id)
        return identity(given)

    async def story() -> None:
        ledger = GroupCommit(house.scores, lambda commit: kept.append(commit.entries))
        scoring = Scoring(ledger, house.vault, house.scores.find)
        ledger.start()

        async def commits() -> int:
            del kept[:]
            arrival = Arrival(a_request_id(), NOON_US, time.perf_counter())
            await scoring.score(caller, arrival, body, noted, None)
            await asyncio.sleep(0)
            return len(kept)

        assert [await commits(), await commits()] == [2, 1]  # asked for, then kept
        await scoring.forget((DEMO, caller.subject(REF)))
        assert [await commits(), await commits()] == [2, 1]
        forgetting = asyncio.create_task(scoring.forget_the_idle())
        await asyncio.sleep(0.2)
        forgetting.cancel()
        assert [await commits(), await commits()] == [2, 1]
        await ledger.close()

    asyncio.run(story())
    assert len(decided) == len(set(decided)) == 6  # nobody twice, though forgotten


def test_an_export_shows_what_is_remembered(house: House) -> None:
    house.score(REF, **RICH)
    tell(house, lent(), paid(2_000.0))
    memory = house.applicants.export(DEMO, REF).memory
    assert memory is not None
    assert memory.figures["applications_1d"] == 1
    assert [loan.name for loan in memory.loans] == ["L-1"]
    assert memory.loans[0].payments[0].amount == 2_000.0
    assert house.applicants.export(DEMO, REF).scores[0].assessment["memory"]["open_loans"] == 0


def test_retention_deletes_a_borrower_of_whom_nothing_was_told_since(house: House) -> None:
    tell(house, lent(day=TODAY - 9))
    house.score("cust-2")
    assert len(rows_of(house.database)) == 2
    house.clock.now_us += 400 * DAY_US
    tell(house, paid(1.0, TODAY), reference="cust-3")
    plan = house.retention.plan(DEMO, 300)
    assert (plan.scores, plan.borrowers) == (1, 1)
    assert list(house.retention.carry_out(plan)) == [1]
    assert figures_in(house, "cust-3").open_loans == 0
    assert len(rows_of(house.database)) == 1


def test_a_new_key_of_an_applicant_opens_what_is_remembered(house: House) -> None:
    house.score(REF)
    before = known_in(house)
    store = RotationStore(house.database, house.log, house.vault)
    Rotation(store, house.vault, house.clock).applicant(DEMO, REF, None)
    assert known_in(house) == before
    house.score(REF)
    assert figures_in(house).applications_1d == 2


def test_books_do_not_see_each_others_borrowers(house: House) -> None:
    house.score(REF)
    subject = house.vault.ring("demo").subject("test", REF)
    assert Memory(house.database, house.vault).of(LIVE, subject) == NOBODY


def test_the_audit_says_how_many_events_were_told_and_of_whom_nothing(house: House) -> None:
    tell(house, lent(), lent())
    [act] = house.acts("loans_recorded")
    assert act.details == {"recorded": 1, "unchanged": 1}
    assert REF not in repr(act)
    tell(house, lent())
    assert len(house.acts("loans_recorded")) == 1
