"""Decisions and offers of random policies on random models, and what must hold for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import calibration
from alama.core.application import Application
from alama.core.assess import Assessment, assess, explain_score
from alama.core.catalogue import Direction
from alama.core.expressions.expression import Expression, parse
from alama.core.lending import draft, policy_text
from alama.core.lending.cash_flow import AprKind, Payment, Schedule
from alama.core.lending.circumstances import LISTED
from alama.core.lending.draft import default_policy
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.offer import Offer, lay_out
from alama.core.lending.policy import (
    HOLDS,
    SEVERITY,
    UNSAID,
    Decision,
    Kind,
    OwnRule,
    Policy,
    Repayment,
    Rule,
    Sufficiency,
    Tier,
)
from alama.core.lending.policy_check import seal, unsteady
from alama.core.lending.pricing import Tariff
from alama.core.lending.ready_policy import Objection, ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.units import Points
from tests.applications import random_application
from tests.factories import ready_model
from tests.policies import STEADY_RULES, random_policy, random_products, with_parts
from tests.recourse import random_booking
from tests.tries import tries

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Case:
    """A model, a policy laid out for it, and an application to it."""

    model: ReadyModel
    policy: ReadyPolicy
    application: Application
    whole: Policy | None = None
    """What the policy is a product of, if it is one."""

    def assess(self) -> Assessment:
        return assess(self.model, self.policy, self.application)

    @cached_property
    def conditions(self) -> dict[str, Expression]:
        """What each rule of the policy says, by its text."""
        return {r.when: parse(r.when, self.model.catalogue) for r in self.policy.policy.rules}

    def value(self, name: str) -> float | None:
        value = self.application.values[self.model.catalogue.position[name]]
        assert not isinstance(value, str)
        return value


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    model = ready_model(int(rng.integers(0, 12)))
    policy = default_policy("KES") if rng.random() < 0.2 else random_policy(rng)
    application = random_application(rng, model)
    place = model.catalogue.position[AMOUNT]
    if application.values[place] is not None and rng.random() < 0.3:
        # Less than a step: then every loan on offer is larger than the one asked for.
        application = changed(application, {place: float(rng.integers(1, 600))})
    if seed % 4 == 0:
        known = tuple(random_booking(rng, card) for card in model.model.cards)
        model = ReadyModel(msgspec.structs.replace(model.model, booking=known), model.currency)
    if seed % 3 == 1:
        # By dice of its own; what holds of a policy is to hold of a product.
        dice = np.random.default_rng([seed, 1])
        whole = random_products(dice, policy)
        ready = ReadyPolicy(whole, model)
        product = str(dice.choice(list(ready.products)))
        application = msgspec.structs.replace(application, product=product)
        return Case(model, ready.for_product(product), application, whole)
    return Case(model, ReadyPolicy(policy, model), application)


def changed(application: Application, values: Mapping[int, float]) -> Application:
    placed = tuple(values.get(n, v) for n, v in enumerate(application.values))
    return msgspec.structs.replace(application, values=placed)


def asking(case: Case, amount: float, days: float) -> Application:
    position = case.model.catalogue.position
    return changed(case.application, {position[AMOUNT]: amount, position[TERM]: days})


def points_of(case: Case, amount: float, days: int) -> Points:
    """Score the loan from the start, on the card that the application is scored by."""
    position = case.model.catalogue.position
    loan = changed(case.application, {position[AMOUNT]: amount, position[TERM]: days})
    return case.model.scorecard_for(case.application).score(loan.values).points


def existing(case: Case) -> float:
    said = case.value("existing_repayments")
    share = case.policy.policy.affordability.existing_repayments_share
    return share * (case.value("avg_inflow") or 0.0) if said is None else said


# ------------------------------------------------------------- the offer by trying every loan


def by_trying(case: Case) -> tuple[Decision, int, int]:
    """Find the offer as a person would: write down every loan, cross out, take the best.

    The decision is the best that any loan would get, or a worse one of the application itself. To
    the seldom booked whom a tier declines, or leaves no loan, no tier and no loss declines.
    """
    policy, learned = case.policy.policy, case.policy.terms_days
    wanted = case.value(AMOUNT) or policy.standard_loan.amount
    asked = case.value(TERM) or policy.standard_loan.term_days
    tier = tier_of(policy, points_of(case, wanted, int(asked)))
    deciding = [rule for rule in policy.rules if decides(rule)]
    objecting = [rule for rule in deciding if objects(case, rule, wanted, asked)]
    own = worst(tier.decision, doubted(case, wanted, int(asked)), *map(decision_of, objecting))
    judged = {
        (days, amount): decision_on(case, tier, objecting, amount, days)
        for days in learned
        for amount in repayable(case, tier, days)
    }
    found = (decision for decision, _ in judged.values())
    best = min(found, key=SEVERITY.__getitem__, default=Decision.DECLINED)
    if Decision.DECLINED in {tier.decision, best} and is_seldom(case, wanted, int(asked)):
        eased = to_confirm(case)
        if eased.policy.id != case.policy.id:
            return by_trying(eased)
    from_asked = [days for days in learned if days >= asked] or [learned[-1]]
    if not judged:
        return Decision.DECLINED, 0, from_asked[0]
    decision = worst(own, best)
    if tier.decision is Decision.DECLINED:
        decision = Decision.DECLINED
    kept = {loan for loan, (found, loses) in judged.items() if found is best and not loses}
    if not kept and best is not Decision.DECLINED:  # then at a loss, and the smallest
        order = [*from_asked, *(days for days in learned if days not in from_asked)]
        days = next(days for days in order if judged.get((days, policy.limit_step)))
        return decision, 0 if decision is Decision.DECLINED else policy.limit_step, days
    loans = {days: [amount for d, amount in kept if d == days] for days in learned}
    days = chosen_term(loans, from_asked, wanted)
    return decision, 0 if decision is Decision.DECLINED else max(loans[days], default=0), days


def worst(*decisions: Decision) -> Decision:
    return max(decisions, key=SEVERITY.__getitem__)


def decision_on(
    case: Case, tier: Tier, objecting: list[OwnRule], amount: int, days: int
) -> tuple[Decision, bool]:
    """Give the best decision that a loan leaves, and whether it loses money at the cap.

    A rule that refers the request itself has said all that it has to say.
    """
    policy = case.policy.policy
    against = [
        decision_of(rule)
        for rule in policy.rules
        if decides(rule)
        and speaks_of_loans(rule)
        and (rule.decision is Decision.DECLINED or rule not in objecting)
        and objects(case, rule, amount, days)
    ]
    probability = calibration.shown_probability(points_of(case, amount, days))
    tariff = Tariff.of(policy, days)
    loses = tier.decision is not Decision.DECLINED and amount < tariff.amount_min(probability)
    if loses:
        against.append(policy.caps.below_break_even)
    return worst(Decision.APPROVED, *against), loses


def chosen_term(loans: Mapping[int, list[int]], from_asked: list[int], wanted: float) -> int:
    limits = {days: max(amounts, default=0) for days, amounts in loans.items()}
    for days in from_asked:
        if limits[days] >= wanted:
            return days
    with_largest = [days for days in limits if limits[days] == max(limits.values())]
    return next((days for days in with_largest if days in from_asked), with_largest[-1])


def repayable(case: Case, tier: Tier, days: int) -> list[int]:
    """Write down the amounts that can be repaid, and that their own tier does not decline."""
    policy = case.policy.policy
    most = int(min(tier.limit_max, cap_of(case, days)))
    amounts = range(policy.limit_step, most + 1, policy.limit_step)
    return [amount for amount in amounts if is_repayable(case, tier, amount, days)]


def is_repayable(case: Case, tier: Tier, amount: int, days: int) -> bool:
    policy = case.policy.policy
    points = points_of(case, amount, days)
    probability = calibration.shown_probability(points)
    own = min(tier, tier_of(policy, points), key=lambda t: t.score_min)
    tariff = Tariff.of(policy, days)
    inflow = case.value("avg_inflow") or 0.0
    room = tariff.room(own.inflow_share * inflow - existing(case), inflow)
    refused = own.decision is Decision.DECLINED and own != tier
    fits = amount <= own.limit_max and tariff.due_monthly(probability, amount) <= room
    return fits and not refused


def objects(case: Case, rule: OwnRule, amount: float, days: float) -> bool:
    return case.conditions[rule.when].fires(asking(case, amount, days).values)


def decides(rule: OwnRule) -> bool:
    return isinstance(rule.decision, Decision)


def decision_of(rule: OwnRule) -> Decision:
    assert isinstance(rule.decision, Decision)
    return rule.decision


def cap_of(case: Case, days: int) -> float:
    """Give the most that the policy's own rules leave of a loan of this term."""
    rules = (r for r in case.policy.policy.rules if objects(case, r, case.policy.limit_step, days))
    caps = (rule.limit_max for rule in rules)
    return min((cap for cap in caps if isinstance(cap, int)), default=math.inf)


