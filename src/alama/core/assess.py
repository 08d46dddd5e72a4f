"""The whole flow on one page: an application in, an assessment out.

Pure, so that any stored decision can be replayed, and so that every surface says the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from alama.core import calibration
from alama.core.application import Application, Value
from alama.core.lending.asking import Asking, LoanChoice, choice_of
from alama.core.lending.circumstances import (
    LISTED,
    USUAL,
    Circumstances,
    Lot,
    answer_to,
    settle,
)
from alama.core.lending.decision import Verdict, decide
from alama.core.lending.offer import Offer, Room, make_offer
from alama.core.lending.policy import HOLDS, CounterOffers, Decision, Rule
from alama.core.memory import Remembered
from alama.core.units import Points, Probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.model import ReadyModel
    from alama.core.scorecard import Scorecard, Scored


class Contribution(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What one field gave to the score, in points; positive raises it.

    Written as an array of three: a stored score holds seventeen of them.
    """

    feature: str
    value: Value
    points: float


class ExplainedScore(msgspec.Struct, frozen=True):
    """What the model says about one application; contributions come largest first."""

    score: int
    default_probability: Probability
    base: float
    points: Points
    contributions: tuple[Contribution, ...]
    card: str


class Proven(msgspec.Struct, frozen=True):
    """What stood behind figures that were derived from a statement and came with their evidence.

    `digest` is of what was read, `day` the one of application, `fields` those that were derived.
    `checks` are pairs of a name and what the check came to.
    """

    digest: str
    formulas: str
    day: str
    fields: tuple[str, ...]
    checks: tuple[tuple[str, str], ...]
    doubtful: bool


class CounterOffer(msgspec.Struct, frozen=True):
    """The largest loans that would be answered otherwise than what was asked for.

    `approved` would be approved; `review`, which is larger, would be left to a person. Where the
    policy has approved the first of them instead, `as_asked` are the codes of what decided against
    the loan that was asked for.
    """

    approved: LoanChoice | None
    review: LoanChoice | None
    as_asked: tuple[str, ...] = ()


class Assessment(ExplainedScore, frozen=True, omit_defaults=True):
    """What model and policy say about one application.

    `rules` are the codes of what decided against it, none where it is approved. The limit of the
    offer is 0 where the decision is DECLINED, or would be if nothing were held. `slots` are the
    places of the values in the tables of the card, in its order; records from before they were kept
    have none. `counter` is told where the policy makes counter-offers and there is one. `memory` is
    what the borrower was remembered by at that moment; None: nobody was named.

    It has 15 fields, which is the most: of more, `msgspec` writes another header than a receipt,
    which knows the fields alone, could write again.
    """

    tier: str
    decision: Decision
    offer: Offer
    rules: tuple[str, ...]
    slots: tuple[int, ...] = ()
    counter: CounterOffer | None = None
    # Left out where no lot counts: most policies draw none.
    lot: Lot | msgspec.UnsetType = msgspec.UNSET
    # Left out where the figures came without evidence.
    proven: Proven | msgspec.UnsetType = msgspec.UNSET
    memory: Remembered | None = None
    # No more than fifteen: what has one more is written otherwise, and a receipt could not tell.

    @property
    def product(self) -> str | None:
        """Which product of the policy decided; None: it has none."""
        said = self.offer.product
        return None if isinstance(said, msgspec.UnsetType) else said

    @property
    def propensity(self) -> Probability | None:
        """With what chance a lot was to approve this; None: no lot was drawn."""
        return None if isinstance(self.lot, msgspec.UnsetType) else self.lot.propensity

    @property
    def explored(self) -> bool:
        """Whether the lot has approved this, and nothing else would have."""
        return Rule.EXPLORED in self.rules

    @property
    def holds(self) -> tuple[Rule, ...]:
        """What left everything to a person when this was said, whoever asked."""
        return tuple(Rule(code) for code in self.rules if code in HOLDS)

    def circumstances(self, policy: ReadyPolicy) -> Circumstances:
        """Give those in which this was said, as far as they had a part in it."""
        listed = next((rule for rule in LISTED if rule.value in self.rules), None)
        draw = None if isinstance(self.lot, msgspec.UnsetType) else self.lot.draw
        if self.offer.rooms:  # another policy may have other caps
            rooms = tuple(room for room in self.offer.rooms if room.cap in policy.caps)
            return Circumstances(self.holds, listed, rooms, draw)
        full = tuple(Room(code, 0) for code in self.rules if code in policy.caps)
        return Circumstances(self.holds, listed, full, draw, kept=not full)


