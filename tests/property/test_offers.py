"""Decisions and offers of random policies on random models, and what must hold for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alama.core import calibration
from alama.core import policy as policies
from alama.core.application import Application
from alama.core.assess import Assessment, assess, explain_score
from alama.core.catalogue import Direction
from alama.core.loan import AMOUNT, TERM
from alama.core.model import ReadyModel
from alama.core.offer import ReadyPolicy
from alama.core.policy import Decision, Policy, Pricing, Rule, StandardLoan, Tier
from alama.core.pricing import Tariff
from alama.core.units import Apr, Money, Points
from alama.files.models import builtin
from tests.applications import random_application
from tests.factories import Rng, a_model

SEEDS = st.integers(0, 2**32 - 1)
TERMS_DAYS = (14, 21, 30, 45, 60, 90, 120, 180)
SEVERITY = list(Decision)


@dataclass(frozen=True)
class Case:
    """A model, a policy laid out for it, and an application to it."""

    model: ReadyModel
    policy: ReadyPolicy
    application: Application

    def assess(self) -> Assessment:
        return assess(self.model, self.policy, self.application)

    def value(self, name: str) -> float | None:
        value = self.application.values[self.model.catalogue.position[name]]
        assert not isinstance(value, str)
        return value


def random_policy(rng: Rng) -> Policy:
    """Give a sound policy: every figure drawn, the tiers put in order."""
    count = int(rng.integers(1, 6))
    scores = np.sort(rng.choice(np.arange(301, 851), count - 1, replace=False))[::-1]
    step = int(rng.choice([1, 50, 500, 2_000]))
    caps = np.sort(rng.integers(1, min(100_000 // step, policies.STEPS_MAX) + 1, count))[::-1]
    shares = np.sort(rng.random(count))[::-1]
    decisions = np.sort(rng.integers(0, len(SEVERITY), count))
    terms = np.sort(rng.choice(TERMS_DAYS, rng.integers(1, 5), replace=False)).tolist()
    funding, margin = rng.uniform(0.1, 20.0, 2).tolist()
    return policies.seal(
        Policy(
            schema=policies.SCHEMA,
            id="",
            name="random",
            currency="KES",
            standard_loan=StandardLoan(Money(rng.uniform(100, 20_000)), int(rng.choice(terms))),
            tiers=tuple(
                Tier(f"T{n}", int(score), SEVERITY[int(place)], float(share), int(cap) * step)
                for n, (score, place, share, cap) in enumerate(
                    zip([*scores, 300], decisions, shares, caps, strict=True)
                )
            ),
            terms_days=tuple(terms),
            limit_step=step,
            pricing=Pricing(
                loss_given_default=rng.uniform(0.0, 0.95),
                cost_per_loan=Money(rng.uniform(0.0, 200.0)),
                cost_share=rng.uniform(0.0, 0.05),
                funding=Apr(funding),
                margin=Apr(margin),
                apr_max=Apr(funding + margin + rng.uniform(0.1, 200.0)),
            ),
        )
    )


@cache
def ready_model(seed: int) -> ReadyModel:
    """Give one of a few models; seed 0 is the built-in one."""
    return ReadyModel(a_model(seed, pairs=20) if seed else builtin())


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    model = ready_model(int(rng.integers(0, 12)))
    policy = policies.default_policy("KES") if rng.random() < 0.3 else random_policy(rng)
    return Case(model, ReadyPolicy(policy, model), random_application(rng, model))


CASES = SEEDS.map(random_case)


def test_the_cases_meet_every_decision_and_both_cards() -> None:
    said = [random_case(seed).assess() for seed in range(100)]
    assert {one.decision for one in said} == set(Decision)
    assert {one.card for one in said} == {"compact", "full"}
    assert Rule.UNAFFORDABLE in {rule for one in said for rule in one.rules}


# ----------------------------------------------------------------------------------- what holds


@given(CASES)
@settings(max_examples=300)
def test_limit_term_and_price_are_what_the_policy_offers(case: Case) -> None:
    said, policy = case.assess(), case.policy.policy
    tier = next(tier for tier in policy.tiers if tier.name == said.tier)
    assert said.offer.limit % policy.limit_step == 0
    assert 0 <= said.offer.limit <= tier.limit_max
    assert said.offer.term_days in policy.terms_days
    assert 0.0 < said.offer.apr <= policy.pricing.apr_max
    assert sum(msgspec.structs.astuple(said.offer.price)) == pytest.approx(said.offer.apr, abs=0.01)
    assert (said.offer.limit == 0) == (said.decision is Decision.DECLINED)
    assert (said.rules == ()) == (said.decision is Decision.APPROVED)


@given(CASES)
@settings(max_examples=300)
def test_what_falls_due_fits_what_the_tier_leaves_of_the_inflow(case: Case) -> None:
    said = case.assess()
    tier = next(tier for tier in case.policy.tiers if tier.name == said.tier)
    room = tier.inflow_share * (case.value("avg_inflow") or 0.0)
    room -= case.value("existing_repayments") or 0.0
    days = said.offer.term_days
    due = said.offer.limit * (1.0 + said.offer.apr / 100.0 * days / 365) * 30 / max(days, 30)
    assert due == 0.0 or due <= room * (1.0 + 1e-12)


@given(CASES)
@settings(max_examples=300)
def test_the_score_is_the_one_without_a_policy_and_the_tier_is_read_from_it(case: Case) -> None:
    said = case.assess()
    alone = explain_score(case.model, case.application)
    names = alone.__struct_fields__
    assert {n: getattr(said, n) for n in names} == {n: getattr(alone, n) for n in names}
    reached = [tier.name for tier in case.policy.tiers if said.score >= tier.score_min]
    assert said.tier == reached[0]


@given(CASES)
@settings(max_examples=300)
def test_the_offer_is_the_one_that_trying_every_loan_finds(case: Case) -> None:
    said = case.assess()
    decision, limit, days = by_trying(case)
    assert (said.decision, said.offer.limit, said.offer.term_days) == (decision, limit, days)
    amount = limit or case.policy.limit_step
    if limit:
        points = points_of(case, amount, days)
        assert said.offer.default_probability == calibration.shown_probability(points)
        tariff = Tariff(case.policy.policy.pricing, days)
        assert said.offer.apr == tariff.apr(said.offer.default_probability, amount)


@given(CASES)
@settings(max_examples=300)
def test_who_asks_for_what_is_offered_is_not_declined_and_gets_it(case: Case) -> None:
    said = case.assess()
    position = case.model.catalogue.position
    if said.decision is Decision.DECLINED or said.card == "compact":
        return
    loan = {position[AMOUNT]: said.offer.limit, position[TERM]: said.offer.term_days}
    outright = assess(case.model, case.policy, changed(case.application, loan))
    assert outright.decision is not Decision.DECLINED
    assert outright.offer.limit >= said.offer.limit
    assert outright.offer.term_days == said.offer.term_days


@given(CASES)
@settings(max_examples=300)
def test_a_decision_replays_from_the_documents_alone(case: Case) -> None:
    again = policies.decode(policies.encode(case.policy.policy))
    assert assess(case.model, ReadyPolicy(again, case.model), case.application) == case.assess()


# ----------------------------------------------------------------------------------- monotone


@given(CASES, st.data())
@settings(max_examples=500)
def test_a_better_value_never_worsens_tier_or_decision(case: Case, data: st.DataObject) -> None:
    worse, better = drawn_pair(case, data)
    assert better.score >= worse.score
    names = [tier.name for tier in case.policy.tiers]
    assert names.index(better.tier) <= names.index(worse.tier)
    assert SEVERITY.index(better.decision) <= SEVERITY.index(worse.decision)


@given(CASES, st.data())
@settings(max_examples=500)
def test_at_a_fixed_term_a_better_value_never_lowers_the_limit(
    case: Case, data: st.DataObject
) -> None:
    worse, better = drawn_pair(with_one_term(case, data), data)
    assert better.offer.limit >= worse.offer.limit
    if better.offer.limit == worse.offer.limit:
        assert better.offer.apr <= worse.offer.apr


@given(CASES, st.data())
@settings(max_examples=500)
def test_a_better_value_never_raises_the_price_of_the_same_loan(
    case: Case, data: st.DataObject
) -> None:
    # A larger limit is a riskier loan and may cost more; so here only one loan can be had at all.
    fixed = with_one_term(case, data)
    step = fixed.policy.limit_step
    tiers = tuple(msgspec.structs.replace(t, limit_max=step) for t in fixed.policy.tiers)
    policy = policies.seal(msgspec.structs.replace(fixed.policy.policy, tiers=tiers))
    one_loan = Case(fixed.model, ReadyPolicy(policy, fixed.model), fixed.application)
    worse, better = drawn_pair(one_loan, data)
    assert better.offer.apr <= worse.offer.apr
    assert better.offer.default_probability <= worse.offer.default_probability


# ----------------------------------------------------------------------------------- helpers


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
    policy = policies.seal(
        msgspec.structs.replace(
            document,
            terms_days=(days,),
            standard_loan=msgspec.structs.replace(document.standard_loan, term_days=days),
        )
    )
    return Case(case.model, ReadyPolicy(policy, case.model), case.application)


def changed(application: Application, values: Mapping[int, float]) -> Application:
    return Application(tuple(values.get(n, v) for n, v in enumerate(application.values)))


def points_of(case: Case, amount: float, days: int) -> Points:
    """Score the loan from the start, on the card that the application is scored by."""
    position = case.model.catalogue.position
    loan = changed(case.application, {position[AMOUNT]: amount, position[TERM]: days})
    return case.model.scorecard_for(case.application).score(loan.values).points


def by_trying(case: Case) -> tuple[Decision, int, int]:
    """Find the offer as a person would: write down every loan, cross out, take the best."""
    policy, learned = case.policy.policy, case.policy.terms_days
    points = explain_score(case.model, case.application).points
    tier = tier_of(policy, points)
    limits = {days: limit_by_trying(case, tier, days) for days in learned}
    wanted = case.value(AMOUNT) or policy.standard_loan.amount
    asked = case.value(TERM) or policy.standard_loan.term_days
    from_asked = [days for days in learned if days >= asked] or [learned[-1]]
    carrying = [days for days in from_asked if limits[days] >= wanted]
    largest = max(limits.values())
    with_largest = [days for days in learned if limits[days] == largest]
    if carrying:
        days = carrying[0]
    elif largest == 0:
        days = from_asked[0]
    else:
        days = next((d for d in with_largest if d in from_asked), with_largest[-1])
    declined = tier.decision is Decision.DECLINED or limits[days] == 0
    return (Decision.DECLINED if declined else tier.decision), 0 if declined else limits[days], days


def limit_by_trying(case: Case, tier: Tier, days: int) -> int:
    policy = case.policy.policy
    tariff = Tariff(policy.pricing, days)
    limit = 0
    for amount in range(policy.limit_step, tier.limit_max + 1, policy.limit_step):
        points = points_of(case, amount, days)
        own = min(tier, tier_of(policy, points), key=lambda t: t.score_min)
        room = own.inflow_share * (case.value("avg_inflow") or 0.0)
        room -= case.value("existing_repayments") or 0.0
        due = tariff.due_monthly(calibration.shown_probability(points), amount)
        refused = own.decision is Decision.DECLINED and own != tier
        if amount > own.limit_max or due > room or refused:
            break
        limit = amount
    return limit


def tier_of(policy: Policy, points: Points) -> Tier:
    score = calibration.shown_score(points)
    return next(tier for tier in policy.tiers if score >= tier.score_min)