def speaks_of_loans(rule: OwnRule) -> bool:
    return "requested" in rule.when and rule.when in STEADY_RULES


def doubted(case: Case, amount: float, days: int) -> Decision:
    """Say what is left to a person; strangeness is taken as it comes."""
    return Decision.REVIEW if doubts_about(case, amount, days) else Decision.APPROVED


def is_seldom(case: Case, amount: float, days: int) -> bool:
    return any(doubt.code == Rule.SELDOM_BOOKED for doubt in doubts_about(case, amount, days))


def doubts_about(case: Case, amount: float, days: int) -> list[Objection]:
    card = case.model.scorecard_for(case.application)
    values = asking(case, amount, days).values
    return case.policy.doubts(card, values, card.score(values))


def to_confirm(case: Case) -> Case:
    """Have nothing that comes from a score decline: a person confirms by the worst tier that lends.

    Where all tiers are declined, by the best of them.
    """
    tiers = case.policy.tiers
    lending = [tier for tier in tiers if tier.decision is not Decision.DECLINED]
    worst_lending = lending[-1] if lending else tiers[0]
    confirmed = {
        "decision": Decision.REVIEW,
        "inflow_share": worst_lending.inflow_share,
        "limit_max": worst_lending.limit_max,
    }
    declined = [tier for tier in tiers if tier.decision is Decision.DECLINED]
    eased = msgspec.structs.replace(
        case.policy.policy,
        tiers=(*lending, *(msgspec.structs.replace(tier, **confirmed) for tier in declined)),
    )
    policy = with_parts(eased, caps={"below_break_even": Decision.REVIEW})
    return Case(case.model, ReadyPolicy(policy, case.model), case.application)


