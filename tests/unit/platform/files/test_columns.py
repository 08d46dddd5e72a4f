from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from alama.core.errors import FileProblem
from alama.platform.files.columns import Looks, days, looks, numbers, numbers_and_markers, words

DAY = dt.date(2024, 2, 29)


def spelled(column: pa.Array[Any]) -> list[str | None]:
    read = words(column, "a")
    return [None if code < 0 else read.vocabulary[code] for code in read.codes]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["24", None, "2.5"]),
        pa.array([" 24 ", "", "+2.5e0"]),
        pa.array(["24", "  ", "2.5"], pa.large_string()),
        pa.array(["24", None, "2.5"]).cast(pa.string_view()),
        pa.array(["24", None, "2.5"]).dictionary_encode(),
        pa.array([24.0, float("nan"), 2.5]),
        pa.array([24.0, None, 2.5], pa.float32()),
        pa.array([Decimal("24.0"), None, Decimal("2.5")]),
    ],
)
def test_numbers_come_as_doubles_with_nan_for_missing(column: pa.Array[Any]) -> None:
    np.testing.assert_array_equal(numbers(column, "a"), [24.0, np.nan, 2.5])


def test_integers_and_empty_columns_are_numbers_too() -> None:
    np.testing.assert_array_equal(numbers(pa.array([1, None], pa.int8()), "a"), [1.0, np.nan])
    np.testing.assert_array_equal(numbers(pa.nulls(2), "a"), [np.nan, np.nan])


@pytest.mark.parametrize("text", ["0.10000000001", "123456789.123456789", "0.3"])
def test_a_decimal_is_the_double_that_its_text_is(text: str) -> None:
    assert numbers(pa.array([Decimal(text)]), "a") == float(text)
    assert numbers(pa.array([text]), "a") == float(text)


@pytest.mark.parametrize(
    "text", ["abc", "nan", "NaN", "inf", "-Infinity", "1e400", "1,5", "1_0", "0x10", "true", "-"]
)
def test_text_that_is_no_finite_number_is_refused_by_column_and_row(text: str) -> None:
    with pytest.raises(FileProblem, match=r"^column income, row 12: must be a ") as caught:
        numbers(pa.array(["1", None, text]), "income", first_row=10)
    assert text == "-" or text not in str(caught.value)


def test_an_infinite_double_is_refused_by_column_and_row() -> None:
    with pytest.raises(FileProblem, match=r"^column income, row 2: must be a finite number"):
        numbers(pa.array([1.0, float("-inf")]), "income")


@pytest.mark.parametrize(
    ("column", "noun"),
    [
        (pa.array([True]), "true and false"),
        (pa.array([DAY]), "dates or times"),
        (pa.array([[1.0]]), "lists or structures"),
        (pa.array([b"1"]), "values of type binary"),
    ],
)
def test_a_column_of_another_kind_holds_no_numbers(column: pa.Array[Any], noun: str) -> None:
    with pytest.raises(FileProblem, match=f"column a must hold numbers but holds {noun}"):
        numbers(column, "a")


def test_words_are_trimmed_and_empty_ones_are_missing() -> None:
    assert spelled(pa.array([" Nairobi", "", None, "Nairobi ", "\u00a0\t"])) == [
        "Nairobi", None, None, "Nairobi", None,
    ]  # fmt: skip


def test_the_vocabulary_holds_each_word_once() -> None:
    assert words(pa.array(["a ", "b", "a", ""]).dictionary_encode(), "x").vocabulary == ("a", "b")


@pytest.mark.parametrize(
    ("column", "word"),
    [
        (pa.array([24]), "24"),
        (pa.array([24.0]), "24"),
        (pa.array([0.5]), "0.5"),
        (pa.array([Decimal("24.50")]), "24.5"),
        (pa.array([True]), "true"),
        (pa.array([DAY]), "2024-02-29"),
        (pa.array([b" x "]), "x"),
        (pa.array([float("nan")]), None),
        (pa.nulls(1), None),
    ],
)
def test_what_is_no_text_is_the_word_that_one_would_write(
    column: pa.Array[Any], word: str | None
) -> None:
    assert spelled(column) == [word]


def test_bytes_that_are_no_text_are_refused_by_row() -> None:
    with pytest.raises(FileProblem, match="column a, row 6: is not UTF-8 text"):
        words(pa.array([b"x", b"\xff"]), "a", first_row=5)


def test_lists_are_no_words() -> None:
    with pytest.raises(FileProblem, match="must hold words but holds lists or structures"):
        words(pa.array([["x"]]), "a")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["2024-02-29", None]),
        pa.array([" 2024-02-29T10:00:00Z", ""]),
        pa.array([DAY, None]),
        pa.array([DAY, None], pa.date64()),
        pa.array([dt.datetime(2024, 2, 29, 23, 59), None]),  # noqa: DTZ001  a file has no zone
    ],
)
def test_days_come_from_dates_times_and_text(column: pa.Array[Any]) -> None:
    np.testing.assert_array_equal(days(column, "a"), np.array(["2024-02-29", "NaT"], "M8[D]"))


@pytest.mark.parametrize("text", ["29/02/2024", "2023-02-29", "2024-13-01", "soon", "20240229"])
def test_text_that_is_no_day_is_refused_by_row(text: str) -> None:
    with pytest.raises(FileProblem, match="column a, row 3: must be a date such as 2024-03-31"):
        days(pa.array(["2024-01-01", None, text]), "a")


def test_numbers_are_no_days() -> None:
    with pytest.raises(FileProblem, match="column a must hold dates but holds numbers"):
        days(pa.array([20240229]), "a")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["1", " 2.5 ", "", None]), Looks(missing=2, numbers=2)),
        (pa.array(["2024-01-01", "31/12/2024"]), Looks(days=2)),
        (pa.array(["1", "x", "2024-01-01"]), Looks(numbers=1, days=1, words=1)),
        (pa.array(["nan", "inf"]), Looks(words=2)),
        (pa.array([1, None]), Looks(missing=1, numbers=1)),
        (pa.array([Decimal("1.0")]), Looks(numbers=1)),
        (pa.array([True]), Looks(booleans=1)),
        (pa.array([DAY]), Looks(days=1)),
        (pa.array([b"x"]), Looks(words=1)),
        (pa.nulls(2), Looks(missing=2)),
    ],
)
def test_looks_count_what_values_could_be(column: pa.Array[Any], expected: Looks) -> None:
    assert looks(column) == expected


def test_looks_of_batches_add_up() -> None:
    assert Looks(1, 2, 3, 4, 5) + Looks(1, 1, 1, 1, 1) == Looks(2, 3, 4, 5, 6)


def test_marks_of_a_missing_number_are_missing_and_counted() -> None:
    text = pa.array(["1.5", " NA ", "Null", "?", "", None, "-2"])
    for column in (text, text.dictionary_encode()):
        values, marked = numbers_and_markers(column, "amount")
        np.testing.assert_array_equal(values, [1.5, *[np.nan] * 5, -2.0])
        assert marked == 3


def test_other_words_are_still_no_numbers() -> None:
    with pytest.raises(FileProblem, match="column amount, row 11: must be a number"):
        numbers_and_markers(pa.array(["NA", "many"]), "amount", 10)
    assert numbers_and_markers(pa.array([1, None]), "amount")[1] == 0
