"""What every database keeps of time, and what its audit tells of clocks that were wrong."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import text

from alama.lenders import keys
from alama.platform.acts import ActKind, heads_noted
from alama.platform.clock import TOLERANCE_US, AnchoredClock, Leap, Seen
from alama.platform.clock_store import SqlSeen
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.protection.audit.records import Trouble
from alama.protection.audit.store import Trail
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.entries import DEMO, NOON_US
from tests.protected import DAY_US, House

SECOND_US = 1_000_000
YEARS_US = 8 * 365 * DAY_US
PEPPER = b"p" * 32


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def house(database: Database, clock: HandClock) -> House:
    return House(database, clock)


def act(house: House) -> None:
    """Do something that is written down."""
    with house.database.writing() as connection:
        house.log.append(connection, heads_noted([]))


def times(house: House) -> list[int]:
    return [link.created_us for link in Trail(house.database).links("main", 0, 1_000)]


def found(house: House) -> list[str]:
    findings = verdict_on(house.database).findings
    assert {finding.trouble for finding in findings} <= {Trouble.TIME}
    return [finding.where for finding in findings]


def accept(house: House, clock: HandClock, at_us: int) -> None:
    before_us, clock.now_us = clock.now_us, at_us
    SqlSeen(house.database).accept(house.log, before_us, at_us, "asha")


# ----------------------------------------------------------------------------- what is kept of it


def test_the_last_time_seen_is_kept_by_whoever_is_first(database: Database) -> None:
    stored, first = SqlSeen(database), Seen(NOON_US)
    assert stored.seen() is None
    stored.keep(None, first)
    stored.keep(None, Seen(NOON_US + 1))
    assert stored.seen() == first
    stored.keep(first, Seen(NOON_US + 2))
    stored.keep(first, Seen(NOON_US + 3))
    assert stored.seen() == Seen(NOON_US + 2)


def test_what_a_person_accepts_replaces_it_and_is_an_act(house: House, clock: HandClock) -> None:
    stored = SqlSeen(house.database)
    stored.keep(None, Seen(NOON_US + YEARS_US))
    clock.now_us = NOON_US + YEARS_US
    accept(house, clock, NOON_US)
    assert stored.seen() == Seen(NOON_US, accepted=1)
    stored.keep(Seen(NOON_US + YEARS_US), Seen(NOON_US + YEARS_US + 1))  # by who does not know yet
    assert stored.seen() == Seen(NOON_US, accepted=1)
    (told,) = house.acts(ActKind.CLOCK_ACCEPTED)
    assert (told.by, told.details) == ("asha", {"set_back_s": YEARS_US // SECOND_US})


def test_what_cannot_be_read_of_it_is_told(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("INSERT INTO facts (name, value) VALUES ('clock', 'noon')"))
    with pytest.raises(StoreUnfit, match="`clock` of this database is damaged"):
        SqlSeen(database).seen()


def test_the_newest_act_is_the_last_by_its_number(house: House, clock: HandClock) -> None:
    for at_us in (NOON_US + YEARS_US, NOON_US + DAY_US):
        clock.now_us = at_us
        act(house)
    assert SqlSeen(house.database).signed_us() == NOON_US + DAY_US


def test_a_leap_that_stands_is_kept_with_it(database: Database) -> None:
    stored, leapt = SqlSeen(database), Seen(NOON_US, 0, 4 * DAY_US)
    stored.keep(None, leapt)
    assert stored.seen() == leapt
    stored.keep(leapt, Seen(NOON_US + 1))
    assert stored.seen() == Seen(NOON_US + 1)


def test_without_the_fact_the_time_is_held_against_the_latest_of_all_that_was_done(
    house: House, clock: HandClock
) -> None:
    stored = SqlSeen(house.database)
    house.score()
    clock.now_us += 60 * DAY_US
    house.score()  # in a chain of its own, two months after the newest act
    assert stored.latest_us(clock() + 1) == clock()
    _, key = keys.issue(house.registry, HandClock(), PEPPER, DEMO)
    house.registry.note_key_use({key.id: clock() + SECOND_US})
    assert stored.latest_us(clock() + DAY_US) == clock() + SECOND_US


def test_what_was_done_later_than_now_counts_only_by_the_newest_act(
    house: House, clock: HandClock
) -> None:
    stored = SqlSeen(house.database)
    house.score()
    clock.now_us += YEARS_US
    house.score()  # by a clock that was wrong
    assert stored.latest_us(NOON_US + DAY_US) == NOON_US
    assert stored.latest_us(NOON_US - DAY_US) == NOON_US


def test_an_upgrade_of_a_service_that_only_scored_finds_no_leap(
    house: House, clock: HandClock
) -> None:
    house.score()  # which begins a chain, and that is an act
    _, key = keys.issue(house.registry, clock, PEPPER, DEMO, days=30)
    clock.now_us += 60 * DAY_US
    house.score()
    source = HandClock(clock() + SECOND_US)
    started = AnchoredClock(source, HandClock(0), SqlSeen(house.database))
    assert (started.leap, started.trusted()) == (None, source())
    assert key.expired(started.trusted())


def test_a_server_tells_the_time(database: Database) -> None:
    if not database.embedded:
        before_us = time.time_ns() // 1_000
        assert before_us - SECOND_US < SqlSeen(database).server_us() < before_us + 60 * SECOND_US


@pytest.mark.parametrize("off_us", [4 * DAY_US, -4 * DAY_US, YEARS_US, -YEARS_US])
def test_a_process_that_starts_by_another_time_trusts_what_was_seen(
    database: Database, off_us: int
) -> None:
    stored, source = SqlSeen(database), HandClock()
    AnchoredClock(source, HandClock(0), stored)
    source.now_us += off_us
    clock = AnchoredClock(source, HandClock(0), stored)
    assert (clock.leap, clock.trusted()) == (Leap(off_us), NOON_US)
    assert clock() == max(NOON_US, NOON_US + off_us)


# --------------------------------------------------------------------------- what the audit tells


def test_no_act_is_older_than_the_one_before_it_while_clocks_are_about_right(
    house: House, clock: HandClock
) -> None:
    for off_us in (TOLERANCE_US, 0, 1):
        clock.now_us = NOON_US + off_us
        act(house)
    assert times(house) == sorted(times(house))
    assert found(house) == []


def test_acts_that_go_back_in_time_are_told(house: House, clock: HandClock) -> None:
    for at_us in (NOON_US + YEARS_US, NOON_US + 1, NOON_US + YEARS_US, NOON_US + 2):
        clock.now_us = at_us
        act(house)
    assert len(found(house)) == 2
    assert times(house)[-1] == NOON_US + 2


def test_scores_that_go_back_in_time_are_told(house: House, clock: HandClock) -> None:
    house.score()
    clock.now_us += TOLERANCE_US
    house.score()
    clock.now_us -= TOLERANCE_US
    house.score()
    assert found(house) == []
    clock.now_us -= TOLERANCE_US + 1
    house.score()
    assert found(house) == [f"entry 4 of {house.chain.head.writer}"]


def test_what_a_person_has_accepted_is_explained(house: House, clock: HandClock) -> None:
    clock.now_us += YEARS_US
    act(house)
    house.score()
    accept(house, clock, NOON_US + DAY_US)
    house.score()
    act(house)
    assert found(house) == []
    clock.now_us += DAY_US
    act(house)
    clock.now_us -= DAY_US
    act(house)
    assert len(found(house)) == 1


def test_an_acceptance_explains_no_step_back_that_comes_after_it(
    house: House, clock: HandClock
) -> None:
    house.score()
    accept(house, clock, NOON_US + YEARS_US)  # by mistake
    house.score()
    accept(house, clock, NOON_US + DAY_US)
    house.score()
    assert found(house) == []
    clock.now_us += 2 * DAY_US
    house.score()
    clock.now_us -= DAY_US
    house.score()
    assert found(house) == [f"entry 5 of {house.chain.head.writer}"]
    accept(house, clock, clock())
    assert found(house) == []


# --------------------------------------------------------------------------- what expires meanwhile


def test_a_key_that_is_replaced_without_an_overlap_ends_at_once_in_a_leap(
    house: House, clock: HandClock
) -> None:
    _, old = keys.issue(house.registry, clock, PEPPER, DEMO)
    clock.now_us += YEARS_US
    clock.leap = Leap(YEARS_US)
    keys.rotate(house.registry, clock, PEPPER, old.id, keys.Successor(0))
    assert house.registry.key(old.id).expired(clock.trusted())


def test_scores_are_due_by_the_time_that_is_trusted(house: House, clock: HandClock) -> None:
    house.score()
    clock.now_us += YEARS_US
    clock.leap = Leap(YEARS_US)
    assert house.retention.plan(DEMO, 30).scores == 0
    clock.leap = None
    assert house.retention.plan(DEMO, 30).scores == 1
