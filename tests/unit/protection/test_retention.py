"""Scores whose time is over go by themselves, while the service runs."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from alama.app import upkeep
from alama.app.upkeep import Keepers, Upkeep
from alama.core.lending.draft import draft, draft_text
from alama.lenders.records import Signed
from alama.monitoring.drift import Drift, DriftStore
from alama.onboarding.histories import Histories
from alama.platform.acts import ActKind
from alama.platform.book import Book
from alama.platform.clock import Leap
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import StoreUnavailable
from alama.platform.files.packaged import jurisdiction
from alama.policies.policies import activate
from alama.protection import retention as retaining
from alama.protection import retention as retentions
from alama.protection.audit.chain_checkpoint import ChainCheckpoint
from alama.protection.retention import Plan, Retention
from alama.scoring.directory import Directory
from alama.scoring.telemetry import ServiceWatch
from tests.clocks import HandClock
from tests.databases import sqlite_url
from tests.entries import DEMO, NOON_US
from tests.protected import DAY_US, House, the_active_model

TEN_YEARS_US = 3_653 * DAY_US


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def house(tmp_path: Path, clock: HandClock) -> Iterator[House]:
    """An installation whose lender lends by the law of Kenya in test mode."""
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    house = House(database, clock)
    place = jurisdiction("KE")
    text = draft_text(draft("KES", place, "ours"), place).encode()
    activate(house.registry, DEMO, text, Signed(NOON_US), lambda: the_active_model().model.model)
    yield house
    database.close()


class Failing(Retention):
    """Fails where it is told to."""

    failure: Exception

    def carry_out(self, plan: Plan, by: str | None = None) -> Iterator[int]:
        yield next(super().carry_out(plan, by))
        raise self.failure


class Told(ServiceWatch):
    """Remembers what failed, what went, and what waits."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.gone: list[tuple[Book, int]] = []
        self.waiting: dict[Book, int] = {}

    def chore_failed(self, chore: str, _: Exception) -> None:
        self.failures.append(chore)

    def retained(self, book: Book, scores: int) -> None:
        self.gone.append((book, scores))

    def retention_waits(self, waiting: Mapping[Book, int]) -> None:
        self.waiting = dict(waiting)


def chores(house: House, retention: Retention, told: Told) -> Upkeep:
    model = the_active_model().model.model
    directory = Directory(
        house.registry,
        house.scores,
        house.clock,
        house.clock,
        b"p" * 32,
        lambda: model,
        house.vault,
    )
    checkpoint = ChainCheckpoint(house.database, house.log, house.chain, house.clock)
    histories = Histories(house.database, house.log, house.vault)
    drift = Drift(DriftStore(house.database, house.log, house.clock), house.registry)
    return Upkeep(
        directory,
        house.registry,
        Keepers(house.scores, retention, histories, drift, checkpoint),
        house.clock,
        told,
    )


def test_what_is_due_goes_in_batches_once_a_day(
    house: House, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retentions, "DELETED_AT_ONCE", 2)
    monkeypatch.setattr(upkeep, "FORGET_PAUSE_S", 0.0)
    for number in range(5):
        house.score(f"A-{number}")
    clock.now_us += TEN_YEARS_US
    young = house.score("A-1")
    told = Told()
    work = chores(house, house.retention, told)
    asyncio.run(work.retain())
    asyncio.run(work.retain())
    assert [row.request_id for row in house.scores.page(DEMO, None, 10)] == [young]
    assert house.replayed(young) == ()
    assert [act.details["scores"] for act in house.acts(ActKind.RETENTION_RUN)] == [2, 2, 1]
    assert (told.failures, told.gone, told.waiting) == ([], [(DEMO, 5)], {})


