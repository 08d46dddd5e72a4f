from __future__ import annotations

from datetime import date

import pytest

from alama.core.monitoring.findings import days, plural


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (date(2026, 11, 4), date(2026, 11, 14), "4 to 14 November"),
        (date(2026, 10, 28), date(2026, 11, 3), "28 October to 3 November"),
        (date(2025, 11, 4), date(2026, 11, 14), "4 November 2025 to 14 November 2026"),
        (date(2026, 11, 4), date(2026, 11, 4), "4 November"),
    ],
)
def test_days_are_named_with_as_few_months_as_it_takes(first: date, last: date, said: str) -> None:
    assert days(first, last) == said


def test_one_is_not_several() -> None:
    assert [plural(n, "loan") for n in (0, 1, 2, 4_000)] == [
        "0 loans",
        "1 loan",
        "2 loans",
        "4,000 loans",
    ]
