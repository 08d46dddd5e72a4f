from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Change, Law, changes
from alama.core.lending.policy_check import seal
from tests.policies import random_policy
from tests.simulations import a_wider_policy


def test_each_key_that_differs_is_named_with_both_values() -> None:
    old = default_policy("KES")
    pricing = msgspec.structs.replace(old.pricing, margin=12.5)
    law = Law(retention_days=2_555, forbidden_fields=("region", "device_type"))
    new = seal(msgspec.structs.replace(old, id="", version="2", pricing=pricing, law=law))
    assert changes(old, new) == (
        Change("version", "1", "2"),
        Change("pricing.margin", "10", "12.5"),
        Change("law.retention_days", None, "2,555"),
        Change("law.forbidden_fields", None, "region, device_type"),
    )


def test_tiers_and_rules_are_told_apart_by_their_names() -> None:
    found = {change.key: change for change in changes(default_policy("KES"), a_wider_policy())}
    assert found["tiers.C.score_min"] == ("tiers.C.score_min", "605", "580")
    assert found["rules.young_account.when"] == ("rules.young_account.when", None, "mm_months < 4")
    assert "tiers.C.limit_max" not in found


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_policies_differ_in_something_if_and_only_if_their_ids_do(first: int, second: int) -> None:
    old, new = (random_policy(np.random.default_rng(seed)) for seed in (first, second))
    assert changes(old, old) == ()
    assert bool(changes(old, new)) == (old.id != new.id)
    swapped = {(change.key, change.new, change.old) for change in changes(new, old)}
    assert swapped == set(changes(old, new))
