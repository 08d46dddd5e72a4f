"""A refit beside the model that was judged: the same recipe, fitted once more on every loan.

No later loan has judged the refit. So it is measured out of fold, and held against the judged model
on the out-of-time loans, like against like: each loan is scored by tables that the refit's recipe
made without its fold, and by tables that the judged model's made without one of its own. Neither
have met the borrower.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from scipy import special

from alama.core import kernel
from alama.training.validation import metrics
from alama.training.validation.figures import Performance
from alama.training.validation.metrics import Floats, Interval, Labels
from alama.training.validation.tiers import tier_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from alama.core.lending.ready_policy import ReadyPolicy

    Folds = NDArray[np.int8]


class RefitLead(msgspec.Struct, frozen=True):
    """The refit beside the judged model, out of fold on the out-of-time loans: means of the folds.

    Intervals are of the refit less the judged model.
    """

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


def lead_of(labels: Labels, refit: Floats, judged: Floats, folds: Folds) -> RefitLead:
    """Compare two models by their points on the same loans, fold by fold.

    The loans of a fold are scored by the same tables, so chance is told by how far folds differ: to
    draw loans would hold none of the luck in fitting, and stop refits that are sound.
    """
    by_fold = np.array(
        [
            [
                *(metrics.auc(labels[rows], -points[rows]) for points in (refit, judged)),
                *(
                    metrics.log_loss(labels[rows], kernel.probabilities(points[rows]))
                    for points in (refit, judged)
                ),
            ]
            for fold in np.unique(folds)
            if 0 < np.count_nonzero(labels[rows := np.flatnonzero(folds == fold)]) < len(rows)
        ]
    )
    auc, judged_auc, loss, judged_loss = by_fold.mean(axis=0).tolist()
    return RefitLead(
        auc=auc,
        judged_auc=judged_auc,
        auc_interval=_over_folds(by_fold[:, 0] - by_fold[:, 1]),
        log_loss=loss,
        judged_log_loss=judged_loss,
        log_loss_interval=_over_folds(by_fold[:, 2] - by_fold[:, 3]),
    )


def _over_folds(differences: Floats) -> Interval:
    """Give Student's 95 % interval of the mean of a few folds."""
    count = len(differences)
    assert count > 1, "so many defaults judge that folds hold both outcomes"
    mean = float(np.mean(differences))
    spread = float(np.std(differences, ddof=1)) / math.sqrt(count)
    reach = float(special.stdtrit(count - 1, 0.975)) * spread
    return Interval(mean - reach, mean + reach)


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
