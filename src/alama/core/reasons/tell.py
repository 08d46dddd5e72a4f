"""The reasons of one assessment: what decided, then what moved the score most.

A false reason is worse than none. So what decided comes first; a field is named only if the
scorecard used it, with the points that it really cost; and a code that calls a value low is used
only where the tables do. Where the decision is APPROVED the reasons are strengths.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.catalogue import Field, Kind, Way
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.offer import owed_monthly
from alama.core.lending.policy import Decision, OwnRule, PortfolioCap, Rule
from alama.core.lending.ready_policy import OUTFLOW, ReadyPolicy, known_ranges
from alama.core.model import money_factor
from alama.core.reasons import dictionary
from alama.core.reasons.dictionary import (
    FIELD_LOWERS_SCORE,
    FIELD_RAISES_SCORE,
    LENDER_RULE,
    NOT_GIVEN,
    Language,
    Safer,
    Shown,
    codes_of,
    listed,
    name_of,
    shown_as,
)
from alama.core.scorecard import cuts_in
from alama.core.tables import MISSING, Card, Feature, neighbours

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from alama.core.application import Application, Value
    from alama.core.assess import Assessment, Contribution


REASONS_MAX: Final = 4
"""A person reads no more."""

NOTICEABLE_POINTS: Final = 1.0
"""Scores are shown in whole points: what moves them by less is nobody's reason."""

HELPFUL_POINTS: Final = 5.0
"""What brings fewer is not worth somebody's trouble: 40 double the odds of repayment."""

COMMON_SHARE: Final = 0.05
"""Values that fewer than one in twenty have are no advice: a wallet that hardly moves, say."""

_DECISIONS: Final[Mapping[str, Decision]] = {
    Rule.TIER_BELOW_CUTOFF: Decision.DECLINED,
    Rule.TIER_IN_REVIEW: Decision.REVIEW,
    Rule.UNAFFORDABLE: Decision.DECLINED,
    Rule.OFFER_BELOW_CUTOFF: Decision.DECLINED,
    Rule.OUTFLOW_ABOVE_INFLOW: Decision.REVIEW,
    Rule.TOO_FEW_FIELDS: Decision.REVIEW,
    Rule.VALUE_OUTSIDE_TRAINING: Decision.REVIEW,
    Rule.UNLIKE_TRAINING: Decision.REVIEW,
    Rule.SELDOM_BOOKED: Decision.REVIEW,
    Rule.LATE_ON_A_LOAN: Decision.DECLINED,
    Rule.ASKED_OFTEN: Decision.REVIEW,
    Rule.EXPOSURE: Decision.DECLINED,
    Rule.LADDER: Decision.DECLINED,
    Rule.BLOCKED: Decision.DECLINED,
    Rule.WATCHED: Decision.REVIEW,
    Rule.EXPLORED: Decision.APPROVED,
}
"""What each rule leaves at best; that of the break-even is the policy's to say."""


class Reason(msgspec.Struct, frozen=True):
    """One reason, for a program by its code and for the applicant by its text.

    `feature` is named as the caller spelled it and `contribution` is in points; both are None for a
    rule.
    """

    code: str
    feature: str | None
    contribution: float | None
    text: str


def reasons(
    policy: ReadyPolicy,
    application: Application,
    assessment: Assessment,
    language: Language,
) -> tuple[Reason, ...]:
    """Tell why the assessment is as it is: at most `REASONS_MAX` reasons, the weightiest first.

    The assessment must be what `assess` gives for this application under the policy.
    """
    told = list(_rules(policy, application, assessment, language))
    teller = _Teller(policy, application, assessment, language)
    if assessment.decision is Decision.APPROVED:
        told += map(teller.strength, _strengths(assessment, teller))
    else:
        told += map(teller.weakness, _weaknesses(assessment)[:REASONS_MAX])
    return tuple(told[:REASONS_MAX])


def _weaknesses(assessment: Assessment) -> list[Contribution]:
    """Give what costs points, the dearest first: so contributions are ordered."""
    return [c for c in assessment.contributions if c.points <= -NOTICEABLE_POINTS]


def _strengths(assessment: Assessment, teller: _Teller) -> list[Contribution]:
    """Give what brings points, the most first. That a field is not given is no strength."""
    strong = [c for c in assessment.contributions if c.points >= NOTICEABLE_POINTS]
    return [c for c in strong if teller.is_known(c)][:REASONS_MAX]


