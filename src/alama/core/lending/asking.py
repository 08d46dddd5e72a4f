"""What would be answered to the loans that an applicant did not ask for.

Every loan is judged as if it had been asked for: at its own probability, tier and room, by the
policy's own rules, and by what is strange about it. What is said here of a loan is what scoring the
changed application answers: its decision and its probability, the same term, and a limit that is no
smaller. Loans that would lose money at the cap are left out, though asking for one may be answered
by a larger one that does not.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import calibration
from alama.core.application import Application
from alama.core.lending.offer import (
    Found,
    SearchAsAsked,
    cap_of,
    first_term,
    number_at,
    owed_monthly,
    room_monthly,
)
from alama.core.lending.policy import SEVERITY, Decision, Rule, Tier
from alama.core.units import Apr, Money, Probability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from alama.core.application import Value
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.scorecard import Scorecard, Scored


# On Python 3.11 a member of an enum takes longer to look up than a table of points does.
_APPROVED: Final = Decision.APPROVED
_REVIEW: Final = Decision.REVIEW
_DECLINED: Final = Decision.DECLINED

_OF_LOANS: Final = frozenset({Rule.UNLIKE_TRAINING.value, Rule.SELDOM_BOOKED.value})
"""Doubts that may be about some loans, and not about others."""

MENU_AMOUNTS_MAX: Final = 20
"""Amounts of a menu; each may have an entry for every term on offer."""


class LoanChoice(msgspec.Struct, frozen=True, gc=False):
    """A loan that could be asked for, and what would be answered.

    It is paid back in so many `payments` of `payment` each, of which the last one takes what
    rounding leaves; `total` is all of them. `apr` is by the definition that the policy shows.
    """

    decision: Decision
    amount: int
    term_days: int
    payment: Money
    payments: int
    total: Money
    apr: Apr
    default_probability: Probability


class Counter(msgspec.Struct, frozen=True, gc=False):
    """The largest other loan that would be approved, and the largest that a person would look at.

    The second is given where it is larger than the first, and the loan as asked is declined.
    """

    approved: Found | None
    review: Found | None


def choice_of(policy: ReadyPolicy, loan: Found, decision: Decision) -> LoanChoice:
    """Price a loan that would be answered so."""
    tariff = policy.tariffs[loan.term]
    payment, total = tariff.instalment(loan.probability, loan.amount)
    return LoanChoice(
        decision,
        loan.amount,
        tariff.term_days,
        payment,
        tariff.periods.count,
        total,
        tariff.apr(loan.probability, loan.amount),
        loan.probability,
    )


class Asking:
    """One applicant, and all the loans that they could ask for."""

    __slots__ = (
        "_constant",
        "_inflow",
        "_loans",
        "_owed",
        "_policy",
        "_reading",
        "_scorecard",
        "_scored",
        "_values",
    )

    def __init__(
        self, policy: ReadyPolicy, scorecard: Scorecard, values: Sequence[Value], scored: Scored
    ) -> None:
        """Take the values with the loan that is asked for, and how they score on a card.

        Where nothing was asked for, that may be one that reads no loan: whoever asks is scored by
        another one.
        """
        asking = policy.model.scorecard_for(Application(tuple(values)))
        if asking is not scorecard:
            scorecard, scored = asking, asking.score(values)
        self._policy = policy
        self._scorecard = scorecard
        self._values = values
        self._scored = scored
        self._loans = policy.loans(scorecard, scored)
        self._inflow = number_at(values, policy.inflow_place)
        self._owed = owed_monthly(policy, values, self._inflow)
        self._reading = [rule for rule in policy.rules if rule.reads_loan]
        of_loans = {rule.objection.code for rule in self._reading}
        self._constant = _worst(
            objection.decision
            for objection in policy.objections_of_rules(values)
            if objection.code not in of_loans
        )

    def counter(self, as_asked: Decision) -> Counter:
        """Give the largest loans beside one that is answered so."""
        approved = self.largest(_APPROVED)
        if as_asked is not _DECLINED:
            return Counter(approved, None)
        return Counter(approved, self.largest(_REVIEW, 0 if approved is None else approved.amount))

    def largest(self, at_worst: Decision, above: int = 0) -> Found | None:
        """Give the largest loan above an amount whose decision is no worse; None where none is.

        Of equal loans it is that of the shortest term from the one asked for on.
        """
        policy, best = self._policy, None
        if SEVERITY[self._constant] > SEVERITY[at_worst]:
            return None
        if at_worst is _APPROVED and not _OF_LOANS.issuperset(self._doubts(0, 0, None)):
            return None
        search = SearchAsAsked(policy, self._values, self._loans, at_worst)
        start, at_least = first_term(policy, self._values), above + policy.limit_step
        # Of equal amounts the last one is taken, so the term asked for comes last.
        for term in (*range(start), *range(len(policy.terms_days) - 1, start - 1, -1)):
            if found := self._acceptable(search, term, at_least, at_worst):
                best, at_least = found, found.amount
        return best

    def _acceptable(
        self, search: SearchAsAsked, term: int, at_least: int, at_worst: Decision
    ) -> Found | None:
        """Give the largest loan of a term that nothing else is against."""
        tables, at_most = self._loans.tables, self._policy.tiers[0].limit_max
        while found := search.largest(term, at_least, at_most):
            band = bisect_left(tables.lasts, found.amount)
            if SEVERITY[self._decision(term, band, found.amount)] <= SEVERITY[at_worst]:
                return found
            # Rules that object to all larger loans bound them already. What is left is seldom:
            # most often all loans of a band are as strange.
            at_most = found.amount - self._policy.limit_step
            if at_worst is _APPROVED and self._doubts(term, band, None):
                at_most = tables.firsts[band] - self._policy.limit_step
        return None

    def _judge(self, term: int, band: int) -> tuple[Probability, Tier]:
        points = self._loans.points(term, band)
        return calibration.shown_probability(points), self._policy.tier(points)

    def _repaid(self, term: int, probability: Probability, tier: Tier, at_most: int) -> int:
        """Give the largest amount up to this one that can be repaid; not above 0 where none can."""
        tariff, step = self._policy.tariffs[term], self._policy.limit_step
        room = tariff.room(room_monthly(tier, self._inflow, self._owed), self._inflow)
        return tariff.largest(probability, room, min(at_most, tier.limit_max), step)

    def _doubts(self, term: int, band: int, amount: int | None) -> list[str]:
        """Say why a person should look, whatever the amount in its band where it is None."""
        policy = self._policy
        days = None if amount is None else policy.terms_days[term]
        values = policy.as_if_asked(self._values, amount, days)
        slots = self._loans.slots(term, band)
        scored = msgspec.structs.replace(self._scored, slots=slots)
        return [doubt.code for doubt in policy.doubts(self._scorecard, values, scored)]

    def _decision(self, term: int, band: int, amount: int) -> Decision:
        """Give the decision on a loan that can be repaid, and pays for itself."""
        policy = self._policy
        _, tier = self._judge(term, band)
        asked = policy.as_if_asked(self._values, amount, policy.terms_days[term])
        said = _worst(
            (
                self._constant,
                tier.decision,
                *(rule.objection.decision for rule in self._reading if rule.fires(asked)),
            )
        )
        return _REVIEW if said is _APPROVED and self._doubts(term, band, amount) else said

    # ------------------------------------------------------------------------------- the menu

    def menu(self) -> Iterator[LoanChoice]:
        """Yield what could be chosen from: loans that are not declined, by amount and term.

        The amounts are whole steps, evenly spread up to the largest of all.
        """
        largest = self.largest(_REVIEW)
        if largest is None:
            return
        step, lasts = self._policy.limit_step, self._loans.tables.lasts
        steps = largest.amount // step
        count = min(steps, MENU_AMOUNTS_MAX)
        terms = range(len(self._policy.terms_days))
        caps = [cap_of(self._policy, self._values, term) for term in terms]
        for number in range(1, count + 1):
            amount = -(-steps * number // count) * step
            band = bisect_left(lasts, amount)
            for term, cap in enumerate(caps):
                if amount <= cap and (choice := self._choice(term, band, amount)):
                    yield choice

    def _choice(self, term: int, band: int, amount: int) -> LoanChoice | None:
        """Give a loan as it would be answered; None where it is not to be had."""
        probability, tier = self._judge(term, band)
        if amount < self._policy.tariffs[term].amount_min(probability):
            return None
        if tier.decision is _DECLINED or self._repaid(term, probability, tier, amount) < amount:
            return None
        decision = self._decision(term, band, amount)
        if decision is _DECLINED:
            return None
        return choice_of(self._policy, Found(term, amount, probability), decision)


def _worst(decisions: Iterable[Decision]) -> Decision:
    return max(decisions, key=SEVERITY.__getitem__, default=_APPROVED)
