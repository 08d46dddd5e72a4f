"""The decision: everything that speaks against an application, and what it leaves.

First the policy's own rules, then the tier, then what can be afforded, then whether the data carry
a decision at all. The worst of them decides, and all of them are named.

Of those who were seldom booked a score can only guess, so it declines none of them: what a score
alone is against is left to a person. Rules of the policy, and the applicant's money, still decline.

Where the loan as asked is not approved, another one may be: a counter-offer is told beside the
decision, or takes its place, as the policy has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.lending.asking import Asking, Counter
from alama.core.lending.offer import Found, find_loan, find_loan_to_confirm, number_at
from alama.core.lending.policy import SEVERITY, CounterOffers, Decision, Tier
from alama.core.lending.ready_policy import SELDOM_BOOKED, TIER_TO_CONFIRM, Objection, ReadyPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Value
    from alama.core.scorecard import Scorecard, Scored


_NONE: Final = CounterOffers.NONE
_SHOW: Final = CounterOffers.SHOW
_APPROVED: Final = Decision.APPROVED
_DECLINED: Final = Decision.DECLINED


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What a policy says about a scored application; `rules` are the codes of what objected.

    Where a counter-offer was approved, `as_asked` are the codes of what objected to the loan that
    was asked for.
    """

    tier: Tier
    decision: Decision
    rules: tuple[str, ...]
    loan: Found
    counter: Counter | None = None
    as_asked: tuple[str, ...] = ()


def decide(
    policy: ReadyPolicy, scorecard: Scorecard, values: Sequence[Value], scored: Scored
) -> Verdict:
    """Decide on an application, whose values say what loan it asks for, and find the loan to offer.

    A policy that approves counter-offers offers the largest loan that would be approved, had it
    been asked for, wherever what was asked for is not approved, or to a smaller amount than that.
    So whoever is better is never offered less.
    """
    said = _as_asked(policy, scorecard, values, scored)
    how = policy.counter_offers
    if how is _NONE or (how is _SHOW and said.decision is _APPROVED):
        return said
    if how is _SHOW:
        counter = Asking(policy, scorecard, values, scored).counter(said.decision)
        is_empty = counter.approved is counter.review is None
        return said if is_empty else msgspec.structs.replace(said, counter=counter)
    if said.decision is _APPROVED and said.loan.amount >= _wanted(policy, values):
        return said
    above = said.loan.amount if said.decision is _APPROVED else 0
    better = Asking(policy, scorecard, values, scored).largest(_APPROVED, above)
    if better is None:
        return said
    return Verdict(said.tier, _APPROVED, (), better, Counter(better, None), said.rules)


def _wanted(policy: ReadyPolicy, values: Sequence[Value]) -> float:
    return number_at(values, policy.amount_place) or policy.standard_loan.amount


def _as_asked(
    policy: ReadyPolicy, scorecard: Scorecard, values: Sequence[Value], scored: Scored
) -> Verdict:
    """Decide on the loan that is asked for.

    Where not even the smallest loan can be offered the answer is DECLINED, not REVIEW: there is
    nothing that a person could confirm.
    """
    tier = policy.tier(scored.points)
    objections = policy.objections_of_rules(values)
    doubts = policy.doubts(scorecard, values, scored)
    loans = policy.loans(scorecard, scored)
    loan, obstacles = find_loan(policy, tier, values, loans, objections)
    is_declined = tier.decision is _DECLINED
    # Whatever stands in the way of a loan may come from the score that it would have.
    if SELDOM_BOOKED in doubts and (is_declined or _declines(obstacles)):
        loan, obstacles = find_loan_to_confirm(policy, tier, values, loans, objections)
        objections += TIER_TO_CONFIRM if is_declined else policy.objections_of_tier(tier)
        objections += obstacles
    else:
        objections += policy.objections_of_tier(tier)
        # A declined tier gets the loan that would have applied; what stands in its way is idle.
        if not is_declined:
            objections += obstacles
    objections += doubts
    if not objections:
        return Verdict(tier, _APPROVED, (), loan)
    codes = tuple(objection.code for objection in objections)
    return Verdict(tier, _worst(objections), codes, loan)


def _declines(objections: Sequence[Objection]) -> bool:
    return any(objection.decision is _DECLINED for objection in objections)


def _worst(objections: Sequence[Objection]) -> Decision:
    return max((objection.decision for objection in objections), key=SEVERITY.__getitem__)
