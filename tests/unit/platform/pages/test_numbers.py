from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.platform.pages import numbers

MINUS = "\N{MINUS SIGN}"
SPACE = "\N{NARROW NO-BREAK SPACE}"
DASH = "\N{EN DASH}"


def test_numbers_are_written_for_people(subtests: pytest.Subtests) -> None:
    for written, expected in [
        (numbers.fixed(0.81234, 3), "0.812"),
        (numbers.fixed(-0.0001, 3), "0.000"),
        (numbers.fixed(-1234.5, 1), f"{MINUS}1,234.5"),
        (numbers.signed(12.4), "+12"),
        (numbers.signed(-0.4), "0"),
        (numbers.signed(-3.26, 1), f"{MINUS}3.3"),
        (numbers.percent(0.1234), f"12.3{SPACE}%"),
        (numbers.count(1234567), "1,234,567"),
        (numbers.exact(0.35), "0.35"),
        (numbers.exact(20000.0), "20,000"),
        (numbers.short(20000.0), "20k"),
        (numbers.short(1_500_000.0), "1.5M"),
        (numbers.short(9999.0), "9,999"),
        (numbers.short(-0.5), f"{MINUS}0.5"),
        (numbers.large(8250.4), "8,250"),
        (numbers.large(12_549.0), "12.5k"),
        (numbers.large(999_600.0), "1M"),
        (numbers.large(-56_400_000.0), f"{MINUS}56.4M"),
        (numbers.large(1_251_000_000.0), "1.25bn"),
        (numbers.large(5_432e12), "5,432tn"),
        (numbers.money(12_500.0, "KES"), "KES\N{NO-BREAK SPACE}12.5k"),
        (numbers.money(None, "KES"), DASH),
        (numbers.plural(1, "pair"), "1 pair"),
        (numbers.plural(4, "pair"), "4 pairs"),
        (numbers.between("1", "2"), "1 to 2"),
    ]:
        with subtests.test(written=written, expected=expected):
            assert written == expected


def test_no_number_is_a_dash() -> None:
    missing = (numbers.fixed(None), numbers.fixed(float("nan")), numbers.signed(None))
    assert set(missing) == {numbers.percent(None)} == {DASH}


@given(st.floats(), st.integers(0, 5))
def test_no_number_is_written_as_not_a_number(value: float, decimals: int) -> None:
    for written in (
        numbers.fixed(value, decimals),
        numbers.signed(value, decimals),
        numbers.percent(value, decimals),
    ):
        assert not {"n", "N", "-"} & set(written)
