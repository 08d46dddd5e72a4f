"""The clock of a process: what it follows, what it doubts, and what it takes a person for."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.platform import clock as clocks
from alama.platform.clock import (
    AHEAD_US_MAX,
    DRIFT,
    KEEP_EVERY_US,
    TOLERANCE_US,
    AnchoredClock,
    Leap,
    Seen,
    follow,
)
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnavailable
from tests.clocks import HandClock
from tests.entries import NOON_US

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
YEARS_US = 8 * 365 * DAY_US
JUMPS_US = [4 * DAY_US, -4 * DAY_US, YEARS_US, -YEARS_US]


class Kept:
    """What all processes of an installation have in common."""

    def __init__(self, seen: Seen | None = None, signed_us: int | None = None) -> None:
        self.row, self.newest_us = seen, signed_us
        self.failure: Exception | None = None

    def seen(self) -> Seen | None:
        return self.row

    def latest_us(self, source_us: int) -> int | None:  # noqa: ARG002  what it is asked for
        return self.newest_us

    def keep(self, before: Seen | None, seen: Seen) -> None:
        if self.failure is not None:
            raise self.failure
        if self.row == before:
            self.row = seen

    def accept(self, at_us: int) -> None:
        assert self.row is not None
        self.row = Seen(at_us, self.row.accepted + 1)


class Machine:
    """A source and a stopwatch that go together until the source is set."""

    def __init__(self, kept: Kept | None = None) -> None:
        self.source, self.stopwatch = HandClock(), HandClock(77)
        self.kept = kept or Kept()

    def start(self) -> AnchoredClock:
        return AnchoredClock(self.source, lambda: self.stopwatch() * 1_000, self.kept)

    def wait(self, elapsed_us: int) -> None:
        self.source.now_us += elapsed_us
        self.stopwatch.now_us += elapsed_us


@pytest.fixture
def machine() -> Machine:
    return Machine()


# --------------------------------------------------------------------------------- while it runs


def test_the_stopwatch_carries_the_time_on_between_two_looks(machine: Machine) -> None:
    clock = machine.start()
    machine.stopwatch.now_us += 5 * SECOND_US
    assert clock() == clock.trusted() == NOON_US + 5 * SECOND_US


@pytest.mark.parametrize("step_us", [90 * SECOND_US, -90 * SECOND_US])
def test_a_small_step_is_followed(machine: Machine, step_us: int) -> None:
    clock = machine.start()
    machine.source.now_us += step_us
    clock.look()
    assert clock() == clock.trusted() == NOON_US + step_us
    assert clock.leap is None


@pytest.mark.parametrize("jump_us", JUMPS_US)
def test_a_jump_is_told_and_not_followed(machine: Machine, jump_us: int) -> None:
    clock = machine.start()
    machine.wait(SECOND_US)
    machine.source.now_us += jump_us
    clock.look()
    assert clock.leap == Leap(jump_us)
    assert clock() == clock.trusted() == NOON_US + SECOND_US


@pytest.mark.parametrize("jump_us", JUMPS_US)
def test_it_goes_on_by_itself_when_the_source_agrees_again(machine: Machine, jump_us: int) -> None:
    clock = machine.start()
    for step_us in (jump_us, -jump_us):
        machine.source.now_us += step_us
        machine.wait(SECOND_US)
        clock.look()
    assert clock.leap is None
    assert clock() == clock.trusted() == NOON_US + 2 * SECOND_US


def test_small_steps_one_after_the_other_are_a_leap_in_all(machine: Machine) -> None:
    clock = machine.start()
    for _ in range(3):
        machine.source.now_us += 100 * SECOND_US
        machine.wait(5 * SECOND_US)
        clock.look()
    assert clock.leap is not None


def test_what_cannot_be_told_from_the_way_to_the_source_moves_nothing(machine: Machine) -> None:
    clock = machine.start()

    def slow() -> int:
        machine.stopwatch.now_us += 2 * SECOND_US
        return NOON_US

    clock._source = slow
    clock.look()
    assert clock() == NOON_US + 2 * SECOND_US


# ------------------------------------------------------------------------------------ at a start


@pytest.mark.parametrize("kept", [Kept(Seen(NOON_US)), Kept(signed_us=NOON_US)], ids=["row", "act"])
@pytest.mark.parametrize("off_us", [0, 3_600 * SECOND_US, AHEAD_US_MAX, -TOLERANCE_US])
def test_a_time_that_fits_what_was_seen_is_trusted(kept: Kept, off_us: int) -> None:
    machine = Machine(Kept(kept.row, kept.newest_us))
    machine.source.now_us += off_us
    clock = machine.start()
    assert clock() == clock.trusted() == NOON_US + off_us
    assert clock.leap is None


@pytest.mark.parametrize("kept", [Kept(Seen(NOON_US)), Kept(signed_us=NOON_US)], ids=["row", "act"])
def test_far_ahead_it_stamps_by_the_source_and_trusts_what_was_seen(kept: Kept) -> None:
    machine = Machine(Kept(kept.row, kept.newest_us))
    machine.source.now_us += 4 * DAY_US
    clock = machine.start()
    machine.wait(SECOND_US)
    assert clock.leap == Leap(4 * DAY_US)
    assert clock() == NOON_US + 4 * DAY_US + SECOND_US
    assert clock.trusted() == NOON_US + SECOND_US


@pytest.mark.parametrize("kept", [Kept(Seen(NOON_US)), Kept(signed_us=NOON_US)], ids=["row", "act"])
def test_behind_it_goes_on_from_what_was_seen(kept: Kept) -> None:
    machine = Machine(Kept(kept.row, kept.newest_us))
    machine.source.now_us -= 4 * DAY_US
    clock = machine.start()
    assert clock.leap == Leap(-4 * DAY_US)
    assert clock() == clock.trusted() == NOON_US


def test_another_start_does_not_make_a_leap_right(machine: Machine) -> None:
    clock = machine.start()
    machine.source.now_us += YEARS_US
    for _ in range(3):
        clock = machine.start()
        machine.wait(2 * KEEP_EVERY_US)
        clock.look()
    assert clock.leap is not None
    assert clock.trusted() == NOON_US + 6 * KEEP_EVERY_US


def test_when_the_source_is_set_right_after_a_start_far_ahead_it_is_followed(
    machine: Machine,
) -> None:
    machine.kept.row = Seen(NOON_US)
    machine.source.now_us += YEARS_US
    clock = machine.start()
    machine.source.now_us -= YEARS_US
    clock.look()
    assert clock.leap is None
    assert clock() == clock.trusted() == NOON_US


def test_a_store_that_cannot_be_written_hinders_no_start(machine: Machine) -> None:
    machine.kept.failure = StoreUnavailable("full")
    assert machine.start()() == NOON_US


def test_a_start_beside_a_running_process_writes_nothing(machine: Machine) -> None:
    machine.start()
    first = machine.kept.row
    machine.wait(KEEP_EVERY_US)
    clock = machine.start()
    assert machine.kept.row == first
    clock.look()
    assert machine.kept.row == Seen(NOON_US + KEEP_EVERY_US)


def test_only_who_follows_the_source_moves_the_last_time_seen(machine: Machine) -> None:
    machine.start()
    machine.wait(20 * HOUR_US)
    clock = machine.start()
    assert machine.kept.row == Seen(NOON_US)
    clock.look()
    assert machine.kept.row == Seen(NOON_US + 20 * HOUR_US)


# ------------------------------------------------------------------ a jump that a start would trust


@pytest.fixture(params=[300 * SECOND_US, 20 * HOUR_US, 4 * DAY_US])
def jump_us(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def leapt(machine: Machine, jump_us: int) -> AnchoredClock:
    """The clock of a service that was running when its source jumped."""
    clock = machine.start()
    machine.source.now_us += jump_us
    machine.wait(SECOND_US)
    clock.look()
    return clock


def test_a_command_goes_by_the_leap_that_a_running_process_has_met(
    machine: Machine, leapt: AnchoredClock, jump_us: int
) -> None:
    machine.wait(30 * SECOND_US)
    command = machine.start()
    assert command.leap == leapt.leap == Leap(jump_us)
    assert command() == command.trusted() == leapt() == NOON_US + 31 * SECOND_US


@pytest.mark.usefixtures("leapt")
def test_a_jump_with_a_command_in_it_leaves_nothing_behind(machine: Machine, jump_us: int) -> None:
    machine.start()
    machine.source.now_us -= jump_us
    machine.wait(SECOND_US)
    again = machine.start()
    assert again.leap is None
    assert again() == again.trusted() == NOON_US + 2 * SECOND_US


@pytest.mark.usefixtures("leapt")
def test_a_service_started_in_the_leap_of_another_takes_it_up(
    machine: Machine, jump_us: int
) -> None:
    second = machine.start()
    machine.wait(2 * KEEP_EVERY_US)
    second.look()
    assert second.leap == Leap(jump_us)
    assert second.trusted() == NOON_US + SECOND_US + 2 * KEEP_EVERY_US
    assert machine.kept.row == Seen(second.trusted(), leap_us=jump_us)


def test_a_process_that_trusts_takes_up_the_leap_that_another_notes(machine: Machine) -> None:
    first = machine.start()
    machine.source.now_us += 20 * HOUR_US
    second = machine.start()  # before the first has looked
    assert second.trusted() == NOON_US + 20 * HOUR_US
    first.look()
    second.look()
    assert second.leap == Leap(20 * HOUR_US)
    assert second() == second.trusted() == NOON_US


def test_the_leap_of_a_process_that_was_killed_does_not_stand_for_ever(
    machine: Machine, leapt: AnchoredClock, jump_us: int
) -> None:
    del leapt
    machine.source.now_us -= jump_us
    machine.wait(HOUR_US)
    clock = machine.start()
    assert (clock.leap, clock.trusted()) == (None, NOON_US + SECOND_US + HOUR_US)
    clock.look()
    assert machine.kept.row == Seen(clock.trusted())


def test_a_leap_that_is_over_is_taken_off_at_once(
    machine: Machine, leapt: AnchoredClock, jump_us: int
) -> None:
    assert machine.kept.row is not None
    assert machine.kept.row.leap_us == jump_us
    machine.source.now_us -= jump_us
    leapt.look()
    assert machine.kept.row == Seen(NOON_US + SECOND_US)


def test_a_start_far_ahead_is_no_leap_that_others_could_know_better(machine: Machine) -> None:
    """It may be that the service was off: then all stamp by the source."""
    machine.start()
    machine.source.now_us += 4 * DAY_US
    machine.start().look()
    assert machine.start()() == NOON_US + 4 * DAY_US


# -------------------------------------------------------------------------------------- a person


@pytest.mark.parametrize("jump_us", JUMPS_US)
def test_what_a_person_accepts_is_taken_up_by_who_runs(machine: Machine, jump_us: int) -> None:
    clock = machine.start()
    machine.source.now_us += jump_us
    clock.look()
    machine.kept.accept(NOON_US + jump_us)
    clock.look()
    assert clock.leap is None
    assert clock() == clock.trusted() == NOON_US + jump_us


def test_what_is_accepted_elsewhere_makes_no_other_source_right(machine: Machine) -> None:
    clock = machine.start()
    machine.source.now_us += YEARS_US
    clock.look()
    machine.kept.accept(NOON_US)
    clock.look()
    assert clock.leap == Leap(YEARS_US)
    assert clock.trusted() == NOON_US


def test_to_accept_gives_the_time_before_and_now(machine: Machine) -> None:
    clock = machine.start()
    machine.source.now_us -= DAY_US
    clock.look()
    assert clock.accept() == (NOON_US, NOON_US - DAY_US)
    assert clock.leap is None


# ----------------------------------------------------------------------------------- whatever is


@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.integers(-YEARS_US, YEARS_US), st.integers(-200 * SECOND_US, 200 * SECOND_US)
            ),
            st.integers(0, 3 * DAY_US),
        ),
        max_size=30,
    )
)
def test_whatever_the_source_does_time_goes_on_about_as_the_stopwatch_does(
    steps: list[tuple[int, int]],
) -> None:
    machine = Machine()
    clock = machine.start()
    elapsed_us = 0
    for set_by_us, waited_us in steps:
        before_us = clock()
        machine.source.now_us += set_by_us
        machine.wait(waited_us)
        elapsed_us += waited_us
        clock.look()
        days = 1 + elapsed_us // DAY_US
        most_us = days * (TOLERANCE_US + 3 * DAY_US // DRIFT) + elapsed_us // DRIFT
        assert abs(clock.trusted() - NOON_US - elapsed_us) <= most_us
        assert clock() >= before_us - 2 * (TOLERANCE_US + 4 * DAY_US // DRIFT)
        assert clock() == clock.trusted()


# ---------------------------------------------------------------------------------- what is told


class Told:
    """Remembers what it was told of a clock."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @property
    def clock(self) -> Told:
        return self

    def leapt(self, leap: Leap | None) -> None:
        self.lines.append("trusted" if leap is None else "leapt")

    def host_differs(self, ahead_us: int) -> None:
        self.lines.append(f"host {ahead_us // SECOND_US}")

    def chore_failed(self, chore: str, error: Exception) -> None:
        self.lines.append(f"{chore} {error}")


