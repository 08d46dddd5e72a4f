"""The rules that decided, in words.

Of all that objected only the worst decide: a doubt that alone would leave an application to a
person is no reason for a decline. Where the lender's day is on hold, that and nothing else decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.policy import Decision, Rule
from alama.core.lending.ready_policy import OUTFLOW, known_ranges
from alama.core.lending.room import owed_monthly
from alama.core.reasons import wording
from alama.core.reasons.dictionary import LENDER_RULE, Shown
from alama.core.reasons.known import listed

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from alama.core.application import Application
    from alama.core.assess import Assessment
    from alama.core.catalogue import Field
    from alama.core.lending.policy import OwnRule
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.reasons.dictionary import Language

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
}
"""What each rule leaves at best; that of the break-even is the policy's to say."""


class Told(NamedTuple):
    """A rule that decided, by its public code, and its text."""

    code: str
    text: str


def rules(
    policy: ReadyPolicy, application: Application, assessment: Assessment, language: Language
) -> Iterator[Told]:
    """Yield what decided against an application, in the order in which the policy asked."""
    own = {rule.name: rule for rule in policy.policy.rules}
    for name in that_decided(policy, assessment):
        if name in own:
            yield Told(LENDER_RULE, own_text(own[name], language))
        else:
            yield Told(name, _Case(policy, application, assessment, language).text(Rule(name)))


def that_decided(policy: ReadyPolicy, assessment: Assessment) -> tuple[str, ...]:
    """Give the rules of an assessment that left no better decision than it has, each once."""
    if assessment.holds:
        return tuple(hold.value for hold in assessment.holds)
    decisions = {
        **_DECISIONS,
        Rule.BELOW_BREAK_EVEN: policy.below_break_even,
        **{rule.name: rule.decision for rule in policy.policy.rules},
    }
    # A rule that objects to the loan asked for, and then to what could be offered, stands twice.
    named = dict.fromkeys(assessment.rules)
    # Of those who were seldom booked a score can only guess: it declines none of them, nor does a
    # loss that it expects.
    if Rule.SELDOM_BOOKED in named:
        named.pop(Rule.TIER_BELOW_CUTOFF, None)
        decisions[Rule.BELOW_BREAK_EVEN] = Decision.REVIEW
    return tuple(name for name in named if decisions[name] is assessment.decision)


def own_text(rule: OwnRule, language: Language) -> str:
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
                shown = wording.plain_most(Shown.MONEY, most, lambda n: 0.0 < n <= most)
                amount = wording.quantity(self._language, Shown.MONEY, shown, self._policy.currency)
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
        number = wording.plain_value(Shown.MONEY, outflow, lambda n: n > self._outflow_max)
        return wording.quantity(self._language, Shown.MONEY, number, self._policy.currency)

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
        number = wording.plain_value(Shown.MONEY, amount, lambda _: True)
        return wording.quantity(self._language, Shown.MONEY, number, self._policy.currency)

    def _count(self, count: int) -> str:
        number = wording.scaled(Shown.DETAILS, count)
        return wording.quantity(self._language, Shown.DETAILS, number, None)
