"""Rules that bound the limit in place of a decision."""

from __future__ import annotations

import msgspec
import pytest

from alama.core.application import read, remembering
from alama.core.assess import assess
from alama.core.errors import InvalidPolicy
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Exposure, Ladder, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.memory import Remembered
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.units import Money
from alama.platform.files.packaged import builtin

READY = ReadyModel(builtin())
GOOD = {"mm_months": 30, "avg_inflow": 20_000, "balance_stability": 0.7, "airtime_regularity": 0.7}


def policy_with(*rules: OwnRule) -> Policy:
    return seal(msgspec.structs.replace(default_policy("KES"), rules=rules))


def test_no_limit_is_above_it_and_the_offer_names_the_rule() -> None:
    policy = policy_with(OwnRule("young", "mm_months < 36", limit_max=2_000))
    said = assess(READY, ReadyPolicy(policy, READY), read(PRODUCT, GOOD))
    assert (said.decision, said.rules) == (Decision.APPROVED, ())
    assert (said.offer.limit, said.offer.capped_by) == (2_000, ("young",))


@pytest.mark.parametrize(("owed", "named"), [(0.0, "ladder"), (8_000.0, "exposure")])
def test_what_bounds_a_limit_because_of_earlier_loans_is_named_too(owed: float, named: str) -> None:
    policy = msgspec.structs.replace(
        policy_with(), exposure=Exposure(Money(10_000)), ladder=Ladder(Money(2_000), 5.0)
    )
    policy = seal(msgspec.structs.replace(policy, id=""))
    past = Remembered(open_balance=owed, largest_repaid=owed / 2)
    application = remembering(read(PRODUCT, GOOD), past, PRODUCT)
    offer = assess(READY, ReadyPolicy(policy, READY), application).offer
    assert (offer.limit, offer.capped_by) == (2_000, (named,))


def test_where_it_does_not_fire_nothing_changes() -> None:
    policy = policy_with(OwnRule("young", "mm_months < 12", limit_max=2_000))
    plain, capped = (
        assess(READY, ReadyPolicy(one, READY), read(PRODUCT, GOOD))
        for one in (policy_with(), policy)
    )
    assert capped == plain


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (OwnRule("own", "mm_months < 3"), "is missing, and there is no limit_max in its place"),
        (OwnRule("own", "mm_months < 3", limit_max=750), "must be a multiple of limit_step"),
        (OwnRule("own", "requested_amount > 9", limit_max=500), "which limit_max already bounds"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_told(rule: OwnRule, fault: str) -> None:
    with pytest.raises(InvalidPolicy, match=fault):
        policy_with(rule)
