"""Processes that share a rate exceed it by what they have not told each other, and by no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.lenders.limits import RateLimit
from alama.platform.errors import TooManyRequests
from tests.shared_rates import SharedRates

SECOND_US = 1_000_000
START_US = 1_000 * SECOND_US
KEY = "key"

rates = st.integers(1, 5_000)
bursts = st.integers(1, 40)
waits_us = st.integers(0, 2 * SECOND_US) | st.integers(0, 1_000)


class World:
    """Processes of one installation, and everything that any of them let through."""

    def __init__(self, processes: int, per_second: int, burst: int) -> None:
        self.now_us = START_US
        self.shared = SharedRates(lambda: self.now_us)
        self.limits = [RateLimit(per_second, burst) for _ in range(processes)]
        self.let_through: list[int] = []
        """By which process, in the order of time."""
        self.at_us: list[int] = []
        self.slowest_us = 0

    def wait(self, us: int) -> None:
        self.now_us += us

    def take(self, process: int) -> bool:
        try:
            self.limits[process].take(KEY, self.now_us)
        except TooManyRequests:
            return False
        self.let_through.append(process)
        self.at_us.append(self.now_us)
        return True

    def exchange(self, process: int, there_us: int = 0, back_us: int = 0) -> None:
        """Tell and hear; each way takes its time."""
        limit, asked_us = self.limits[process], self.now_us
        uses = limit.collect(asked_us)
        self.wait(there_us)
        owed_us = self.shared.exchange(uses)
        self.wait(back_us)
        for key_id, owed in owed_us.items():
            limit.settle(key_id, asked_us, owed)
        self.slowest_us = max(self.slowest_us, there_us)


steps = st.lists(
    st.tuples(st.just("take"), st.integers(0, 2), st.integers(1, 30))
    | st.tuples(st.just("exchange"), st.integers(0, 2), st.integers(0, 50_000))
    | st.tuples(st.just("wait"), st.just(0), waits_us),
    max_size=60,
)


@given(rates, bursts, steps)
def test_no_stretch_of_time_sees_more_than_the_rate_one_burst_and_what_was_not_told(
    per_second: int, burst: int, story: list[tuple[str, int, int]]
) -> None:
    """What a process does not know of is all by which it can exceed the rate."""
    world = World(3, per_second, burst)
    told: set[int] = set()  # of what was let through, by its number
    known: list[set[int]] = [set(), set(), set()]
    for kind, process, amount in story:
        if kind == "wait":
            world.wait(amount)
        elif kind == "exchange":
            own = {n for n, by in enumerate(world.let_through) if by == process}
            if own - told:  # who has nothing to tell asks nobody
                told |= own
                known[process] = set(told)
            world.exchange(process, there_us=amount)
        else:
            for _ in range(amount):
                if not world.take(process):
                    break
                known[process].add(len(world.let_through) - 1)
                _assert_within(world, known[process], per_second, burst)


def _assert_within(world: World, known: set[int], per_second: int, burst: int) -> None:
    """Of what the process knew of, no stretch up to now has more than the rate and a burst."""
    now_us = world.at_us[-1]
    for count, number in enumerate(sorted(known, reverse=True), start=1):
        spent_us = now_us - world.at_us[number] + world.slowest_us
        assert count * SECOND_US <= burst * SECOND_US + spent_us * per_second + per_second


@given(st.sampled_from([1, 2, 50, 1_000, 1_000_000]), bursts, steps)
def test_a_process_alone_lets_through_the_same_whether_it_tells_or_not(
    per_second: int, burst: int, story: list[tuple[str, int, int]]
) -> None:
    world = World(1, per_second, burst)
    alone = RateLimit(per_second, burst)
    for kind, _, amount in story:
        if kind == "wait":
            world.wait(amount)
        elif kind == "exchange":
            world.exchange(0)
        else:
            for _ in range(amount):
                before = len(world.let_through)
                world.take(0)
                assert _takes(alone, world.now_us) == (len(world.let_through) > before)


@given(rates, bursts, steps)
def test_no_process_keeps_a_key_waiting_for_longer_than_all_that_was_let_through_is_worth(
    per_second: int, burst: int, story: list[tuple[str, int, int]]
) -> None:
    world = World(3, per_second, burst)
    for kind, process, amount in story:
        if kind == "wait":
            world.wait(amount)
        elif kind == "exchange":
            world.exchange(process)
        else:
            for _ in range(amount):
                world.take(process)
    worth_us = -(-len(world.let_through) * SECOND_US // per_second)
    world.wait(worth_us + len(story))  # and a microsecond for what was rounded, each time
    for process in range(3):
        world.exchange(process)
    world.wait(1)
    for limit in world.limits:
        assert limit.take(KEY, world.now_us).remaining == burst - 1


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("per_second", [7, 50, 300])
def test_in_the_long_run_a_key_that_never_stops_gets_its_rate(
    processes: int, per_second: int
) -> None:
    """By processes that tell each other four times a second, each at a time of its own."""
    burst, every_us, asks_us, seconds = 2 * per_second, 250_000, 1_000, 30
    world = World(processes, per_second, burst)
    for step in range(seconds * SECOND_US // asks_us):
        for process in range(processes):
            world.take(process)
            if (step + process * 61) % (every_us // asks_us) == 0:
                world.exchange(process)
        world.wait(asks_us)
    total, fair = len(world.let_through), burst + per_second * seconds
    unknown = (processes - 1) * per_second * 2 * every_us // SECOND_US
    assert fair - unknown - processes <= total <= fair + unknown + processes


def _takes(limit: RateLimit, now_us: int) -> bool:
    try:
        limit.take(KEY, now_us)
    except TooManyRequests:
        return False
    return True
