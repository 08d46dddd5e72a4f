"""A policy laid out for one model: everything that does not depend on the application, worked out.

Whatever speaks against an application is an *objection*: it has the code that a reply names, and
leaves a decision no better than its own.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UnsetType

from alama.core import memory
from alama.core.application import fold
from alama.core.catalogue import Use
from alama.core.errors import FieldProblem, InvalidApplication, InvalidExpression, InvalidPolicy
from alama.core.expressions import expression as expressions
from alama.core.expressions.certainty import Slope
from alama.core.lending.loan import AMOUNT, TERM, Loans, LoanTables
from alama.core.lending.policy import (
    AskedEvidence,
    Borrowing,
    CounterOffers,
    Decision,
    Exploration,
    OwnRule,
    Policy,
    PortfolioCap,
    Rule,
    Sufficiency,
    Tier,
    policy_of,
    products_of,
)
from alama.core.lending.policy_check import TERM_DAYS_MAX
from alama.core.lending.pricing import Tariff
from alama.core.model import ReadyModel, money_factor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from alama.core.application import Application, Value
    from alama.core.booking import ReadyBooking
    from alama.core.catalogue import Catalogue, Field
    from alama.core.expressions.expression import Expression
    from alama.core.likeness import ReadyLikeness
    from alama.core.scorecard import Scorecard, Scored
    from alama.core.units import Points


INFLOW: Final = "avg_inflow"
OUTFLOW: Final = "avg_outflow"
EXISTING: Final = "existing_repayments"
REGION: Final = "region"


class Objection(NamedTuple):
    """What speaks against an application, and the best decision that it leaves."""

    code: str
    decision: Decision


_DOUBTS: Final = {
    rule: Objection(rule.value, Decision.REVIEW)
    for rule in (
        Rule.OUTFLOW_ABOVE_INFLOW,
        Rule.TOO_FEW_FIELDS,
        Rule.VALUE_OUTSIDE_TRAINING,
        Rule.UNLIKE_TRAINING,
        Rule.SELDOM_BOOKED,
    )
}

SELDOM_BOOKED: Final = _DOUBTS[Rule.SELDOM_BOOKED]

_LATE: Final = Objection(Rule.LATE_ON_A_LOAN.value, Decision.DECLINED)
_ASKED_OFTEN: Final = Objection(Rule.ASKED_OFTEN.value, Decision.REVIEW)
_EXPOSED: Final = Objection(Rule.EXPOSURE.value, Decision.DECLINED)
_ON_TOP: Final = Objection(Rule.LADDER.value, Decision.DECLINED)

UNBOUND: Final = sys.maxsize

TIER_TO_CONFIRM: Final = (Objection(Rule.TIER_BELOW_CUTOFF.value, Decision.REVIEW),)
"""What a tier that is declined has against those of whom its score can only guess."""

_BY_DECISION: Final = {
    Decision.APPROVED: (),
    Decision.REVIEW: (Objection(Rule.TIER_IN_REVIEW.value, Decision.REVIEW),),
    Decision.DECLINED: (Objection(Rule.TIER_BELOW_CUTOFF.value, Decision.DECLINED),),
}
"""What a tier has against those in it."""


class ReadyRule:
    """A policy's own rule that decides, ready to be asked.

    `reads_loan` says that it speaks of the loan. `bounds_loans` says that it then objects to a
    larger one wherever it objects to a smaller one: so it also bounds what may be offered.
    """

    __slots__ = ("bounds_loans", "fires", "objection", "reads_loan", "reads_memory")

    def __init__(self, rule: OwnRule, decision: Decision, catalogue: Catalogue) -> None:
        expression = _understood(rule, catalogue)
        self.reads_memory = not memory.NAMES.isdisjoint(expression.fields)
        self.objection = Objection(rule.name, decision)
        self.fires: Callable[[Sequence[Value]], bool] = expression.fires
        self.reads_loan = bool(expression.fields & {AMOUNT, TERM})
        # A rule that does not read the amount objects to a term, whatever the amount.
        self.bounds_loans = (
            expression.slope(AMOUNT) in {Slope.CONSTANT, Slope.RISES}
            if AMOUNT in expression.fields
            else TERM in expression.fields
        )


class ReadyCap:
    """A policy's own rule that bounds the limit, ready to be asked; it reads no amount."""

    __slots__ = ("fires", "limit_max", "name", "reads_memory")

    def __init__(self, rule: OwnRule, limit_max: int, catalogue: Catalogue) -> None:
        expression = _understood(rule, catalogue)
        self.name = rule.name
        self.fires: Callable[[Sequence[Value]], bool] = expression.fires
        self.limit_max = limit_max
        self.reads_memory = not memory.NAMES.isdisjoint(expression.fields)