# --------------------------------------------------------------------------- the rules that decided


def _rules(
    policy: ReadyPolicy, application: Application, assessment: Assessment, language: Language
) -> Iterator[Reason]:
    """Yield what decided against an application, in the order in which the policy asked."""
    own: dict[str, OwnRule | PortfolioCap] = {rule.name: rule for rule in policy.policy.rules}
    own |= policy.caps
    for name in that_decided(policy, assessment):
        if name in own:
            yield Reason(LENDER_RULE, None, None, own_text(own[name], language))
        else:
            text = _Case(policy, application, assessment, language).text(Rule(name))
            yield Reason(name, None, None, text)


def that_decided(policy: ReadyPolicy, assessment: Assessment) -> tuple[str, ...]:
    """Give the rules of an assessment that left no better decision than it has, each once.

    A doubt that alone would leave an application to a person is no reason for a decline. Where the
    lender's day is on hold, that and nothing else decides.
    """
    if assessment.holds:
        return tuple(hold.value for hold in assessment.holds)
    decisions = {
        **_DECISIONS,
        Rule.BELOW_BREAK_EVEN: policy.below_break_even,
        **{rule.objection.code: rule.objection.decision for rule in policy.rules},
        **{name: cap.decision for name, cap in policy.caps.items()},
    }
    # A rule that objects to the loan asked for, and then to what could be offered, stands twice.
    named = dict.fromkeys(assessment.rules)
    # Of those who were seldom booked a score can only guess: it declines none of them, nor does a
    # loss that it expects.
    if Rule.SELDOM_BOOKED in named:
        named.pop(Rule.TIER_BELOW_CUTOFF, None)
        decisions[Rule.BELOW_BREAK_EVEN] = Decision.REVIEW
    return tuple(name for name in named if decisions[name] is assessment.decision)


def own_text(rule: OwnRule | PortfolioCap, language: Language) -> str:
    """Give what the lender says about the rule, or else its name."""
    says = rule.says or language.forms.word.format(word=rule.name)
    return language.texts[LENDER_RULE].text.format(says=says.removesuffix("."))


