from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alama.core.errors import FileProblem, TrainingProblem
from tests.loans import (
    ROWS,
    noise,
    outcomes,
    product_columns,
    read,
    warning_about,
    write_csv,
    write_parquet,
)


@pytest.mark.parametrize(
    ("bad", "good"),
    [("1", "0"), ("1.0", "0.0"), ("true", "FALSE"), ("Yes", "no"), (1, 0), (1.0, 0.0)],
    ids=repr,
)
def test_an_outcome_can_be_written_in_several_ways(tmp_path: Path, bad: Any, good: Any) -> None:
    label = [bad if row % 2 else good for row in range(ROWS)]

    for write in (write_csv, write_parquet):
        loaded = read(write(tmp_path, {"income": noise(), "bad": label}), label="bad")
        assert loaded.dataset.labels.tolist() == outcomes()


def test_true_and_false_of_parquet_are_outcomes(tmp_path: Path) -> None:
    label = [row % 2 == 1 for row in range(ROWS)]

    loaded = read(write_parquet(tmp_path, {"income": noise(), "default": label}))

    assert loaded.dataset.labels.tolist() == outcomes()


@pytest.mark.parametrize("empty", ["", "NA"])
def test_rows_without_an_outcome_are_left_out_and_counted(tmp_path: Path, empty: str) -> None:
    label: list[Any] = list(outcomes())
    income: list[Any] = noise()
    label[10:110] = [empty] * 100
    income[50] = "not a number, and nobody minds"

    loaded = read(write_csv(tmp_path, {"default": label, "income": income}))

    assert len(loaded.dataset) == ROWS - 100
    assert warning_about(loaded, "left out").startswith("100 rows with nothing in column default")
    kept = [float(x) for x in income[:10] + income[110:]]
    assert loaded.dataset.columns["income"] == pytest.approx(kept)


def test_a_label_that_is_not_there_is_named_with_the_nearest_column(tmp_path: Path) -> None:
    path = write_csv(tmp_path, {"Defaulted": outcomes(), "income": noise()})

    with pytest.raises(FileProblem, match="no column default ") as problem:
        read(path)

    assert problem.value.hint == "did you mean Defaulted?"


def test_other_values_than_two_outcomes_are_refused_without_repeating_them(tmp_path: Path) -> None:
    label: list[Any] = list(outcomes())
    label[5] = "current"

    with pytest.raises(TrainingProblem, match="column default, row 6: the outcome") as problem:
        read(write_csv(tmp_path, {"default": label, "income": noise()}))

    assert "current" not in str(problem.value)


@pytest.mark.parametrize(("only", "word"), [(0, "repaid loan"), (1, "default")])
def test_one_outcome_is_nothing_to_tell_apart(tmp_path: Path, only: int, word: str) -> None:
    path = write_csv(tmp_path, {"default": [only] * ROWS, "income": noise()})

    with pytest.raises(TrainingProblem, match=f"every row is a {word}"):
        read(path)


@pytest.mark.parametrize(("rows", "defaults"), [(3, 1), (49, 22), (1_000, 19), (1_000, 981)])
def test_too_few_rows_or_outcomes_are_refused_with_what_is_needed(
    tmp_path: Path, rows: int, defaults: int
) -> None:
    label = [int(row < defaults) for row in range(rows)]

    with pytest.raises(TrainingProblem, match="too little to learn from") as problem:
        read(write_csv(tmp_path, {"default": label, "income": noise(rows)}))

    assert f"{defaults:,} defaults" in str(problem.value)
    assert problem.value.hint == "at least 50 rows with 20 of each outcome are needed"


@pytest.mark.parametrize(("defaults", "study"), [(299, 1), (300, 0)])
def test_little_evidence_is_said_to_be_little(tmp_path: Path, defaults: int, study: int) -> None:
    label = [int(row < defaults) for row in range(ROWS)]

    said = read(write_csv(tmp_path, {"default": label, "income": noise()})).warnings

    assert sum("not for lending" in warning for warning in said) == study


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("balance_stability", 1.5, "must be a number at least 0 and at most 1"),
        ("mm_months", -1, "must be a whole number at least 0 and at most 600"),
        ("mm_months", 2.5, "must be a whole number at least 0 and at most 600"),
        ("avg_inflow", float("inf"), "must be a finite number"),
        ("avg_inflow", float("-inf"), "must be a finite number"),
        ("region", "x" * 65, "must be a string of 1 to 64 printable characters"),
    ],
)
@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_value_that_breaks_a_rule_is_named_by_its_place(
    tmp_path: Path, name: str, value: Any, rule: str, write: Any
) -> None:
    columns = {key: list(values) for key, values in product_columns().items()}
    columns[name][70] = value

    with pytest.raises(FileProblem) as problem:
        read(write(tmp_path, columns))

    assert str(problem.value).splitlines()[1:] == [f"  column {name}, row 71: {rule}"]


def test_broken_rules_are_told_together_up_to_ten(tmp_path: Path) -> None:
    columns = {key: list(values) for key, values in product_columns().items()}
    columns["avg_inflow"][7] = "many"
    columns["balance_stability"][:4] = [2] * 4

    with pytest.raises(FileProblem) as few:
        read(write_csv(tmp_path, columns))
    columns["balance_stability"][:40] = [2] * 40
    with pytest.raises(FileProblem) as many:
        read(write_csv(tmp_path, columns))

    assert len(str(few.value).splitlines()) == 1 + 5
    assert "column avg_inflow, row 8: must be a number" in str(few.value)
    assert len(str(many.value).splitlines()) == 1 + 10
    assert "the first of the values" in str(many.value)


def test_an_infinite_value_is_refused_where_types_are_read_from_the_data_too(
    tmp_path: Path,
) -> None:
    income = noise()
    income[3] = float("inf")

    for write in (write_csv, write_parquet):
        with pytest.raises(FileProblem, match="column income, row 4: must be a"):
            read(write(tmp_path, {"default": outcomes(), "income": income}))
