"""What decides beside the application: the lender's day, its lists and caps, and the lot.

They are facts of a moment. Whatever they have decided is kept with the assessment, and `as_said`
gives them back from there, so that a replay says the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core import calibration
from alama.core.lending.decision import Verdict, decide
from alama.core.lending.offer import Found, Room, find_loan
from alama.core.lending.policy import SEVERITY, Decision, Rule
from alama.core.units import Probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Application, Value
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.scorecard import Scorecard, Scored


class Lot(msgspec.Struct, frozen=True):
    """What was drawn for an application in the cell of `[exploration]`.

    It was approved if `draw`, from 0 to below 1, is below the `propensity`: that was its chance.
    """

    draw: float
    propensity: Probability

    @property
    def drawn(self) -> bool:
        """Whether the lot fell on the application."""
        return self.draw < self.propensity


class Segment(NamedTuple):
    """What of the portfolio a loan is part of; None: no cap asks for it, or nobody said.

    Of a policy with products the product is known whatever caps ask.
    """

    region: str | None
    tier: str | None
    product: str | None = None


class Circumstances(NamedTuple):
    """What is known of a moment, beside what the applicant said.

    `holds` leave everything to a person. `listed` is the rule of the list that the applicant is on.
    `rooms` are what is left of the caps on loans of the applicant's region and product, of those
    that may refuse one. `draw` is the lot; None: none is drawn. `kept`: the rooms go into the
    record; one from before they did has the names of the caps that were full, and nothing else.
    """

    holds: tuple[Rule, ...] = ()
    listed: Rule | None = None
    rooms: tuple[Room, ...] = ()
    draw: float | None = None
    kept: bool = True

    @property
    def certain(self) -> tuple[Rule, ...]:
        """What no change of an application helps against."""
        return self.holds if self.listed is None else (self.listed, *self.holds)


USUAL: Final = Circumstances()
"""Nothing but the application and the policy decides."""

LISTED: Final = {Rule.BLOCKED: Decision.DECLINED, Rule.WATCHED: Decision.REVIEW}
"""What each list leaves at best."""

_CUTOFFS: Final = frozenset(
    {(Rule.TIER_BELOW_CUTOFF.value,), (Rule.TIER_IN_REVIEW.value,)},
)
"""All that may be against an application that takes part in a lot."""


def against(verdict: Verdict, code: str, decision: Decision, *, first: bool) -> Verdict:
    """Give a verdict with one more objection, before or behind those that it has."""
    rules = (code, *verdict.rules) if first else (*verdict.rules, code)
    worse = max(verdict.decision, decision, key=SEVERITY.__getitem__)
    return msgspec.structs.replace(verdict, decision=worse, rules=rules)


def settle(
    policy: ReadyPolicy,
    verdict: Verdict,
    scorecard: Scorecard,
    values: Sequence[Value],
    scored: Scored,
    around: Circumstances,
) -> tuple[Verdict, Lot | None]:
    """Give what is left of a verdict in its circumstances, holds apart, and the lot if one counts.

    A list first: who is on one takes part in no lot. Then the lot, and then the caps, which a loan
    by lot is under too: where there is no room for it nothing is drawn.
    """
    if around.listed is not None:
        code, decision = around.listed.value, LISTED[around.listed]
        verdict = against(verdict, code, decision, first=True)
    explored = _explored(policy, verdict, scorecard, values, scored, around)
    if explored is not None:
        lot, approved = explored
        if not lot.drawn:
            return verdict, lot
        if not _full(policy, approved, around):
            return approved, lot
        return verdict, None
    if verdict.decision is Decision.APPROVED and not around.holds:
        for cap in _full(policy, verdict, around):
            verdict = against(verdict, cap, policy.caps[cap].decision, first=False)
    return verdict, None


def _explored(
    policy: ReadyPolicy,
    verdict: Verdict,
    scorecard: Scorecard,
    values: Sequence[Value],
    scored: Scored,
    around: Circumstances,
) -> tuple[Lot, Verdict] | None:
    """Give the lot of an application in the cell, and the verdict where it falls on it."""
    asked = policy.exploration
    if asked is None or around.draw is None or around.holds or verdict.rules not in _CUTOFFS:
        return None
    if calibration.shown_score(scored.points) < asked.score_min:
        return None
    loan = _small_loan(policy, verdict, scorecard, values, scored, asked.limit_max)
    if loan is None:
        return None
    approved = Verdict(verdict.tier, Decision.APPROVED, (*verdict.rules, Rule.EXPLORED.value), loan)
    return Lot(around.draw, Probability(asked.share)), approved


def _small_loan(
    policy: ReadyPolicy,
    verdict: Verdict,
    scorecard: Scorecard,
    values: Sequence[Value],
    scored: Scored,
    limit_max: int,
) -> Found | None:
    """Give the loan to try somebody with, of which nothing stands in the way; None: there is none.

    It is found as any loan is, within the room and the rules, below the limit of a trial.
    """
    tier = msgspec.structs.replace(verdict.tier, limit_max=min(verdict.tier.limit_max, limit_max))
    loans = policy.loans(scorecard, scored)
    loan, obstacles = find_loan(policy, tier, values, loans, ())
    return None if obstacles else loan


def _full(policy: ReadyPolicy, verdict: Verdict, around: Circumstances) -> tuple[str, ...]:
    """Give the caps that a loan which is about to be approved would exceed."""
    if not around.rooms:
        return ()
    loan = verdict.loan
    expected_loss = policy.tariffs[loan.term].quote(loan.probability, loan.amount).expected_loss
    return tuple(
        room.cap
        for room in around.rooms
        if _counts(policy, room.cap, verdict) and not room.holds(loan.amount, expected_loss)
    )


def _counts(policy: ReadyPolicy, cap: str, verdict: Verdict) -> bool:
    tiers = policy.caps[cap].tiers
    return not tiers or verdict.tier.name in tiers


def answer_to(
    policy: ReadyPolicy,
    application: Application,
    amount: int,
    term_days: int,
    around: Circumstances,
) -> Decision:
    """Give the decision on another loan, had it been asked for, as the caps leave it.

    The loan that it is answered by may be a larger one, for which a cap has no room.
    """
    values = policy.as_if_asked(application.values, amount, term_days)
    asked = msgspec.structs.replace(application, values=tuple(values))
    scorecard, values = policy.model.scorecard_for(asked), policy.as_asked(asked.values)
    scored = scorecard.score(values)
    verdict = decide(policy, scorecard, values, scored)
    around = Circumstances(rooms=around.rooms)
    return settle(policy, verdict, scorecard, values, scored, around)[0].decision
