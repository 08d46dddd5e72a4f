from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from alama.core.errors import FileProblem, TrainingProblem
from alama.core.kernel import Words
from alama.training.history.loans import Options, Terms, read_history, refuse_open_suspects
from alama.training.history.report import DuplicateKind, HistoryReport, Standing
from tests.histories import (
    TERMS,
    TODAY,
    history_columns,
    read,
    repeat,
    write_csv,
    write_parquet,
)


def test_sound_mature_loans_are_learnt_from_with_their_outcomes_and_days(tmp_path: Path) -> None:
    columns = history_columns()

    history = read(write_csv(tmp_path, columns))

    assert history.loans.labels.tolist() == [int(row % 5 == 0) for row in range(2_000)]
    assert history.loans.dates is not None
    assert history.loans.dates.tolist() == columns["applied_on"]
    assert history.loans.columns["avg_inflow"] == pytest.approx(columns["avg_inflow"])
    assert len(np.unique(history.borrowers)) == history.report.borrowers == 2_000
    assert history.booked.all()
    assert history.places.tolist() == list(range(2_000))
    assert history.report.default_rate == 0.2
    assert not history.report.faults
    assert not history.report.suspects
    assert not history.report.duplicates


def test_every_row_is_counted_once(tmp_path: Path) -> None:
    columns = history_columns(500)
    columns["amount"][0] = -1
    for name in ("disbursed_on", "due_on", "observed_on", "largest_days_past_due", "restructured"):
        columns[name][1] = ""
    columns["observed_on"][2] = columns["disbursed_on"][2] + timedelta(days=46)
    repeat(columns, [3])

    r = read(write_csv(tmp_path, columns)).report

    assert (r.unsound, r.not_booked, r.immature, r.repeated, r.mature) == (1, 1, 1, 1, 497)
    assert r.rows == r.unsound + r.not_booked + r.immature + r.repeated + r.mature


def test_the_term_of_a_loan_is_what_the_file_says_or_the_days_until_it_was_due(
    tmp_path: Path,
) -> None:
    columns = history_columns(500)
    columns["term_days"] = [28 if row == 3 else "" for row in range(500)]

    history = read(write_csv(tmp_path, columns))

    assert history.term_days[:5].tolist() == [30, 30, 30, 28, 30]


def test_immature_loans_are_set_aside_also_those_that_are_late_already(tmp_path: Path) -> None:
    columns = history_columns(500)
    for row in range(100):
        columns["observed_on"][row] = columns["due_on"][row] + timedelta(days=29 + row % 2)
        columns["largest_days_past_due"][row] = 35

    history = read(write_csv(tmp_path, columns))

    assert history.report.immature == 50
    assert history.places.tolist() == [*range(1, 100, 2), *range(100, 500)]


def test_the_days_past_due_of_the_lender_decide(tmp_path: Path) -> None:
    path = write_csv(tmp_path, history_columns(500))

    assert read(path, Terms(days_past_due=45, currency="KES")).report.defaults == 100
    assert read(path, Terms(days_past_due=46, currency="KES")).report.defaults == 0


def test_applications_that_were_not_booked_stand_among_the_applications_only(
    tmp_path: Path,
) -> None:
    columns = history_columns(500)
    for name in ("disbursed_on", "due_on", "observed_on", "largest_days_past_due", "restructured"):
        columns[name][:200] = [""] * 200

    history = read(write_csv(tmp_path, columns))

    assert len(history.loans) == 300
    assert history.booked.tolist() == [False] * 200 + [True] * 300
    assert len(history.applied_on) == 500
    inflow = history.applications["avg_inflow"]
    assert not isinstance(inflow, Words)
    assert inflow == pytest.approx(columns["avg_inflow"])


def test_either_spelling_of_a_field_is_read_and_not_both(tmp_path: Path) -> None:
    columns = history_columns(100)
    columns["monthly_inflow"] = columns.pop("avg_inflow")
    assert "avg_inflow" in read(write_csv(tmp_path, columns)).loans.columns

    columns["avg_inflow"] = columns["monthly_inflow"]
    with pytest.raises(FileProblem, match="two spellings of one field"):
        read(write_csv(tmp_path, columns))


@pytest.mark.parametrize("column", ["due_on", "mm_months"])
def test_a_file_without_a_needed_column_is_refused_by_its_name(tmp_path: Path, column: str) -> None:
    columns = history_columns(100)
    columns[f"{column}s"] = columns.pop(column)

    with pytest.raises(FileProblem, match=f"no column {column}") as problem:
        read(write_csv(tmp_path, columns))

    assert problem.value.hint == f"did you mean {column}s?"


def test_columns_that_may_be_absent_are_and_it_is_said(tmp_path: Path) -> None:
    columns = history_columns(100)
    del columns["restructured"], columns["amount"]

    report = read(write_csv(tmp_path, columns)).report

    assert report.mature == 100
    assert any("restructured in distress" in note for note in report.notes)


# ------------------------------------------------------------------------------ inputs and groups


