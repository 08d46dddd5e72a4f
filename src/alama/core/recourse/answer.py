"""What recourse is sought for, and what an applicant is told."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import calibration
from alama.core.application import Value
from alama.core.assess import Assessment
from alama.core.errors import UnknownField, UnknownGoal
from alama.core.lending.policy import SEVERITY, CounterOffers, Decision, Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.core.catalogue import Catalogue


class Approval(msgspec.Struct, frozen=True, tag="approval"):
    """The final decision is APPROVED: tier, rules, affordability and data, all of them."""


class TierAtLeast(msgspec.Struct, frozen=True, tag="tier"):
    """The tier is this one or a better one, whatever else is decided."""

    name: str


class ScoreAtLeast(msgspec.Struct, frozen=True, tag="score"):
    """The score as shown is no less, whatever else is decided."""

    score: int


Goal = Approval | TierAtLeast | ScoreAtLeast
APPROVAL: Final = Approval()
COUNT_MAX: Final = 5
COUNT_DEFAULT: Final = 3


class Sought(msgspec.Struct, frozen=True):
    """A goal, the fields that stay as they are, and how many ways are wanted, at most.

    `locked` are names of the catalogue, in either spelling.
    """

    goal: Goal = APPROVAL
    locked: frozenset[str] = frozenset()
    count: int = COUNT_DEFAULT


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

    `cost` is as `alama.core.recourse.values` has it; `within_days` says how long the
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


def read_goal(text: str, policy: Policy) -> Goal:
    """Read `APPROVED`, the name of a tier or a score, or raise `UnknownGoal`."""
    if text == Decision.APPROVED:
        return APPROVAL
    if any(tier.name == text for tier in policy.tiers):
        return TierAtLeast(text)
    if text.isascii() and text.isdecimal() and len(text) <= len(str(calibration.SCORE_MAX)):
        score = int(text)
        if calibration.SCORE_MIN <= score <= calibration.SCORE_MAX:
            return ScoreAtLeast(score)
    raise UnknownGoal(text, _known(policy))


def _known(policy: Policy) -> str:
    tiers = ", ".join(tier.name for tier in policy.tiers)
    scores = f"{calibration.SCORE_MIN} to {calibration.SCORE_MAX}"
    return f"{Decision.APPROVED}, for a tier ({tiers}), or for a score of {scores}"


def read_locked(names: Iterable[str], catalogue: Catalogue) -> frozenset[str]:
    """Take names of fields, or raise `UnknownField`."""
    locked = frozenset(names)
    for name in sorted(locked):
        if name not in catalogue.position:
            raise UnknownField(name, tuple(catalogue.position))
    return locked


def score_needed(goal: Goal, policy: Policy) -> float:
    """Give the least score, not clamped, with which the goal can be met; infinite if none can.

    It is necessary for every goal, and for a tier or a score it is enough.
    """
    tiers = policy.tiers
    match goal:
        case ScoreAtLeast(score=score):
            return -math.inf if score <= calibration.SCORE_MIN else score
        case TierAtLeast(name=name):
            if all(tier.name != name for tier in tiers):
                raise UnknownGoal(name, _known(policy))
            return _foot(policy, next(n for n, tier in enumerate(tiers) if tier.name == name))
        case Approval():
            # Tiers stand best first, and none is treated better than one above it.
            approving = sum(SEVERITY[tier.decision] == 0 for tier in tiers)
            if approving and policy.counter_offers is CounterOffers.APPROVE:
                return -math.inf  # another loan may have the score that this one lacks
            return _foot(policy, approving - 1) if approving else math.inf


def _foot(policy: Policy, place: int) -> float:
    """Give the score at which a tier begins; the worst has whatever is left."""
    last = len(policy.tiers) - 1
    return -math.inf if place == last else policy.tiers[place].score_min


def is_met(goal: Goal, policy: Policy, assessment: Assessment) -> bool:
    """Say whether an assessment is what was sought."""
    match goal:
        case ScoreAtLeast(score=score):
            return assessment.score >= score
        case TierAtLeast(name=name):
            names = [tier.name for tier in policy.tiers]
            return names.index(assessment.tier) <= names.index(name)
        case Approval():
            return assessment.decision is Decision.APPROVED