def test_more_than_goes_on_any_day_waits_for_a_person(
    house: House, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FORGET_PAUSE_S", 0.0)
    monkeypatch.setattr(retaining, "USUAL_MAX", 2)
    for number in range(3):
        house.score(f"A-{number}")
    clock.now_us += TEN_YEARS_US
    told = Told()
    work = chores(house, house.retention, told)
    asyncio.run(work.retain())
    assert (told.gone, told.waiting) == ([], {DEMO: 3})
    assert len(house.scores.page(DEMO, None, 10)) == 3
    (plan,) = house.retention.due()
    assert sum(house.retention.carry_out(plan, "a person")) == 3
    asyncio.run(work.retain())
    assert (told.gone, told.waiting) == ([], {})


def test_a_twentieth_of_a_large_book_goes_by_itself(
    house: House, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retaining, "USUAL_MAX", 0)
    house.score("A-1")
    clock.now_us += TEN_YEARS_US
    for number in range(18):
        house.score(f"A-{number}")
    (plan,) = house.retention.due()
    assert not house.retention.is_usual(plan)
    house.score("one more")
    assert house.retention.is_usual(plan)


@pytest.mark.parametrize("days", [4, -4, 8 * 365, -8 * 365])
def test_nothing_is_let_go_of_while_a_leap_stands(
    house: House, clock: HandClock, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    monkeypatch.setattr(upkeep, "FORGET_PAUSE_S", 0.0)
    first = house.ask("A-1", "order-1")
    clock.now_us += days * DAY_US
    clock.leap = Leap(days * DAY_US)
    told = Told()
    work = chores(house, house.retention, told)
    for chore in (work.retain, work.forget, work.fold_counts, work.sweep):
        asyncio.run(chore())
    assert house.replayed(first.reply.decode()) == ()
    assert house.ask("A-1", "order-1") == first._replace(replayed=True)
    assert (told.failures, told.gone, told.waiting) == ([], [], {})


def test_what_the_journal_still_holds_is_taken_out_the_next_time(
    house: House, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FORGET_PAUSE_S", 0.0)
    house.score("A-1")
    clock.now_us += TEN_YEARS_US
    answers, asked = iter([False, True]), list[bool]()

    def finish() -> bool:
        asked.append(next(answers))
        return asked[-1]

    monkeypatch.setattr(house.retention, "finish", finish)
    work = chores(house, house.retention, Told())
    for _ in range(3):
        asyncio.run(work.retain())
    assert asked == [False, True]


def test_the_counts_of_finished_days_are_put_together(
    house: House, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FORGET_PAUSE_S", 0.0)
    house.score("A-1")
    day = NOON_US // DAY_US
    work = chores(house, house.retention, Told())
    for days_later, is_kept in ((1, True), (1, False)):
        clock.now_us += days_later * DAY_US
        asyncio.run(work.fold_counts())
        (tally,) = house.scores.tally(DEMO, day, day).values()
        assert tally.count == 1
        assert any(card.bands for card in tally.cards.values()) == is_kept


@pytest.mark.parametrize(
    ("failure", "chore"),
    [(StoreUnavailable("away"), []), (ZeroDivisionError("a defect"), ["retain"])],
    ids=["away", "defect"],
)
def test_a_run_that_fails_is_told_and_done_the_next_time(
    house: House,
    clock: HandClock,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    chore: list[str],
) -> None:
    monkeypatch.setattr(retentions, "DELETED_AT_ONCE", 2)
    monkeypatch.setattr(upkeep, "FORGET_PAUSE_S", 0.0)
    for number in range(3):
        house.score(f"A-{number}")
    clock.now_us += TEN_YEARS_US
    failing = Failing(house.registry, house.retention._store, clock, jurisdiction)
    failing.failure = failure
    told = Told()
    asyncio.run(chores(house, failing, told).retain())
    assert told.failures == chore
    assert told.gone == [(DEMO, 2)]
    assert len(house.scores.page(DEMO, None, 10)) == 1
    asyncio.run(chores(house, house.retention, told).retain())
    assert house.scores.page(DEMO, None, 10) == []
