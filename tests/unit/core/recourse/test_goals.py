"""What recourse can be sought for."""

import math

import msgspec
import pytest

from alama.core.errors import UnknownGoal
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision
from alama.core.recourse.answer import (
    APPROVAL,
    Goal,
    ScoreAtLeast,
    TierAtLeast,
    read_goal,
    score_needed,
)

POLICY = default_policy("KES")


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("APPROVED", APPROVAL),
        ("B", TierAtLeast("B")),
        ("300", ScoreAtLeast(300)),
        ("850", ScoreAtLeast(850)),
    ],
)
def test_a_goal_is_a_decision_a_tier_or_a_score(text: str, goal: Goal) -> None:
    assert read_goal(text, POLICY) == goal


@pytest.mark.parametrize(
    "text", ["", "approved", "REVIEW", "b", "Z", "299", "851", "640.5", "-640", "9" * 5000, "²"]
)
def test_anything_else_is_refused_and_says_what_could_be_sought(text: str) -> None:
    with pytest.raises(UnknownGoal) as refused:
        read_goal(text, POLICY)
    assert (
        refused.value.hint
        == "ask for APPROVED, for a tier (A, B, C, D, E), or for a score of 300 to 850"
    )


def test_a_tier_may_be_named_by_a_number() -> None:
    tier = msgspec.structs.replace(POLICY.tiers[0], name="700")
    policy = msgspec.structs.replace(POLICY, tiers=(tier, *POLICY.tiers[1:]))
    assert read_goal("700", policy) == TierAtLeast("700")


@pytest.mark.parametrize(
    ("goal", "score"),
    [
        (APPROVAL, 605),
        (TierAtLeast("A"), 690),
        (TierAtLeast("D"), 555),
        (TierAtLeast("E"), -math.inf),
        (ScoreAtLeast(640), 640),
        (ScoreAtLeast(300), -math.inf),
    ],
)
def test_a_goal_needs_the_score_at_which_its_tier_begins(goal: Goal, score: float) -> None:
    assert score_needed(goal, POLICY) == score


def test_a_tier_of_another_policy_is_refused() -> None:
    with pytest.raises(UnknownGoal):
        score_needed(TierAtLeast("Z"), POLICY)


def test_no_score_is_enough_where_no_tier_is_approved() -> None:
    tiers = tuple(msgspec.structs.replace(t, decision=Decision.DECLINED) for t in POLICY.tiers)
    assert score_needed(APPROVAL, msgspec.structs.replace(POLICY, tiers=tiers)) == math.inf


def test_every_score_is_enough_where_every_tier_is_approved() -> None:
    tiers = tuple(msgspec.structs.replace(t, decision=Decision.APPROVED) for t in POLICY.tiers)
    assert score_needed(APPROVAL, msgspec.structs.replace(POLICY, tiers=tiers)) == -math.inf
