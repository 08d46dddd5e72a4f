"""From a tier to an offer: the term, the limit and the price.

Every amount is judged as the loan it would be, had it been asked for: at its own probability, by
the share and the cap of the tier that it would itself have (or of the applicant's, if that is
worse), and by the policy's own rules. An amount that would be declined, or that loses money at the
legal cap, is not offered. So nobody is offered by asking for little what would be refused to those
who ask for it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core import calibration
from alama.core.lending.cash_flow import AprKind, Aprs, Schedule
from alama.core.lending.policy import SEVERITY, Decision, Rule, Tier
from alama.core.lending.pricing import Price
from alama.core.lending.ready_policy import Objection, ReadyPolicy, ReadyRule
from alama.core.units import Apr, Money, Probability

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from alama.core.application import Value
    from alama.core.lending.loan import Loans


# On Python 3.11 a member of an enum takes longer to look up than a table of points does.
_DECLINED: Final = Decision.DECLINED
_UNAFFORDABLE: Final = Objection(Rule.UNAFFORDABLE.value, Decision.DECLINED)
_LOSING_TO_CONFIRM: Final = Objection(Rule.BELOW_BREAK_EVEN.value, Decision.REVIEW)
_OFFER_BELOW_CUTOFF: Final = Objection(Rule.OFFER_BELOW_CUTOFF.value, Decision.DECLINED)


class Room(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is left below each bound of a cap: loans, their limits, what these are expected to lose.

    None: there is no such bound. More than a bound may be used already: then it is negative.
    """

    cap: str
    number: float | None = None
    volume: float | None = None
    expected_loss: float | None = None

    def holds(self, volume: float, expected_loss: float) -> bool:
        """Say whether one more loan stays within every bound."""
        return (
            (self.number is None or self.number >= 1)
            and (self.volume is None or self.volume >= volume)
            and (self.expected_loss is None or self.expected_loss >= expected_loss)
        )


