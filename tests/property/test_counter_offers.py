"""Counter-offers and menus: held against asking for every loan, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from alama.core.assess import Assessment, assess
from alama.core.lending.asking import MENU_AMOUNTS_MAX, Asking, LoanChoice
from alama.core.lending.offer import Offer
from alama.core.lending.policy import SEVERITY, CounterOffers, Decision, Policy, Rule
from alama.core.lending.policy_check import seal
from alama.core.lending.pricing import Tariff
from alama.core.lending.ready_policy import ReadyPolicy
from tests.property.test_offers import (
    Case,
    asking,
    assert_that_it_can_be_repaid,
    assert_that_it_is_within_the_caps,
    cap_of,
    drawn_pair,
    random_case,
    steady,
    with_one_term,
    with_policy,
)
from tests.tries import tries

STEPS = 40
"""Whole steps up to the largest limit: each is asked for, one by one."""


@dataclass(frozen=True)
class Asked:
    """A loan that was asked for, and what was answered."""

    amount: int
    days: int
    said: Assessment


@dataclass(frozen=True)
class Question:
    """A case under each of the three ways to treat counter-offers."""

    plain: Case
    show: Case
    approve: Case

    @cached_property
    def lent(self) -> list[Asked]:
        """Ask for every loan there is; those are listed that are answered by themselves.

        They keep their term and their amount, and earn what they cost.
        """
        policy = self.plain.policy.policy
        tiers = {tier.name: tier for tier in policy.tiers}
        most = range(policy.limit_step, policy.tiers[0].limit_max + 1, policy.limit_step)
        found = []
        for days in self.plain.policy.terms_days:
            tariff = Tariff.of(policy, days)
            for amount in most:
                application = asking(self.plain, amount, days)
                said = assess(self.plain.model, self.plain.policy, application)
                kept = said.offer.term_days == days and said.offer.limit >= amount
                lends = tiers[said.tier].decision is not Decision.DECLINED
                earns = amount >= tariff.amount_min(said.default_probability)
                if kept and lends and earns and said.decision is not Decision.DECLINED:
                    found.append(Asked(amount, days, said))
        return found

    def largest(self, *decisions: Decision) -> Asked | None:
        terms = self.plain.policy.terms_days
        asked = self.plain.value("requested_term_days")
        days = asked or self.plain.policy.standard_loan.term_days
        start = min([n for n, term in enumerate(terms) if term >= days] or [len(terms) - 1])
        order = [*range(start, len(terms)), *range(start - 1, -1, -1)]
        known = [one for one in self.lent if one.said.decision in decisions]
        return max(
            known,
            key=lambda one: (one.amount, -order.index(terms.index(one.days))),
            default=None,
        )

    @property
    def wanted(self) -> float:
        return self.plain.value("requested_amount") or self.plain.policy.standard_loan.amount


def random_question(seed: int) -> Question:
    case = random_case(seed)
    policy = in_few_steps(case.policy.policy)
    plain, show, approve = (
        with_policy(Case(case.model, ReadyPolicy(policy, case.model), case.application), **changes)
        for changes in ({}, *({"counter_offers": how} for how in list(CounterOffers)[:2]))
    )
    return Question(plain, show, approve)


def in_few_steps(policy: Policy) -> Policy:
    step = max(policy.limit_step, policy.tiers[0].limit_max // STEPS)
    tiers = tuple(
        msgspec.structs.replace(tier, limit_max=max(tier.limit_max // step, 1) * step)
        for tier in policy.tiers
    )
    rules = tuple(
        msgspec.structs.replace(rule, limit_max=max(rule.limit_max // step, 1) * step)
        if isinstance(rule.limit_max, int)
        else rule
        for rule in policy.rules
    )
    changes = {"limit_step": step, "tiers": tiers, "rules": rules}
    return seal(msgspec.structs.replace(policy, **changes, counter_offers=msgspec.UNSET))


QUESTIONS = st.integers(0, 2**32 - 1).map(random_question)


def test_the_questions_meet_counter_offers_of_both_kinds_and_none() -> None:
    said = [random_question(seed).show.assess() for seed in range(150)]
    assert any(one.counter and one.counter.approved for one in said)
    assert any(one.counter and one.counter.review for one in said)
    assert any(one.counter is None and one.decision is Decision.DECLINED for one in said)


@given(QUESTIONS)
@tries(60)
def test_a_counter_offer_is_the_largest_loan_that_asking_one_by_one_finds(
    question: Question,
) -> None:
    plain, said = question.plain.assess(), question.show.assess()
    # What is decided is as it was.
    assert msgspec.structs.replace(said, counter=None) == plain
    approved = review = None
    if plain.decision is not Decision.APPROVED:
        approved = question.largest(Decision.APPROVED)
    if plain.decision is Decision.DECLINED:
        review = question.largest(Decision.APPROVED, Decision.REVIEW)
        if review and approved and review.amount == approved.amount:
            review = None
    counter = said.counter
    assert (None if counter is None else counter.approved) == as_choice(question, approved)
    assert (None if counter is None else counter.review) == as_choice(question, review)


@given(QUESTIONS)
@tries(60)
def test_a_menu_has_what_asking_would_answer_and_nothing_is_left_out(question: Question) -> None:
    menu = menu_of(question.show)
    amounts = sorted({entry.amount for entry in menu})
    assert len(amounts) <= MENU_AMOUNTS_MAX
    largest = question.largest(Decision.APPROVED, Decision.REVIEW)
    assert max(amounts, default=None) == (None if largest is None else largest.amount)
    lent = [as_choice(question, one) for one in question.lent if one.amount in amounts]
    assert sorted(menu, key=place_of) == sorted(filter(None, lent), key=place_of)
    # They stand in rising order of amount, and of term.
    assert menu == sorted(menu, key=place_of)


def place_of(entry: LoanChoice) -> tuple[int, int]:
    return entry.amount, entry.term_days


def as_choice(question: Question, asked: Asked | None) -> LoanChoice | None:
    if asked is None:
        return None
    probability = asked.said.default_probability
    tariff = Tariff.of(question.plain.policy.policy, asked.days)
    loan = tariff.schedule(probability, asked.amount)
    return LoanChoice(
        asked.said.decision,
        asked.amount,
        asked.days,
        loan.payments[0].amount,
        len(loan.payments),
        loan.total,
        tariff.apr(probability, asked.amount),
        probability,
    )


def menu_of(case: Case) -> list[LoanChoice]:
    card = case.model.scorecard_for(case.application)
    values = case.policy.as_asked(case.application.values)
    return list(Asking(case.policy, card, values, card.score(values)).menu())


@given(QUESTIONS)
@tries(60)
def test_approving_counter_offers_approves_the_largest_loan_in_place_of_a_smaller_or_none(
    question: Question,
) -> None:
    plain, said = question.plain.assess(), question.approve.assess()
    best = question.largest(Decision.APPROVED)
    is_carried = plain.decision is Decision.APPROVED and plain.offer.limit >= question.wanted
    has = plain.offer.limit if plain.decision is Decision.APPROVED else 0
    if best is None or is_carried or best.amount <= has:
        assert said == plain
        return
    assert (said.decision, said.rules) == (Decision.APPROVED, ())
    assert (said.offer.limit, said.offer.term_days) == (best.amount, best.days)
    assert said.offer.default_probability == best.said.default_probability
    assert said.counter is not None
    assert said.counter.as_asked == plain.rules
    assert (said.score, said.tier) == (plain.score, plain.tier)


@given(QUESTIONS)
@tries(60)
def test_no_counter_offer_and_no_entry_of_a_menu_breaks_the_room_or_a_cap(
    question: Question,
) -> None:
    said, tiers = question.show.assess(), question.show.policy.tiers
    counter = [said.counter.approved, said.counter.review] if said.counter else []
    for loan in filter(None, (*counter, *menu_of(question.show))):
        offer = as_offer(said.offer, loan)
        asked = asking(question.plain, loan.amount, loan.term_days)
        own = assess(question.plain.model, question.plain.policy, asked)
        tier = next(tier for tier in tiers if tier.name == own.tier)
        assert loan.amount <= min(tier.limit_max, cap_of(question.plain, loan.term_days))
        assert_that_it_can_be_repaid(question.show, offer, tier)
        assert_that_it_is_within_the_caps(question.show, offer)


def as_offer(beside: Offer, loan: LoanChoice) -> Offer:
    return msgspec.structs.replace(
        beside,
        limit=loan.amount,
        term_days=loan.term_days,
        default_probability=loan.default_probability,
    )


@given(QUESTIONS, st.sampled_from(list(CounterOffers)), st.data())
@tries(150)
def test_who_is_better_is_never_offered_less_at_the_same_term(
    question: Question, how: CounterOffers, data: st.DataObject
) -> None:
    case = with_policy(steady(with_one_term(question.plain, data)), counter_offers=how)
    worse, better = drawn_pair(case, data)
    assert SEVERITY[better.decision] <= SEVERITY[worse.decision]
    if Rule.SELDOM_BOOKED in (*worse.rules, *better.rules) or refers_by_amount(case):
        return
    if better.decision is worse.decision:
        assert better.offer.limit >= worse.offer.limit
    if how is CounterOffers.SHOW and better.decision is worse.decision:
        found = [one.counter and one.counter.approved for one in (worse, better)]
        amounts = [one.amount if one else 0 for one in found]
        assert amounts[0] <= amounts[1]


def refers_by_amount(case: Case) -> bool:
    """Say whether a rule refers loans to a person: while it fires, the limit is not bounded."""
    return any(rule.objection.decision is Decision.REVIEW for rule in case.policy.loan_rules)