def assess(
    model: ReadyModel,
    policy: ReadyPolicy,
    application: Application,
    around: Circumstances = USUAL,
) -> Assessment:
    """Score, calibrate, explain, decide and price; the policy is laid out for this model.

    Of a policy with products the one that the application asks for decides.
    `around` is what decides beside the application.
    """
    assert policy.model is model
    policy = policy.for_product(application.product)
    scorecard = model.scorecard_for(application)
    values = policy.as_asked(application.values)
    scored = scorecard.score(values)
    verdict = decide(policy, scorecard, values, scored)
    lot = None
    if around is not USUAL:
        verdict, lot = settle(policy, verdict, scorecard, values, scored, around)
    decision, rules = verdict.decision, verdict.rules
    offer = make_offer(policy, decision, verdict.loan, values)
    if around.rooms and around.kept:
        offer = msgspec.structs.replace(offer, rooms=around.rooms)
    counter = _counter_offer(policy, application, verdict, around)
    if around.holds:
        decision, rules = Decision.REVIEW, (*rules, *(hold.value for hold in around.holds))
    return Assessment(
        score=calibration.shown_score(scored.points),
        default_probability=calibration.shown_probability(scored.points),
        base=scored.base,
        points=scored.points,
        contributions=_contributions(scorecard, scored, application),
        card=scorecard.card.name,
        tier=verdict.tier.name,
        decision=decision,
        offer=offer,
        rules=rules,
        slots=tuple(scored.slots),
        memory=application.memory,
        counter=counter,
        lot=msgspec.UNSET if lot is None else lot,
    )


def _counter_offer(
    policy: ReadyPolicy, application: Application, verdict: Verdict, around: Circumstances
) -> CounterOffer | None:
    """Put loans that were found into figures, as the circumstances leave them."""
    if verdict.counter is None or around.listed is Rule.BLOCKED:
        return None
    approved, review = verdict.counter.approved, verdict.counter.review
    if around.certain or not around.kept:
        approved, review = None, review or approved
    elif around.rooms and approved is not None and verdict.decision is not Decision.APPROVED:
        days = policy.terms_days[approved.term]
        said = answer_to(policy, application, approved.amount, days, around)
        if said is Decision.REVIEW:
            approved, review = None, review or approved
        elif said is Decision.DECLINED:
            approved = None
    if approved is review is None and not verdict.as_asked:
        return None
    return CounterOffer(
        None if approved is None else choice_of(policy, approved, Decision.APPROVED),
        None if review is None else choice_of(policy, review, Decision.REVIEW),
        verdict.as_asked,
    )


def menu(policy: ReadyPolicy, application: Application, said: Assessment) -> list[LoanChoice]:
    """Give what the applicant could ask for, by amount and term: no loan that is declined.

    What has decided beside the application, when this was `said` of it, decides on all of them.
    """
    around = said.circumstances(policy)
    if around.listed is Rule.BLOCKED:
        return []
    scorecard = policy.model.scorecard_for(application)
    values = policy.as_asked(application.values)
    found = list(Asking(policy, scorecard, values, scorecard.score(values)).menu())
    if around.certain:
        return [msgspec.structs.replace(loan, decision=Decision.REVIEW) for loan in found]
    # A loan that a person would decide on may be answered by another, which a cap may refuse.
    is_answered = policy.counter_offers is CounterOffers.APPROVE
    for place, loan in enumerate(found if around.rooms else ()):
        if is_answered or loan.decision is Decision.APPROVED:
            amount, days = loan.amount, loan.term_days
            decision = answer_to(policy, application, amount, days, around)
            found[place] = msgspec.structs.replace(loan, decision=decision)
    return [loan for loan in found if loan.decision is not Decision.DECLINED]


def explain_score(model: ReadyModel, application: Application) -> ExplainedScore:
    """Score, calibrate and explain, whoever lends and on what terms."""
    scorecard = model.scorecard_for(application)
    scored = scorecard.score(application.values)
    return ExplainedScore(
        score=calibration.shown_score(scored.points),
        default_probability=calibration.shown_probability(scored.points),
        base=scored.base,
        points=scored.points,
        contributions=_contributions(scorecard, scored, application),
        card=scorecard.card.name,
    )


def _contributions(
    scorecard: Scorecard, scored: Scored, application: Application
) -> tuple[Contribution, ...]:
    names: Sequence[str] = scorecard.fields
    if (spelled := application.spelled) is not None:
        names = [
            spelled.get(place, name) for place, name in zip(scorecard.places, names, strict=True)
        ]
    values = [application.values[place] for place in scorecard.places]
    # `map` makes them in half the time that a loop takes.
    contributions = list(map(Contribution, names, values, scored.contributions))
    contributions.sort(key=_magnitude, reverse=True)
    return tuple(contributions)


def _magnitude(contribution: Contribution) -> float:
    return abs(contribution.points)