def test_a_leap_and_its_end_are_told_once_each(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "LOOK_EVERY_S", 0.0)
    clock, told = machine.start(), Told()
    told_when = [YEARS_US, 0, 0, -YEARS_US, 0]
    looks = iter(told_when)

    class Over(BaseException):
        pass

    def look() -> None:
        step_us = next(looks, None)
        if step_us is None:
            raise Over
        machine.source.now_us += step_us
        AnchoredClock.look(clock)

    monkeypatch.setattr(clock, "look", look)
    with pytest.raises(Over):
        asyncio.run(follow(clock, clock, told))
    assert told.lines == ["leapt", "trusted"]


def test_a_host_whose_clock_is_off_is_told_and_a_failure_ends_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "LOOK_EVERY_S", 0.0)
    clock, told, host = machine.start(), Told(), HandClock()
    failures = iter([None, StoreUnavailable("away"), ZeroDivisionError("a defect"), None])

    class Over(BaseException):
        pass

    def look() -> None:
        host.now_us += 4 * DAY_US if host.now_us == NOON_US else 0
        try:
            failure = next(failures)
        except StopIteration:
            raise Over from None
        if failure is not None:
            raise failure

    monkeypatch.setattr(clock, "look", look)
    with pytest.raises(Over):
        asyncio.run(follow(clock, host, told))
    assert told.lines == [f"host {4 * 86_400}", "look_at_clock a defect"]
