"""A key gets its rate and its burst: exactly these, whatever the numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.lenders.limits import RateLimit
from alama.platform.errors import TooManyRequests
from tests.entries import NOON_US

SECOND_US = 1_000_000

rates = st.integers(1, 1_000_000)
bursts = st.integers(1, 50)
gaps_us = st.lists(st.integers(0, 3 * SECOND_US) | st.integers(0, 100), max_size=80)


def taken(limit: RateLimit, key: str, at_us: int) -> bool:
    try:
        limit.take(key, at_us)
    except TooManyRequests:
        return False
    return True


@given(rates, bursts)
def test_a_whole_burst_is_let_through_and_then_no_more(per_second: int, burst: int) -> None:
    limit = RateLimit(per_second, burst)
    left = [limit.take("key", NOON_US).remaining for _ in range(burst)]
    assert left == list(range(burst - 1, -1, -1))
    with pytest.raises(TooManyRequests):
        limit.take("key", NOON_US)


@given(rates, bursts, gaps_us)
def test_no_stretch_of_time_sees_more_than_its_rate_and_one_burst(
    per_second: int, burst: int, gaps: list[int]
) -> None:
    limit = RateLimit(per_second, burst)
    now_us = NOON_US
    let_through = []
    for gap in gaps:
        now_us += gap
        if taken(limit, "key", now_us):
            let_through.append(now_us)
    for first, start_us in enumerate(let_through):
        for count, end_us in enumerate(let_through[first:], start=1):
            assert count * SECOND_US <= burst * SECOND_US + (end_us - start_us) * per_second


@given(rates, bursts)
def test_who_waits_as_long_as_told_is_let_through(per_second: int, burst: int) -> None:
    limit = RateLimit(per_second, burst)
    for _ in range(burst):
        limit.take("key", NOON_US)
    with pytest.raises(TooManyRequests) as refused:
        limit.take("key", NOON_US)
    wait_s = refused.value.retry_after_s
    assert wait_s == 1
    assert taken(limit, "key", NOON_US + wait_s * SECOND_US)


@given(st.integers(1, 100), bursts)
def test_a_refused_request_costs_nothing(per_second: int, burst: int) -> None:
    patient, eager = RateLimit(per_second, burst), RateLimit(per_second, burst)
    for _ in range(burst):
        patient.take("key", NOON_US)
        eager.take("key", NOON_US)
    for number in range(20):
        assert not taken(eager, "key", NOON_US + number)
    later_us = NOON_US + SECOND_US
    assert patient.take("key", later_us) == eager.take("key", later_us)


@given(rates, bursts)
def test_the_whole_burst_is_back_when_it_was_said_to_be(per_second: int, burst: int) -> None:
    limit = RateLimit(per_second, burst)
    standing = [limit.take("key", NOON_US) for _ in range(burst)][-1]
    later_us = NOON_US + standing.full_in_s * SECOND_US
    assert limit.take("key", later_us).remaining == burst - 1


def test_keys_do_not_share() -> None:
    limit = RateLimit(1, 1)
    assert taken(limit, "one", NOON_US)
    assert taken(limit, "other", NOON_US)
    assert not taken(limit, "one", NOON_US)


def test_a_clock_that_steps_back_locks_nobody_out_for_longer_than_the_step() -> None:
    limit = RateLimit(1, 2)
    limit.take("key", NOON_US)
    limit.take("key", NOON_US)
    with pytest.raises(TooManyRequests) as refused:
        limit.take("key", NOON_US - 5 * SECOND_US)
    assert refused.value.retry_after_s == 6
