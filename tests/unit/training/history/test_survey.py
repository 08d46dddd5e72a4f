from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alama.core.catalogue import Kind
from alama.core.errors import FileProblem
from alama.core.kernel import Words
from tests.loans import (
    ROWS,
    Columns,
    kinds,
    noise,
    outcomes,
    read,
    warning_about,
    write_csv,
    write_parquet,
)


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_types_are_read_from_the_data(tmp_path: Path, write: Any) -> None:
    columns = {
        "default": outcomes(),
        "income": [None if row % 7 == 0 else 1.5 * (row % 90) for row in range(ROWS)],
        "children": [row % 5 for row in range(ROWS)],
        "children_as_double": [float(row % 5) for row in range(ROWS)],
        "job": [("Clerk", "farmer ", None)[row % 3] for row in range(ROWS)],
        "owner": [row % 4 == 0 for row in range(ROWS)],
    }

    loaded = read(write(tmp_path, columns))

    assert kinds(loaded) == {
        "income": Kind.NUMBER,
        "children": Kind.NUMBER,
        "children_as_double": Kind.NUMBER,
        "job": Kind.WORD,
        "owner": Kind.WORD,
    }
    income, job = loaded.dataset.columns["income"], loaded.dataset.columns["job"]
    assert isinstance(income, np.ndarray)
    assert np.isnan(income[:3]).tolist() == [True, False, False]
    assert isinstance(job, Words)
    assert [job.vocabulary[code] for code in job.codes[:2]] == ["clerk", "farmer"]
    assert job.codes[2] == -1
    assert not any("ignored" in warning for warning in loaded.warnings)


def test_words_have_one_vocabulary_over_all_batches(tmp_path: Path) -> None:
    rows = 150_000
    job = np.where(np.arange(rows) < 70_000, "clerk", "farmer")
    job[-3:] = ["Farmer", "CLERK", "clerk"]

    loaded = read(write_parquet(tmp_path, {"default": outcomes(rows), "job": job}))

    column = loaded.dataset.columns["job"]
    assert isinstance(column, Words)
    assert column.vocabulary == ("clerk", "farmer")
    assert np.bincount(column.codes).tolist() == [70_002, 79_998]


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("same", [7] * ROWS, "the same value"),
        ("same_word", ["x"] * ROWS, "the same value"),
        ("nothing", [""] * ROWS, "it is empty"),
        ("opened", ["2024-01-31"] * (ROWS // 2) + ["2023-06-30"] * (ROWS // 2), "dates"),
        ("opened_there", [f"{1 + row % 28}/03/2024" for row in range(ROWS)], "dates"),
        ("customer", [f"c{row}" for row in range(ROWS)], "name the rows"),
        ("street", [f"s{row % 1000}" for row in range(ROWS)], "none of its 1,000 words"),
        ("essay", ["because " * 9 + str(row % 3) for row in range(ROWS)], "64 characters"),
        ("colour", [f"\x1b[3{row % 3}mx" for row in range(ROWS)], "unprintable"),
        ("row", [ROWS - row for row in range(ROWS)], "numbers the rows"),
        ("", [row % 9 for row in range(ROWS)], "without a name"),
    ],
)
def test_a_column_that_teaches_nothing_is_ignored_and_said_so(
    tmp_path: Path, name: str, values: list[Any], reason: str
) -> None:
    columns: Columns = {"default": outcomes(), "income": noise(), name: values}

    loaded = read(write_csv(tmp_path, columns))

    assert list(loaded.dataset.columns) == ["income"]
    assert name in warning_about(loaded, reason)


def test_a_column_of_dates_in_parquet_is_ignored_too(tmp_path: Path) -> None:
    dates = np.datetime64("2024-01-01") + np.arange(ROWS)

    loaded = read(
        write_parquet(tmp_path, {"default": outcomes(), "income": noise(), "opened": dates})
    )

    assert list(loaded.dataset.columns) == ["income"]
    warning_about(loaded, "dates")


def test_more_words_than_anyone_could_count_stop_the_counting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alama.training.history.gather.VOCABULARY_MAX", 100)
    town = [f"town {row % 101}" for row in range(ROWS)]

    loaded = read(write_csv(tmp_path, {"default": outcomes(), "income": noise(), "town": town}))

    assert list(loaded.dataset.columns) == ["income"]
    assert "town" in warning_about(loaded, "different words")


def test_whole_numbers_that_all_differ_are_pointed_out(tmp_path: Path) -> None:
    account = [17 * row + 3 for row in range(ROWS)]

    loaded = read(
        write_csv(tmp_path, {"default": outcomes(), "income": noise(), "account": account})
    )

    assert "account" in loaded.dataset.columns
    assert "--exclude account" in warning_about(loaded, "differs in every row")


def test_a_few_texts_among_numbers_are_an_error_with_the_place(tmp_path: Path) -> None:
    income: list[Any] = noise()
    income[41] = "secret"

    with pytest.raises(FileProblem) as problem:
        read(write_csv(tmp_path, {"default": outcomes(), "income": income}))

    assert "column income, row 42: must be a number" in str(problem.value)
    assert "secret" not in str(problem.value)


def test_a_mixture_of_numbers_and_text_is_read_as_words(tmp_path: Path) -> None:
    grade = [("1", "2", "A", "B")[row % 4] for row in range(ROWS)]

    loaded = read(write_csv(tmp_path, {"default": outcomes(), "grade": grade}))

    assert kinds(loaded) == {"grade": Kind.WORD}
    assert "(50%)" in warning_about(loaded, "column grade holds numbers")


def test_marks_of_a_missing_number_are_read_as_missing(tmp_path: Path) -> None:
    income = [("NA", "12.5", " null ", "3")[row % 4] for row in range(ROWS)]

    loaded = read(write_csv(tmp_path, {"default": outcomes(), "income": income}))

    assert kinds(loaded) == {"income": Kind.NUMBER}
    assert "1,200 values such as NA" in warning_about(loaded, "column income")


def test_a_word_that_could_mark_a_missing_number_stays_a_word(tmp_path: Path) -> None:
    guarantor = [("none", "parent")[row % 3 == 0] for row in range(ROWS)]

    loaded = read(write_csv(tmp_path, {"default": outcomes(), "guarantor": guarantor}))

    column = loaded.dataset.columns["guarantor"]
    assert isinstance(column, Words)
    assert set(column.vocabulary) == {"none", "parent"}
