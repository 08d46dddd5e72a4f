"""A line that is no TOML is told in the words of whoever wrote it, and shown."""

from __future__ import annotations

import pytest

from alama.core.errors import InvalidPolicy
from alama.core.lending.draft import default_text
from alama.core.lending.policy_text import SHOWN_MAX, read

TEXT = default_text("KES").decode()
TWO_BRACKETS = "write [[tiers]], with two brackets, above each of the tiers"


def fault_of(old: str, new: str) -> str:
    assert old in TEXT
    with pytest.raises(InvalidPolicy) as caught:
        read(TEXT.replace(old, new, 1).encode())
    (fault,) = caught.value.faults
    assert fault.line is not None
    return fault.fault


def test_a_common_mistake_is_told_by_what_to_write(subtests: pytest.Subtests) -> None:
    for old, new, advice in [
        ('name = "C"', 'name = "C', 'a quote is not closed: it ends with "'),
        ('name = "C"', "name = 'C", "a quote is not closed: it ends with '"),
        ('name = "C"', "name = “C”", "write straight quotes, \" or '"),
        ('name = "C"', 'name = "the "C" tier"', "inside \"...\" write '...'"),
        ('name = "C"', "name = C", 'put a text in quotes: "C"'),
        ("limit_max = 50_000", "limit_max = 50,000", "write 50000 or 50_000, without commas"),
        ("limit_max = 50_000", "limit_max = 50 000", "write 50000 or 50_000, without spaces"),
        ("limit_max = 50_000", "limit_max = 1,050,000", "write 1050000 or 1_050_000"),
        ("limit_max = 50_000", "limit_max = 50k", "write the number alone: 50"),
        ("inflow_share = 0.35", "inflow_share = 0,35", "write 0.35, with a point"),
        ("inflow_share = 0.35", "inflow_share = .35", "write 0.35"),
        ("inflow_share = 0.35", "inflow_share = 1.", "write 1 or 1.0"),
        ("inflow_share = 0.35", "inflow_share = 35%", "write 35, without %"),
        ("inflow_share = 0.35", "inflow_share = 35 percent # much", "write the number alone: 35"),
        ("inflow_share = 0.35", "inflow_share: 0.35", "write = between a key and its value"),
        ("inflow_share = 0.35", "inflow_share =", "write a value behind the ="),
        ("inflow_share = 0.35", "inflow_share 0.35 # x", "a key, = and a value are expected"),
        ("[[tiers]]", "[tiers]", TWO_BRACKETS),
        ("50_000\n\n[[tiers]]", "50_000\n\n[tiers]", TWO_BRACKETS),
        ("50_000\n\n[[tiers]]", "50_000\n", "name stands twice in its table"),
        ("[caps]", "[pricing]", "[pricing] stands twice: make one of them"),
        ("[caps]", "[caps", "close the brackets as they were opened"),
        ("[[tiers]]", "[[tiers]", "close the brackets as they were opened"),
        ("120, 180]", "120, 180", "a [ is not closed, here or above"),
        ("[30, 60,", "[30 60,", "or a comma is missing in the list"),
    ]:
        with subtests.test(old=old, new=new):
            assert advice in fault_of(old, new)


def test_the_line_is_shown() -> None:
    assert fault_of("limit_max = 50_000", "limit_max = 50,000").endswith(
        " (the line is: limit_max = 50,000)"
    )


@pytest.mark.parametrize("value", ["1,000" + "," * SHOWN_MAX, "1,000 \x1b[31m"])
def test_a_line_that_is_long_or_cannot_be_printed_is_not_shown(value: str) -> None:
    assert "the line is" not in fault_of("limit_max = 50_000", f"limit_max = {value}")


def test_any_other_mistake_is_told_as_the_format_has_it() -> None:
    assert fault_of("limit_max = 50_000", "limit_max = 1979-13-01").startswith("this is not TOML: ")