class _Case:
    """What the texts of the rules are filled with."""

    __slots__ = ("_application", "_assessment", "_language", "_policy")

    def __init__(
        self,
        policy: ReadyPolicy,
        application: Application,
        assessment: Assessment,
        language: Language,
    ) -> None:
        self._policy = policy
        self._application = application
        self._assessment = assessment
        self._language = language

    def text(self, rule: Rule) -> str:
        """Say what the rule says, and what level would help where one is known."""
        wanted = self._language.texts[rule.value]
        text = wanted.text.format(**self._details(rule))
        level = self._level(rule)
        if level is None or wanted.help is None:
            return text
        return f"{text} {wanted.help.format(level=level)}"

    def _details(self, rule: Rule) -> Mapping[str, str]:
        match rule:
            case Rule.TIER_BELOW_CUTOFF | Rule.TIER_IN_REVIEW:
                return {"score": str(self._assessment.score)}
            case Rule.UNAFFORDABLE:
                return {
                    "inflow": self._money(self._inflow),
                    "owed": self._owed(),
                    "smallest": self._money(self._policy.limit_step),
                }
            case Rule.OUTFLOW_ABOVE_INFLOW:
                return {"outflow": self._outflow(), "inflow": self._money(self._inflow)}
            case Rule.TOO_FEW_FIELDS:
                needed = self._policy.policy.sufficiency.fields_min
                return {"given": self._count(self._given()), "needed": self._count(needed)}
            case Rule.VALUE_OUTSIDE_TRAINING:
                return {"fields": listed(self._outside(), self._language)}
            case _:
                return {}

    def _level(self, rule: Rule) -> str | None:
        match rule:
            case Rule.TIER_BELOW_CUTOFF:
                return self._least_score({Decision.APPROVED, Decision.REVIEW})
            case Rule.TIER_IN_REVIEW:
                return self._least_score({Decision.APPROVED})
            case Rule.OUTFLOW_ABOVE_INFLOW if self._outflow_max > 0.0:
                most = self._outflow_max
                shown = dictionary.plain_most(Shown.MONEY, most, lambda n: 0.0 < n <= most)
                amount = dictionary.quantity(
                    self._language, Shown.MONEY, shown, self._policy.currency
                )
                return self._language.forms.at_most.format(high=amount)
            case _:
                return None

    def _least_score(self, decisions: Container[Decision]) -> str | None:
        """Give the least score of the tiers with these decisions; None where no tier has one."""
        scores = [tier.score_min for tier in self._policy.tiers if tier.decision in decisions]
        return str(min(scores)) if scores else None

    @property
    def _inflow(self) -> float:
        # A missing inflow, where a catalogue allows that, is known to carry nothing.
        return float(self._application.values[self._policy.inflow_place] or 0.0)

    @property
    def _outflow_max(self) -> float:
        """Give the most that may go out a month before a person has to look."""
        ratio = self._policy.policy.affordability.outflow_ratio_max
        assert ratio is not None  # or the rule would not have objected
        return ratio * self._inflow

    def _outflow(self) -> str:
        place = self._policy.model.catalogue.position[OUTFLOW]
        outflow = float(self._application.values[place] or 0.0)
        number = dictionary.plain_value(Shown.MONEY, outflow, lambda n: n > self._outflow_max)
        return dictionary.quantity(self._language, Shown.MONEY, number, self._policy.currency)

    def _owed(self) -> str:
        """Say what is due on other loans, or what is taken for it where nobody said."""
        values, place = self._application.values, self._policy.existing_place
        owed = self._money(owed_monthly(self._policy, values, self._inflow))
        if place is not None and values[place] is not None:
            return owed
        return self._language.forms.assumed.format(value=owed)

    def _outside(self) -> Iterator[Field]:
        """Yield the fields that are far outside all that training saw."""
        model = self._policy.model
        values = self._policy.as_asked(self._application.values)
        times = self._policy.policy.sufficiency.outside_times
        ranges = known_ranges(times, model.scorecard_for(self._application), model)
        for place, (low, high) in ranges.items():
            value = values[place]
            assert not isinstance(value, str)  # only numbers have a range
            if value is not None and not low <= value <= high:
                yield model.catalogue.fields[place]

    def _given(self) -> int:
        """Count as the rule does: all that a model reads about the applicant."""
        largest = self._policy.model.scorecards[-1]
        return sum(
            self._application.values[place] is not None
            for place, name in zip(largest.places, largest.fields, strict=True)
            if name not in {AMOUNT, TERM}
        )

    def _money(self, amount: float) -> str:
        number = dictionary.plain_value(Shown.MONEY, amount, lambda _: True)
        return dictionary.quantity(self._language, Shown.MONEY, number, self._policy.currency)

    def _count(self, count: int) -> str:
        number = dictionary.scaled(Shown.DETAILS, count)
        return dictionary.quantity(self._language, Shown.DETAILS, number, None)


# ------------------------------------------------------------------ the fields that moved the score


