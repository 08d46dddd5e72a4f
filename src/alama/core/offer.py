"""From a tier to an offer: the term, the limit and the price.

Every amount is judged as the loan it would be, had it been asked for: at its own probability, by
the share and the cap of the tier that it would itself have (or of the applicant's, if that is
worse). An amount that would be declined is not offered. So nobody is offered by asking for little
what would be refused to those who ask for it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import calibration
from alama.core.errors import InvalidPolicy
from alama.core.loan import AMOUNT, TERM, Loans, LoanTables
from alama.core.policy import TERM_DAYS_MAX, Decision, Policy, Rule
from alama.core.pricing import Price, Tariff
from alama.core.units import Apr, Points, Probability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.application import Application, Value
    from alama.core.model import ReadyModel
    from alama.core.policy import Tier
    from alama.core.scorecard import Scorecard, Scored

_INFLOW: Final = "avg_inflow"
_EXISTING: Final = "existing_repayments"

# On Python 3.11 a member of an enum takes longer to look up than a table of points does.
_DECLINED: Final = Decision.DECLINED

_RULES: Final[Mapping[Decision, tuple[Rule, ...]]] = {
    Decision.APPROVED: (),
    Decision.REVIEW: (Rule.TIER_IN_REVIEW,),
    Decision.DECLINED: (Rule.TIER_BELOW_CUTOFF,),
}
"""What a tier has against those in it."""


class Offer(msgspec.Struct, frozen=True, gc=False):
    """What may be lent: up to `limit` in `currency`, for `term_days`, at `apr` percent per year.

    Price and probability are those of a loan of the limit itself. Where nothing is offered the
    limit is 0, and they are those of the loan that would have applied: the largest by tier and
    income, or the smallest there is where none can be repaid.
    """

    currency: str
    limit: int
    term_days: int
    apr: Apr
    default_probability: Probability
    price: Price


class ReadyPolicy:
    """A policy laid out for one model."""

    __slots__ = (
        "_loan_tables",
        "_scores_min",
        "_tiers_worst_first",
        "amount_place",
        "currency",
        "existing_place",
        "id",
        "inflow_place",
        "limit_step",
        "model",
        "policy",
        "standard_loan",
        "tariffs",
        "term_place",
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
        self.currency = policy.currency
        self.tiers = policy.tiers
        self._tiers_worst_first = policy.tiers[::-1]
        # All but the worst tier, which has whatever is left: clamping the score changes no tier.
        self._scores_min = tuple(tier.score_min for tier in self._tiers_worst_first[1:])
        self.standard_loan = policy.standard_loan
        self.limit_step = policy.limit_step
        self.terms_days = _known_terms(policy, model)
        self.tariffs = tuple(Tariff(policy.pricing, days) for days in self.terms_days)
        position = model.catalogue.position
        self.amount_place = position.get(AMOUNT)
        self.term_place = position.get(TERM)
        self.inflow_place = position[_INFLOW]
        self.existing_place = position.get(_EXISTING)
        amounts = range(policy.limit_step, policy.tiers[0].limit_max + 1, policy.limit_step)
        self._loan_tables = {
            scorecard.card.name: LoanTables(scorecard, model, amounts, self.terms_days)
            for scorecard in model.scorecards
        }

    def tier(self, points: Points) -> Tier:
        """Give the tier by the score as shown."""
        return self._tiers_worst_first[bisect_right(self._scores_min, round(points))]

    def loans(self, scorecard: Scorecard, scored: Scored) -> Loans:
        """Give the loans that the applicant could ask for."""
        return Loans(self._loan_tables[scorecard.card.name], scored)


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


class Found(msgspec.Struct, frozen=True, gc=False):
    """A loan that a search has found: the place of its term, the amount, its probability."""

    term: int
    amount: int
    probability: Probability


class _Search:
    """The loans to one applicant, whose tier and money decide on them together with the loan."""

    __slots__ = ("_existing", "_inflow", "_loans", "_policy", "_room", "_tier")

    def __init__(
        self, policy: ReadyPolicy, tier: Tier, values: Sequence[Value], loans: Loans
    ) -> None:
        self._policy = policy
        self._tier = tier
        self._loans = loans
        self._inflow = _number(values, policy.inflow_place)
        self._existing = _number(values, policy.existing_place)
        self._room = self._room_in(tier)

    def _room_in(self, tier: Tier) -> float:
        """Give what may fall due per 30 days on the loan, in a tier."""
        return tier.inflow_share * self._inflow - self._existing

    def judge(self, term: int, band: int) -> tuple[Probability, Tier]:
        """Give the probability of the loans in a band, and the tier that decides on them.

        The tier is that of the applicant or that of the loan itself, whichever is worse.
        """
        points = self._loans.points(term, band)
        own = self._policy.tier(points)
        tier = own if own.score_min < self._tier.score_min else self._tier
        return calibration.shown_probability(points), tier

    def largest(self, term: int, at_least: int, at_most: int) -> Found | None:
        """Give the largest loan of a term that is offered, of the whole steps between two.

        It stays below the caps, would not be declined, and can be repaid. The model is monotone in
        the amount: what a band allows is never more than what the bands below it allow. So a band
        that allows amounts of its own, but not all that are larger, holds the answer.
        """
        if at_least > at_most:
            return None
        tariff, step = self._policy.tariffs[term], self._policy.limit_step
        # A cheap bound spares most look-ups.
        bound = tariff.amount_max(self._room)
        if at_least > bound:
            return None
        tables = self._loans.tables
        highest = at_most if at_most <= bound else int(bound // step) * step
        low, high = bisect_left(tables.lasts, at_least), bisect_left(tables.lasts, highest)
        band, found = high, None
        while low <= high:
            probability, tier = self.judge(term, band)
            allowed = 0
            # To somebody who is declined we say what would have applied, by the tier they have.
            if tier is self._tier or tier.decision is not _DECLINED:
                cap = min(highest, tier.limit_max)
                allowed = tariff.largest(probability, self._room_in(tier), cap, step)
            if allowed > tables.lasts[band]:
                found = Found(term, tables.lasts[band], probability)
                low = band + 1
                band = (low + high + 1) // 2
            elif allowed >= tables.firsts[band]:
                return Found(term, allowed, probability) if allowed >= at_least else None
            else:
                high = band - 1
                # What is allowed here is allowed below, where seldom much more is.
                band = max(low, bisect_left(tables.lasts, allowed))
        return found

    def could_repay(self, term: int, amount: int) -> bool:
        """Say whether a loan of the lowest band can be repaid, be it offered or not."""
        tariff = self._policy.tariffs[term]
        if tariff.due_monthly(Probability(0.0), amount) > self._room:
            return False
        probability, tier = self.judge(term, 0)
        return tariff.due_monthly(probability, amount) <= self._room_in(tier)


def _number(values: Sequence[Value], place: int | None) -> float:
    """Give a number of the application; 0 where it, or the field itself, is not there."""
    if place is None:
        return 0.0
    return values[place] or 0.0  # type: ignore[return-value]  # these fields hold no words


def find_loan(
    policy: ReadyPolicy, tier: Tier, application: Application, loans: Loans
) -> tuple[Found, Rule | None]:
    """Give the largest loan to offer; where there is none, the smallest, and the rule why.

    The amount asked for, or the standard one, is rounded up to a whole step. The term asked for,
    or the standard one, is the least: of the terms offered from there on, the shortest that carries
    the amount is taken. So a term that is asked for and offered stays if it carries the amount. If
    none does, it is the term with the largest limit of all; where several have it, the first from
    the term asked for on.
    """
    values, step = application.values, policy.limit_step
    amount = _number(values, policy.amount_place) or policy.standard_loan.amount
    wanted = math.ceil(amount / step) * step
    asked_days = _number(values, policy.term_place) or policy.standard_loan.term_days
    count = len(policy.terms_days)
    start = min(bisect_left(policy.terms_days, asked_days), count - 1)

    search = _Search(policy, tier, values, loans)
    for term in range(start, count):
        if found := search.largest(term, wanted, tier.limit_max):
            return found, None
    best: Found | None = None
    limit, below_wanted = 0, min(wanted - step, tier.limit_max)
    # Of equal limits the last one is taken, so the term asked for comes last.
    for term in range(count - 1, start - 1, -1):
        if found := search.largest(term, limit or step, below_wanted):
            best, limit = found, found.amount
    # A shorter term has to offer more.
    for term in range(start - 1, -1, -1):
        if found := search.largest(term, limit + step, tier.limit_max):
            best, limit = found, found.amount
    if best is not None:
        return best, None
    repayable = any(search.could_repay(term, step) for term in range(count))
    probability, _ = search.judge(start, 0)
    rule = Rule.OFFER_BELOW_CUTOFF if repayable else Rule.UNAFFORDABLE
    return Found(start, step, probability), rule


def decide(tier: Tier, obstacle: Rule | None) -> tuple[Decision, tuple[Rule, ...]]:
    """Decide by the tier first, then by whether there is anything to offer; name what decided.

    Where not even the smallest loan can be offered the answer is DECLINED, not REVIEW: there is
    nothing that a person could confirm.
    """
    if obstacle is not None and tier.decision is not _DECLINED:
        return _DECLINED, (obstacle,)
    return tier.decision, _RULES[tier.decision]


def make_offer(policy: ReadyPolicy, decision: Decision, loan: Found) -> Offer:
    """Price a loan, and offer it unless the decision is DECLINED."""
    tariff = policy.tariffs[loan.term]
    apr = tariff.apr(loan.probability, loan.amount)
    price = tariff.price(loan.probability, loan.amount, apr)
    limit = 0 if decision is _DECLINED else loan.amount
    return Offer(policy.currency, limit, tariff.term_days, apr, loan.probability, price)
