from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.histories import TODAY, fault, history_columns, read, write_csv, write_parquet

ROWS = 200
PLANTED = (7, 20, 33)

FAULTS: list[tuple[str, Any, str]] = [
    ("borrower_id", "", "must be given"),
    ("borrower_id", "NA", "must be given"),
    ("applied_on", "", "must be given"),
    ("applied_on", "31/03/2024", "must be a date such as 2024-03-31"),
    ("applied_on", "2024-02-30", "must be a date such as 2024-03-31"),
    ("disbursed_on", "soon", "must be a date such as 2024-03-31"),
    ("disbursed_on", "2023-01-01", "must not lie before applied_on"),
    ("due_on", "", "must be given where disbursed_on is"),
    ("due_on", "2023-01-01", "must not lie before disbursed_on"),
    ("observed_on", "", "must be given where disbursed_on is"),
    ("observed_on", "2023-01-01", "must not lie before disbursed_on"),
    ("observed_on", TODAY + timedelta(days=2), "must not lie in the future"),
    ("largest_days_past_due", "", "must be given where disbursed_on is"),
    ("largest_days_past_due", "many", "must be a number"),
    ("largest_days_past_due", "1e999", "must be a number"),
    ("largest_days_past_due", -1, "must be a whole number at least 0"),
    ("largest_days_past_due", 1.5, "must be a whole number at least 0"),
    (
        "largest_days_past_due",
        200,
        "must not exceed the days from disbursed_on to observed_on",
    ),
    ("restructured", "perhaps", "must be yes or no"),
    ("amount", -500, "must be a number above 0 and at most 1,000,000,000,000"),
    ("amount", "a lot", "must be a number"),
    ("mm_months", "", "must be given"),
    ("mm_months", 700, "must be a whole number at least 0 and at most 600"),
    ("balance_stability", 1.01, "must be a number at least 0 and at most 1"),
    ("avg_balance", "12 000", "must be a number"),
    ("device_type", "x" * 65, "must be a string of 1 to 64 printable characters"),
]


@pytest.mark.parametrize(("column", "value", "rule"), FAULTS)
def test_a_planted_fault_is_named_by_column_rule_and_row_and_its_rows_are_left_out(
    tmp_path: Path, column: str, value: Any, rule: str
) -> None:
    columns = history_columns(ROWS)
    for row in PLANTED:
        columns[column][row] = value

    history = read(write_csv(tmp_path, columns))

    found = fault(history.report, column)
    assert (found.rule, found.rows, found.first_rows) == (rule, 3, (8, 21, 34))
    assert len(history.report.faults) == 1
    assert history.report.unsound == 3
    assert len(history.loans) == ROWS - 3
    if column == "avg_balance":
        kept = [x for row, x in enumerate(columns[column]) if row not in PLANTED]
        assert history.loans.columns[column] == pytest.approx(kept)


def test_an_application_without_a_loan_must_not_have_an_outcome(tmp_path: Path) -> None:
    columns = history_columns(ROWS)
    columns["disbursed_on"][4] = ""

    found = fault(read(write_csv(tmp_path, columns)).report, "disbursed_on")

    assert found.rule == "must be given where largest_days_past_due or restructured is"


def test_an_application_ahead_of_today_lies_in_the_future(tmp_path: Path) -> None:
    columns = history_columns(ROWS)
    for name in ("applied_on", "disbursed_on", "due_on", "observed_on"):
        columns[name][0] = "2030-01-01"

    report = read(write_csv(tmp_path, columns)).report

    assert {f.column for f in report.faults} == {
        "applied_on",
        "disbursed_on",
        "observed_on",
        "largest_days_past_due",
    }
    assert report.unsound == 1


def test_a_file_written_after_local_midnight_is_read_while_it_is_still_today_in_utc(
    tmp_path: Path,
) -> None:
    columns = history_columns(ROWS)
    columns["observed_on"] = [TODAY + timedelta(days=1)] * ROWS

    report = read(write_csv(tmp_path, columns)).report

    assert (report.faults, report.mature) == ((), ROWS)


def test_a_row_that_breaks_two_rules_is_left_out_once_and_told_of_twice(tmp_path: Path) -> None:
    columns = history_columns(ROWS)
    columns["amount"][2] = -1
    columns["mm_months"][2] = 601

    report = read(write_csv(tmp_path, columns)).report

    assert {f.column for f in report.faults} == {"amount", "mm_months"}
    assert report.unsound == 1


def test_at_most_five_rows_are_named_and_all_are_counted(tmp_path: Path) -> None:
    columns = history_columns(ROWS)
    columns["amount"] = [-1] * ROWS

    report = read(write_csv(tmp_path, columns)).report

    assert fault(report, "amount").rows == ROWS
    assert fault(report, "amount").first_rows == (1, 2, 3, 4, 5)


def test_faults_of_later_batches_are_named_by_their_row_in_the_file(tmp_path: Path) -> None:
    columns = history_columns(70_000)
    columns["amount"][69_000] = -1.0

    report = read(write_parquet(tmp_path, columns)).report

    assert fault(report, "amount").first_rows == (69_001,)


def test_no_fault_repeats_a_value_of_the_file(tmp_path: Path) -> None:
    columns = history_columns(ROWS)
    columns["avg_inflow"][3] = "0722 123 456"
    columns["borrower_id"][4] = "someone@example.com"

    told = str(read(write_csv(tmp_path, columns)).report)

    assert "0722 123 456" not in told
    assert "someone" not in told


@pytest.mark.parametrize("value", ["yes", "TRUE", "1", "1.0"])
def test_a_restructuring_can_be_written_in_several_ways(tmp_path: Path, value: str) -> None:
    columns = history_columns(ROWS)
    columns["restructured"][1] = value

    assert read(write_csv(tmp_path, columns)).loans.labels[1] == 1


def test_parquet_with_real_dates_reads_as_csv_does(tmp_path: Path) -> None:
    columns = history_columns(ROWS)
    columns["due_on"][3] = date(2020, 1, 1)

    by_text = read(write_csv(tmp_path, columns))
    by_type = read(write_parquet(tmp_path, columns))

    assert by_text.report == by_type.report
    assert by_text.loans.fingerprint() == by_type.loans.fingerprint()
    assert by_text.borrowers.tolist() == by_type.borrowers.tolist()
