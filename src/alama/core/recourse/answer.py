"""What an applicant is told: the changes that lead to the goal, or what stands in the way."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from alama.core.application import Value
from alama.core.assess import Assessment


class Status(StrEnum):
    """Whether there is something to change; NO_RECOURSE also where time ran out before it was."""

    ALREADY_MET = "already_met"
    FOUND = "found"
    NO_RECOURSE = "no_recourse"


class FieldChange(msgspec.Struct, frozen=True):
    """One field, named as the caller spelled it, and its two values."""

    field: str
    before: Value
    after: Value

    @property
    def step(self) -> float:
        """How far it goes, up or down."""
        assert isinstance(self.before, int | float)  # nothing else is a lever
        assert isinstance(self.after, int | float)
        return self.after - self.before


class Counterfactual(msgspec.Struct, frozen=True):
    """Changes that lead to the goal together, and what is said of the changed application.

    `cost` is as `alama.core.recourse.cost` has it; `within_days` says how long the
    slowest of the changes may take.
    """

    changes: tuple[FieldChange, ...]
    assessment: Assessment
    cost: float
    within_days: int


class Hindrance(StrEnum):
    """What can stand in the way of every change."""

    RULE = "rule"
    TIER = "tier"
    LOCKED = "locked"
    MORE_CHANGES = "more_changes"
    PLAUSIBILITY = "plausibility"
    IMMUTABLE = "immutable"
    OUT_OF_REACH = "out_of_reach"
    OUT_OF_TIME = "out_of_time"


class Obstacle(msgspec.Struct, frozen=True):
    """What stands in the way, and the fields that it is about, as the caller spelled them.

    - RULE: nothing opens `rule`, or it was against all that had the points. It reads `fields`, of
      which those are named that were given.
    - TIER: the policy approves no tier at all.
    - LOCKED: it would work if `fields` were not locked.
    - MORE_CHANGES: it would work, but takes more than three changes, as of `fields`.
    - PLAUSIBILITY: it would work, but `fields` would look like nobody's in training.
    - IMMUTABLE: what can be changed would be enough without what `fields` cost, which cannot be.
    - OUT_OF_REACH: what can be changed cannot be changed as far as would be needed.
    - OUT_OF_TIME: there was no time to look at everything, so there may be a way.
    """

    hindrance: Hindrance
    fields: tuple[str, ...] = ()
    rule: str | None = None


class Recourse(msgspec.Struct, frozen=True):
    """Counterfactuals, the cheapest first, or what binds where there is none.

    `optimal`: nothing cheaper exists among the values that were looked at, and where there is no
    recourse there is none among them; False where time ran out. It holds while this model and
    policy do.
    """

    status: Status
    counterfactuals: tuple[Counterfactual, ...] = ()
    optimal: bool = True
    binding: tuple[Obstacle, ...] = ()
