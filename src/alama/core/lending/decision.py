"""The decision: everything that speaks against an application, and what it leaves.

First the policy's own rules, then the tier, then what can be afforded, then whether the data carry
a decision at all. The worst of them decides, and all of them are named.

Of those who were seldom booked a score can only guess, so it declines none of them: what a score
alone is against is left to a person. Rules of the policy, and the applicant's money, still decline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.lending.offer import Found, find_loan, find_loan_to_confirm
from alama.core.lending.policy import SEVERITY, Decision, Tier
from alama.core.lending.ready_policy import SELDOM_BOOKED, TIER_TO_CONFIRM, Objection, ReadyPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Value
    from alama.core.scorecard import Scorecard, Scored


_APPROVED: Final = Decision.APPROVED
_DECLINED: Final = Decision.DECLINED


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What a policy says about a scored application; `rules` are the codes of what objected."""

    tier: Tier
    decision: Decision
    rules: tuple[str, ...]
    loan: Found


def decide(
    policy: ReadyPolicy, scorecard: Scorecard, values: Sequence[Value], scored: Scored
) -> Verdict:
    """Decide on an application, whose values say what loan it asks for, and find the loan to offer.

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
