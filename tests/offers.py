"""Decisions of random policies on random applications, and the offer by trying every loan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from alama.core import calibration
from alama.core.application import Application
from alama.core.assess import Assessment, assess
from alama.core.expressions.expression import Expression, parse
from alama.core.lending.draft import default_policy
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.policy import SEVERITY, Decision, OwnRule, Policy, Rule, Tier
from alama.core.lending.pricing import Tariff
from alama.core.lending.ready_policy import Objection, ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.units import Points
from tests.applications import random_application
from tests.factories import ready_model
from tests.policies import STEADY_RULES, random_policy, with_parts
from tests.recourse import random_booking

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Case:
    """A model, a policy laid out for it, and an application to it."""

    model: ReadyModel
    policy: ReadyPolicy
    application: Application

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
    return Case(model, ReadyPolicy(policy, model), application)


def changed(application: Application, values: Mapping[int, float]) -> Application:
    return Application(tuple(values.get(n, v) for n, v in enumerate(application.values)))


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


def by_trying(case: Case) -> tuple[Decision, int, int]:
    """Find the offer as a person would: write down every loan, cross out, take the best.

    The decision is the best that any loan would get, or a worse one of the application itself. To
    the seldom booked whom a tier declines, or leaves no loan, no tier and no loss declines.
    """
    policy, learned = case.policy.policy, case.policy.terms_days
    wanted = case.value(AMOUNT) or policy.standard_loan.amount
    asked = case.value(TERM) or policy.standard_loan.term_days
    tier = tier_of(policy, points_of(case, wanted, int(asked)))
    objecting = [rule for rule in policy.rules if objects(case, rule, wanted, asked)]
    own = worst(tier.decision, doubted(case, wanted, int(asked)), *(r.decision for r in objecting))
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
        rule.decision
        for rule in policy.rules
        if speaks_of_loans(rule)
        and (rule.decision is Decision.DECLINED or rule not in objecting)
        and objects(case, rule, amount, days)
    ]
    probability = calibration.shown_probability(points_of(case, amount, days))
    tariff = Tariff(policy.pricing, policy.caps, days)
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
    amounts = range(policy.limit_step, tier.limit_max + 1, policy.limit_step)
    return [amount for amount in amounts if is_repayable(case, tier, amount, days)]


def is_repayable(case: Case, tier: Tier, amount: int, days: int) -> bool:
    policy = case.policy.policy
    points = points_of(case, amount, days)
    probability = calibration.shown_probability(points)
    own = min(tier, tier_of(policy, points), key=lambda t: t.score_min)
    tariff = Tariff(policy.pricing, policy.caps, days)
    room = own.inflow_share * (case.value("avg_inflow") or 0.0) - existing(case)
    refused = own.decision is Decision.DECLINED and own != tier
    fits = amount <= own.limit_max and tariff.due_monthly(probability, amount) <= room
    return fits and not refused


def objects(case: Case, rule: OwnRule, amount: float, days: float) -> bool:
    return case.conditions[rule.when].fires(asking(case, amount, days).values)


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
