"""What the built-in model and the default policy tell applicants to do."""

import msgspec
import pytest

from alama.core.application import read
from alama.core.assess import assess
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.recourse.answer import (
    Hindrance,
    Obstacle,
    Recourse,
    ScoreAtLeast,
    Sought,
    Status,
    TierAtLeast,
)
from alama.core.recourse.find import find_recourse
from alama.core.recourse.ready import ReadyRecourse
from alama.platform.files.packaged import builtin
from tests.policies import with_parts
from tests.unit.core.recourse.advised import (
    COMPACT,
    GOOD,
    MODEL,
    POLICY,
    POOR,
    READY,
    advice,
    by_rule,
    find,
    obstacles,
    sent_again,
)


def test_somebody_who_is_approved_has_nothing_to_change() -> None:
    assert find(GOOD) == Recourse(Status.ALREADY_MET)
    assert find(POOR, goal=ScoreAtLeast(300)).status is Status.ALREADY_MET


def test_somebody_who_is_declined_is_told_three_ways_to_an_approval() -> None:
    told = find(POOR)
    assert told.status is Status.FOUND
    assert told.optimal
    assert told.binding == ()
    assert len(told.counterfactuals) == 3
    for one in told.counterfactuals:
        assert one.assessment.decision is Decision.APPROVED
        assert one.assessment.offer.limit > 0
        sent_again(POOR, one)


def test_the_cheapest_way_is_to_ask_for_less_and_to_wait() -> None:
    sent = {**POOR, "mm_months": 6}
    told = advice(find(sent).counterfactuals[0])
    assert told["requested_amount"] < 15_000
    assert told["requested_amount"] % POLICY.limit_step == 0
    assert sent["mm_months"] < told["mm_months"] <= sent["mm_months"] + 6
    assert isinstance(told["mm_months"], int)


def test_a_smaller_loan_can_be_asked_for_today_and_a_longer_history_takes_half_a_year() -> None:
    (today,) = find({**POOR, "mm_months": 30}, count=1).counterfactuals
    days = {change.field: MODEL.catalogue.field(change.field).change for change in today.changes}
    assert today.within_days == max(change.within_days for change in days.values() if change)
    (now,) = find(GOOD, by_rule("requested_amount > 0.5 * avg_inflow"), count=1).counterfactuals
    assert advice(now) == {"requested_amount": 11_500}
    assert now.within_days == 0


def test_no_answer_repeats_another_with_more() -> None:
    told = find(POOR, count=5).counterfactuals
    fields = [set(advice(one)) for one in told]
    assert len(told) == 5
    assert not any(a <= b for n, b in enumerate(fields) for a in fields[:n])
    assert [one.cost for one in told] == sorted(one.cost for one in told)


def test_a_compact_request_moves_its_own_fields_and_keeps_its_card() -> None:
    told = find(COMPACT, count=5)
    assert told.status is Status.FOUND
    for one in told.counterfactuals:
        assert set(advice(one)) <= set(COMPACT)
        assert one.assessment.card == "compact"
        sent_again(COMPACT, one)


def test_a_loan_that_was_not_asked_for_is_no_lever() -> None:
    silent = {name: POOR[name] for name in POOR if not name.startswith("requested")}
    for one in find(silent, count=5).counterfactuals:
        assert set(advice(one)) <= set(silent)


def test_answers_speak_the_callers_spelling() -> None:
    sent = {
        "mobile_money_months": 5,
        "monthly_inflow": 14_200,
        "stability_score": 0.5,
        "airtime_regularity": 0.4,
    }
    told = find(sent)
    assert told.status is Status.FOUND
    for one in told.counterfactuals:
        assert set(advice(one)) <= set(sent)
        sent_again(sent, one)


@pytest.mark.parametrize(("months", "tiers"), [(9, "DCB"), (11, "CBA")])
def test_a_better_tier_costs_more(months: int, tiers: str) -> None:
    sent = {**POOR, "mm_months": months}
    costs = [find(sent, goal=TierAtLeast(tier), count=1).counterfactuals[0].cost for tier in tiers]
    assert costs == sorted(costs)
    assert len(set(costs)) == 3


def test_a_score_can_be_sought_whatever_is_decided() -> None:
    (one,) = find(POOR, goal=ScoreAtLeast(600), count=1).counterfactuals
    assert one.assessment.score >= 600
    assert one.assessment.decision is Decision.REVIEW


def test_locked_fields_stay() -> None:
    locked = {"requested_amount", "mobile_money_months"}
    for one in find(POOR, locked=locked, count=5).counterfactuals:
        assert not {"requested_amount", "mm_months"} & set(advice(one))


# ------------------------------------------------------------------------------- the policy


