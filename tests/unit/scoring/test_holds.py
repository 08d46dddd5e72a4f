"""When everything is left to a person: by a pause, and by what a day has approved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.lending.circumstances import Segment
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Per, Policy, Rule
from alama.core.lending.policy_check import UTC_OFFSETS
from alama.lenders.keys import US_PER_DAY
from alama.lenders.records import Pause
from alama.lenders.store import Registry
from alama.platform.book import Book, Mode
from alama.scoring.holds import HOUR_US, Approved, Day, SoFar, first_hour
from alama.scoring.store import Scores
from tests.entries import DEMO, NOON_US, an_entry
from tests.policies import with_parts
from tests.stores import lenders_in, scores_in
from tests.vaults import vault_of

PAUSE = Pause(NOON_US, "payments are down")
MIDNIGHT_US = NOON_US // US_PER_DAY * US_PER_DAY
moments = st.integers(0, 2 * NOON_US)
offsets = st.sampled_from(UTC_OFFSETS)


@pytest.fixture
def scores(registry: Registry) -> Scores:
    lenders_in(registry._database, "umoja")
    vault_of(registry._database).ring("demo")
    return scores_in(registry._database)


def daily(
    volume_max: float | None = None, loss_max: float | None = None, offset_hours: int = 0
) -> Policy:
    bounds = {"volume_max": volume_max, "expected_loss_max": loss_max}
    return with_parts(default_policy("KES"), daily=bounds | {"utc_offset_hours": offset_hours})


def so_far(volume: float = 0.0) -> dict[Per, dict[Segment, Approved]]:
    return {Per.DAY: {Segment(None, "A"): Approved(1, volume, 0.0, 0)}}


def one(day: Day, volume: float, expected_loss: float) -> None:
    day.add(Segment(None, "B"), Approved(1, volume, expected_loss))


# ------------------------------------------------------------------------------------ the day


@given(moments, offsets)
def test_a_day_has_begun_and_ends_within_24_hours(now_us: int, offset_hours: int) -> None:
    began = first_hour(now_us, offset_hours)
    assert began * HOUR_US <= now_us < (began + 24) * HOUR_US


@given(moments, offsets)
def test_a_day_begins_at_midnight_of_the_lenders_clock(now_us: int, offset_hours: int) -> None:
    assert (first_hour(now_us, offset_hours) + offset_hours) % 24 == 0


@given(moments, offsets, st.integers(0, 24 * HOUR_US - 1))
def test_all_moments_of_a_day_have_one_beginning(
    now_us: int, offset_hours: int, later_us: int
) -> None:
    began = first_hour(now_us, offset_hours)
    assert first_hour(began * HOUR_US + later_us, offset_hours) == began


def test_the_day_changes_in_the_very_microsecond(subtests: pytest.Subtests) -> None:
    for offset_hours in UTC_OFFSETS:
        with subtests.test(offset_hours=offset_hours):
            midnight_us = MIDNIGHT_US - offset_hours * HOUR_US
            assert first_hour(midnight_us, offset_hours) * HOUR_US == midnight_us
            assert first_hour(midnight_us - 1, offset_hours) * HOUR_US == midnight_us - US_PER_DAY


def test_the_day_of_nairobi_begins_at_nine_in_the_evening_of_utc() -> None:
    assert first_hour(NOON_US, 3) * HOUR_US == MIDNIGHT_US - 3 * HOUR_US


# ------------------------------------------------------------------------------------ the bounds


def holds(
    scores: Scores, book: Book, bounds: Policy, pause: Pause | None, now_us: int
) -> tuple[Rule, ...]:
    day = Day()
    day.settle(bounds, pause, SoFar().of(scores.approved, book, bounds, now_us))
    return day.holds


def test_nothing_holds_where_nobody_paused_and_nothing_is_bounded(scores: Scores) -> None:
    scores.commit([an_entry()])
    assert holds(scores, DEMO, daily(), None, NOON_US) == ()


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        (daily(volume_max=12_500.01), ()),
        (daily(volume_max=12_500.0), (Rule.DAILY_VOLUME,)),
        (daily(loss_max=250.51), ()),
        (daily(loss_max=250.5), (Rule.DAILY_EXPECTED_LOSS,)),
        (daily(1.0, 1.0), (Rule.DAILY_VOLUME, Rule.DAILY_EXPECTED_LOSS)),
    ],
)
def test_a_bound_holds_once_it_is_reached(
    scores: Scores, bounds: Policy, found: tuple[Rule, ...]
) -> None:
    scores.commit([an_entry(limit=12_500.0, expected_loss=250.5)])
    assert holds(scores, DEMO, bounds, None, NOON_US) == found
    assert holds(scores, DEMO, bounds, PAUSE, NOON_US) == (Rule.PAUSED, *found)


def test_a_bound_of_nothing_approves_nothing(scores: Scores) -> None:
    assert holds(scores, DEMO, daily(volume_max=0.0), None, NOON_US) == (Rule.DAILY_VOLUME,)


def test_a_bound_counts_what_was_approved_in_its_own_book(scores: Scores) -> None:
    others = [Book("demo", Mode.LIVE), Book("umoja", Mode.TEST)]
    scores.commit([an_entry(book) for book in others])
    scores.commit([an_entry(decision=Decision.REVIEW)])
    assert holds(scores, DEMO, daily(1.0, 1.0), None, NOON_US) == ()


@pytest.mark.parametrize("offset_hours", [-12, -1, 0, 3, 14])
def test_a_bound_ends_with_the_lenders_day(scores: Scores, offset_hours: int) -> None:
    began_us = first_hour(NOON_US, offset_hours) * HOUR_US
    bounds = daily(volume_max=100.0, offset_hours=offset_hours)
    scores.commit([an_entry(at_us=began_us - 1)])
    assert holds(scores, DEMO, bounds, None, began_us) == ()
    scores.commit([an_entry(at_us=began_us)])
    for now_us in (began_us, NOON_US, began_us + US_PER_DAY - 1):
        assert holds(scores, DEMO, bounds, None, now_us) == (Rule.DAILY_VOLUME,)
    assert holds(scores, DEMO, bounds, None, began_us + US_PER_DAY) == ()


# ------------------------------------------------------------------------------------ in between


def test_what_a_process_approves_counts_at_once() -> None:
    day = Day()
    day.settle(daily(volume_max=100.0, loss_max=50.0), None, so_far(60.0))
    reasons = []
    for volume, expected_loss in ((39.0, 1.0), (1.0, 0.0), (0.0, 49.0)):
        one(day, volume, expected_loss)
        reasons.append(day.holds)
    assert reasons[0] == ()
    assert reasons[1] == (Rule.DAILY_VOLUME,)
    assert reasons[2] == (Rule.DAILY_VOLUME, Rule.DAILY_EXPECTED_LOSS)


def test_the_database_has_the_last_word_on_what_was_approved() -> None:
    day, bounds = Day(), daily(volume_max=100.0)
    day.settle(bounds, None, so_far())
    one(day, 100.0, 0.0)  # and then it could not be kept
    day.settle(bounds, None, so_far())
    assert day.holds == ()


def test_nobody_counts_where_nothing_is_bounded() -> None:
    day = Day()
    assert not day.bounded
    day.settle(daily(), PAUSE, {})
    assert (day.bounded, day.holds) == (False, (Rule.PAUSED,))
