"""The whole flow on one page: an application in, an assessment out.

Pure, so that any stored decision can be replayed, and so that every surface says the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from alama.core import calibration
from alama.core.application import Value
from alama.core.units import Points, Probability

if TYPE_CHECKING:
    from alama.core.application import Application
    from alama.core.model import ReadyModel


class Contribution(msgspec.Struct, frozen=True, gc=False):
    """What one field gave to the score, in points; positive raises it."""

    feature: str
    value: Value
    points: float


class Assessment(msgspec.Struct, frozen=True):
    """What Alama says about one application."""

    score: int
    default_probability: Probability
    base: float
    points: Points
    contributions: tuple[Contribution, ...]
    card: str


def assess(model: ReadyModel, application: Application) -> Assessment:
    """Score, calibrate and explain; contributions come largest first."""
    scorecard = model.scorecard_for(application)
    scored = scorecard.score(application.values)
    spelled = application.spelled or {}
    values = application.values
    contributions = [
        Contribution(spelled.get(place, name), values[place], points)
        for place, name, points in zip(
            scorecard.places, scorecard.fields, scored.contributions, strict=True
        )
    ]
    contributions.sort(key=_magnitude, reverse=True)
    return Assessment(
        score=calibration.shown_score(scored.points),
        default_probability=calibration.shown_probability(scored.points),
        base=scored.base,
        points=scored.points,
        contributions=tuple(contributions),
        card=scorecard.card.name,
    )


def _magnitude(contribution: Contribution) -> float:
    return abs(contribution.points)
