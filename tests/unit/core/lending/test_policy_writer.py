"""A policy is written as a text that says the same, and explains itself."""

from __future__ import annotations

import tomllib

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from alama.core.lending.draft import default_policy, write
from alama.core.lending.policy import Affordability, Caps, Daily, Decision, Law, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.policy_text import read
from alama.core.units import Apr, Money
from tests.policies import random_policy, random_products
from tests.tries import tries

POLICY = default_policy("KES")
SEEDS = st.integers(0, 2**32 - 1)
LINES = st.text(min_size=1, max_size=60).filter(lambda text: text.strip() and text.isprintable())
AWKWARD = ['"', "'", "\"'", "\\", "\\n", "a\\\"b'", "'''", '"""', "# no comment", "Ünï¢ødé 貸付 🌍"]


def read_back(policy: Policy) -> Policy:
    return read(write(policy).encode())


@given(SEEDS)
@tries(100)
def test_a_policy_reads_back_as_it_was_written(seed: int) -> None:
    policy = random_policy(np.random.default_rng(seed))
    assert read_back(policy) == policy
    policy = random_products(np.random.default_rng([seed, 1]), policy)
    assert read_back(policy) == policy


@given(st.sampled_from(AWKWARD) | LINES, st.sampled_from(AWKWARD) | LINES)
def test_every_text_reads_back_as_it_was_written(name: str, says: str) -> None:
    rule = OwnRule("own", "region == 'a b' or region == \"it's\"", Decision.REVIEW, says)
    policy = seal(msgspec.structs.replace(POLICY, name=name, version=says, rules=(rule,)))
    assert read_back(policy) == policy


@given(st.floats(1e-9, 1e12), st.floats(0.0, 1.0), st.floats(25.0, 10_000.0), st.floats(0.0, 1e300))
def test_every_figure_reads_back_as_it_was_written(
    amount: float, share: float, apr_max: float, volume_max: float
) -> None:
    policy = seal(
        msgspec.structs.replace(
            POLICY,
            standard_loan=msgspec.structs.replace(POLICY.standard_loan, amount=Money(amount)),
            affordability=Affordability(share, outflow_ratio_max=None),
            caps=Caps(Apr(apr_max), Decision.DECLINED, charges_max=0.3),
            daily=Daily(Money(volume_max), Money(-0.0), -12),
            law=Law(0, 36_500, ("region", "contacts")),
        )
    )
    assert read_back(policy) == policy


def test_what_a_policy_leaves_open_stands_there_as_a_comment_that_could_be_taken_up() -> None:
    text = write(POLICY)
    taken_up = text.replace("# charges_max", "charges_max").replace("# volume_max", "volume_max")
    policy = read(taken_up.encode())
    assert policy.caps.charges_max == 1.0
    assert policy.daily.volume_max == 1_000_000.0


def test_the_rule_that_stands_there_as_a_comment_can_be_taken_up() -> None:
    lines = write(POLICY).splitlines()
    start = lines.index("# [[rules]]")
    lines[start : start + 5] = [line.removeprefix("# ") for line in lines[start : start + 5]]
    (rule,) = read("\n".join(lines).encode()).rules
    assert (rule.name, rule.decision) == ("new_wallet", Decision.DECLINED)


def test_every_key_of_a_policy_stands_in_its_text() -> None:
    text = write(POLICY)
    tables = ["standard_loan", "affordability", "sufficiency", "pricing", "caps", "daily", "law"]
    written = tomllib.loads(text)
    for name in tables:
        for key in getattr(POLICY, name).__struct_fields__:
            assert key in written[name] or f"# {key} = " in text
    said = {key for key, value in asdict(POLICY).items() if value is not msgspec.UNSET}
    assert set(written) == said - {"id", "rules"}


@pytest.mark.parametrize("key", ["currency", "caps.apr_max", "tiers.score_min", "law.notice_days"])
def test_a_remark_stands_before_its_key(key: str) -> None:
    lines = write(POLICY, {key: ["As the law has it."]}).splitlines()
    place = lines.index("# As the law has it.")
    assert lines[place + 1].removeprefix("# ").startswith(f"{key.rpartition('.')[2]} = ")


def test_a_remark_on_the_whole_stands_at_the_top_and_changes_nothing() -> None:
    text = write(POLICY, {"": ["First remark.", "word " * 60]})
    assert text.index("# First remark.") < text.index("schema = ")
    assert max(map(len, text.splitlines())) < 130
    assert read(text.encode()) == POLICY
