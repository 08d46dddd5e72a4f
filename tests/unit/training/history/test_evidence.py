from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from alama.core.kernel import Column, Words
from alama.training.history import evidence
from alama.training.history.evidence import Calendar
from alama.training.history.report import COLLECT, Enough
from alama.training.history.split import OutOfTime, out_of_time

FIRST = np.datetime64("2024-01-01")
TODAY = np.datetime64("2026-11-15")
CALENDAR = Calendar(TODAY, np.datetime64("2026-09-30"))


def days_and_labels(rows: int, bad_every: int) -> tuple[NDArray[np.datetime64], NDArray[np.int8]]:
    days = FIRST + np.arange(rows) * 600 // max(rows, 1)
    return days, (np.arange(rows) % bad_every == 0).astype(np.int8)


def split_of(days: NDArray[np.datetime64], labels: NDArray[np.int8]) -> OutOfTime | None:
    """The split where everybody borrowed once."""
    return out_of_time(days, np.arange(len(labels)), labels)


@pytest.mark.parametrize(
    ("rows", "bad_every", "verdict"),
    [
        (10_100, 8, Enough.MODEL),
        (8_000, 20, Enough.MODEL),
        (2_000, 20, Enough.NOTHING),
        (1, 1, Enough.NOTHING),
        (0, 1, Enough.NOTHING),
    ],
)
def test_what_the_loans_are_enough_for(rows: int, bad_every: int, verdict: Enough) -> None:
    assert evidence.enough(split_of(*days_and_labels(rows, bad_every))) is verdict


def test_defaults_that_all_lie_on_one_side_are_not_enough() -> None:
    days, labels = days_and_labels(10_000, 2)
    long_ago, of_late = labels.copy(), labels.copy()
    long_ago[4_000:] = 0
    of_late[:7_800] = 0

    assert evidence.enough(split_of(days, long_ago)) is Enough.NOTHING, "nothing judges"
    assert evidence.enough(split_of(days, of_late)) is Enough.NOTHING, "nothing teaches"


def test_too_little_says_how_many_more_about_when_and_what_to_do_meanwhile() -> None:
    days, labels = days_and_labels(2_000, 20)

    needed, meanwhile = evidence.advice(
        Enough.NOTHING, days, labels, split_of(days, labels), CALENDAR
    )

    assert needed == (
        "A model needs 150 defaults to learn from and 150 to be judged by, among the last loans "
        "and of people it has not met. There are 80 and 20: 200 more are needed. At the present "
        "rate of about 5 a month there will be so many about 41 months after 2026-09-30, around "
        "2030-02."
    )
    assert meanwhile == COLLECT


def test_a_forecast_that_is_past_asks_for_books_of_today() -> None:
    days, labels = days_and_labels(2_000, 20)
    split = split_of(days, labels)

    past, _ = evidence.advice(
        Enough.NOTHING, days, labels, split, Calendar(TODAY, np.datetime64("2023-03-30"))
    )
    ahead, _ = evidence.advice(Enough.NOTHING, days, labels, split, Calendar(TODAY, TODAY))

    assert "counted from the books of 2023-03-30, there were so many around 2026-" in past
    assert past.endswith("hand in books read today.")
    assert "after 2026-11-15, around 20" in ahead
    assert "hand in books" not in ahead


def test_where_hardly_anybody_repaid_the_repaid_loans_are_what_is_lacking() -> None:
    days, labels = days_and_labels(2_000, 20)
    split = split_of(days, 1 - labels)

    needed, _ = evidence.advice(Enough.NOTHING, days, 1 - labels, split, CALENDAR)

    assert "150 repaid loans to learn from" in needed
    assert "There are 80 and 20: 200 more are needed." in needed


def test_where_there_is_enough_nothing_is_advised() -> None:
    days, labels = days_and_labels(10_000, 20)
    assert evidence.advice(Enough.MODEL, days, labels, split_of(days, labels), CALENDAR) == ()


def test_months_count_applications_loans_and_defaults() -> None:
    days = np.array(["2024-01-30", "2024-01-31", "2024-03-01"], dtype="M8[D]")
    booked = np.array([True, True, False])

    first, second = evidence.months(days, booked, booked, np.array([True, False, False]))

    assert (first.month, first.applications, first.mature, first.rate) == ("2024-01", 2, 2, 0.5)
    assert (second.month, second.applications, second.booked, second.rate) == (
        "2024-03",
        1,
        0,
        None,
    )


def test_a_last_quarter_that_shifted_is_told_and_a_steady_field_is_not() -> None:
    days, _ = days_and_labels(10_000, 2)
    late = days >= np.datetime64("2025-06-01")
    noise = np.random.default_rng(1).random(10_000)
    columns: dict[str, Column] = {
        "steady": noise,
        "moved": np.where(late, noise + 0.5, noise),
        "gone": np.where(late, np.nan, noise),
        "word": Words(np.where(late, 1, 0).astype(np.int32), ("a", "b")),
    }

    found = {shift.column: shift.psi for shift in evidence.drift(columns, days)}

    assert found["steady"] < 0.02
    assert min(found["moved"], found["gone"], found["word"]) > evidence.DRIFTED_PSI


def test_few_rows_say_nothing_about_drift() -> None:
    days, _ = days_and_labels(500, 2)
    assert evidence.drift({"x": np.arange(500.0)}, days) == ()
