"""Recourse: the cheapest change of at most three fields that turns a decision, proven.

`find_recourse` is the door; `ReadyRecourse` is what it needs, made once for a model and a policy.
The proof speaks of real values (`values`), one for each piece of a field in which neither the card
nor the policy changes its mind (`turning`), within what an applicant can reach (`moves`). Of all
sets of up to three of them (`search`) those that may work are judged by the whole assessment.
"""

from __future__ import annotations

from alama.core.recourse.answer import (
    Counterfactual,
    FieldChange,
    Hindrance,
    Obstacle,
    Recourse,
    Status,
)
from alama.core.recourse.find import find_recourse
from alama.core.recourse.goals import (
    APPROVAL,
    COUNT_DEFAULT,
    COUNT_MAX,
    Approval,
    Goal,
    ScoreAtLeast,
    Sought,
    TierAtLeast,
    read_goal,
    read_locked,
)
from alama.core.recourse.ready import ReadyRecourse

__all__ = [
    "APPROVAL",
    "COUNT_DEFAULT",
    "COUNT_MAX",
    "Approval",
    "Counterfactual",
    "FieldChange",
    "Goal",
    "Hindrance",
    "Obstacle",
    "ReadyRecourse",
    "Recourse",
    "ScoreAtLeast",
    "Sought",
    "Status",
    "TierAtLeast",
    "find_recourse",
    "read_goal",
    "read_locked",
]
