"""Days since 1970, and months."""

from __future__ import annotations

from datetime import date

import pytest

from alama.platform.days import date_of, day_number, first_day_of, last_day_of, month_of


@pytest.mark.parametrize(
    ("month", "first", "last"),
    [
        (197001, date(1970, 1, 1), date(1970, 1, 31)),
        (202402, date(2024, 2, 1), date(2024, 2, 29)),
        (202612, date(2026, 12, 1), date(2026, 12, 31)),
    ],
)
def test_a_month_has_a_first_and_a_last_day(month: int, first: date, last: date) -> None:
    assert (date_of(first_day_of(month)), date_of(last_day_of(month))) == (first, last)
    assert month_of(day_number(first)) == month_of(day_number(last)) == month
    assert month_of(day_number(last) + 1) != month
