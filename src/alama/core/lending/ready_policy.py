"""A policy laid out for one model: everything that does not depend on the application, worked out.

Whatever speaks against an application is an *objection*: it has the code that a reply names, and
leaves a decision no better than its own.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core import memory
from alama.core.application import fold
from alama.core.errors import FieldProblem, InvalidApplication, InvalidExpression, InvalidPolicy
from alama.core.expressions import expression as expressions
from alama.core.expressions.certainty import Slope
from alama.core.lending.loan import AMOUNT, TERM, Loans, LoanTables
from alama.core.lending.policy import (
    Decision,
    Exploration,
    OwnRule,
    Policy,
    PortfolioCap,
    Rule,
    Sufficiency,
    Tier,
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

TIER_TO_CONFIRM: Final = (Objection(Rule.TIER_BELOW_CUTOFF.value, Decision.REVIEW),)
"""What a tier that is declined has against those of whom its score can only guess."""

_BY_DECISION: Final = {
    Decision.APPROVED: (),
    Decision.REVIEW: (Objection(Rule.TIER_IN_REVIEW.value, Decision.REVIEW),),
    Decision.DECLINED: (Objection(Rule.TIER_BELOW_CUTOFF.value, Decision.DECLINED),),
}
"""What a tier has against those in it."""


class ReadyRule:
    """A policy's own rule, ready to be asked.

    `bounds_loans` says that it speaks of the loan, and objects to a larger one wherever it objects
    to a smaller one: then it also bounds what may be offered.
    """

    __slots__ = ("bounds_loans", "fires", "objection", "reads_memory")

    def __init__(self, rule: OwnRule, catalogue: Catalogue) -> None:
        expression = _understood(rule, catalogue)
        self.reads_memory = not memory.NAMES.isdisjoint(expression.fields)
        self.objection = Objection(rule.name, rule.decision)
        self.fires: Callable[[Sequence[Value]], bool] = expression.fires
        # A rule that does not read the amount objects to a term, whatever the amount.
        self.bounds_loans = (
            expression.slope(AMOUNT) in {Slope.CONSTANT, Slope.RISES}
            if AMOUNT in expression.fields
            else TERM in expression.fields
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
        # What is asked for says nothing about who asks, and is filled in where it is not said.
        self._places = tuple(
            place
            for place, name in zip(
                model.scorecards[-1].places, model.scorecards[-1].fields, strict=True
            )
            if name not in {AMOUNT, TERM}
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
    """A policy laid out for one model."""

    __slots__ = (
        "_doubts",
        "_forgotten",
        "_loan_tables",
        "_outflow_place",
        "_outflow_ratio_max",
        "_scores_min",
        "_sent_width",
        "_tier_to_confirm",
        "_tiers_worst_first",
        "amount_place",
        "below_break_even",
        "caps",
        "catalogue",
        "currency",
        "existing_place",
        "existing_share",
        "exploration",
        "forbidden",
        "id",
        "inflow_place",
        "limit_step",
        "loan_rules",
        "model",
        "policy",
        "reads_memory",
        "region_place",
        "regions",
        "rules",
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
        lending = [tier for tier in policy.tiers if tier.decision is not Decision.DECLINED]
        self._tier_to_confirm = lending[-1] if lending else policy.tiers[0]
        self.standard_loan = policy.standard_loan
        self.limit_step = policy.limit_step
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
        self.rules = tuple(ReadyRule(rule, self.catalogue) for rule in policy.rules)
        self.reads_memory = any(rule.reads_memory for rule in self.rules)
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
        """Say which of the policy's own rules object."""
        return [rule.objection for rule in self.rules if rule.fires(values)]

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