class _Teller:
    """Puts the contributions to one score into words."""

    __slots__ = (
        "_application",
        "_language",
        "_model",
        "_policy",
        "_scorecard",
        "_slots",
        "_values",
    )

    def __init__(
        self,
        policy: ReadyPolicy,
        application: Application,
        assessment: Assessment,
        language: Language,
    ) -> None:
        self._model = policy.model
        self._policy = policy
        self._application = application
        self._language = language
        self._scorecard = policy.model.scorecard_for(application)
        self._values = policy.as_asked(application.values)
        self._slots = assessment.slots

    def is_known(self, contribution: Contribution) -> bool:
        """Say whether the field is given, or is part of the standard loan."""
        return self._standing(contribution).slot != MISSING

    def weakness(self, contribution: Contribution) -> Reason:
        """Tell why a field costs points, and what level of it would help."""
        standing = self._standing(contribution)
        if standing.slot == MISSING:
            name = name_of(standing.field, contribution.feature, self._language)
            text = self._language.texts[NOT_GIVEN].text.format(name=name)
            return Reason(NOT_GIVEN, contribution.feature, contribution.points, text)
        code = self._code(standing, Sense.LOWERS)
        text = self._text(code, standing, contribution)
        if level := self._level(standing):
            advice = self._language.texts[code].help
            assert advice is not None  # as a test of the dictionary has it
            text = f"{text} {advice.format(level=level)}"
        return Reason(code, contribution.feature, contribution.points, text)

    def strength(self, contribution: Contribution) -> Reason:
        """Tell why a field brings points."""
        standing = self._standing(contribution)
        code = self._code(standing, Sense.RAISES)
        text = self._text(code, standing, contribution)
        return Reason(code, contribution.feature, contribution.points, text)

    def _standing(self, contribution: Contribution) -> Standing:
        catalogue, scorecard = self._model.catalogue, self._scorecard
        field = catalogue.field(contribution.feature)
        place = scorecard.fields.index(field.name)
        feature = scorecard.card.features[place]
        factor = money_factor(self._model.model, self._model.currency)
        cuts = cuts_in(feature, catalogue, factor)
        return Standing(field, scorecard.card, place, cuts, self._slots)

    def _code(self, standing: Standing, sense: Sense) -> str:
        known = codes_of(standing.field, self._language)
        if known is None or (known.safer and not bears_out(standing, known.safer, sense)):
            return FIELD_LOWERS_SCORE if sense is Sense.LOWERS else FIELD_RAISES_SCORE
        return known.lowers if sense is Sense.LOWERS else known.raises

    def _text(self, code: str, standing: Standing, contribution: Contribution) -> str:
        template = self._language.texts[code].text
        name = name_of(standing.field, contribution.feature, self._language)
        return template.format(name=name, value=self._value(standing))

    def _value(self, standing: Standing) -> str:
        """Give the value that was scored; it is the standard loan's where none was asked for."""
        place = self._model.catalogue.position[standing.field.name]
        value = self._values[place]
        said = self._said(standing, value)
        if self._application.values[place] is None:
            return self._language.forms.assumed.format(value=said)
        return said

    def _said(self, standing: Standing, value: Value) -> str:
        if isinstance(value, str):
            return dictionary.word(self._language, standing.field.name, value)
        assert value is not None  # its slot is not that of a missing one
        shown = shown_as(standing.field, self._language)
        number = dictionary.plain_value(shown, value, standing.is_here)
        return dictionary.quantity(self._language, shown, number, self._model.currency)

    def _level(self, standing: Standing) -> str | None:
        value = self._values[self._model.catalogue.position[standing.field.name]]
        if value is None or isinstance(value, str):
            return None
        shown = shown_as(standing.field, self._language)
        level = level_that_helps(standing, self._policy, shown, value)
        return None if level is None else self._phrase(shown, level)

    def _phrase(self, shown: Shown, level: Level) -> str:
        forms = self._language.forms
        low, high, below = (
            None
            if bound is None
            else dictionary.quantity(self._language, shown, bound, self._model.currency)
            for bound in level
        )
        if low is not None and low == high:
            return low
        if low is not None and (high or below):
            return forms.between.format(low=low, high=high or below)
        if low is not None:
            return forms.at_least.format(low=low)
        return forms.at_most.format(high=high) if high else forms.below.format(high=below)


class Sense(Enum):
    """What a field does to the score; the value is the sign of its points."""

    LOWERS = -1
    RAISES = 1


class Standing(NamedTuple):
    """Where an application stands in the table of one feature.

    `cuts` are in the caller's currency, `slots` those of all features of the card.
    """

    field: Field
    card: Card
    place: int
    cuts: Sequence[float]
    slots: Sequence[int]

    @property
    def feature(self) -> Feature:
        return self.card.features[self.place]

    @property
    def slot(self) -> int:
        return self.slots[self.place]

    def slot_of(self, number: float) -> int:
        return bisect_right(self.cuts, number) + 1

    def is_here(self, number: float) -> bool:
        """Say whether a number stands in the same band."""
        return self.slot_of(number) == self.slot


def bears_out(standing: Standing, safer: Safer, sense: Sense) -> bool:
    """Say whether the table calls a value low (or high) that lowers (or raises) the score.

    The points of the field alone must have the same sign as its contribution, and there must be
    better (or worse) bands on the side where the code has them. Otherwise it is the company of
    other fields, or another direction than the dictionary knows, that makes the contribution.
    """
    main, slot = standing.feature.main, standing.slot
    upwards = (safer is Safer.MORE) is (sense is Sense.LOWERS)
    others = main[slot + 1 :] if upwards else main[1:slot]
    own = sense.value * main[slot]
    return own > 0.0 and any(sense.value * points < own for points in others)


