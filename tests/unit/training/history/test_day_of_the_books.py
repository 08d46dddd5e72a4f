"""Loans that nobody looked at again are found, and a slip of a hand accuses nobody."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.histories import TODAY, Columns, fault, history_columns, read, write_csv


def test_closing_dates_in_the_place_of_the_day_of_the_books_are_named_with_what_to_do(
    tmp_path: Path,
) -> None:
    columns = history_columns(500)
    for row, late in enumerate(columns["largest_days_past_due"]):
        if late == 0:
            columns["observed_on"][row] = columns["due_on"][row]
    closed = columns["largest_days_past_due"].count(0)

    report = read(write_csv(tmp_path, columns)).report

    found = fault(report, "observed_on")
    assert (found.rule, found.rows) == ("must be the day on which the books were read", closed)
    assert report.immature == closed
    assert report.unsound == 0
    assert "not that on which a loan was closed" in report.advice[0]


def young_and_old(rows: int = 500) -> Columns:
    """Books that were read on one day, when the last loans were too young."""
    columns = history_columns(rows)
    columns["observed_on"] = [columns["applied_on"][-1] + timedelta(days=46)] * rows
    return columns


@pytest.mark.parametrize("wrong", [[7], [499], [0, 250, 499]])
def test_a_few_loans_observed_after_all_others_accuse_nobody(
    tmp_path: Path, wrong: list[int]
) -> None:
    columns = young_and_old()
    for row in wrong:
        columns["observed_on"][row] += timedelta(days=300)

    report = read(write_csv(tmp_path, columns)).report

    assert report.immature >= 5, "the last loans are too young"
    assert not report.faults
    assert not any("closed" in advice for advice in report.advice)


def test_when_the_books_were_read_is_not_told_by_what_was_never_booked(tmp_path: Path) -> None:
    columns = young_and_old()
    for row in range(100):
        for name in ("disbursed_on", "due_on", "largest_days_past_due", "restructured"):
            columns[name][row] = ""
        columns["observed_on"][row] = TODAY

    report = read(write_csv(tmp_path, columns)).report

    assert report.not_booked == 100
    assert not report.faults


def test_a_few_loans_that_were_not_looked_at_again_are_named_without_advice(
    tmp_path: Path,
) -> None:
    columns = young_and_old()
    for row in (3, 4):
        columns["observed_on"][row] = columns["due_on"][row]

    report = read(write_csv(tmp_path, columns)).report

    assert fault(report, "observed_on").first_rows == (4, 5)
    assert not any("closed" in advice for advice in report.advice)