def tier_of(policy: Policy, points: Points) -> Tier:
    score = calibration.shown_score(points)
    return next(tier for tier in policy.tiers if score >= tier.score_min)


# ----------------------------------------------------------------------------------- the cases

CASES = st.integers(0, 2**32 - 1).map(random_case)
OF_BORROWERS = {Rule.LATE_ON_A_LOAN, Rule.ASKED_OFTEN, Rule.EXPOSURE, Rule.LADDER}


def test_the_cases_meet_every_decision_and_both_cards() -> None:
    said = [random_case(seed).assess() for seed in range(200)]
    assert {one.decision for one in said} == set(Decision)
    assert {one.card for one in said} == {"compact", "full"}
    seen = {rule for one in said for rule in one.rules}
    assert set(Rule) - {*HOLDS, *LISTED, *OF_BORROWERS, Rule.EXPLORED} <= seen
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
    # On a loan of one shilling the price of a month is less than a cent.
    assert said.offer.apr > 0.0 or policy.limit_step == 1
    assert said.offer.apr >= 0.0
    assert sum(msgspec.structs.astuple(said.offer.price)) == pytest.approx(said.offer.apr, abs=0.01)
    assert (said.offer.limit == 0) == (said.decision is Decision.DECLINED)
    assert (said.rules == ()) == (said.decision is Decision.APPROVED)


