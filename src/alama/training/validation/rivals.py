"""The candidate beside another model on the same loans: that in use, or itself without a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from alama.core import kernel
from alama.training.validation import metrics
from alama.training.validation.figures import log_odds_of
from alama.training.validation.metrics import Floats, Interval, Labels, People

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Ranked(msgspec.Struct, frozen=True):
    """One model on the out-of-time loans, under the lender's policy.

    `approved` is the share of the loans that the policy would approve, `approved_default_rate` how
    many of those defaulted; None where none is approved.
    """

    name: str
    model_id: str
    auc: float
    auc_interval: Interval
    log_loss: float
    slope: float
    predicted_rate: float
    approved: float
    approved_default_rate: float | None


class Comparison(msgspec.Struct, frozen=True):
    """The candidate and another; `ahead` is the candidate's AUC less the other's, paired.

    `withheld` are fields that the other reads and that were excluded from the history: here it saw
    them as not given. `refitted`: the other learned from every loan of its history, perhaps from
    these.
    """

    candidate: Ranked
    other: Ranked
    ahead: float
    ahead_interval: Interval
    withheld: tuple[str, ...] = ()
    refitted: bool = False

    @property
    def behind(self) -> bool:
        """Say whether the candidate ranks worse, more than chance explains."""
        return self.ahead_interval.high < 0.0


@dataclass(frozen=True, slots=True)
class Entrant:
    """A model that scored the loans: its name and id, its points, and what is approved by it."""

    name: str
    model_id: str
    points: Floats
    approved: NDArray[np.bool_]


def compare(
    labels: Labels,
    candidate: Entrant,
    other: Entrant,
    *,
    seed: int,
    draws: int,
    people: People | None = None,
) -> Comparison:
    """Measure both on the same resampled loans, or on those of the same resampled people."""
    rankings = [metrics.rank(labels, -entrant.points) for entrant in (candidate, other)]
    replicates = metrics.replicate(
        labels,
        lambda weights: np.array([ranking.auc(weights) for ranking in rankings]),
        draws,
        seed,
        people,
    )
    ours, theirs = (
        _ranked(labels, entrant, ranking.auc(), replicates[:, place])
        for place, (entrant, ranking) in enumerate(zip((candidate, other), rankings, strict=True))
    )
    return Comparison(
        ours,
        theirs,
        ours.auc - theirs.auc,
        metrics.percentile_interval(replicates[:, 0] - replicates[:, 1]),
    )


def _ranked(labels: Labels, entrant: Entrant, area: float, replicates: Floats) -> Ranked:
    chances = kernel.probabilities(entrant.points)
    lent = labels[entrant.approved]
    return Ranked(
        name=entrant.name,
        model_id=entrant.model_id,
        auc=area,
        auc_interval=metrics.percentile_interval(replicates),
        log_loss=metrics.log_loss(labels, chances),
        slope=metrics.calibration_line(labels, log_odds_of(entrant.points))[0],
        predicted_rate=float(np.mean(chances)),
        approved=float(np.mean(entrant.approved)),
        approved_default_rate=float(np.mean(lent)) if len(lent) else None,
    )
