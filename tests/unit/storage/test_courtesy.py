"""Whoever writes behind others leaves them most of the time."""

import threading
import time
from contextlib import suppress

import pytest

from alama.storage import courtesy as courtesies
from alama.storage.courtesy import Courtesy

TURN_S = 0.01


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
    monkeypatch.setattr(courtesies, "time", made)
    return made


def turns(courtesy: Courtesy, clock: Clock, count: int, each_s: float) -> float:
    """How long so many turns take with their pauses."""
    began_s = clock.now_s
    for _ in range(count):
        with courtesy.turn():
            clock.now_s += each_s
    return clock.now_s - began_s


def test_the_courteous_take_no_more_than_their_share_of_the_time(clock: Clock) -> None:
    courtesy = Courtesy()
    courtesy.share = 0.1
    took_s = turns(courtesy, clock, 100, TURN_S)
    assert 100 * TURN_S / took_s == pytest.approx(0.1, rel=0.02)


def test_without_it_nobody_waits(clock: Clock) -> None:
    assert turns(Courtesy(), clock, 100, TURN_S) == pytest.approx(100 * TURN_S)


def test_time_in_which_nobody_wanted_a_turn_is_part_of_the_pause(clock: Clock) -> None:
    courtesy = Courtesy()
    courtesy.share = 0.1
    turns(courtesy, clock, 1, TURN_S)
    clock.now_s += 1.0
    assert turns(courtesy, clock, 1, TURN_S) == pytest.approx(TURN_S)


def test_no_pause_is_longer_than_a_second(clock: Clock) -> None:
    courtesy = Courtesy()
    courtesy.share = 0.1
    turns(courtesy, clock, 1, 60.0)
    assert turns(courtesy, clock, 1, TURN_S) == pytest.approx(courtesies.PAUSE_S_MAX + TURN_S)


def test_a_turn_that_fails_is_followed_by_its_pause_too(clock: Clock) -> None:
    courtesy = Courtesy()
    courtesy.share = 0.1
    with suppress(KeyError), courtesy.turn():
        clock.now_s += TURN_S
        raise KeyError
    assert turns(courtesy, clock, 1, TURN_S) == pytest.approx(10 * TURN_S)


def test_two_that_share_a_database_take_turns() -> None:
    courtesy = Courtesy()
    courtesy.share = 0.5
    under_way, most = 0, 0

    def write() -> None:
        nonlocal under_way, most
        with courtesy.turn():
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