def _deciding(policy: Policy, catalogue: Catalogue) -> tuple[ReadyRule, ...]:
    return tuple(
        ReadyRule(rule, rule.decision, catalogue)
        for rule in policy.rules
        if not isinstance(rule.decision, UnsetType)
    )


def _capping(policy: Policy, catalogue: Catalogue) -> tuple[ReadyCap, ...]:
    return tuple(
        ReadyCap(rule, rule.limit_max, catalogue)
        for rule in policy.rules
        if not isinstance(rule.limit_max, UnsetType)
    )


def _understood(rule: OwnRule, catalogue: Catalogue) -> Expression:
    """Parse a rule that reads nothing but fields of the catalogue, or raise `InvalidPolicy`."""
    try:
        return expressions.parse(rule.when, catalogue)
    except InvalidExpression as error:
        raise InvalidPolicy(
            f"the rule {rule.name} cannot be read for this model: {error}",
            hint="take the rule out, or a model that has the field",
        ) from None


class _Doubts:
    """Whether the data carry a decision at all, for the applications of one card."""

    __slots__ = ("_booking", "_fields_min", "_likeness", "_places", "_ranges", "_strangeness_max")

    def __init__(self, asked: Sufficiency, scorecard: Scorecard, model: ReadyModel) -> None:
        # The required fields are always given: asking for no more than them costs nothing.
        required = sum(field.required for field in model.catalogue.model_fields)
        self._fields_min = asked.fields_min if asked.fields_min > required else 0
        # What is asked for says nothing about who asks, and is filled in where it is not said. What
        # is remembered is told by nobody.
        self._places = tuple(
            place
            for place, name in zip(
                model.scorecards[-1].places, model.scorecards[-1].fields, strict=True
            )
            if name not in {AMOUNT, TERM} and model.catalogue.field(name).use is Use.MODEL
        )
        # Most fields cannot get outside: a share is never three times the largest share.
        self._ranges = tuple(
            (place, low, high)
            for place, (low, high) in known_ranges(asked.outside_times, scorecard, model).items()
            if not _covers(low, high, model.catalogue.fields[place])
        )
        self._likeness: ReadyLikeness | None = None
        self._strangeness_max = 0.0
        likeness = model.likeness_of(scorecard)
        if likeness is not None and asked.unlike_share is not None:
            self._likeness = likeness
            self._strangeness_max = likeness.limit(asked.unlike_share)
        self._booking = booking_asked_for(asked, scorecard, model)

    def about(self, values: Sequence[Value], slots: Sequence[int]) -> list[Objection]:
        """Say what is strange about an application."""
        doubts = []
        if self._fields_min:
            given = sum(values[place] is not None for place in self._places)
            if given < self._fields_min:
                doubts.append(_DOUBTS[Rule.TOO_FEW_FIELDS])
        for place, low, high in self._ranges:
            value = values[place]
            if value is not None and not low <= value <= high:  # type: ignore[operator]  # numbers
                doubts.append(_DOUBTS[Rule.VALUE_OUTSIDE_TRAINING])
                break
        if self._likeness and self._likeness.strangeness(slots) > self._strangeness_max:
            doubts.append(_DOUBTS[Rule.UNLIKE_TRAINING])
        if self._booking and self._booking.is_seldom(values, slots):
            doubts.append(SELDOM_BOOKED)
        return doubts


