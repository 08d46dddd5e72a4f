"""What an answer is worth, whoever gave it: by our catalogue, our decision and our cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from alama.core.application import Application, Value, in_range
from alama.core.assess import assess
from alama.core.catalogue import Field, Kind, Way
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.policy import Decision
from alama.core.recourse.additive import is_lever, reach
from alama.core.recourse.answer import APPROVAL
from alama.core.recourse.find import Applicant
from alama.core.recourse.values import (
    Edge,
    Listed,
    RoundNumbers,
    Ruler,
    Steps,
    above,
    below,
    change_costs,
    is_between,
)

if TYPE_CHECKING:
    from alama.core.recourse.ready import ReadyRecourse

    Values = tuple[Value, ...]


class Breach(StrEnum):
    """How a change can be one that the applicant cannot make."""

    IMMUTABLE = "immutable"
    DIRECTION = "direction"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer as we see it.

    `approved` is the final decision of `assess`. `cost` is in millionths, and None where a change
    cannot be made. `plausible`: no stranger than the policy lets pass, or than it was before.
    """

    changes: int
    breaches: frozenset[Breach]
    approved: bool
    plausible: bool
    cost: int | None


class Judge:
    """Judges the answers that one applicant got."""

    def __init__(self, ready: ReadyRecourse, application: Application) -> None:
        self._applicant = Applicant(ready, application, APPROVAL)
        self._before = application.values
        self._fields = ready.policy.model.catalogue.fields

    def judge(self, after: Values) -> Judged:
        """Say what an answer is worth; its values stand in the order of the catalogue."""
        changed = self._changed(after)
        breaches = frozenset(b for place in changed if (b := self._breach(place, after[place])))
        sendable = all(_may_be_sent(f, v) for f, v in zip(self._fields, after, strict=True))
        return Judged(
            len(changed),
            breaches,
            sendable and self._approved(after),
            sendable and self._plausible(after),
            None if breaches else sum(self._cost(place, after[place]) for place in changed),
        )

    def rounded(self, after: Values) -> Values | None:
        """Give the answer with its values moved on to the next that a person can act on.

        They move away from where they stood before. None where that leads out of reach.
        """
        values = list(after)
        for place in self._changed(after):
            if self._breach(place, after[place]):
                return None
            field, new = self._fields[place], _number(after[place])
            low, high = self._reach(place)
            ruler = self._ruler(field)
            if new > _number(self._before[place]):
                real = ruler.first(below(new), high)
            else:
                real = ruler.last(low, above(new))
            if real is None:
                return None
            values[place] = int(real) if field.kind is Kind.INTEGER else real
        return tuple(values)

    def _changed(self, after: Values) -> list[int]:
        return [place for place, value in enumerate(after) if value != self._before[place]]

    def _breach(self, place: int, new: Value) -> Breach | None:
        field, old = self._fields[place], self._before[place]
        if not is_lever(field) or old is None or new is None:
            return Breach.IMMUTABLE
        assert field.change is not None
        forbidden = {Way.UP: -1, Way.DOWN: 1, Way.EITHER: 0}[field.change.way]
        if (_number(new) - _number(old)) * forbidden > 0:
            return Breach.DIRECTION
        low, high = self._reach(place)
        inside = _may_be_sent(field, new) and is_between(low, _number(new), high)
        return None if inside else Breach.RANGE

    def _reach(self, place: int) -> tuple[Edge, Edge]:
        old = _number(self._before[place])
        return self._applicant.card.kept_inside(place, old, *reach(self._fields[place], old))

    def _cost(self, place: int, new: Value) -> int:
        change = self._fields[place].change
        assert change is not None
        ladder = self._applicant.card.ladder(place)
        return change_costs(ladder, change.effort, _number(self._before[place]), [_number(new)])[0]

    def _approved(self, after: Values) -> bool:
        applicant = self._applicant
        assessment = assess(applicant.model, applicant.policy, Application(after))
        return assessment.decision is Decision.APPROVED

    def _plausible(self, after: Values) -> bool:
        applicant = self._applicant
        likeness = applicant.card.likeness
        if likeness is None:
            return True
        slots = applicant.card.scorecard.score(applicant.policy.as_asked(after)).slots
        return likeness.strangeness(slots) <= applicant.strangeness_max

    def _ruler(self, field: Field) -> Ruler:
        policy = self._applicant.policy
        if field.name == TERM:
            return Listed(policy.terms_days)
        if field.name == AMOUNT:
            return Steps(policy.limit_step)
        return Steps(1) if field.kind is Kind.INTEGER else RoundNumbers()


def _number(value: Value) -> float:
    assert value is not None
    assert not isinstance(value, str)
    return value


def _may_be_sent(field: Field, value: Value) -> bool:
    if value is None or isinstance(value, str):
        return True
    whole = field.kind is not Kind.INTEGER or float(value).is_integer()
    return whole and in_range(field, value)