def test_a_rule_that_names_a_number_is_met_exactly() -> None:
    ready = by_rule("mm_months < 6")
    sent = {**GOOD, "mm_months": 4}
    told = find(sent, ready)
    assert [advice(one) for one in told.counterfactuals] == [{"mm_months": 6}]
    sent_again(sent, told.counterfactuals[0], ready)


def test_a_rule_on_two_fields_can_be_met_by_either() -> None:
    ready = by_rule("avg_outflow / avg_inflow > 0.8")
    told = find(GOOD, ready)
    assert {"avg_outflow": 19_000.0} in [advice(one) for one in told.counterfactuals]
    assert {"avg_inflow": 27_000.0} in [advice(one) for one in told.counterfactuals]
    for one in told.counterfactuals:
        sent_again(GOOD, one, ready)


def test_two_rules_need_two_changes() -> None:
    ready = by_rule("mm_months < 30", "balance_stability < 0.6")
    (one,) = find(GOOD, ready, count=1).counterfactuals
    assert advice(one) == {"mm_months": 30, "balance_stability": 0.6}


def test_an_inflow_that_carries_no_loan_has_to_grow() -> None:
    sent = {**GOOD, "avg_inflow": 20_000, "existing_repayments": 7_100}
    assert assess(MODEL, READY.policy, read(MODEL.catalogue, sent)).rules == ("unaffordable",)
    (one,) = find(sent, locked=["existing_repayments"], count=1).counterfactuals
    assert set(advice(one)) == {"avg_inflow"}
    assert 20_000 < advice(one)["avg_inflow"] < 23_000
    sent_again(sent, one)


def test_what_is_repaid_elsewhere_can_be_paid_back() -> None:
    sent = {**GOOD, "avg_inflow": 20_000, "existing_repayments": 9_000}
    told = find(sent, locked=["avg_inflow"], count=5).counterfactuals
    assert all("existing_repayments" in advice(one) for one in told)
    (alone,) = (one for one in told if len(one.changes) == 1)
    assert 6_000 < advice(alone)["existing_repayments"] < 7_000
    assert alone.within_days == 180
    sent_again(sent, alone)


def test_to_wait_takes_as_long_as_it_takes() -> None:
    ready = by_rule("mm_months < 30")
    (one,) = find({**GOOD, "mm_months": 28}, ready, count=1).counterfactuals
    assert advice(one) == {"mm_months": 30}
    assert one.within_days == 60


# ------------------------------------------------------------------------------- no recourse


def test_a_rule_on_what_nobody_can_change_is_named() -> None:
    ready = by_rule("region == 'nairobi'", "device_type == 'tablet'")
    assert obstacles(GOOD, ready) == (Obstacle(Hindrance.RULE, ("region",), "rule_0"),)


def test_a_rule_that_is_out_of_reach_is_named() -> None:
    assert obstacles(GOOD, by_rule("mm_months < 60")) == (
        Obstacle(Hindrance.RULE, ("mm_months",), "rule_0"),
    )


def test_a_lock_is_named_where_it_is_what_binds() -> None:
    ready = by_rule("mm_months < 6")
    assert obstacles({**GOOD, "mm_months": 4}, ready, locked=["mm_months"]) == (
        Obstacle(Hindrance.RULE, ("mm_months",), "rule_0"),
        Obstacle(Hindrance.LOCKED, ("mm_months",)),
    )


def test_too_few_fields_cannot_be_mended_by_changing_those_there_are() -> None:
    policy = with_parts(POLICY, sufficiency={"fields_min": 10})
    ready = ReadyRecourse(ReadyPolicy(policy, MODEL))
    assert obstacles(COMPACT, ready) == (Obstacle(Hindrance.RULE, rule="too_few_fields"),)


def test_an_inflow_out_of_reach_is_unaffordable() -> None:
    sent = {**GOOD, "avg_inflow": 50, "avg_outflow": 50}
    assert Obstacle(Hindrance.RULE, ("avg_inflow",), "unaffordable") in obstacles(sent)
    owing = {**sent, "existing_repayments": 10}
    assert Obstacle(Hindrance.RULE, ("avg_inflow", "existing_repayments"), "unaffordable") in (
        obstacles(owing)
    )


def test_where_every_loan_loses_money_at_the_cap_that_is_said() -> None:
    policy = with_parts(POLICY, caps={"apr_max": 24.5}, pricing={"cost_share": 0.2})
    ready = ReadyRecourse(ReadyPolicy(policy, MODEL))
    assert obstacles(GOOD, ready) == (Obstacle(Hindrance.RULE, rule="below_break_even"),)