class _OfBorrowers:
    """What a policy has to say about earlier applications and loans."""

    __slots__ = (
        "_asked",
        "_asked_max",
        "_balance",
        "_exposure",
        "_ladder",
        "_late",
        "_late_max",
        "_repaid",
        "_step",
    )

    def __init__(self, policy: Policy, catalogue: Catalogue) -> None:
        place = catalogue.position
        self._asked, self._late = place["applications_1d"], place["days_past_due"]
        self._balance, self._repaid = place["open_balance"], place["largest_repaid"]
        asked = Borrowing() if isinstance(policy.borrower, UnsetType) else policy.borrower
        self._asked_max, self._late_max = asked.asked_per_day_max, asked.late_days_max
        self._exposure = None if isinstance(policy.exposure, UnsetType) else policy.exposure
        self._ladder = None if isinstance(policy.ladder, UnsetType) else policy.ladder
        self._step = policy.limit_step

    @classmethod
    def asked_for(cls, policy: Policy, catalogue: Catalogue) -> _OfBorrowers | None:
        """Give what a policy has to say, where it says anything."""
        said = (policy.borrower, policy.exposure, policy.ladder)
        return None if all(isinstance(one, UnsetType) for one in said) else cls(policy, catalogue)

    def objections(self, values: Sequence[Value]) -> list[Objection]:
        found = []
        late, asked = values[self._late], values[self._asked]
        if late is not None and self._late_max is not None and late > self._late_max:  # type: ignore[operator]  # numbers
            found.append(_LATE)
        if asked is not None and self._asked_max is not None and asked >= self._asked_max:  # type: ignore[operator]  # numbers
            found.append(_ASKED_OFTEN)
        room, bound_by = self.room(values)
        if room < self._step:
            found.append(bound_by)
        return found

    def room(self, values: Sequence[Value]) -> tuple[float, Objection]:
        """Give what may still be lent, and what there is to say where it is too little."""
        owed, repaid = values[self._balance], values[self._repaid]
        room, bound_by = math.inf, _EXPOSED
        if owed is None or repaid is None:
            return room, bound_by
        if self._exposure is not None:
            room = self._exposure.balance_max - owed  # type: ignore[operator]  # numbers
        if self._ladder is not None:
            rung = max(self._ladder.first_limit, self._ladder.times * repaid) - owed  # type: ignore[operator]  # numbers
            if rung < room:
                room, bound_by = rung, _ON_TOP
        return room, bound_by


def booking_asked_for(
    asked: Sufficiency, scorecard: Scorecard, model: ReadyModel
) -> ReadyBooking | None:
    """Give what a card knows about who was booked, where a policy looks at what is unlike."""
    return None if asked.unlike_share is None else model.booking_of(scorecard)


def known_ranges(
    times: float | None, scorecard: Scorecard, model: ReadyModel
) -> Mapping[int, tuple[float, float]]:
    """Give the least and the most that is known from training of each number, by its place.

    They are in the caller's currency, and `times` beyond what training saw; where that is not
    known, or is not asked for, everything is.
    """
    money = money_factor(model.model, model.currency)
    ranges = {}
    for place, feature in zip(scorecard.places, scorecard.card.features, strict=True):
        field = model.catalogue.fields[place]
        if not field.numeric:
            continue
        ranges[place] = (-math.inf, math.inf)
        if times is not None and feature.lowest is not None and feature.highest is not None:
            factor = money if field.money else 1.0
            ranges[place] = (feature.lowest * factor / times, feature.highest * factor * times)
    return ranges


def _covers(low: float, high: float, field: Field) -> bool:
    """Say whether every value that a field may have lies between two."""
    least = field.minimum if field.above is None else field.above
    most = field.maximum
    return low <= (-math.inf if least is None else least) and high >= (
        math.inf if most is None else most
    )


def caps_of(policy: Policy) -> tuple[PortfolioCap, ...]:
    """Give the caps of the portfolio, none where a policy does not speak of any."""
    said = policy.portfolio
    return () if isinstance(said, msgspec.UnsetType) else said


def exploration_of(policy: Policy) -> Exploration | None:
    """Give what a policy says of exploration; None: nothing."""
    said = policy.exploration
    return None if isinstance(said, msgspec.UnsetType) else said


