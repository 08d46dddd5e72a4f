"""What is said where there is no recourse: only what was seen to stand in the way."""

import msgspec

from alama.core.application import read
from alama.core.assess import assess
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.recourse.answer import Hindrance, ScoreAtLeast
from alama.core.recourse.ready import ReadyRecourse
from tests.unit.core.recourse.advised import (
    GOOD,
    MODEL,
    POLICY,
    POOR,
    READY,
    by_rule,
    find,
    obstacles,
)


def test_rules_that_cannot_be_kept_together_are_named_and_no_field() -> None:
    ready = by_rule("requested_amount < 3000", "requested_amount > 0.1 * avg_inflow")
    told = obstacles({**GOOD, "avg_inflow": 15_000}, ready)
    assert {one.hindrance for one in told} == {Hindrance.RULE}
    assert {one.rule for one in told} <= {"rule_0", "rule_1"}
    assert all("requested_amount" in one.fields for one in told)


def test_a_rule_is_named_with_the_fields_that_were_given() -> None:
    ready = by_rule("requested_amount < 500 or avg_inflow < 90_000 + existing_repayments")
    (told,) = obstacles({**GOOD, "existing_repayments": 500}, ready)
    assert told.fields == ("avg_inflow", "requested_amount", "existing_repayments")
    ready = by_rule("region == 'nairobi' and (avg_outflow < 5 or existing_repayments is missing)")
    (told,) = obstacles(GOOD, ready)
    assert "existing_repayments" not in told.fields


def test_where_no_loan_can_be_repaid_whatever_the_score_that_is_said() -> None:
    tiers = tuple(
        msgspec.structs.replace(tier, inflow_share=tier.inflow_share / 8) for tier in POLICY.tiers
    )
    ready = ReadyRecourse(ReadyPolicy(seal(msgspec.structs.replace(POLICY, tiers=tiers)), MODEL))
    told = obstacles({**GOOD, "existing_repayments": 8_000}, ready, locked=["existing_repayments"])
    assert "unaffordable" in {one.rule for one in told}


def test_what_costs_next_to_nothing_is_not_what_binds() -> None:
    sent = {**POOR, "device_type": "basic_phone", "device_age_months": 90}
    costs = {
        one.feature: one.points
        for one in assess(MODEL, READY.policy, read(MODEL.catalogue, sent)).contributions
    }
    for score in range(640, 800, 10):
        for obstacle in find(sent, goal=ScoreAtLeast(score)).binding:
            if obstacle.hindrance is Hindrance.IMMUTABLE:
                assert all(costs[name] <= -1.0 for name in obstacle.fields)


def test_what_takes_many_changes_and_is_like_nobody_is_said_to_be_like_nobody_only() -> None:
    sent = {
        "mm_months": 6,
        "avg_inflow": 17_385.66,
        "stability_score": 0.086,
        "airtime_regularity": 0.818,
        "avg_outflow": 19_483.69,
        "avg_balance": 20_427.45,
        "tx_frequency": 7.9,
        "weekend_activity": 0.0,
        "airtime_avg": 111,
        "airtime_freq": 6.8,
        "device_type": "x",
        "device_age_months": 27,
        "requested_term_days": 90,
        "region": "Kisumu",
    }
    (told,) = obstacles(sent)
    assert told.hindrance is Hindrance.PLAUSIBILITY
    assert len(told.fields) > 3
