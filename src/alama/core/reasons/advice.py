"""What to do, in words: the changes that lead to a goal, or what stands in the way of all of them.

The new value of a change is written exactly: it is the one that was proven to work. The old one is
rounded for the eye, but never past the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.lending.policy import Rule
from alama.core.reasons import dictionary
from alama.core.reasons.dictionary import (
    COUNTED,
    ChangeTexts,
    Language,
    Shown,
    is_ours,
    listed,
    name_of,
    shown_as,
)
from alama.core.reasons.tell import own_text
from alama.core.recourse.answer import FieldChange, Hindrance, Obstacle

if TYPE_CHECKING:
    from alama.core.application import Value
    from alama.core.catalogue import Field
    from alama.core.lending.ready_policy import ReadyPolicy

_UNIT_SAID_ONCE: Final = COUNTED | {Shown.OF_HUNDRED}
"""Old values of these stand as bare numbers beside the new one: 60 days instead of 30."""


class Advice:
    """Advice to the applicants of one policy, in one language."""

    __slots__ = ("_language", "_policy")

    def __init__(self, policy: ReadyPolicy, language: Language) -> None:
        self._policy = policy
        self._language = language

    def change(self, change: FieldChange) -> str:
        """Say what to do: a sentence with both values, the new one exactly as it is."""
        field = self._policy.model.catalogue.field(change.field)
        before, after = _number(change.before), _number(change.after)
        shown = shown_as(field, self._language)
        new = dictionary.scaled(shown, after)
        old = dictionary.plain_value(
            shown, before, lambda near: near < after if before < after else near > after
        )
        own, others = self._own_texts(field), self._language.advice
        template = (own.up or others.up) if before < after else (own.down or others.down)
        return template.format(
            name=name_of(field, change.field, self._language),
            before=dictionary.number(self._language, old)
            if shown in _UNIT_SAID_ONCE
            else dictionary.quantity(self._language, shown, old, self._policy.currency),
            after=dictionary.quantity(self._language, shown, new, self._policy.currency),
        )

    def obstacle(self, obstacle: Obstacle) -> str:
        """Say what stands in the way of every change."""
        catalogue = self._policy.model.catalogue
        fields = listed(map(catalogue.field, obstacle.fields), self._language)
        if obstacle.hindrance is Hindrance.RULE:
            assert obstacle.rule is not None
            return self._rule(obstacle.rule, fields)
        return self._language.obstacles[obstacle.hindrance].format(fields=fields)

    def notice(self) -> str:
        """Say how long advice holds, and that it is no guarantee."""
        return self._language.advice.notice

    def within(self, days: int) -> str:
        """Give a phrase for the time that changes may take."""
        texts = self._language.advice
        if days == 0:
            return texts.at_once
        number = dictionary.scaled(Shown.DAYS, days)
        return texts.within.format(
            days=dictionary.quantity(self._language, Shown.DAYS, number, None)
        )

    def _own_texts(self, field: Field) -> ChangeTexts:
        """Give the texts of a field; none if the model means something else by the name."""
        known = self._language.changes.get(field.name)
        return known if known is not None and is_ours(field) else ChangeTexts()

    def _rule(self, name: str, fields: str) -> str:
        for rule in self._policy.policy.rules:
            if rule.name == name:
                return own_text(rule, self._language)
        if name in self._policy.caps:
            return own_text(self._policy.caps[name], self._language)
        code = Rule(name)
        template = self._language.rules_that_bind.get(code)
        return (template or self._language.texts[code.value].text).format(fields=fields)


def _number(value: Value) -> float:
    assert isinstance(value, int | float)  # nothing else is a lever
    return value
