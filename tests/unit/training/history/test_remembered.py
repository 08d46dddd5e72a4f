"""What a lender's history tells of earlier loans becomes what its model may learn of the memory."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from alama.core import memory
from alama.core.catalogue import Use
from alama.core.memory import with_memory
from alama.core.product import PRODUCT
from alama.onboarding.tasks import options_of
from alama.training.history.load import load
from alama.training.history.names import targets_of
from tests.histories import TODAY, Columns, history_columns, read, write_csv

LEARNABLE = with_memory(PRODUCT)
WORKED_OUT = {
    *("open_loans", "open_balance", "loans_repaid", "worst_days_past_due"),
    *("days_since_last_loan", "largest_repaid", "days_past_due"),
}


def told(rows: int = 2_000) -> Columns:
    """A hundred borrowers in turn; good loans are repaid when they are due, others never."""
    columns = history_columns(rows)
    columns["borrower_id"] = [f"b{row % 100}" for row in range(rows)]
    columns["repaid_on"] = [
        "" if days >= 30 else due
        for days, due in zip(columns["largest_days_past_due"], columns["due_on"], strict=True)
    ]
    return columns


def test_the_days_of_repayment_make_what_was_remembered_an_input(tmp_path: Path) -> None:
    history = read(write_csv(tmp_path, told()), catalogue=LEARNABLE)
    assert history.loans.columns.keys() >= WORKED_OUT
    repaid = history.loans.columns["loans_repaid"]
    assert isinstance(repaid, np.ndarray)
    assert repaid[:200].tolist() == [*[0] * 100, *(int(row % 5 != 0) for row in range(100))]
    of_memory = [field for field in history.loans.catalogue.fields if field.use is Use.MEMORY]
    assert {field.name for field in of_memory} == history.loans.columns.keys() & memory.NAMES
    notes = " ".join(history.report.notes)
    assert "worked out for the day of each application" in notes
    assert "applications_1d, applications_30d, declined_7d" in notes
    assert not history.report.suspects


def test_whoever_was_refused_tells_how_often_people_asked(tmp_path: Path) -> None:
    columns = told()
    for name in ("disbursed_on", "due_on", "observed_on", "largest_days_past_due", "restructured"):
        columns[name][7] = ""
    columns["repaid_on"][7] = ""
    columns["applied_on"][107] = columns["applied_on"][7] + timedelta(days=29)
    columns["disbursed_on"][107] = columns["applied_on"][107]
    history = read(write_csv(tmp_path, columns), catalogue=LEARNABLE)
    asked = history.applications["applications_30d"]
    assert isinstance(asked, np.ndarray)
    assert asked[107] == 1


def test_without_those_days_nothing_is_worked_out(tmp_path: Path) -> None:
    columns = told()
    del columns["repaid_on"]
    history = read(write_csv(tmp_path, columns), catalogue=LEARNABLE)
    assert not history.loans.columns.keys() & memory.NAMES
    assert history.catalogue == PRODUCT


def test_columns_of_those_names_are_learned_as_they_are(tmp_path: Path) -> None:
    columns = told()
    columns["loans_repaid"] = [row % 9 for row in range(2_000)]
    columns["days_past_due"] = [row % 3 for row in range(2_000)]
    del columns["repaid_on"]
    history = read(write_csv(tmp_path, columns), catalogue=LEARNABLE)
    repaid = history.loans.columns["loans_repaid"]
    assert isinstance(repaid, np.ndarray)
    assert repaid[:9].tolist() == list(range(9))
    # In a file of loans this is how the loan itself went.
    assert "days_past_due" in history.report.set_aside
    without = read(write_csv(tmp_path, columns), catalogue=PRODUCT)
    assert "loans_repaid" in without.report.set_aside


def test_a_column_of_theirs_that_tells_the_outcome_is_asked_about(tmp_path: Path) -> None:
    columns = told()
    columns["worst_days_past_due"] = columns["largest_days_past_due"]
    report = read(write_csv(tmp_path, columns), catalogue=LEARNABLE).report
    assert report.open_suspects == ("worst_days_past_due",)


def test_one_is_left_out_like_any_other_field_and_stays_out(tmp_path: Path) -> None:
    path = write_csv(tmp_path, told())
    report = read(path, catalogue=LEARNABLE, exclude=frozenset({"open_balance"})).report
    assert "open_balance" not in report.inputs
    assert report.excluded == ("open_balance",)
    again = options_of(report, TODAY, LEARNABLE)
    assert read(path, catalogue=LEARNABLE, exclude=again.exclude).report.inputs == report.inputs


@pytest.mark.parametrize(("days", "rule"), [(-40, "before"), (4_000, "future")])
def test_an_impossible_day_of_repayment_is_counted(tmp_path: Path, days: int, rule: str) -> None:
    columns = told()
    columns["repaid_on"][1] += timedelta(days=days)
    [found] = read(write_csv(tmp_path, columns), catalogue=LEARNABLE).report.faults
    assert (found.column, found.first_rows) == ("repaid_on", (2,))
    assert rule in found.rule


def test_a_mapping_finds_the_day_and_guesses_at_nothing_else() -> None:
    names = {target.name for target in targets_of(LEARNABLE)}
    assert "repaid_on" in names
    assert not names & memory.NAMES


def test_train_reads_them_from_a_plain_file_too(tmp_path: Path) -> None:
    columns = told()
    columns["label"] = [int(days >= 30) for days in columns["largest_days_past_due"]]
    columns["open_loans"] = [row % 4 for row in range(2_000)]
    path = write_csv(tmp_path, columns)
    learned = load(path, label="label", catalogue=None, monotone={}, exclude=())
    assert "open_loans" in learned.dataset.columns
    assert learned.dataset.catalogue.field("open_loans").use is Use.MEMORY
