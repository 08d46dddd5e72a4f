"""Whatever text is taken for a policy, it is refused, or it is one that can be lent by."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.application import read as read_application
from alama.core.assess import assess
from alama.core.errors import InvalidPolicy
from alama.core.lending.policy_check import seal
from alama.core.lending.policy_text import decode, read
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.platform.files.packaged import builtin
from tests.tries import tries
from tests.unit.core.lending.test_policy_text import HUGE, RULED, TEXT, refusal_of

MODEL = ReadyModel(builtin())
APPLICATION = read_application(
    PRODUCT,
    {
        "mm_months": 30,
        "avg_inflow": 20_000,
        "balance_stability": 0.7,
        "airtime_regularity": 0.7,
        "avg_outflow": 17_000,
    },
)

TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
TOKENS = [
    *("nan", "inf", "-0.0", "-1", "1e308", "5e-324", HUGE, "2026-11-15", "true", "[]", "{}", "''"),
    *('"""', "[[rules]]", "[caps]", "\\", "\n", "=", "#", ".", "REVIEW", "\0", "\u202e", "é"),
]


def mutated(rng: np.random.Generator, text: str) -> str:
    """Insert, delete or replace one character or one token of a text."""
    parts = TOKEN.findall(text) if rng.random() < 0.5 else list(text)
    at = int(rng.integers(len(parts)))
    other = TOKENS + parts
    new = other[int(rng.integers(len(TOKENS) if rng.random() < 0.5 else len(other)))]
    parts[at] = ["", new, new + parts[at]][int(rng.integers(3))]
    return "".join(parts)


@pytest.mark.no_cover
@given(st.integers(0, 2**32 - 1))
@tries(250)
def test_a_mutated_policy_is_refused_or_can_be_lent_by(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = mutated(rng, RULED if rng.random() < 0.5 else TEXT)
    with suppress(InvalidPolicy):
        policy = read(text.encode())
        assert seal(policy) == policy
        assert decode(text.encode(), policy.id) == policy
        assert assess(MODEL, ReadyPolicy(policy, MODEL), APPLICATION).offer.apr > 0.0


def test_many_mutations_are_still_policies() -> None:
    valid = 0
    for seed in count():
        try:
            read(mutated(np.random.default_rng(seed), TEXT).encode())
        except InvalidPolicy:
            continue
        valid += 1
        if valid == 50:
            break
    assert seed < 500


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_no_bytes_at_all_are_anything_but_refused(written: bytes) -> None:
    refusal_of(written)