def test_a_loan_that_pays_for_itself_only_if_it_is_safer_can_be_reached() -> None:
    policy = with_parts(POLICY, caps={"apr_max": 40.0})
    ready = ReadyRecourse(ReadyPolicy(policy, MODEL))
    sent = {**POOR, "mm_months": 14, "balance_stability": 0.47}
    said = assess(MODEL, ready.policy, read(MODEL.catalogue, sent))
    assert "below_break_even" not in said.rules, "to a declined tier nothing else is said"
    told = find(sent, ready)
    assert told.status is Status.FOUND
    for one in told.counterfactuals:
        assert one.assessment.offer.price.margin >= 0.0
        sent_again(sent, one, ready)


def test_a_policy_that_approves_nobody_says_so() -> None:
    tiers = tuple(msgspec.structs.replace(t, decision=Decision.REVIEW) for t in POLICY.tiers)
    ready = ReadyRecourse(ReadyPolicy(seal(msgspec.structs.replace(POLICY, tiers=tiers)), MODEL))
    assert obstacles(GOOD, ready) == (Obstacle(Hindrance.TIER),)


def test_what_takes_more_than_three_changes_says_so() -> None:
    ready = by_rule(
        "mm_months < 30",
        "balance_stability < 0.6",
        "airtime_regularity < 0.8",
        "counterparties < 20",
    )
    (obstacle,) = obstacles(GOOD, ready)
    assert obstacle.hindrance is Hindrance.MORE_CHANGES
    assert set(obstacle.fields) == {
        "mm_months",
        "balance_stability",
        "airtime_regularity",
        "counterparties",
    }


def test_what_is_out_of_reach_names_what_cannot_be_changed() -> None:
    sent = {**POOR, "device_type": "basic_phone", "device_age_months": 90}
    told = [find(sent, goal=ScoreAtLeast(score), count=1) for score in range(640, 851, 15)]
    bound = [answer.binding[0] for answer in told if answer.binding]
    named = [one for one in bound if one.hindrance is Hindrance.IMMUTABLE]
    assert all({"device_type", "device_age_months"} <= set(one.fields) for one in named)
    assert named
    assert bound[-1].hindrance is Hindrance.OUT_OF_REACH, "not even without them"


def test_where_what_cannot_be_changed_is_no_burden_the_reach_is_named() -> None:
    (obstacle,) = obstacles(COMPACT, goal=ScoreAtLeast(850))
    assert obstacle.hindrance is Hindrance.OUT_OF_REACH
    assert set(obstacle.fields) == set(COMPACT)


def test_what_would_be_like_nobody_is_not_advised() -> None:
    # A limit that nothing passes but what is no stranger than today.
    model: Model = builtin()
    strict = tuple(
        msgspec.structs.replace(
            known,
            limits=tuple(
                msgspec.structs.replace(limit, strangeness=-9.0) for limit in known.limits
            ),
        )
        for known in model.likeness
    )
    ready = ReadyRecourse(
        ReadyPolicy(
            with_parts(POLICY, sufficiency={"unlike_share": None}),
            ReadyModel(msgspec.structs.replace(model, likeness=strict)),
        )
    )
    sent = {**POOR, "requested_amount": 5_000}
    free = find(sent, goal=ScoreAtLeast(640), count=1).counterfactuals[0]
    told = find(sent, ready, goal=ScoreAtLeast(640), count=1)
    assert all(one.cost >= free.cost for one in told.counterfactuals)
    assert advice(free) not in [advice(one) for one in told.counterfactuals]


@pytest.mark.parametrize("looks", [0, 1, 2, 3])
def test_when_time_runs_out_it_says_so(looks: int) -> None:
    left = iter(range(looks))
    application = read(MODEL.catalogue, POOR)
    told = find_recourse(READY, application, Sought(), lambda: next(left, None) is None)
    assert not told.optimal
    assert told.status is (Status.FOUND if told.counterfactuals else Status.NO_RECOURSE)
    assert told.binding == (() if told.counterfactuals else (Obstacle(Hindrance.OUT_OF_TIME),))


def test_an_answer_in_another_currency_is_in_its_money() -> None:
    model = ReadyModel(builtin(), "UGX")
    ready = ReadyRecourse(ReadyPolicy(default_policy("UGX"), model))
    factor = 30
    money = {f.name for f in model.catalogue.fields if f.money}
    sent = {name: v * factor if name in money else v for name, v in POOR.items()}
    told = find(sent, ready)
    here = find(POOR)
    assert [set(advice(one)) for one in told.counterfactuals][:1] == [
        set(advice(one)) for one in here.counterfactuals
    ][:1]
    for one in told.counterfactuals:
        sent_again(sent, one, ready)