def test_region_is_an_input_only_where_asked_for_and_a_group_always(tmp_path: Path) -> None:
    path = write_csv(tmp_path, history_columns(100))

    without, asked = read(path), read(path, region=True)

    assert "region" not in without.loans.columns
    assert "region" in asked.loans.columns
    assert list(without.groups) == list(asked.groups) == ["region"]
    assert len(without.groups["region"].codes) == 100


def test_a_group_is_never_an_input_even_where_the_name_may_not_be_sent(tmp_path: Path) -> None:
    columns = history_columns(100)
    columns["gender"] = ["f", "m"] * 50

    history = read(write_csv(tmp_path, columns), groups=("gender", "device_type"))

    assert history.groups["gender"].vocabulary == ("f", "m")
    assert history.groups["gender"].codes.tolist() == [0, 1] * 50
    assert not {"gender", "device_type"} & set(history.loans.columns)
    assert "device_type" in history.applications


def test_what_may_not_be_sent_is_not_looked_at(tmp_path: Path) -> None:
    columns = history_columns(100)
    columns["contacts"] = ["x"] * 100

    report = read(write_csv(tmp_path, columns)).report

    assert report.set_aside == ("contacts",)
    assert any("not looked at: contacts" in note for note in report.notes)


@pytest.mark.parametrize("option", ["exclude", "keep"])
def test_a_typo_in_an_option_is_refused(tmp_path: Path, option: str) -> None:
    path = write_csv(tmp_path, history_columns(100))
    with pytest.raises(FileProblem, match="no column avg_balanse") as problem:
        read(path, TERMS, **{option: frozenset({"avg_balanse"})})
    assert problem.value.hint == "did you mean avg_balance?"


def test_a_group_that_is_not_there_or_is_a_part_of_the_loan_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path, history_columns(100))
    with pytest.raises(FileProblem, match="no column sex"):
        read(path, groups=("sex",))
    with pytest.raises(TrainingProblem, match="no attribute of a person"):
        read(path, groups=("due_on",))


# ------------------------------------------------------------------------------ leakage


def leaking(columns: dict[str, list[object]], name: str) -> None:
    bad = [late >= 30 for late in columns["largest_days_past_due"]]  # type: ignore[operator]
    columns[name] = [0.5 if late else 5.0 + row % 7 for row, late in enumerate(bad)]


def test_a_field_that_tells_the_outcome_is_an_open_suspect_and_stops_the_run(
    tmp_path: Path,
) -> None:
    columns = history_columns()
    leaking(columns, "avg_balance")

    history = read(write_csv(tmp_path, columns))

    [suspect] = history.report.suspects
    assert (suspect.column, suspect.auc, suspect.standing) == ("avg_balance", 1.0, Standing.OPEN)
    assert not suspect.kept
    assert "avg_balance" not in history.loans.columns
    with pytest.raises(TrainingProblem, match="avg_balance") as problem:
        refuse_open_suspects(history.report)
    assert problem.value.hint is not None
    assert "--exclude" in problem.value.hint


@pytest.mark.parametrize(
    ("option", "standing", "inputs"),
    [("exclude", Standing.EXCLUDED, 0), ("keep", Standing.KEPT, 1)],
)
def test_somebody_decides_on_a_suspect(
    tmp_path: Path, option: str, standing: Standing, inputs: int
) -> None:
    columns = history_columns()
    leaking(columns, "avg_balance")

    history = read(write_csv(tmp_path, columns), TERMS, **{option: frozenset({"avg_balance"})})

    assert [s.standing for s in history.report.suspects] == [standing]
    assert list(history.loans.columns).count("avg_balance") == inputs
    refuse_open_suspects(history.report)


def with_young_loans(by: float, *, strong: float = 0.0) -> dict[str, list[object]]:
    """Give a history in which every fifth loan is too young, and a balance that tells the outcome.

    It is lower by `by` where the loan is known to have defaulted, by `strong` where it will.
    """
    columns = history_columns(4_000)
    late = np.array([days >= 30 for days in columns["largest_days_past_due"]])
    young = np.random.default_rng(1).random(4_000) < 0.2
    for row in np.flatnonzero(young):
        columns["observed_on"][row] = columns["due_on"][row]
        columns["largest_days_past_due"][row] = 0
    balance = 100.0 + 10.0 * np.random.default_rng(2).normal(size=4_000)
    columns["avg_balance"] = list(balance - by * (late & ~young) - strong * late)
    return columns


def test_a_field_changed_afterwards_is_put_to_a_person_who_may_keep_it(tmp_path: Path) -> None:
    path = write_csv(tmp_path, with_young_loans(by=8.0))

    [asked] = read(path).report.suspects
    assert (asked.column, asked.standing, asked.doubt) == ("avg_balance", Standing.OPEN, True)
    assert asked.why.startswith("among loans whose outcome is not known yet")
    assert 0.6 < asked.auc < 0.8
    with pytest.raises(TrainingProblem, match="avg_balance"):
        refuse_open_suspects(read(path).report)

    history = read(path, keep=frozenset({"avg_balance"}))
    [kept] = history.report.suspects
    assert kept.kept
    assert not kept.blocks
    assert "avg_balance" in history.loans.columns


