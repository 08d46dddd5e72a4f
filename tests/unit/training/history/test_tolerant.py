from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from alama.core.errors import FileProblem
from alama.training.history.rows import read_days, read_numbers


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["1", " 2.5 ", "", "NA", "x", None, "1e999"]),
        pa.array(["1", " 2.5 ", "", "NA", "x", None, "1e999"]).dictionary_encode(),
    ],
)
def test_numbers_are_read_around_those_that_are_none(column: pa.Array[Any]) -> None:
    values, refused = read_numbers(column, "income")

    assert values[:2].tolist() == [1.0, 2.5]
    assert np.isnan(values[2:]).all()
    assert refused.tolist() == [False, False, False, False, True, False, True]


def test_numbers_of_other_types_are_read_and_infinity_is_none() -> None:
    values, refused = read_numbers(pa.array([1.0, np.inf, None, np.nan]), "income")
    assert refused.tolist() == [False, True, False, False]
    assert values[0] == 1.0
    assert np.isnan(values[1:]).all()

    exact, none = read_numbers(pa.array([Decimal("1.25"), None]), "income")
    assert exact[0] == 1.25
    assert not none.any()


def test_a_column_of_another_type_is_refused_as_a_whole() -> None:
    with pytest.raises(FileProblem, match="column income must hold numbers"):
        read_numbers(pa.array([date(2024, 1, 1)]), "income")
    with pytest.raises(FileProblem, match="column due_on must hold dates"):
        read_days(pa.array([20240101]), "due_on")


def test_days_are_read_around_those_that_are_none() -> None:
    column = pa.array(
        ["2024-02-29", " 2024-03-01T10:30:00Z", "2023-02-29", "1/2/2024", "", "n/a", None]
    )

    values, refused = read_days(column, "due_on")

    assert values[:2].tolist() == [date(2024, 2, 29), date(2024, 3, 1)]
    assert np.isnat(values[2:]).all()
    assert refused.tolist() == [False, False, True, True, False, False, False]


def test_days_of_parquet_are_read_from_dates_and_times() -> None:
    for column in (pa.array([date(2024, 1, 2), None]), pa.array([datetime(2024, 1, 2, 9), None])):  # noqa: DTZ001 - a file's own time
        values, refused = read_days(column, "due_on")
        assert values[0] == np.datetime64("2024-01-02")
        assert np.isnat(values[1])
        assert not refused.any()
