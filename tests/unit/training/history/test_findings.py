"""What the report of a history says to do about old books and about ids that name people."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.histories import history_columns, read, write_csv


def test_books_that_nobody_has_looked_at_for_half_a_year_are_said_to_be_old(tmp_path: Path) -> None:
    path = write_csv(tmp_path, history_columns())
    last = date(2023, 12, 31) + timedelta(days=900)

    fresh = read(path, today=last + timedelta(days=180)).report
    stale = read(path, today=last + timedelta(days=181)).report

    assert (fresh.last_observed_on, fresh.books_age_days) == (str(last), 180)
    assert not fresh.stale
    assert stale.stale
    assert not any("days ago" in told for told in fresh.advice)
    assert any(f"on {last}, 181 days ago" in told for told in stale.advice)


@pytest.mark.parametrize(
    "spelled", ["+2547{:08}", "2541{:08}", "+254 711-{:06}", "07{:08}", "00255 7{:08}"]
)
def test_borrowers_named_by_their_phones_are_counted_and_none_is_shown(
    tmp_path: Path, spelled: str
) -> None:
    columns = history_columns()
    columns["borrower_id"] = [spelled.format(row) for row in range(2_000)]
    report = read(write_csv(tmp_path, columns)).report

    assert report.advice[0].startswith("2,000 of 2,000 borrower_id look like phone numbers: put ")
    assert spelled.format(7).encode() not in msgspec.json.encode(report)


@pytest.mark.parametrize("spelled", ["b{:06}", "{}", "{:010}", "20260115{:04}", "LN-2026-{:05}"])
def test_numbers_of_the_lenders_own_are_not_taken_for_phones(tmp_path: Path, spelled: str) -> None:
    columns = history_columns()
    columns["borrower_id"] = [spelled.format(row) for row in range(2_000)]
    report = read(write_csv(tmp_path, columns)).report

    assert not any("phone" in told for told in report.advice)