class Offer(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What may be lent: up to `limit` in `currency`, for `term_days`, at `apr` percent per year.

    Price and probability are those of a loan of the limit itself; `fee` is the part of the price
    that is taken as such, `expected_loss` what the loan is expected to lose, both in money. Where
    nothing is offered the limit is 0, and they are those of the loan that would have applied: the
    largest by tier and income, or the smallest there is where none can be repaid. `apr` is by the
    definition of `apr_kind`, `aprs` by each, as far as the policy speaks of repayment. `capped_by`
    names what bounds the limit to what it is: the policy's own rules, its exposure, its ladder.
    `product` is the product of the policy that made the offer, if it has any. `rooms` are what was
    left of caps of the portfolio, where any could have refused a loan.
    """

    currency: str
    limit: int
    term_days: int
    apr: Apr
    default_probability: Probability
    price: Price
    fee: Money
    expected_loss: Money
    apr_kind: AprKind = AprKind.SIMPLE
    aprs: Aprs | None = None
    capped_by: tuple[str, ...] = ()
    product: str | msgspec.UnsetType = msgspec.UNSET
    rooms: tuple[Room, ...] = ()


class Found(msgspec.Struct, frozen=True, gc=False):
    """A loan that a search has found: the place of its term, the amount, its probability."""

    term: int
    amount: int
    probability: Probability


def find_loan(
    policy: ReadyPolicy,
    tier: Tier,
    values: Sequence[Value],
    loans: Loans,
    objections: Collection[Objection],
) -> tuple[Found, tuple[Objection, ...]]:
    """Give the largest loan to offer; where there is none, the smallest, and what is against it.

    `objections` are those of the policy's own rules to the loan as it was asked for. A rule that
    leaves loans to a person bounds the offer unless it objects: then a person looks anyway.
    """
    return _find(_Search(policy, tier, values, loans), policy, tier, values, objections)


def find_loan_to_confirm(
    policy: ReadyPolicy,
    tier: Tier,
    values: Sequence[Value],
    loans: Loans,
    objections: Collection[Objection],
) -> tuple[Found, tuple[Objection, ...]]:
    """Do as `find_loan` for somebody whose score declines nothing: a person decides on the loan.

    Where a tier is declined, the share and the cap of the worst that is not hold in its place.
    """
    search = _SearchToConfirm(policy, tier, values, loans)
    return _find(search, policy, policy.tier_to_confirm(tier), values, objections)


def make_offer(
    policy: ReadyPolicy, decision: Decision, loan: Found, values: Sequence[Value]
) -> Offer:
    """Price a loan, and offer it unless the decision is DECLINED."""
    limit = 0 if decision is _DECLINED else loan.amount
    tariff = policy.tariffs[loan.term]
    quote = tariff.quote(loan.probability, loan.amount)
    return Offer(
        policy.currency,
        limit,
        tariff.term_days,
        quote.apr,
        loan.probability,
        quote.price,
        quote.fee,
        quote.expected_loss,
        tariff.apr_kind,
        quote.aprs,
        policy.names_bounding(values, limit, loan.term),
        policy.product or msgspec.UNSET,
    )


def lay_out(policy: ReadyPolicy, offer: Offer) -> Schedule:
    """Give the payments of a loan of the limit that the policy has offered."""
    tariff = policy.tariffs[policy.terms_days.index(offer.term_days)]
    return tariff.schedule(offer.default_probability, offer.limit)


class _Binding(NamedTuple):
    """The rules that bound what may be offered: those that decline, and those that refer."""

    declining: Sequence[ReadyRule] = ()
    referring: Sequence[ReadyRule] = ()


_UNBOUND: Final = _Binding()


def _find(
    search: _Search,
    policy: ReadyPolicy,
    tier: Tier,
    values: Sequence[Value],
    objections: Collection[Objection],
) -> tuple[Found, tuple[Objection, ...]]:
    binding = _UNBOUND
    if policy.loan_rules:
        binding = _binding(policy.loan_rules, objections)
        search.bind([*binding.declining, *binding.referring])
    if found := _best_term(policy, tier, values, search):
        return found, ()
    return _worse_loan(policy, tier, values, search, binding)


def _binding(rules: Sequence[ReadyRule], objections: Collection[Objection]) -> _Binding:
    declining = [rule for rule in rules if rule.objection.decision is _DECLINED]
    others = [rule for rule in rules if rule.objection.decision is not _DECLINED]
    return _Binding(declining, [rule for rule in others if rule.objection not in objections])


def _best_term(
    policy: ReadyPolicy, tier: Tier, values: Sequence[Value], search: _Search
) -> Found | None:
    """Give the largest loan of the shortest term that carries the amount asked for.

    The amount asked for, or the standard one, is rounded up to a whole step. The term asked for,
    or the standard one, is the least: of the terms offered from there on, the shortest that carries
    the amount is taken. So a term that is asked for and offered stays if it carries the amount. If
    none does, it is the term with the largest limit of all; where several have it, the first from
    the term asked for on.
    """
    step, start, count = policy.limit_step, first_term(policy, values), len(policy.terms_days)
    amount = number_at(values, policy.amount_place) or policy.standard_loan.amount
    wanted = math.ceil(amount / step) * step
    for term in range(start, count):
        if found := search.largest(term, wanted, tier.limit_max):
            return found
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
    return best


def first_term(policy: ReadyPolicy, values: Sequence[Value]) -> int:
    """Give the place of the shortest term on offer that is no shorter than the one asked for."""
    days = number_at(values, policy.term_place) or policy.standard_loan.term_days
    return min(bisect_left(policy.terms_days, days), len(policy.terms_days) - 1)


def _worse_loan(
    policy: ReadyPolicy, tier: Tier, values: Sequence[Value], search: _Search, binding: _Binding
) -> tuple[Found, tuple[Objection, ...]]:
    """Give the best loan that something is against, and what is.

    Step by step from better to worse sets of loans, lest a worse decision hide a better one.
    """
    if binding.referring:
        search.bind(binding.declining)
        if found := _best_term(policy, tier, values, search):
            return found, _objections_to(found, binding.referring, policy, values)
    start = first_term(policy, values)
    if search.cut:
        # A person may still lend at a loss. Then it should be the smallest.
        search.cuts_losses = False
        for term in (*range(start, len(policy.terms_days)), *range(start)):
            if found := search.largest(term, policy.limit_step, policy.limit_step):
                against = _objections_to(found, binding.referring, policy, values)
                return found, (search.losing(), *against)
    if binding.declining:
        search.bind(())
        if found := _best_term(policy, tier, values, search):
            return found, _objections_to(found, binding.declining, policy, values)
    return search.smallest(start)


def _objections_to(
    loan: Found, rules: Sequence[ReadyRule], policy: ReadyPolicy, values: Sequence[Value]
) -> tuple[Objection, ...]:
    """Give what rules would have against a loan, had it been asked for."""
    asked = policy.as_if_asked(values, loan.amount, policy.terms_days[loan.term])
    return tuple(rule.objection for rule in rules if rule.fires(asked))


class _Search:
    """The loans to one applicant, whose tier and money decide on them together with the loan.

    `cuts_losses` is whether loans below break-even are left out; `cut` whether one was.
    """

    __slots__ = (
        "_binding",
        "_bounds",
        "_caps",
        "_inflow",
        "_loans",
        "_most",
        "_owed",
        "_policy",
        "_room",
        "_tier",
        "_values",
        "cut",
        "cuts_losses",
    )

    def __init__(
        self, policy: ReadyPolicy, tier: Tier, values: Sequence[Value], loans: Loans
    ) -> None:
        self._policy = policy
        self._tier = tier
        self._loans = loans
        self._caps: dict[int, int] = {}
        self._inflow = number_at(values, policy.inflow_place)
        self._owed = owed_monthly(policy, values, self._inflow)
        self._room = room_monthly(tier, self._inflow, self._owed)
        self._values = values
        self._most = policy.most_to(values)
        self._binding: Sequence[ReadyRule] = ()
        self._bounds: dict[int, int] = {}
        self.cuts_losses = tier.decision is not _DECLINED
        self.cut = False

    def bind(self, rules: Sequence[ReadyRule]) -> None:
        """Let these rules of the policy, and no others, bound the amounts of each term."""
        self._binding = rules
        self._bounds.clear()

    def _bound(self, term: int) -> int:
        """Give the largest whole step of a term that the binding rules let pass, 0 where none."""
        # Worked out where it is needed: most searches end at their first term.
        bound = self._bounds.get(term)
        if bound is None:
            bound = self._bounds[term] = self._largest_passing(term)
        return bound

    def _cap(self, term: int) -> int:
        """Give the most that the policy's own rules leave of any limit of a term."""
        cap = self._caps.get(term)
        if cap is None:
            cap = self._caps[term] = cap_of(self._policy, self._values, term)
        return cap

    def _largest_passing(self, term: int) -> int:
        policy, step = self._policy, self._policy.limit_step
        days, steps = policy.terms_days[term], self._tier.limit_max // step
        # They object to all larger amounts too: most often not even to the largest.
        largest = policy.as_if_asked(self._values, steps * step, days)
        objecting = [rule for rule in self._binding if rule.fires(largest)]
        if not objecting:
            return steps * step
        passes, fails = 0, steps
        while fails - passes > 1:
            middle = (passes + fails) // 2
            asked = policy.as_if_asked(self._values, middle * step, days)
            if any(rule.fires(asked) for rule in objecting):
                fails = middle
            else:
                passes = middle
        return passes * step

    def judge(self, term: int, band: int) -> tuple[Probability, Tier]:
        """Give the probability of the loans in a band, and the tier that decides on them.

        The tier is that of the applicant or that of the loan itself, whichever is worse.
        """
        points = self._loans.points(term, band)
        own = self._policy.tier(points)
        tier = own if own.score_min < self._tier.score_min else self._tier
        return calibration.shown_probability(points), tier

    def lends(self, tier: Tier) -> bool:
        """Say whether loans of a tier may be offered, by the decision that it has."""
        return tier is self._tier or tier.decision is not _DECLINED

    def largest(self, term: int, at_least: int, at_most: int) -> Found | None:
        """Give the largest loan of a term that is offered, of the whole steps between two.

        It stays below the caps, would not be declined, can be repaid, and pays for itself. The
        model is monotone in the amount: what a band allows is never more than what the bands below
        it allow. So a band that allows amounts of its own, but not all that are larger, holds the
        answer.
        """
        at_most = min(at_most, self._most)
        if self._binding:
            at_most = min(at_most, self._bound(term))
        if self._policy.capping_rules:
            at_most = min(at_most, self._cap(term))
        if at_least > at_most:
            return None
        tariff, step = self._policy.tariffs[term], self._policy.limit_step
        # A cheap bound spares most look-ups.
        bound = tariff.amount_max(tariff.room(self._room, self._inflow))
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
            if self.lends(tier):
                cap = min(highest, tier.limit_max)
                room = tariff.room(room_monthly(tier, self._inflow, self._owed), self._inflow)
                allowed = tariff.largest(probability, room, cap, step)
            if allowed > tables.lasts[band]:
                found = Found(term, tables.lasts[band], probability)
                low = band + 1
                band = (low + high + 1) // 2
            elif allowed >= tables.firsts[band]:
                found = Found(term, allowed, probability) if allowed >= at_least else None
                break
            else:
                high = band - 1
                # What is allowed here is allowed below, where seldom much more is.
                band = max(low, bisect_left(tables.lasts, allowed))
        return found if found is None or not self.cuts_losses else self._earning(found, at_least)

    def _earning(self, largest: Found, at_least: int) -> Found | None:
        """Give the largest loan up to this one that pays for itself at the cap.

        The smaller loans of a band are no safer, and cost as much to run: the next to try is the
        largest of the band below.
        """
        tariff, lasts = self._policy.tariffs[largest.term], self._loans.tables.lasts
        if largest.amount >= tariff.amount_min(largest.probability):
            return largest
        self.cut = True
        for band in range(bisect_left(lasts, largest.amount) - 1, -1, -1):
            if lasts[band] < at_least:
                break
            probability, _ = self.judge(largest.term, band)
            if lasts[band] >= tariff.amount_min(probability):
                return Found(largest.term, lasts[band], probability)
        return None

    def losing(self) -> Objection:
        """Give what there is against a loan that loses money at the cap."""
        return Objection(Rule.BELOW_BREAK_EVEN.value, self._policy.below_break_even)

    def smallest(self, term: int) -> tuple[Found, tuple[Objection, ...]]:
        """Give the smallest loan of a term, and why not even that is offered."""
        step, terms = self._policy.limit_step, range(len(self._policy.terms_days))
        repayable = any(self._could_repay(other, step) for other in terms)
        against = _OFFER_BELOW_CUTOFF if repayable else _UNAFFORDABLE
        probability, _ = self.judge(term, 0)
        return Found(term, step, probability), (against,)

    def _could_repay(self, term: int, amount: int) -> bool:
        """Say whether a loan of the lowest band can be repaid, be it offered or not."""
        tariff = self._policy.tariffs[term]
        if tariff.due_monthly(Probability(0.0), amount) > tariff.room(self._room, self._inflow):
            return False
        probability, tier = self.judge(term, 0)
        room = room_monthly(tier, self._inflow, self._owed)
        return tariff.due_monthly(probability, amount) <= tariff.room(room, self._inflow)


class SearchAsAsked(_Search):
    """The same for loans that are asked for: their own tier decides on them, and no other.

    It leaves a decision that is no worse than `at_worst`.
    """

    __slots__ = ("_at_worst",)

    def __init__(
        self, policy: ReadyPolicy, values: Sequence[Value], loans: Loans, at_worst: Decision
    ) -> None:
        super().__init__(policy, policy.tiers[0], values, loans)
        self._at_worst = SEVERITY[at_worst]
        self.cuts_losses = True
        self.bind([r for r in policy.loan_rules if SEVERITY[r.objection.decision] > self._at_worst])

    def lends(self, tier: Tier) -> bool:
        return SEVERITY[tier.decision] <= self._at_worst


class _SearchToConfirm(_Search):
    """The same for somebody of whom a score can only guess: a person decides on the loan.

    So a tier that is declined gives way to the worst that is not, and a loss declines nobody.
    """

    __slots__ = ()

    def __init__(
        self, policy: ReadyPolicy, tier: Tier, values: Sequence[Value], loans: Loans
    ) -> None:
        super().__init__(policy, policy.tier_to_confirm(tier), values, loans)
        self.cuts_losses = True

    def judge(self, term: int, band: int) -> tuple[Probability, Tier]:
        probability, tier = super().judge(term, band)
        return probability, self._policy.tier_to_confirm(tier)

    def losing(self) -> Objection:
        return _LOSING_TO_CONFIRM


def cap_of(policy: ReadyPolicy, values: Sequence[Value], term: int) -> int:
    """Give the most that any tier, the policy's own rules and earlier loans let a loan be."""
    caps = (rule.limit_max for rule in policy.capping(values, term))
    return min([policy.tiers[0].limit_max, policy.most_to(values), *caps])


def owed_monthly(policy: ReadyPolicy, values: Sequence[Value], inflow: float) -> float:
    """Give what falls due per 30 days on other loans, as far as it is known."""
    existing = None if policy.existing_place is None else values[policy.existing_place]
    # Silence must not earn a larger loan than an ordinary answer would.
    return policy.existing_share * inflow if existing is None else existing  # type: ignore[return-value]  # no word


def room_monthly(tier: Tier, inflow: float, owed: float) -> float:
    """Give what may fall due per 30 days on one more loan, in a tier."""
    return tier.inflow_share * inflow - owed


def number_at(values: Sequence[Value], place: int | None) -> float:
    """Give a number of the application; 0 where it, or the field itself, is not there."""
    if place is None:
        return 0.0
    return values[place] or 0.0  # type: ignore[return-value]  # these fields hold no words