def test_a_strong_field_that_young_loans_bear_out_is_no_suspect(tmp_path: Path) -> None:
    assert not read(write_csv(tmp_path, with_young_loans(by=0.0, strong=24.0))).report.suspects


def test_a_strong_field_with_a_sign_of_a_later_hand_gives_the_outcome_away(tmp_path: Path) -> None:
    path = write_csv(tmp_path, with_young_loans(by=24.0))

    [suspect] = read(path, keep=frozenset({"avg_balance"})).report.suspects

    assert 0.9 <= suspect.auc < 0.99
    assert suspect.blocks


def test_a_leaking_column_outside_the_catalogue_is_named_and_never_an_input(
    tmp_path: Path,
) -> None:
    columns = history_columns()
    columns["written_off_on"] = [
        "2026-01-01" if late >= 30 else "" for late in columns["largest_days_past_due"]
    ]
    columns["status"] = [
        "lost" if late >= 30 else ("paid", "closed")[late % 2]
        for late in columns["largest_days_past_due"]
    ]
    columns["branch"] = [f"branch {row % 90}" for row in range(2_000)]

    history = read(write_csv(tmp_path, columns))

    found = {s.column: s for s in history.report.suspects}
    assert set(found) == {"written_off_on", "status"}
    assert found["written_off_on"].why == "it is given mostly where the loan defaulted"
    assert {s.standing for s in found.values()} == {Standing.SET_ASIDE}
    refuse_open_suspects(history.report)


# ------------------------------------------------------------------------------ duplicates


def test_rows_equal_in_every_column_stay_once(tmp_path: Path) -> None:
    columns = history_columns(300)
    columns["remark"] = [""] * 300
    repeat(columns, [5, 5, 9])

    history = read(write_csv(tmp_path, columns))

    [told] = history.report.duplicates
    assert (told.kind, told.rows) == (DuplicateKind.WHOLE_ROW, 3)
    assert told.first_rows == (301, 302, 303)
    assert len(history.loans) == history.report.borrowers == 300


def test_loans_of_one_borrower_day_and_amount_that_differ_are_all_left_out(
    tmp_path: Path,
) -> None:
    columns = history_columns(300)
    repeat(columns, [5])
    columns["largest_days_past_due"][300] = 1

    history = read(write_csv(tmp_path, columns))

    [told] = history.report.duplicates
    assert (told.kind, told.rows, told.first_rows) == (DuplicateKind.SAME_LOAN, 2, (6, 301))
    assert len(history.loans) == 299


def test_one_borrower_may_borrow_again_and_ask_twice_a_day(tmp_path: Path) -> None:
    columns = history_columns(300)
    columns["borrower_id"] = ["one"] * 300
    for name in ("disbursed_on", "due_on", "observed_on", "largest_days_past_due", "restructured"):
        columns[name][0] = columns[name][1] = ""
    columns["applied_on"][1], columns["amount"][1] = columns["applied_on"][0], columns["amount"][0]

    history = read(write_csv(tmp_path, columns))

    assert history.report.duplicates == ()
    assert len(set(history.borrowers.tolist())) == history.report.borrowers == 1


# ------------------------------------------------------------------------------ the report


def test_a_file_without_one_sound_row_is_reported_not_refused(tmp_path: Path) -> None:
    columns = history_columns(50)
    columns["applied_on"] = ["01/02/2024"] * 50

    history = read(write_csv(tmp_path, columns))

    assert history.report.unsound == 50
    assert history.report.advice[0] == (
        "50 of 50 rows break a rule and are left out. Put the file right and read it again before "
        "anything else, applied_on first: it must be a date such as 2024-03-31."
    )
    assert len(history.loans) == 0
    assert history.report.enough == "nothing"
    assert history.report.out_of_time_from is None


def test_the_share_of_missing_values_is_told_for_each_column(tmp_path: Path) -> None:
    columns = history_columns(100)
    columns["avg_balance"][:30] = [""] * 20 + ["NA"] * 10

    report = read(write_csv(tmp_path, columns)).report

    assert {m.column: m.share for m in report.missing if m.share} == {"avg_balance": 0.3}


def test_the_report_survives_json(tmp_path: Path) -> None:
    report = read(write_csv(tmp_path, history_columns(100))).report

    assert msgspec.json.decode(msgspec.json.encode(report), type=HistoryReport) == report


def test_reading_tells_how_far_it_is(tmp_path: Path) -> None:
    shares: list[float] = []
    path = write_csv(tmp_path, history_columns(100) | {"remark": ["x"] * 100})

    read_history(path, TERMS, Options(today=TODAY), shares.append)

    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.long
def test_texts_of_a_large_file_are_read_and_let_go(tmp_path: Path) -> None:
    columns = history_columns(200_000)
    columns["remark"] = ["x" * 490 + str(row) for row in range(200_000)]
    path = write_parquet(tmp_path, columns)
    del columns
    texts = 200_000 * 490
    usual = pa.default_memory_pool()
    watched = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(watched)
    try:
        history = read(path)
    finally:
        pa.set_memory_pool(usual)

    assert len(history.loans) == 200_000
    most = watched.max_memory()
    assert most is not None
    assert most < texts / 1.5