def gains(standing: Standing) -> list[float]:
    """Give the points that the score gains with each other slot of the feature."""
    place, slots, slot = standing.place, standing.slots, standing.slot
    main = standing.feature.main
    gained = [points - main[slot] for points in main]
    for pair in standing.card.pairs:
        if pair.first == place:
            halves = [pair.half(own, slots[pair.second]) for own in range(len(main))]
        elif pair.second == place:
            halves = [pair.half(slots[pair.first], own) for own in range(len(main))]
        else:
            continue
        for own, half in enumerate(halves):
            gained[own] += 2.0 * (half - halves[slot])
    return gained


class Level(NamedTuple):
    """Values that would help, as they are shown: from `low` on, up to `high`, or below `below`."""

    low: Decimal | None = None
    high: Decimal | None = None
    below: Decimal | None = None


def level_that_helps(
    standing: Standing, policy: ReadyPolicy, shown: Shown, number: float
) -> Level | None:
    """Give the nearest values that would raise the score by `HELPFUL_POINTS`; None if none would.

    Only what an applicant can change, the way they can, to what others have too. A loan is one
    that the policy offers.
    """
    change = standing.field.change
    if change is None or not standing.field.numeric:
        return None
    gained = gains(standing)
    if standing.field.name == TERM:
        return _nearest_term(standing, gained, change.way, policy.terms_days, number)
    run = _nearest_run(standing, gained, change.way)
    if run is None:
        return None
    first, last = run[0], run[-1]
    low = standing.cuts[first - 2] if first > 1 else None
    end = standing.cuts[last - 1] if last <= len(standing.cuts) else None
    if standing.field.name == AMOUNT:
        return _in_steps(shown, low, end, policy.limit_step, policy.limit_step)
    if standing.field.kind is Kind.INTEGER:
        return _in_steps(shown, low, end, 1, standing.field.minimum or 0)
    return _between(standing, shown, run, low, end)


def _nearest_term(
    standing: Standing, gained: Sequence[float], way: Way, terms_days: Sequence[int], days: float
) -> Level | None:
    better = [
        term
        for term in terms_days
        if gained[standing.slot_of(term)] >= HELPFUL_POINTS
        and (way is not Way.UP or term > days)
        and (way is not Way.DOWN or term < days)
    ]
    if not better:
        return None
    nearest = Decimal(min(better, key=lambda term: abs(term - days)))
    return Level(low=nearest, high=nearest)


def _nearest_run(standing: Standing, gained: Sequence[float], way: Way) -> range | None:
    """Give the neighbouring better slots that come next, up or down, and are no rarity."""
    slot = standing.slot
    # A loan that is on offer may be had by anyone.
    share_min = 0.0 if standing.field.name == AMOUNT else COMMON_SHARE
    better = [own for own in range(1, len(gained)) if gained[own] >= HELPFUL_POINTS]
    runs = [
        range(first, last + 1)
        for first, last in neighbours(better)
        if (way is not Way.UP or first > slot)
        and (way is not Way.DOWN or last < slot)
        and sum(standing.feature.shares[first : last + 1]) >= share_min
    ]
    # A run does not go past the slot itself, which is no better than it is.
    return min(runs, key=lambda run: min(abs(own - slot) for own in run), default=None)


def _in_steps(
    shown: Shown, low: float | None, end: float | None, step: int, least: float
) -> Level | None:
    """Give the whole steps from `low` to below `end`, none of them below the least there can be."""
    first = None if low is None else -int(-low // step) * step
    last = None if end is None else (-int(-end // step) - 1) * step
    if last is not None and last < max(least, first or 0):
        return None
    return Level(
        low=None if first is None else dictionary.scaled(shown, first),
        high=None if last is None else dictionary.scaled(shown, last),
    )


def _between(
    standing: Standing, shown: Shown, run: range, low: float | None, end: float | None
) -> Level:
    at_least = below = None
    if low is not None:
        at_least = dictionary.plain_least(
            shown, low, lambda number: standing.slot_of(number) in run
        )
    if end is not None:
        bottom = low if low is not None else standing.field.minimum or 0.0
        below = dictionary.plain_most(shown, end, lambda number: bottom < number <= end)
    if at_least is not None and at_least == below:
        return Level(low=at_least, high=at_least)
    return Level(low=at_least, below=below)
