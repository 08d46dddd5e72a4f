"""Small files drawn from a real table, and what a single field of one is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.kernel import Words
from alama.training.validation import metrics
from bench.engine.folds import Fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from alama.core.kernel import Column
    from alama.training.dataset import Dataset

    Floats = NDArray[np.float64]
    Labels = NDArray[np.int8]

DEFAULTS: Final = (40, 100, 300, 1_000)
ALL: Final = "all"
LEARNT_SHARE_MAX: Final = 0.8
"""At least a fifth of the defaults is left to judge by."""

JUDGED_ROWS_MAX: Final = 20_000


def sizes(defaults: int) -> dict[str, int]:
    """Name the sizes of a table of so many defaults, each with those to learn from."""
    most = round(LEARNT_SHARE_MAX * defaults)
    return {**{str(size): size for size in DEFAULTS if size <= most}, ALL: most}


def draw(labels: Labels, defaults: int, number: int) -> Fold:
    """Deal rows with so many defaults at the table's own rate; the rest, or some of it, judges."""
    rng = np.random.default_rng([2024, defaults, number])
    bad, good = (rng.permutation(np.flatnonzero(labels == outcome)) for outcome in (1, 0))
    repaid = round(defaults * len(good) / len(bad))
    left = len(labels) - defaults - repaid
    share = min(1.0, JUDGED_ROWS_MAX / left)
    judging = [rest[: round(share * len(rest))] for rest in (bad[defaults:], good[repaid:])]
    return Fold(
        name=str(number),
        train=np.sort(np.concatenate([bad[:defaults], good[:repaid]])),
        test=np.sort(np.concatenate(judging)),
    )


def best_field(train: Dataset, test: Dataset) -> Floats:
    """Rank the rows to judge by the field that alone ranks the rows to learn from best."""

    def learnt(name: str) -> float:
        column = train.columns[name]
        return metrics.auc(train.labels, risk_alone(column, train.labels, column))

    best = max(train.columns, key=learnt)
    return risk_alone(train.columns[best], train.labels, test.columns[best])


def risk_alone(seen: Column, labels: Labels, asked: Column) -> Floats:
    """Give figures that rise with the risk that a field alone has shown on labelled rows.

    Words have their default rates. Numbers keep their order, or its reverse; those who gave none
    stand where their own default rate ranks them best.
    """
    if isinstance(seen, Words):
        assert isinstance(asked, Words)
        assert seen.vocabulary == asked.vocabulary
        # A missing word has the code -1, and so the last place.
        places = len(seen.vocabulary) + 1
        rows = np.bincount(seen.codes % places, minlength=places)
        bad = np.bincount(seen.codes % places, labels, places)
        return np.where(rows > 0, bad / np.maximum(rows, 1), labels.mean())[asked.codes]
    assert not isinstance(asked, Words)
    given = ~np.isnan(seen)
    told, outcomes = seen[given], labels[given]
    both = bool(outcomes.any()) and not outcomes.all()
    sign = -1.0 if both and metrics.auc(outcomes, told) < 0.5 else 1.0
    place = _place_of_missing(sign * told, outcomes, labels[~given])
    return np.where(np.isnan(asked), place, sign * asked)


def _place_of_missing(told: Floats, outcomes: Labels, missing: Labels) -> float:
    """Find where among the others those without a value are ranked best, as one group."""
    if len(told) == 0:
        return 0.0
    if len(missing) == 0:
        return float(np.median(told))
    order = np.argsort(told, kind="stable")
    bad_below = np.concatenate([[0], np.cumsum(outcomes[order], dtype=np.int64)])
    repaid_below = np.arange(len(told) + 1) - bad_below
    bad = int(missing.sum())
    # Couples of a default and a repaid loan that stand in the right order, one of them missing.
    right = bad * repaid_below + (len(missing) - bad) * (bad_below[-1] - bad_below)
    around = np.concatenate([[-np.inf], told[order], [np.inf]])
    at = int(np.argmax(right))
    return float((around[at] + around[at + 1]) / 2.0)