@given(CASES)
@tries(100)
def test_what_falls_due_fits_what_the_tier_leaves_of_the_inflow(case: Case) -> None:
    said = case.assess()
    if said.offer.limit:
        assert_that_it_can_be_repaid(case, said.offer, lending_tier(case, said))


def assert_that_it_can_be_repaid(case: Case, offer: Offer, tier: Tier) -> None:
    repayment = repayment_of(case)
    inflow = case.value("avg_inflow") or 0.0
    room = tier.inflow_share * inflow - existing(case)
    months = max(offer.term_days / 30, 1.0)
    if repayment.kind is Kind.INSTALMENTS:
        room *= repayment.every_days / 30
    else:
        room *= 1.0 + repayment.saving * (months - 1.0)
    for payment in lay_out(case.policy, offer).payments:
        assert payment.amount <= room * (1.0 + 1e-9)
        assert payment.amount <= (repayment.payment_share_max or math.inf) * inflow * (1.0 + 1e-9)


@given(CASES)
@tries(100)
def test_no_offer_costs_more_than_a_cap_by_the_definition_of_that_cap(case: Case) -> None:
    said = case.assess()
    if said.offer.limit:
        assert_that_it_is_within_the_caps(case, said.offer)


def assert_that_it_is_within_the_caps(case: Case, offer: Offer) -> None:
    caps = case.policy.policy.caps
    loan, days = lay_out(case.policy, offer), repayment_of(case).every_days
    charges = loan.total - loan.received
    assert charges <= (caps.charges_max or math.inf) * loan.amount * (1.0 + 1e-9)
    if len(loan.payments) == 1:
        days = offer.term_days
    match repayment_of(case).capped_apr:
        case AprKind.SIMPLE:
            rate = charges / loan.amount / offer.term_days * 365
        case AprKind.NOMINAL:
            rate = rate_of_period(loan) * 365 / days
        case _:
            rate = (1.0 + rate_of_period(loan)) ** (365 / days) - 1.0
    assert 100.0 * rate <= caps.apr_max * (1.0 + 1e-9)


@given(CASES)
@tries(100)
def test_every_sum_of_a_loan_agrees_to_the_smallest_unit(case: Case) -> None:
    said = case.assess()
    if not said.offer.limit:
        return
    loan = lay_out(case.policy, said.offer)
    columns = zip(*(map(cents, msgspec.structs.astuple(p)[1:]) for p in loan.payments), strict=True)
    paid, principal, interest, fee = map(sum, columns)
    assert paid == principal + interest + fee == cents(loan.total)
    assert interest == cents(loan.interest)
    assert paid == cents(loan.received) + cents(loan.fee) + cents(loan.interest)
    assert principal == cents(loan.amount) == 100 * said.offer.limit
    assert fee in {0, cents(loan.fee)}
    assert all(p.amount == p.principal + p.interest + p.fee for p in map(in_cents, loan.payments))
    assert all(min(msgspec.structs.astuple(p)) >= 0 for p in loan.payments)


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
        tariff = Tariff.of(case.policy.policy, days)
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
    policy = case.whole or case.policy.policy
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
    # Where there is no offer, the price is of the loan that would have applied: another one.
    if better.offer.limit == worse.offer.limit > 0:
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


def repayment_of(case: Case) -> Repayment:
    said = case.policy.policy.repayment
    return UNSAID if isinstance(said, msgspec.UnsetType) else said


def cents(money: float) -> int:
    whole = round(100 * money)
    assert money == whole / 100, "not a whole number of the smallest unit"
    return whole


def in_cents(payment: Payment) -> Payment:
    day, *parts = msgspec.structs.astuple(payment)
    return Payment(day, *map(cents, parts))  # type: ignore[arg-type]


def rate_of_period(loan: Schedule) -> float:
    """Find the internal rate by halving, which has nothing in common with Newton's steps."""
    low, high = -0.5, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        worth = sum(p.amount / (1 + middle) ** n for n, p in enumerate(loan.payments, start=1))
        low, high = (middle, high) if worth > loan.received else (low, middle)
    return low


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
