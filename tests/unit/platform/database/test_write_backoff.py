"""Whoever writes behind others leaves them most of the time."""

import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import func, select

from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.database import Database, WriteBackoff, connect
from alama.platform.database.sqlite import BUSY_TIMEOUT_S

TURN_S = 0.01
MARK = "polite"
OURS = select(func.count()).where(tables.facts.c.value == MARK)


class Clock:
    """A clock that goes on when somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(databases, "time", made)
    return made


def turns(backoff: WriteBackoff, clock: Clock, waits: Sequence[bool], each_s: float) -> float:
    """How long turns take with their pauses, of which some had to wait for somebody."""
    began_s = clock.now_s
    for waited in waits:
        with backoff.turn():
            if waited:
                backoff.note_wait()
            clock.now_s += each_s
    return clock.now_s - began_s


@pytest.fixture
def backoff() -> WriteBackoff:
    made = WriteBackoff()
    made.pause_turns = 9
    return made


def test_the_busier_others_are_the_less_of_the_time_is_taken_from_them(
    backoff: WriteBackoff, clock: Clock
) -> None:
    alone_s = turns(backoff, clock, [False] * 100, TURN_S)
    assert alone_s == pytest.approx(100 * TURN_S)
    sometimes_s = turns(backoff, clock, [True, False, False] * 33, TURN_S)
    assert 99 * TURN_S / sometimes_s == pytest.approx(0.25, rel=0.02)
    always_s = turns(backoff, clock, [True] * 100, TURN_S)
    assert 100 * TURN_S / always_s == pytest.approx(0.1, rel=0.02)


def test_without_it_nobody_waits(clock: Clock) -> None:
    assert turns(WriteBackoff(), clock, [True] * 100, TURN_S) == pytest.approx(100 * TURN_S)


def test_time_in_which_nobody_wanted_a_turn_is_part_of_the_pause(
    backoff: WriteBackoff, clock: Clock
) -> None:
    turns(backoff, clock, [True], TURN_S)
    clock.now_s += 1.0
    assert turns(backoff, clock, [True], TURN_S) == pytest.approx(TURN_S)


def test_no_pause_is_longer_than_a_second(backoff: WriteBackoff, clock: Clock) -> None:
    turns(backoff, clock, [True], 60.0)
    took_s = turns(backoff, clock, [True], TURN_S)
    assert took_s == pytest.approx(databases.PAUSE_S_MAX + TURN_S)


def test_a_turn_that_fails_is_followed_by_its_pause_too(
    backoff: WriteBackoff, clock: Clock
) -> None:
    with suppress(KeyError), backoff.turn():
        backoff.note_wait()
        clock.now_s += TURN_S
        raise KeyError
    assert turns(backoff, clock, [False], TURN_S) == pytest.approx(10 * TURN_S)


def test_two_that_share_a_database_take_turns(backoff: WriteBackoff) -> None:
    under_way, most = 0, 0

    def write() -> None:
        nonlocal under_way, most
        with backoff.turn():
            under_way += 1
            most = max(most, under_way)
            time.sleep(TURN_S)
            under_way -= 1

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_database_knows_whether_a_turn_had_to_wait_for_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"sqlite:///{tmp_path}/alama.db"
    with closing(connect(address)) as polite, closing(connect(address)) as other:
        migrate.upgrade(polite)
        polite.write_backoff.pause_turns = 1
        waits: list[str] = []
        monkeypatch.setattr(polite.write_backoff, "note_wait", lambda: waits.append("waited"))
        _write(polite, "alone")
        assert waits == []
        with other.writing():
            waiting = threading.Thread(target=_write, args=(polite, "beside another"))
            waiting.start()
            while not waits:
                time.sleep(0.001)
        waiting.join()
        assert waits == ["waited"]
        with polite.reading() as connection:
            assert connection.execute(OURS).scalar_one() == 2
            waits_ms = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
        assert waits_ms == BUSY_TIMEOUT_S * 1000


def _write(database: Database, name: str) -> None:
    with database.writing() as connection:
        connection.execute(tables.facts.insert(), {"name": name, "value": MARK})
