"""Request ids sort by time, are told apart by chance, and are known by their form."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.platform.ids import RANDOM_BYTES, is_request_id, request_id

moments_us = st.integers(0, 16**14 - 1)
chances = st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES)


@given(moments_us, chances)
def test_an_id_has_its_prefix_and_28_digits(now_us: int, random: bytes) -> None:
    made = request_id(now_us, random)
    assert re.fullmatch(r"req_[0-9a-f]{28}", made)
    assert is_request_id(made)


@given(moments_us, chances, moments_us, chances)
def test_ids_sort_as_the_time_goes(one_us: int, one: bytes, other_us: int, other: bytes) -> None:
    if one_us < other_us:
        assert request_id(one_us, one) < request_id(other_us, other)


@pytest.mark.parametrize(
    "text",
    ["", "req_", "req_" + "0" * 27, "req_" + "0" * 29, "req_" + "A" * 28, "req_" + "0" * 28 + "\n"],
)
def test_anything_else_is_no_id(text: str) -> None:
    assert not is_request_id(text)
