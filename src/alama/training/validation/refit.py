"""A refit beside the model that was judged: the same recipe, fitted once more on every loan.

No later loan has judged the refit. So it is measured out of fold, and held against the judged model
on the out-of-time loans, like against like: each loan is scored by tables that the refit's recipe
made without its fold, and by tables that the judged model's made without one of its own. Neither
have met the borrower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from alama.core import kernel
from alama.training.validation import metrics
from alama.training.validation.figures import Performance
from alama.training.validation.metrics import Floats, Interval, Labels, People
from alama.training.validation.tiers import tier_places

if TYPE_CHECKING:
    from alama.core.lending.ready_policy import ReadyPolicy


class RefitLead(msgspec.Struct, frozen=True):
    """The refit less the judged model, both out of fold on the out-of-time loans, paired."""

    auc: float
    judged_auc: float
    auc_interval: Interval
    log_loss: float
    judged_log_loss: float
    log_loss_interval: Interval

    @property
    def auc_ahead(self) -> float:
        return self.auc - self.judged_auc

    @property
    def log_loss_added(self) -> float:
        return self.log_loss - self.judged_log_loss

    @property
    def ranks_worse(self) -> bool:
        """Say whether the refit ranks worse, more than chance explains."""
        return self.auc_interval.high < 0.0

    @property
    def fits_worse(self) -> bool:
        """Say whether its probabilities fit worse, more than chance explains."""
        return self.log_loss_interval.low > 0.0


class Agreement(msgspec.Struct, frozen=True):
    """How far the scores of two models agree on the same loans.

    Changes are of the score as it is shown, in points, whichever way; `other_tier` is the share of
    loans that change tier.
    """

    loans: int
    rank_correlation: float
    mean_change: float
    largest_change: float
    other_tier: float


class Refitted(msgspec.Struct, frozen=True):
    """What was measured of a refit: `served` out of fold on every loan, the rest out of time."""

    folds: int
    served: Performance
    lead: RefitLead
    agreement: Agreement


class Refit(msgspec.Struct, frozen=True):
    """A refit that was asked for; None was `made` where the judged model failed a gate."""

    judged_model_id: str
    made: Refitted | None = None


def lead_of(
    labels: Labels,
    refit: Floats,
    judged: Floats,
    *,
    seed: int,
    draws: int,
    people: People | None = None,
) -> RefitLead:
    """Compare two models by their points on the same resampled loans, or people."""
    rankings = [metrics.rank(labels, -points) for points in (refit, judged)]
    losses = [
        metrics.log_losses(labels, kernel.probabilities(points)) for points in (refit, judged)
    ]

    def measured(weights: Floats) -> Floats:
        areas = [ranking.auc(weights) for ranking in rankings]
        return np.array([*areas, *(weights @ loss / weights.sum() for loss in losses)])

    auc, judged_auc, loss, judged_loss = measured(np.ones(len(labels))).tolist()
    drawn = metrics.replicate(labels, measured, draws, seed, people)
    return RefitLead(
        auc=auc,
        judged_auc=judged_auc,
        auc_interval=metrics.percentile_interval(drawn[:, 0] - drawn[:, 1]),
        log_loss=loss,
        judged_log_loss=judged_loss,
        log_loss_interval=metrics.percentile_interval(drawn[:, 2] - drawn[:, 3]),
    )


def agreement_of(
    policy: ReadyPolicy, points: Floats, judged_policy: ReadyPolicy, judged: Floats
) -> Agreement:
    """Compare the points of two models, each with the policy as it is laid out for it."""
    changes = np.abs(kernel.shown_scores(points) - kernel.shown_scores(judged))
    moved = tier_places(policy, points) != tier_places(judged_policy, judged)
    return Agreement(
        loans=len(points),
        rank_correlation=metrics.rank_correlation(points, judged),
        mean_change=float(np.mean(changes)),
        largest_change=float(np.max(changes)),
        other_tier=float(np.mean(moved)),
    )
