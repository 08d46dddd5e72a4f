"""The reasons of one assessment: what decided, then what moved the score most.

A false reason is worse than none. So what decided comes first; a field is named only if the
scorecard used it, with the points that it really cost; and a code that calls a value low is used
only where the tables do. Where the decision is APPROVED the reasons are strengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.lending.policy import Decision
from alama.core.model import money_factor
from alama.core.reasons import deciding, wording
from alama.core.reasons.dictionary import (
    FIELD_LOWERS_SCORE,
    FIELD_RAISES_SCORE,
    NOT_GIVEN,
    Shown,
)
from alama.core.reasons.known import codes_of, name_of, shown_as
from alama.core.reasons.levels import (
    NOTICEABLE_POINTS,
    Sense,
    Standing,
    bears_out,
    level_that_helps,
)
from alama.core.scorecard import cuts_in
from alama.core.tables import MISSING

if TYPE_CHECKING:
    from alama.core.application import Application, Value
    from alama.core.assess import Assessment, Contribution
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.reasons.dictionary import Language
    from alama.core.reasons.levels import Level

REASONS_MAX: Final = 4
"""A person reads no more."""


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
    told = [
        Reason(rule.code, None, None, rule.text)
        for rule in deciding.rules(policy, application, assessment, language)
    ]
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
        """Take what was said of an application under the policy."""
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
            return wording.word(self._language, standing.field.name, value)
        assert value is not None  # its slot is not that of a missing one
        shown = shown_as(standing.field, self._language)
        number = wording.plain_value(shown, value, standing.is_here)
        return wording.quantity(self._language, shown, number, self._model.currency)

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
            else wording.quantity(self._language, shown, bound, self._model.currency)
            for bound in level
        )
        if low is not None and low == high:
            return low
        if low is not None and (high or below):
            return forms.between.format(low=low, high=high or below)
        if low is not None:
            return forms.at_least.format(low=low)
        return forms.at_most.format(high=high) if high else forms.below.format(high=below)
