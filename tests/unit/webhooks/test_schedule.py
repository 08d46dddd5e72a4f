"""What follows from an attempt: by rule and by property."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.webhooks import schedule
from alama.webhooks.records import DisabledReason, SendError, Verdict
from alama.webhooks.schedule import OURS, Tried, retry_after_s, verdict, wait_us

NOW_US = 1_763_200_000_000_000
SECOND_US = 1_000_000
DAY_S = 86_400

chances = st.floats(0, 1)
numbers = st.integers(1, schedule.ATTEMPTS_MAX - 1)
failures = st.one_of(st.none(), st.integers(100, 599).filter(lambda s: not 200 <= s < 300))


def failed(status: int | None = 500, attempts: int = 1, asked_s: int | None = None) -> Tried:
    return Tried(attempts, status, asked_s, failing_since_us=None)


def test_the_waits_are_those_that_are_promised() -> None:
    minutes = [60 * wait for wait in (1, 5, 30)]
    hours = [3_600 * wait for wait in (2, 5, 10, 14, 20, 24)]
    assert list(schedule.WAITS_S) == [5, *minutes, *hours]
    assert all(earlier < later for earlier, later in pairwise(schedule.WAITS_S))


@given(numbers, chances)
def test_a_wait_differs_from_its_rule_by_a_tenth_at_most(attempts: int, chance: float) -> None:
    rule_us = schedule.WAITS_S[attempts - 1] * SECOND_US
    waited = wait_us(attempts, 0, chance)
    assert waited is not None
    assert 0.9 * rule_us - 1 <= waited <= 1.1 * rule_us + 1


def test_chance_reaches_both_ends_and_the_middle() -> None:
    assert [wait_us(1, 0, chance) for chance in (0.0, 0.5, 1.0)] == [
        4_500_000,
        5_000_000,
        5_500_000,
    ]


@given(numbers, st.integers(0, 10**12), chances)
def test_asking_for_patience_makes_a_wait_later_and_never_sooner(
    attempts: int, asked_s: int, chance: float
) -> None:
    ours, theirs = wait_us(attempts, 0, chance), wait_us(attempts, asked_s, chance)
    assert ours is not None
    assert theirs is not None
    assert theirs >= ours
    assert theirs == max(ours, min(asked_s, DAY_S) * SECOND_US)


@given(st.integers(schedule.ATTEMPTS_MAX, 1_000), chances)
def test_after_the_last_attempt_it_is_given_up(attempts: int, chance: float) -> None:
    assert wait_us(attempts, 60, chance) is None
    assert verdict(failed(attempts=attempts), NOW_US, chance) == Verdict(delivered=False)


@given(st.integers(200, 299), st.integers(1, 20), chances)
def test_any_2xx_is_a_delivery(status: int, attempts: int, chance: float) -> None:
    tried = Tried(attempts, status, 60, failing_since_us=0)
    assert verdict(tried, NOW_US, chance) == Verdict(delivered=True)


@given(failures.filter(lambda status: status != 410), numbers, chances)
def test_everything_else_is_tried_again(status: int | None, attempts: int, chance: float) -> None:
    waited = wait_us(attempts, 0, chance)
    assert waited is not None
    assert verdict(failed(status, attempts), NOW_US, chance) == Verdict(
        delivered=False, next_us=NOW_US + waited
    )


@given(st.integers(1, 20), chances)
def test_a_receiver_that_is_gone_is_sent_nothing_more(attempts: int, chance: float) -> None:
    waited = wait_us(attempts, 0, chance)
    assert verdict(failed(410, attempts), NOW_US, chance) == Verdict(
        delivered=False,
        # The endpoint may be at another URL by now: the store decides.
        next_us=None if waited is None else NOW_US + waited,
        disable=DisabledReason.GONE,
    )


@pytest.mark.parametrize(
    ("status", "asked_s", "waited_s"),
    [(429, 600, 600), (503, 600, 600), (429, 1, 5), (503, 10**9, DAY_S), (500, 600, 5)],
)
def test_who_is_busy_says_until_when(status: int, asked_s: int, waited_s: int) -> None:
    judged = verdict(failed(status, asked_s=asked_s), NOW_US, chance=0.5)
    assert judged.next_us == NOW_US + waited_s * SECOND_US


@pytest.mark.parametrize(
    ("short_us", "reason"), [(0, DisabledReason.FAILING), (-1, DisabledReason.FAILING), (1, None)]
)
def test_an_endpoint_that_has_failed_for_five_days_is_disabled(
    short_us: int, reason: str | None
) -> None:
    since_us = NOW_US - 5 * DAY_S * SECOND_US + short_us
    judged = verdict(Tried(3, None, None, since_us), NOW_US, chance=0.5)
    assert judged.disable == reason
    assert judged.next_us == NOW_US + 300 * SECOND_US  # it may live on: the store decides


@given(st.sampled_from(sorted(OURS)), st.integers(1, 1_000), chances)
def test_a_fault_of_ours_is_tried_again_and_says_nothing_of_the_receiver(
    error: SendError, attempts: int, chance: float
) -> None:
    judged = verdict(Tried(attempts, None, None, 0, error), NOW_US, chance)
    waited = wait_us(min(attempts, schedule.ATTEMPTS_MAX - 1), 0, chance)
    assert waited is not None
    assert judged == Verdict(delivered=False, next_us=NOW_US + waited, ours=True)


@given(st.sampled_from(sorted(set(SendError) - OURS)), numbers, chances)
def test_every_other_error_counts_as_a_failure(
    error: SendError, attempts: int, chance: float
) -> None:
    silent = failed(None, attempts)
    assert verdict(silent._replace(error=error), NOW_US, chance) == verdict(silent, NOW_US, chance)


def test_a_delivery_after_five_days_disables_nothing() -> None:
    assert verdict(Tried(11, 200, None, 0), NOW_US, chance=0.5) == Verdict(delivered=True)


# -------------------------------------------------------------------------------------- Retry-After


def test_retry_after_is_read_in_both_forms(subtests: pytest.Subtests) -> None:
    for header, wait_s in [
        ("0", 0),
        (" 120 ", 120),
        ("007", 7),
        ("86401", DAY_S),
        ("9" * 40, DAY_S),
        ("9" * 41, None),
        ("-5", None),
        ("1.5", None),
        ("1e3", None),
        ("٣", None),
        ("", None),
        ("soon", None),
        ("Sat, 15 Nov 2025 09:47:40 GMT", 60),
        ("Saturday, 15-Nov-25 09:47:40 GMT", 60),
        ("Sat, 15 Nov 2025 09:47:40 -0000", 60),
        ("Sat, 15 Nov 2025 10:47:40 +0100", 60),
        ("Fri, 14 Nov 2025 09:47:40 GMT", 0),
        ("Sat, 15 Nov 9999 09:47:40 GMT", DAY_S),
        ("Sat, 45 Nov 2025 09:47:40 GMT", None),
        ("Sat, 15 Nov 2025 99:47:40 GMT", None),
    ]:
        with subtests.test(header=header, wait_s=wait_s):
            assert retry_after_s(header, NOW_US) == wait_s


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001 - below
def test_a_date_is_as_many_seconds_away_as_it_is(naive: datetime) -> None:
    moment = naive.replace(tzinfo=UTC, microsecond=0)
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=NOW_US)
    seconds = round((moment - now).total_seconds())
    assert retry_after_s(format_datetime(moment, usegmt=True), NOW_US) == min(
        max(seconds, 0), DAY_S
    )


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(
                ["Sat", "Nov", "GMT", "UT", "-", ":", ",", " ", "+9999", "15", "99", "0", "2025"]
            ),
            max_size=12,
        ).map("".join),
    )
)
def test_no_header_whatever_breaks_it(header: str) -> None:
    wait_s = retry_after_s(header, NOW_US)
    assert wait_s is None or 0 <= wait_s <= DAY_S