class ReadyPolicy:
    """A policy laid out for one model.

    Of one with several products it is that of the default product, and holds those of all: which of
    them speaks of an application, `for_product` says.
    """

    __slots__ = (
        "_doubts",
        "_forgotten",
        "_loan_tables",
        "_of_borrowers",
        "_outflow_place",
        "_outflow_ratio_max",
        "_scores_min",
        "_sent_width",
        "_tier_to_confirm",
        "_tiers_worst_first",
        "amount_place",
        "below_break_even",
        "capping_rules",
        "caps",
        "catalogue",
        "counter_offers",
        "currency",
        "evidence",
        "existing_place",
        "existing_share",
        "exploration",
        "forbidden",
        "id",
        "inflow_place",
        "limit_max",
        "limit_step",
        "loan_rules",
        "model",
        "policy",
        "product",
        "products",
        "reads_memory",
        "region_place",
        "regions",
        "rules",
        "standard_loan",
        "tariffs",
        "term_place",
        "terms_days",
        "tiers",
        "whole",
    )

    def __init__(self, policy: Policy, model: ReadyModel) -> None:
        """Work out what does not depend on the application, or raise `InvalidPolicy`.

        A probability for a term that the model never saw is a guess, so no such term is offered.
        """
        policy = self._lay_out_products(policy, model)
        self.model = model
        self.policy = policy
        self.id = policy.id
        self.currency = policy.currency
        self.tiers = policy.tiers
        self._tiers_worst_first = policy.tiers[::-1]
        # All but the worst tier, which has whatever is left: clamping the score changes no tier.
        self._scores_min = tuple(tier.score_min for tier in self._tiers_worst_first[1:])
        lending = [tier for tier in policy.tiers if tier.decision is not Decision.DECLINED]
        self._tier_to_confirm = lending[-1] if lending else policy.tiers[0]
        self.standard_loan = policy.standard_loan
        self.limit_step = policy.limit_step
        self.limit_max = max(tier.limit_max for tier in policy.tiers)
        self.terms_days = _known_terms(policy, model)
        self.tariffs = tuple(Tariff.of(policy, days) for days in self.terms_days)
        self.below_break_even = policy.caps.below_break_even
        position = model.catalogue.position
        self.amount_place = position.get(AMOUNT)
        self.term_place = position.get(TERM)
        self.inflow_place = position[INFLOW]
        self.existing_place = position.get(EXISTING)
        self.existing_share = policy.affordability.existing_repayments_share
        self._outflow_place = position.get(OUTFLOW)
        self._outflow_ratio_max = policy.affordability.outflow_ratio_max
        self.catalogue = memory.with_memory(model.catalogue)
        self._sent_width = len(model.catalogue.fields)
        self._forgotten = memory.NOTHING[: len(self.catalogue.fields) - self._sent_width]
        self.rules = _deciding(policy, self.catalogue)
        self.capping_rules = _capping(policy, self.catalogue)
        self._of_borrowers = _OfBorrowers.asked_for(policy, self.catalogue)
        self.reads_memory = self._of_borrowers is not None or any(
            rule.reads_memory for rules in (self.rules, self.capping_rules) for rule in rules
        )
        said = policy.counter_offers
        self.counter_offers = CounterOffers.NONE if isinstance(said, UnsetType) else said
        asked = policy.evidence
        self.evidence = AskedEvidence() if isinstance(asked, UnsetType) else asked
        self.loan_rules = tuple(rule for rule in self.rules if rule.bounds_loans)
        names = policy.law.forbidden_fields
        self.forbidden = tuple((position[name], name) for name in names if name in position)
        self._doubts = {
            scorecard.card.name: _Doubts(policy.sufficiency, scorecard, model)
            for scorecard in model.scorecards
        }
        self.exploration = exploration_of(policy)
        caps = caps_of(policy)
        self.caps = {cap.name: cap for cap in caps}
        self.regions = frozenset(fold(region) for cap in caps for region in cap.regions)
        self.region_place = position.get(REGION) if self.regions else None
        amounts = range(policy.limit_step, policy.tiers[0].limit_max + 1, policy.limit_step)
        self._loan_tables = {
            scorecard.card.name: LoanTables(scorecard, model, amounts, self.terms_days)
            for scorecard in model.scorecards
        }

    def _lay_out_products(self, policy: Policy, model: ReadyModel) -> Policy:
        """Lay out each product as a policy of its own; give that of the default one, if it fits."""
        self.whole = policy
        self.product: str | None = None
        self.products: dict[str, ReadyPolicy] = {}
        mine = policy
        for product in products_of(policy):
            own = policy_of(policy, product)
            if self.products:
                ready = ReadyPolicy(own, model)
            else:
                ready, mine = self, own
            ready.product, ready.products = product.name, self.products
            self.products[product.name] = ready
        _check_fit(mine, model)
        return mine

    def for_product(self, product: str | None) -> ReadyPolicy:
        """Give what speaks of a product; the default one of a policy that has none of the name."""
        return self if product is None else self.products.get(product, self)

    def region_of(self, values: Sequence[Value]) -> str | None:
        """Give the region that an application names, if a cap of the policy asks for it."""
        if self.region_place is None:
            return None
        region = values[self.region_place]
        folded = fold(region) if isinstance(region, str) else None
        return folded if folded in self.regions else None

    def tier(self, points: Points) -> Tier:
        """Give the tier by the score as shown."""
        return self._tiers_worst_first[bisect_right(self._scores_min, round(points))]

    def tier_to_confirm(self, tier: Tier) -> Tier:
        """Give the tier by which a person confirms loans to those of whom a score can only guess.

        Where theirs is declined it is the worst that is not: the figures of a declined tier are
        for nobody to lend by. Where all are, it is the best.
        """
        return tier if tier.decision is not Decision.DECLINED else self._tier_to_confirm

    def loans(self, scorecard: Scorecard, scored: Scored) -> Loans:
        """Give the loans that the applicant could ask for."""
        return Loans(self._loan_tables[scorecard.card.name], scored)

    def refuse_forbidden(self, application: Application) -> None:
        """Raise `InvalidApplication` if a field is given that the policy forbids to use."""
        problems = []
        for place, name in self.forbidden:
            if application.values[place] is not None:
                spelled = (application.spelled or {}).get(place, name)
                detail = "must not be sent: the lender's policy forbids its use"
                problems.append(FieldProblem(spelled, "prohibited_field", detail))
        if problems:
            raise InvalidApplication(problems)

    def as_asked(self, values: Sequence[Value]) -> Sequence[Value]:
        """Give the values with the standard loan where an application does not say.

        Of a borrower who is not named nothing is remembered.
        """
        if self.reads_memory and len(values) == self._sent_width:
            values = (*values, *self._forgotten)
        loan = self.standard_loan
        amount = loan.amount if self.amount_place is None else values[self.amount_place]
        term = loan.term_days if self.term_place is None else values[self.term_place]
        if amount is not None and term is not None:
            return values
        return self.as_if_asked(values, amount or loan.amount, term or loan.term_days)

    def as_if_asked(
        self, values: Sequence[Value], amount: Value, term_days: Value
    ) -> Sequence[Value]:
        """Give the values as they would be had another loan been asked for."""
        changed = list(values)
        if self.amount_place is not None:
            changed[self.amount_place] = amount
        if self.term_place is not None:
            changed[self.term_place] = term_days
        return changed

    def objections_of_rules(self, values: Sequence[Value]) -> list[Objection]:
        """Say which of the policy's own rules object, and what earlier loans have against this."""
        objections = [rule.objection for rule in self.rules if rule.fires(values)]
        if self._of_borrowers is not None:
            objections += self._of_borrowers.objections(values)
        return objections

    def most_to(self, values: Sequence[Value]) -> int:
        """Give the most that may be lent to a borrower beside what they owe, in whole steps.

        `UNBOUND` where nothing bounds it, or it is less than a step: then there is an objection.
        """
        if self._of_borrowers is None:
            return UNBOUND
        room, _ = self._of_borrowers.room(values)
        step = self.limit_step
        return int(room // step) * step if step <= room < math.inf else UNBOUND

    def names_bounding(self, values: Sequence[Value], limit: int, term: int) -> tuple[str, ...]:
        """Name the rules, and what there is of earlier loans, that bound a limit to what it is."""
        names = [rule.name for rule in self.capping(values, term) if rule.limit_max == limit]
        if self._of_borrowers is not None and limit == self.most_to(values):
            names.append(self._of_borrowers.room(values)[1].code)
        return tuple(names)

    def capping(self, values: Sequence[Value], term: int) -> list[ReadyCap]:
        """Give the rules that bound the limit of a term, by its place."""
        if not self.capping_rules:
            return []
        asked = self.as_if_asked(values, self.limit_step, self.terms_days[term])
        return [rule for rule in self.capping_rules if rule.fires(asked)]

    def objections_of_tier(self, tier: Tier) -> tuple[Objection, ...]:
        """Say what a tier has against those in it."""
        return _BY_DECISION[tier.decision]

    def doubts(
        self, scorecard: Scorecard, values: Sequence[Value], scored: Scored
    ) -> list[Objection]:
        """Say why a person should look: more goes out than comes in, or the data are strange."""
        doubts = self._doubts[scorecard.card.name].about(values, scored.slots)
        if self._outflow_ratio_max is not None and self._outflow_place is not None:
            outflow, inflow = values[self._outflow_place], values[self.inflow_place]
            # A missing inflow, where a catalogue allows that, is known to carry nothing.
            if outflow is not None and outflow > self._outflow_ratio_max * (inflow or 0.0):  # type: ignore[operator]  # numbers
                doubts.insert(0, _DOUBTS[Rule.OUTFLOW_ABOVE_INFLOW])
        return doubts


def _check_fit(policy: Policy, model: ReadyModel) -> None:
    if policy.currency != model.currency:
        raise InvalidPolicy(
            f"the policy lends in {policy.currency}, "
            f"but the model is laid out for {model.currency or 'no currency'}"
        )
    if INFLOW not in model.catalogue.position:
        raise InvalidPolicy(f"the policy needs the field {INFLOW}, which the model has not")
    if any(cap.regions for cap in caps_of(policy)) and REGION not in model.catalogue.position:
        raise InvalidPolicy(f"caps of the policy read the field {REGION}, which the model has not")
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
