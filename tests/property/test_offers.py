"""Decisions and offers of random policies on random models, and what must hold for all of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import calibration
from alama.core.assess import Assessment, assess, explain_score
from alama.core.catalogue import Direction
from alama.core.lending import draft, policy_text
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.policy import HOLDS, SEVERITY, Decision, Rule, Sufficiency, Tier
from alama.core.lending.policy_check import seal, unsteady
from alama.core.lending.pricing import Tariff
from alama.core.lending.ready_policy import ReadyPolicy
from tests.offers import (
    Case,
    by_trying,
    changed,
    existing,
    points_of,
    random_case,
    speaks_of_loans,
    to_confirm,
)
from tests.tries import tries

CASES = st.integers(0, 2**32 - 1).map(random_case)


def test_the_cases_meet_every_decision_and_both_cards() -> None:
    said = [random_case(seed).assess() for seed in range(200)]
    assert {one.decision for one in said} == set(Decision)
    assert {one.card for one in said} == {"compact", "full"}
    seen = {rule for one in said for rule in one.rules}
    assert {rule for rule in Rule if rule not in HOLDS} <= seen
    assert any(rule.startswith("rule_") for rule in seen)


# ----------------------------------------------------------------------------------- what holds


@given(CASES)
@tries(100)
def test_limit_term_and_price_are_what_the_policy_offers(case: Case) -> None:
    said, policy = case.assess(), case.policy.policy
    tier = lending_tier(case, said)
    assert said.offer.limit % policy.limit_step == 0
    assert 0 <= said.offer.limit <= tier.limit_max
    assert said.offer.term_days in policy.terms_days
    assert 0.0 < said.offer.apr <= policy.caps.apr_max
    charges = said.offer.apr / 100 * said.offer.term_days / 365
    assert charges <= (policy.caps.charges_max or charges)
    assert sum(msgspec.structs.astuple(said.offer.price)) == pytest.approx(said.offer.apr, abs=0.01)
    assert (said.offer.limit == 0) == (said.decision is Decision.DECLINED)
    assert (said.rules == ()) == (said.decision is Decision.APPROVED)


@given(CASES)
@tries(100)
def test_what_falls_due_fits_what_the_tier_leaves_of_the_inflow(case: Case) -> None:
    said = case.assess()
    tier = lending_tier(case, said)
    room = tier.inflow_share * (case.value("avg_inflow") or 0.0)
    room -= existing(case)
    days = said.offer.term_days
    due = said.offer.limit * (1.0 + said.offer.apr / 100.0 * days / 365) * 30 / max(days, 30)
    assert due == 0.0 or due <= room * (1.0 + 1e-12)


@given(CASES)
@tries(100)
def test_the_score_is_the_one_without_a_policy_and_the_tier_is_read_from_it(case: Case) -> None:
    said = case.assess()
    loan = case.policy.standard_loan
    position = case.model.catalogue.position
    asked = {
        position[AMOUNT]: case.value(AMOUNT) or loan.amount,
        position[TERM]: case.value(TERM) or loan.term_days,
    }
    if said.card == "full":
        alone = explain_score(case.model, changed(case.application, asked))
    else:
        alone = explain_score(case.model, case.application)
    for part in ("score", "default_probability", "base", "points", "card"):
        assert getattr(said, part) == getattr(alone, part)
    reached = [tier.name for tier in case.policy.tiers if said.score >= tier.score_min]
    assert said.tier == reached[0]


@given(CASES)
@tries(100)
def test_the_offer_is_the_one_that_trying_every_loan_finds(case: Case) -> None:
    said = case.assess()
    decision, limit, days = by_trying(case)
    assert (said.decision, said.offer.limit) == (decision, limit)
    # What would have applied to those who are declined is told, but it is no offer.
    assert decision is Decision.DECLINED or said.offer.term_days == days
    amount = limit or case.policy.limit_step
    if limit:
        points = points_of(case, amount, days)
        assert said.offer.default_probability == calibration.shown_probability(points)
        tariff = Tariff(case.policy.policy.pricing, case.policy.policy.caps, days)
        assert said.offer.apr == tariff.apr(said.offer.default_probability, amount)


@given(CASES)
@tries(100)
def test_who_asks_for_what_is_offered_is_not_declined_and_gets_it(case: Case) -> None:
    said = case.assess()
    position = case.model.catalogue.position
    if said.decision is Decision.DECLINED or said.card == "compact" or not certified(case):
        return
    # Whether such applications were booked may hang on the loan; here a person decides anyway.
    if Rule.SELDOM_BOOKED in said.rules:
        return
    loan = {position[AMOUNT]: said.offer.limit, position[TERM]: said.offer.term_days}
    outright = assess(case.model, case.policy, changed(case.application, loan))
    assert outright.decision is not Decision.DECLINED
    assert outright.offer.limit >= said.offer.limit
    assert outright.offer.term_days == said.offer.term_days


@given(CASES)
@tries(100)
def test_a_decision_replays_from_the_documents_alone(case: Case) -> None:
    policy = case.policy.policy
    again = policy_text.decode(draft.write(policy).encode(), policy.id)
    assert assess(case.model, ReadyPolicy(again, case.model), case.application) == case.assess()


# ----------------------------------------------------------------------------------- monotone


@given(CASES, st.data())
@tries(120)
def test_a_better_value_never_worsens_tier_or_decision(case: Case, data: st.DataObject) -> None:
    worse, better = drawn_pair(steady(case), data)
    assert better.score >= worse.score
    names = [tier.name for tier in case.policy.tiers]
    assert names.index(better.tier) <= names.index(worse.tier)
    assert SEVERITY[better.decision] <= SEVERITY[worse.decision]


@given(CASES, st.data())
@tries(120)
def test_at_a_fixed_term_a_better_value_never_lowers_the_limit(
    case: Case, data: st.DataObject
) -> None:
    worse, better = drawn_pair(with_one_term(without_referred_loans(case), data), data)
    assert better.offer.limit >= worse.offer.limit
    if better.offer.limit == worse.offer.limit:
        assert better.offer.apr <= worse.offer.apr


@given(CASES, st.data())
@tries(120)
def test_a_better_value_never_raises_the_price_of_the_same_loan(
    case: Case, data: st.DataObject
) -> None:
    # A larger limit is a riskier loan and may cost more; so here only one loan can be had at all.
    fixed = with_one_term(without_referred_loans(case), data)
    step = fixed.policy.limit_step
    tiers = tuple(msgspec.structs.replace(t, limit_max=step) for t in fixed.policy.tiers)
    policy = seal(msgspec.structs.replace(fixed.policy.policy, tiers=tiers))
    one_loan = Case(fixed.model, ReadyPolicy(policy, fixed.model), fixed.application)
    worse, better = drawn_pair(one_loan, data)
    assert better.offer.apr <= worse.offer.apr
    assert better.offer.default_probability <= worse.offer.default_probability


# ----------------------------------------------------------------------------------- helpers


def lending_tier(case: Case, said: Assessment) -> Tier:
    """The tier that bounds the offer: to the seldom booked not one that is declined."""
    eased = to_confirm(case) if Rule.SELDOM_BOOKED in said.rules else case
    return next(tier for tier in eased.policy.tiers if tier.name == said.tier)


def drawn_pair(case: Case, data: st.DataObject) -> tuple[Assessment, Assessment]:
    """Assess twice, one value of one directed field being better the second time."""
    catalogue, given_values = case.model.catalogue, case.application.values
    # Only what is given: a field more may call for another card.
    field = data.draw(
        st.sampled_from(
            [
                field
                for field in catalogue.model_fields
                if field.direction is not Direction.FREE
                and given_values[catalogue.position[field.name]] is not None
            ]
        )
    )
    top = 1.0 if field.maximum == 1 else 60_000.0 if field.money else 120.0
    drawn = sorted(data.draw(st.tuples(st.floats(0.001, top), st.floats(0.001, top))))
    place = catalogue.position[field.name]
    worse, better = (
        assess(case.model, case.policy, changed(case.application, {place: value}))
        for value in (drawn if field.direction is Direction.SAFER else drawn[::-1])
    )
    return worse, better


def with_one_term(case: Case, data: st.DataObject) -> Case:
    days = data.draw(st.sampled_from(case.policy.terms_days))
    document = case.policy.policy
    policy = seal(
        msgspec.structs.replace(
            document,
            terms_days=(days,),
            standard_loan=msgspec.structs.replace(document.standard_loan, term_days=days),
        )
    )
    return Case(case.model, ReadyPolicy(policy, case.model), case.application)


def certified(case: Case) -> bool:
    return not list(unsteady(case.policy.policy, case.model.catalogue))


def steady(case: Case) -> Case:
    """Give the case with the rules that are certified, and nothing left to a person as strange."""
    policy = case.policy.policy
    broken = {one.rule for one in unsteady(policy, case.model.catalogue)}
    rules = tuple(rule for rule in policy.rules if rule.name not in broken)
    return with_policy(case, rules=rules, sufficiency=Sufficiency())


def without_referred_loans(case: Case) -> Case:
    """Leave out the rules that refer loans to a person: the offer is larger where they object."""
    steady_case = steady(case)
    rules = tuple(
        rule
        for rule in steady_case.policy.policy.rules
        if rule.decision is Decision.DECLINED or not speaks_of_loans(rule)
    )
    return with_policy(steady_case, rules=rules)


def with_policy(case: Case, **changes: Any) -> Case:
    policy = seal(msgspec.structs.replace(case.policy.policy, **changes))
    return Case(case.model, ReadyPolicy(policy, case.model), case.application)
