from typing import Any

import msgspec
import pytest

from alama.core import calibration
from alama.core.application import read
from alama.core.assess import Assessment, assess, explain_score
from alama.core.lending.circumstances import Circumstances
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Policy, Rule
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from tests.factories import a_model

READY = ReadyModel(a_model(seed=1))
CORE: dict[str, Any] = {
    "mobile_money_months": 24,
    "monthly_inflow": 18_500.0,
    "stability_score": 0.7,
    "airtime_regularity": 0.8,
}

LOAN = {"requested_amount": 4_000, "requested_term_days": 60}


def deciding(decision: Decision) -> Policy:
    """Give the default policy with one decision for every score."""
    policy = default_policy("KES")
    tiers = tuple(msgspec.structs.replace(tier, decision=decision) for tier in policy.tiers)
    return seal(msgspec.structs.replace(policy, tiers=tiers))


def said_of(sent: dict[str, Any], *holds: Rule, policy: Policy | None = None) -> Assessment:
    ready = ReadyPolicy(policy or default_policy("KES"), READY)
    return assess(READY, ready, read(PRODUCT, sent), Circumstances(holds))


def test_contributions_come_largest_first_and_sum_to_the_points() -> None:
    said = explain_score(READY, read(PRODUCT, {**CORE, "region": "alpha", "avg_balance": 300.0}))
    sizes = [abs(c.points) for c in said.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert said.base + sum(c.points for c in said.contributions) == said.points


def test_score_and_probability_are_those_of_the_points() -> None:
    said = explain_score(READY, read(PRODUCT, CORE))
    assert said.score == calibration.shown_score(said.points)
    assert said.default_probability == calibration.shown_probability(said.points)


def test_each_feature_of_the_card_is_explained_under_the_name_the_caller_used() -> None:
    said = explain_score(READY, read(PRODUCT, CORE))
    assert said.card == "compact"
    assert {c.feature for c in said.contributions} == set(CORE)
    full = explain_score(READY, read(PRODUCT, {**CORE, "region": "alpha"}))
    assert len(full.contributions) == 17
    assert {"monthly_inflow", "region", "avg_balance"} <= {c.feature for c in full.contributions}


def test_a_contribution_carries_the_value_it_explains() -> None:
    said = explain_score(READY, read(PRODUCT, CORE))
    values = {c.feature: c.value for c in said.contributions}
    assert values["mobile_money_months"] == 24


def test_an_assessment_is_the_explained_score_and_what_the_policy_makes_of_it() -> None:
    application = read(PRODUCT, {**CORE, **LOAN, "region": "alpha"})
    said = assess(READY, ReadyPolicy(default_policy("KES"), READY), application)
    alone = explain_score(READY, application)
    assert {
        name: getattr(said, name) for name in alone.__struct_fields__
    } == msgspec.structs.asdict(alone)
    assert (said.tier, said.decision, said.rules) == ("D", Decision.REVIEW, ("tier_in_review",))
    assert (said.offer.limit, said.offer.term_days) == (6_000, 60)


def test_an_assessment_can_be_written_down_and_read_back() -> None:
    said = assess(READY, ReadyPolicy(default_policy("KES"), READY), read(PRODUCT, CORE))
    assert msgspec.json.decode(msgspec.json.encode(said), type=Assessment) == said


def test_a_policy_laid_out_for_another_model_is_a_defect_of_the_caller() -> None:
    other = ReadyPolicy(default_policy("KES"), ReadyModel(a_model(seed=2)))
    with pytest.raises(AssertionError):
        assess(READY, other, read(PRODUCT, CORE))


# ------------------------------------------------------------------------ the standard loan


def test_where_no_loan_is_asked_for_the_standard_one_is_scored() -> None:
    standard = default_policy("KES").standard_loan
    asked = {"requested_amount": standard.amount, "requested_term_days": standard.term_days}
    sent = {**CORE, "region": "alpha"}
    said, outright = said_of(sent), said_of(sent | asked)
    assert said.points == outright.points
    assert (said.tier, said.decision, said.rules) == (
        outright.tier,
        outright.decision,
        outright.rules,
    )
    assert said.offer == outright.offer
    assert said.points != explain_score(READY, read(PRODUCT, sent)).points


def test_a_standard_loan_is_not_shown_as_if_it_had_been_sent() -> None:
    said = said_of({**CORE, "region": "alpha"})
    values = {c.feature: c.value for c in said.contributions}
    assert values["requested_amount"] is None
    assert values["requested_term_days"] is None
    assert said.base + sum(c.points for c in said.contributions) == said.points


@pytest.mark.parametrize("part", ["requested_amount", "requested_term_days"])
def test_what_is_asked_for_stays_beside_the_standard_of_the_rest(part: str) -> None:
    standard = default_policy("KES").standard_loan
    whole = {"requested_amount": standard.amount, "requested_term_days": standard.term_days}
    sent = {**CORE, "region": "alpha", part: LOAN[part]}
    assert said_of(sent).points == said_of({**sent, **whole, part: LOAN[part]}).points


# ------------------------------------------------------------------------ holds


@pytest.mark.parametrize("policy", list(map(deciding, Decision)))
def test_a_hold_leaves_the_decision_to_a_person_and_is_named_last(policy: Policy) -> None:
    free = said_of(CORE, policy=policy)
    held = said_of(CORE, Rule.PAUSED, Rule.DAILY_VOLUME, policy=policy)
    assert held.decision is Decision.REVIEW
    assert held.rules == (*free.rules, "paused", "daily_volume")
    assert held.holds == (Rule.PAUSED, Rule.DAILY_VOLUME)
    assert free.holds == ()
    assert (held.offer, held.tier, held.points) == (free.offer, free.tier, free.points)


def test_who_would_be_declined_is_offered_nothing_while_held_either() -> None:
    policy = deciding(Decision.DECLINED)
    free, held = said_of(CORE, policy=policy), said_of(CORE, Rule.PAUSED, policy=policy)
    assert (free.decision, free.offer.limit) == (Decision.DECLINED, 0)
    assert (held.decision, held.offer.limit) == (Decision.REVIEW, 0)


def test_who_would_be_approved_keeps_the_offer_for_a_person_to_confirm() -> None:
    held = said_of(CORE, Rule.DAILY_EXPECTED_LOSS, policy=deciding(Decision.APPROVED))
    assert (held.decision, held.rules) == (Decision.REVIEW, ("daily_expected_loss",))
    assert held.offer.limit > 0
