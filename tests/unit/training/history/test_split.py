from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from alama.training.history.split import JUDGING_DEFAULTS_MIN, OUT_OF_TIME_SHARE, out_of_time, sides

FIRST = np.datetime64("2024-01-01")

LOANS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 300), st.booleans()), min_size=1, max_size=2_000
)


def once_each(
    rows: int, bad_every: int
) -> tuple[NDArray[np.datetime64], NDArray[np.int64], NDArray[np.int8]]:
    days = FIRST + np.arange(rows) * 600 // rows
    return days, np.arange(rows), (np.arange(rows) % bad_every == 0).astype(np.int8)


@given(loans=LOANS)
def test_every_loan_is_on_one_side_and_nobody_both_teaches_and_judges(
    loans: list[tuple[int, int, bool]],
) -> None:
    days = FIRST + np.array([day for day, _, _ in loans])
    people = np.array([person for _, person, _ in loans])
    labels = np.array([bad for _, _, bad in loans], dtype=np.int8)

    split = out_of_time(days, people, labels)

    assert split is not None
    found = sides(days, people, split.first_day)
    late = days >= split.first_day
    assert np.count_nonzero(late) >= OUT_OF_TIME_SHARE * len(loans)
    assert (found.learning == ~late).all(), "every earlier loan teaches, whoever came back"
    met = np.isin(people, people[found.learning])
    assert (found.judging == (late & ~met)).all()
    assert (found.returned == (late & met)).all()
    for counted, rows in (
        (split.learning, found.learning),
        (split.judging, found.judging),
        (split.returned, found.returned),
    ):
        assert counted.loans == np.count_nonzero(rows)
        assert counted.defaults == np.count_nonzero(labels[rows])


def test_where_a_fifth_holds_too_few_defaults_the_part_grows_but_not_past_half() -> None:
    grown = out_of_time(*once_each(10_000, 20))
    small = out_of_time(*once_each(10_000, 100))

    assert grown is not None
    assert small is not None
    assert grown.judging.defaults >= JUDGING_DEFAULTS_MIN > grown.judging.defaults - 30
    assert small.judging.loans < 2_100


def test_a_lender_that_asks_for_more_defaults_to_judge_by_is_given_a_longer_part() -> None:
    usual, asked = out_of_time(*once_each(10_000, 20)), out_of_time(*once_each(10_000, 20), 200)

    assert usual is not None
    assert asked is not None
    assert asked.first_day < usual.first_day
    assert asked.judging.defaults >= 200


def test_later_loans_of_those_who_came_back_are_no_evidence() -> None:
    days, people, labels = once_each(10_000, 20)
    people[8_000:] -= 8_000

    split = out_of_time(days, people, labels)

    assert split is not None
    assert split.returned.loans == 2_000
    assert split.judging.defaults >= JUDGING_DEFAULTS_MIN
    assert split.learning.loans < 5_100
