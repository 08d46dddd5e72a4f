"""From a tier to an offer: the term, the limit and the price.

Every amount is judged as the loan it would be, had it been asked for: at its own probability, by
the share and the cap of the tier that it would itself have (or of the applicant's, if that is
worse). An amount that would be declined is not offered. So nobody is offered by asking for little
what would be refused to those who ask for it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import calibration
from alama.core.errors import InvalidPolicy
from alama.core.loan import AMOUNT, TERM, Loans, LoanTables
from alama.core.policy import TERM_DAYS_MAX, Decision, Policy, Rule
from alama.core.pricing import Price, Tariff
from alama.core.units import Apr, Points, Probability

if TYPE_CHECKING:
    from alama.core.application import Application, Value
    from alama.core.loan import LoansOfTerm
    from alama.core.model import ReadyModel
    from alama.core.policy import Tier
    from alama.core.scorecard import Scorecard, Scored

_INFLOW: Final = "avg_inflow"
_EXISTING: Final = "existing_repayments"


class Offer(msgspec.Struct, frozen=True, gc=False):
    """What may be lent: up to `limit`, for `term_days`, at `apr` percent per year.

    Price and probability are those of a loan of the limit itself. Where nothing is offered the
    limit is 0, and they are those of the loan that would have applied: the largest by tier and
    income, or the smallest there is where none can be repaid.
    """

    limit: int
    term_days: int
    apr: Apr
    default_probability: Probability
    price: Price


class ReadyPolicy:
    """A policy laid out for one model."""

    __slots__ = (
        "_places",
        "_scores_min",
        "_tables",
        "id",
        "limit_step",
        "model",
        "policy",
        "standard_loan",
        "tariffs",
        "terms_days",
        "tiers",
    )

    def __init__(self, policy: Policy, model: ReadyModel) -> None:
        """Work out what does not depend on the application, or raise `InvalidPolicy`.

        A probability for a term that the model never saw is a guess, so no such term is offered.
        """
        _check_fit(policy, model)
        self.model = model
        self.policy = policy
        self.id = policy.id
        self.tiers = policy.tiers
        # All but the last tier, which has whatever is left: clamping the score changes no tier.
        self._scores_min = tuple(tier.score_min for tier in policy.tiers[:-1])
        self.standard_loan = policy.standard_loan
        self.limit_step = policy.limit_step
        self.terms_days = _known_terms(policy, model)
        self.tariffs = tuple(Tariff(policy.pricing, days) for days in self.terms_days)
        position = model.catalogue.position
        self._places = {name: position.get(name) for name in (AMOUNT, TERM, _INFLOW, _EXISTING)}
        self._tables = {card.card.name: LoanTables(card, model) for card in model.scorecards}

    def tier_place(self, points: Points) -> int:
        """Give the place of the tier by the score as shown."""
        score = round(points)
        place = 0
        for score_min in self._scores_min:
            if score >= score_min:
                break
            place += 1
        return place

    def loans(self, scorecard: Scorecard, scored: Scored) -> Loans:
        """Give the loans that the applicant could ask for."""
        return Loans(self._tables[scorecard.card.name], scored)

    def number(self, application: Application, name: str) -> float | None:
        """Give a number of the application; None where it, or the field itself, is not there."""
        place = self._places[name]
        value: Value = None if place is None else application.values[place]
        assert not isinstance(value, str)
        return value


def _check_fit(policy: Policy, model: ReadyModel) -> None:
    if policy.currency != model.currency:
        raise InvalidPolicy(
            f"the policy lends in {policy.currency}, "
            f"but the model is laid out for {model.currency or 'no currency'}"
        )
    if _INFLOW not in model.catalogue.position:
        raise InvalidPolicy(f"the policy needs the field {_INFLOW}, which the model has not")
    if not _known_terms(policy, model):
        shortest, longest = _learned_terms(model)
        raise InvalidPolicy(
            "the policy offers no term that the model has learned on",
            hint=f"offer one of {shortest} to {longest} days, or train on loans of your terms",
        )


def _known_terms(policy: Policy, model: ReadyModel) -> tuple[int, ...]:
    shortest, longest = _learned_terms(model)
    return tuple(days for days in policy.terms_days if shortest <= days <= longest)


def _learned_terms(model: ReadyModel) -> tuple[int, int]:
    """Give the terms that a model was learned on; one that does not say knows them all."""
    outcome = model.model.outcome
    return outcome.shortest_term_days or 1, outcome.longest_term_days or TERM_DAYS_MAX


class _Applicant:
    """What decides an offer apart from the loan itself: the tier, and the money there is."""

    __slots__ = ("_existing", "_inflow", "loans", "policy", "tier", "tier_place")

    def __init__(
        self, policy: ReadyPolicy, tier_place: int, application: Application, loans: Loans
    ) -> None:
        self.policy = policy
        self.tier_place = tier_place
        self.tier = policy.tiers[tier_place]
        self.loans = loans
        self._inflow = policy.number(application, _INFLOW) or 0.0
        self._existing = policy.number(application, _EXISTING) or 0.0

    def room(self, tier: Tier) -> float:
        """Give what may fall due per 30 days on the loan, in a tier."""
        return tier.inflow_share * self._inflow - self._existing


class _Term:
    """The loans of one term to one applicant."""

    __slots__ = ("_amount_max", "_applicant", "_judged", "_loans", "tariff")

    def __init__(self, applicant: _Applicant, tariff: Tariff) -> None:
        self.tariff = tariff
        self._applicant = applicant
        self._loans: LoansOfTerm | None = None
        self._judged: dict[int, tuple[Probability, Tier, float]] = {}
        # A cheap bound spares most look-ups.
        room = applicant.room(applicant.tier)
        self._amount_max = min(applicant.tier.limit_max, tariff.amount_max(room))

    def judge(self, amount: int) -> tuple[Probability, Tier, float]:
        """Give the probability of a loan, the tier that decides on it, and the room for it there.

        The tier is that of the applicant or that of the loan itself, whichever is worse.
        """
        applicant, loans = self._applicant, self._loans
        if loans is None:
            loans = self._loans = applicant.loans.of_term(self.tariff.term_days)
        band = loans.band(amount)
        judged = self._judged.get(band)
        if judged is None:
            points = loans.points(band)
            own_place = applicant.policy.tier_place(points)
            tier = applicant.policy.tiers[max(own_place, applicant.tier_place)]
            probability = calibration.shown_probability(points)
            judged = self._judged[band] = (probability, tier, applicant.room(tier))
        return judged

    def offers(self, amount: int) -> bool:
        """Say whether a loan stays below the cap, would not be declined, and can be repaid.

        Where a loan is offered every smaller one is, if the model is monotone in the amount.
        """
        if amount > self._amount_max:
            return False
        probability, tier, room = self.judge(amount)
        if amount > tier.limit_max:
            return False
        # To somebody who is declined we say what would have applied, by the tier they have.
        if tier.decision is Decision.DECLINED and tier is not self._applicant.tier:
            return False
        return self.tariff.due_monthly(probability, amount) <= room

    def could_repay(self, amount: int) -> bool:
        """Say whether a loan can be repaid, be it offered or not."""
        probability, _, room = self.judge(amount)
        return self.tariff.due_monthly(probability, amount) <= room

    def largest(self, offered: int) -> int:
        """Give the largest loan that is offered, knowing one that is; both are whole steps."""
        step = self._applicant.policy.limit_step
        low, high = offered // step, int(self._amount_max // step)
        while low < high:
            middle = (low + high + 1) // 2
            if self.offers(middle * step):
                low = middle
            else:
                high = middle - 1
        return low * step

    def offer(self, limit: int) -> Offer:
        """Price a limit; of no limit, the smallest loan."""
        amount = limit or self._applicant.policy.limit_step
        probability, _, _ = self.judge(amount)
        apr = self.tariff.apr(probability, amount)
        price = self.tariff.price(probability, amount, apr)
        return Offer(limit, self.tariff.term_days, apr, probability, price)


def decide(tier: Tier, obstacle: Rule | None) -> tuple[Decision, tuple[Rule, ...]]:
    """Decide by the tier first, then by whether there is anything to offer; name what decided.

    Where not even the smallest loan can be offered the answer is DECLINED, not REVIEW: there is
    nothing that a person could confirm.
    """
    if obstacle is not None and tier.decision is not Decision.DECLINED:
        return Decision.DECLINED, (obstacle,)
    match tier.decision:
        case Decision.APPROVED:
            return Decision.APPROVED, ()
        case Decision.REVIEW:
            return Decision.REVIEW, (Rule.TIER_IN_REVIEW,)
        case Decision.DECLINED:
            return Decision.DECLINED, (Rule.TIER_BELOW_CUTOFF,)


def make_offer(
    policy: ReadyPolicy, tier_place: int, application: Application, loans: Loans
) -> tuple[Offer, Rule | None]:
    """Give the offer, and the rule that leaves none: its limit is 0 where there is a rule.

    The amount asked for, or the standard one, is rounded up to a whole step. The term asked for,
    or the standard one, is the least: of the terms offered from there on, the shortest that carries
    the amount is taken. So a term that is asked for and offered stays if it carries the amount. If
    none does, it is the term with the largest limit of all; where several have it, the first from
    the term asked for on.
    """
    step = policy.limit_step
    amount = policy.number(application, AMOUNT) or policy.standard_loan.amount
    wanted = math.ceil(amount / step) * step
    asked_days = policy.number(application, TERM) or policy.standard_loan.term_days
    start = min(bisect_left(policy.terms_days, asked_days), len(policy.terms_days) - 1)

    applicant = _Applicant(policy, tier_place, application, loans)
    from_asked = []
    for tariff in policy.tariffs[start:]:
        term = _Term(applicant, tariff)
        if term.offers(wanted):
            return term.offer(term.largest(wanted)), None
        from_asked.append(term)

    best, limit = from_asked[0], 0
    shorter = [_Term(applicant, tariff) for tariff in policy.tariffs[:start]]
    # The last one that carries the largest limit is taken, so the term asked for comes last.
    for term in (*shorter, *reversed(from_asked)):
        if term.offers(limit or step):
            best, limit = term, term.largest(limit or step)
    if limit:
        return best.offer(limit), None
    repayable = any(term.could_repay(step) for term in (*shorter, *from_asked))
    return best.offer(0), Rule.OFFER_BELOW_CUTOFF if repayable else Rule.UNAFFORDABLE
