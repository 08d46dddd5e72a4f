"""What every store of scores counts: see `alama.scoring.store.Scores.tally`."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, select, update

from alama.core.assess import Assessment, assess
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Per, PortfolioCap
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.tally import PEOPLE_MIN, Tally, seen
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database.database import Database
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnavailable, StoreUnfit
from alama.scoring import counts, schema
from alama.scoring.counts import FOLDED
from alama.scoring.records import Entry
from alama.scoring.store import Scores
from tests.applications import random_application
from tests.entries import DEMO, NOON_US, an_entry
from tests.factories import a_model
from tests.stores import lenders_in, scores_in
from tests.tries import tries
from tests.vaults import vault_of

TODAY = NOON_US // DAY_US
MIDNIGHT_US = (TODAY + 1) * DAY_US
MODEL = "sha256:model"
BOOKS = [DEMO, Book("demo", Mode.LIVE), Book("umoja", Mode.TEST)]


@cache
def assessments() -> tuple[Assessment, ...]:
    rng = np.random.default_rng(4)
    model = ReadyModel(a_model(seed=3))
    policy = ReadyPolicy(default_policy("KES"), model)
    return tuple(assess(model, policy, random_application(rng, model)) for _ in range(40))


def counted(said: Sequence[Assessment]) -> Tally:
    total = Tally()
    for one in said:
        total.add(seen(one))
    return total


def entry_of(said: Assessment, book: Book = DEMO, model_id: str = MODEL, **more: Any) -> Entry:
    entry = an_entry(book, **more)
    return entry._replace(score=entry.score._replace(model_id=model_id), seen=seen(said))


def today(scores: Scores, book: Book = DEMO) -> Tally:
    """All that was counted on the day of `NOON_US` for the one model of these tests."""
    return scores.tally(book, TODAY, TODAY).get(MODEL, Tally())


@pytest.fixture
def scores(database: Database) -> Scores:
    lenders_in(database, "demo", "umoja")
    return scores_in(database)


@pytest.fixture
def another_process(address: str) -> Iterator[Scores]:
    other = databases.connect(address)
    yield scores_in(other)
    other.close()


def test_what_was_given_is_counted_over_all_commits(scores: Scores) -> None:
    said = assessments()
    for start, end in ((0, 1), (1, 30), (30, 40)):
        scores.commit([entry_of(one) for one in said[start:end]])
    assert scores.tally(DEMO, TODAY, TODAY) == {MODEL: counted(said)}


def test_nothing_given_is_nothing_counted(scores: Scores) -> None:
    scores.commit([])
    assert scores.tally(DEMO, 0, TODAY) == {}


def test_two_writers_count_into_one_sum_whoever_asks(
    scores: Scores, another_process: Scores
) -> None:
    said = assessments()
    for number, one in enumerate(said):
        (scores, another_process)[number % 3 % 2].commit([entry_of(one)])
    assert today(scores) == today(another_process) == counted(said)


def test_a_process_that_starts_again_goes_on_with_the_sum(
    scores: Scores, database: Database
) -> None:
    said = assessments()
    scores.commit([entry_of(one) for one in said[:25]])
    scores_in(database).commit([entry_of(one) for one in said[25:]])
    assert today(scores) == counted(said)


def test_what_a_cap_had_no_room_for_is_not_counted(scores: Scores) -> None:
    cap = PortfolioCap("some", Per.DAY, number_max=3)
    policy = msgspec.structs.replace(default_policy("KES"), portfolio=(cap,))
    said = assessments()
    asked = [entry_of(one)._replace(bounds=policy) for one in said[:8]]
    for some in (asked[:2], asked[2:6], asked[6:]):
        scores.commit(some)
    assert today(scores) == counted(said[:3])
    scores.commit([entry_of(one) for one in said[8:20]])
    assert today(scores) == counted([*said[:3], *said[8:20]])


def test_a_day_ends_at_midnight_utc_whatever_is_committed_together(scores: Scores) -> None:
    said = assessments()
    last_us = MIDNIGHT_US - 1
    times_us = [last_us, MIDNIGHT_US, last_us, MIDNIGHT_US, MIDNIGHT_US + 1]
    pairs = list(zip(said, times_us, strict=False))
    scores.commit([entry_of(one, at_us=at_us) for one, at_us in pairs[:2]])
    scores.commit([entry_of(one, at_us=at_us) for one, at_us in pairs[2:]])
    assert today(scores) == counted([said[0], said[2]])
    assert scores.tally(DEMO, TODAY + 1, TODAY + 1)[MODEL] == counted([said[1], said[3], said[4]])
    assert scores.tally(DEMO, TODAY, TODAY + 1)[MODEL] == counted(said[:5])
    assert scores.tally(DEMO, TODAY + 2, TODAY + 9) == {}


def test_a_clock_that_is_set_back_days_loses_no_count(scores: Scores) -> None:
    said = assessments()
    for one, days in zip(said, (0, 1, 5, 0, 5, 1, 9, 0), strict=False):
        scores.commit([entry_of(one, at_us=NOON_US + days * DAY_US)])
    assert today(scores) == counted([said[0], said[3], said[7]])
    assert scores.tally(DEMO, TODAY, TODAY + 9)[MODEL] == counted(said[:8])


def test_a_process_keeps_the_counts_of_two_days_in_memory_and_no_more(scores: Scores) -> None:
    for days in range(5):
        scores.commit([entry_of(assessments()[0], at_us=NOON_US + days * DAY_US)])
        assert len(scores._tallies._counted) == min(days + 1, 2)


def test_one_process_has_one_row_for_each_book_day_and_model(
    scores: Scores, database: Database
) -> None:
    for one in assessments():
        scores.commit([entry_of(one, book, model) for book in BOOKS for model in ("a", "b")])
    with database.reading() as connection:
        rows = connection.execute(select(func.count()).select_from(schema.daily_counts))
        assert rows.scalar_one() == len(BOOKS) * 2


@settings(tries(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 39),
            st.sampled_from(BOOKS),
            st.sampled_from(["sha256:a", "sha256:b"]),
            st.integers(0, 3),
        ),
        max_size=40,
    )
)
def test_a_sum_is_that_of_the_scores_themselves(
    scores: Scores, database: Database, made: list[tuple[int, Book, str, int]]
) -> None:
    with database.writing() as connection:
        connection.execute(delete(schema.daily_counts))
    fresh = scores_in(database)
    fresh.commit(
        [
            entry_of(assessments()[at], book, model, at_us=NOON_US + day * DAY_US)
            for at, book, model, day in made
        ]
    )
    for book in BOOKS:
        found = scores.tally(book, TODAY + 1, TODAY + 2)
        by_hand = {
            model: [
                assessments()[at]
                for at, where, by, day in made
                if (where, by) == (book, model) and 1 <= day <= 2
            ]
            for model in ("sha256:a", "sha256:b")
        }
        assert found == {model: counted(said) for model, said in by_hand.items() if said}


# ------------------------------------------------------------------------------------ failures


def test_a_commit_that_is_rolled_back_counts_nothing_then_or_later(scores: Scores) -> None:
    said = assessments()
    there = entry_of(said[0])
    scores.commit([there])
    with pytest.raises(StoreUnavailable):
        scores.commit([entry_of(said[1]), entry_of(said[2], request_id=there.score.request_id)])
    assert today(scores) == counted(said[:1])
    scores.commit([entry_of(said[3])])
    assert today(scores) == counted([said[0], said[3]])


def test_a_retry_is_not_counted_a_second_time(scores: Scores, another_process: Scores) -> None:
    said = assessments()
    for process in (scores, another_process, scores):
        process.commit([entry_of(said[0], idempotency_key="order-1"), entry_of(said[1])])
    assert today(scores) == counted([said[0], said[1], said[1], said[1]])


def test_a_commit_that_fails_after_counting_is_not_in_the_next_ones(
    scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = assessments()
    scores.commit([entry_of(said[0])])

    add = scores._tallies.add

    def add_and_fail(*given: Any) -> None:
        add(*given)
        raise StoreUnavailable("the database is gone")

    with monkeypatch.context() as patched:
        patched.setattr(scores._tallies, "add", add_and_fail)
        with pytest.raises(StoreUnavailable):
            scores.commit([entry_of(said[1])])
    assert today(scores) == counted(said[:1])
    scores.commit([entry_of(said[2])])
    assert today(scores) == counted([said[0], said[2]])


def test_a_commit_whose_end_nobody_knows_stays_counted_if_it_was_kept(
    scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = assessments()
    scores.commit([entry_of(said[0])])
    # With the key that stands: to read another would look for the file once more.
    entry, ring = entry_of(said[1]), vault_of(scores._database).ring("demo")
    entry = entry._replace(unsealed=entry.unsealed._replace(ring=ring))

    def gone_after_the_commit() -> None:
        raise StoreUnavailable("the file is not in its place")

    with monkeypatch.context() as patched:
        patched.setattr(scores._database, "_rely_on_commit", gone_after_the_commit)
        with pytest.raises(StoreUnavailable):
            scores.commit([entry])
    assert today(scores) == counted(said[:2])
    scores.commit([entry_of(said[2])])
    assert today(scores) == counted(said[:3])


def test_counts_outlive_the_scores(scores: Scores, database: Database) -> None:
    said = assessments()
    scores.commit([entry_of(one) for one in said])
    with database.writing() as connection:
        connection.execute(delete(schema.scores))
    assert today(scores) == counted(said)


def test_a_finished_day_becomes_one_row_with_the_bands_of_many(
    scores: Scores, database: Database
) -> None:
    said = assessments()
    scores.commit([entry_of(one) for one in said[:25]])
    scores_in(database).commit([entry_of(one) for one in said[25:]])
    scores.commit([entry_of(said[0], at_us=MIDNIGHT_US)])
    before = today(scores)
    assert not scores.fold_counts(TODAY + 1)
    assert not scores.fold_counts(TODAY + 1)
    assert writers(database, TODAY) == [FOLDED]
    assert len(writers(database, TODAY + 1)) == 1
    before.drop_small()
    assert today(scores) == before
    assert before.count == len(said)


def test_what_few_said_is_not_kept_by_field(scores: Scores) -> None:
    said = assessments()[: PEOPLE_MIN - 1]
    scores.commit([entry_of(one) for one in said])
    scores.fold_counts(TODAY + 1)
    folded, everything = today(scores), counted(said)
    assert all(card.bands == [] for card in folded.cards.values())
    assert (folded.steps, folded.tiers) == (everything.steps, everything.tiers)
    assert folded.decisions == everything.decisions


def test_days_are_put_together_some_at_a_time(
    scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "FOLDED_AT_ONCE", 2)
    said = assessments()[0]
    scores.commit([entry_of(said, book) for book in BOOKS])
    assert scores.fold_counts(TODAY + 1)
    assert not scores.fold_counts(TODAY + 1)
    assert [today(scores, book).count for book in BOOKS] == [1, 1, 1]


def writers(database: Database, day: int) -> list[str]:
    table = schema.daily_counts
    with database.reading() as connection:
        return list(connection.execute(select(table.c.writer).where(table.c.day == day)).scalars())


def test_damaged_counts_are_unfit(scores: Scores, database: Database) -> None:
    scores.commit([entry_of(assessments()[0])])
    with database.writing() as connection:
        connection.execute(update(schema.daily_counts).values(counts=b"\xc1"))
    with pytest.raises(StoreUnfit, match="are damaged"):
        scores.tally(DEMO, TODAY, TODAY)
