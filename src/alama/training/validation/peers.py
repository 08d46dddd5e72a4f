"""Two well-known models on the same rows, so that a reader can place ours beside them.

Plain logistic regression shows what the tables buy; an unconstrained boosted forest what reading
as a scorecard, and keeping its risk directions, costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # ships no types

from alama.core.kernel import Column, Words
from alama.training.validation import metrics
from alama.training.validation.figures import PeerComparison
from alama.training.validation.unseen import card_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.validation.metrics import Floats, Labels
    from alama.training.validation.unseen import Unseen
    from alama.training.validation.validate import Validation


ROWS_MAX: Final = 200_000
"""Rows a peer is trained on at most; more would take minutes and hardly change it."""

_WORDS_MAX: Final = 60
"""Words a peer tells apart in one field; the rarer ones are one group."""

_BAGS: Final = 4
"""Our own model is bagged; a single forest beside it would flatter us."""

_EARLY_STOPPING_ROWS_MIN: Final = 5_000
"""Below this a tenth of the rows is too little to stop by."""


def beside_peers(
    validation: Validation,
    unseen: Unseen,
    *,
    seed: int,
    draws: int,
    progress: Callable[[float, str], None] = lambda _share, _step: None,
) -> Validation:
    """Add to a validation how each card stands beside peers that read the same fields.

    Out of fold they are trained without the fold as well.
    """
    cards = []
    for place, card in enumerate(validation.cards):
        progress(place / len(validation.cards), f"training peers of the {card.card} card")
        compared = compare(unseen, place, seed=seed, draws=draws)
        cards.append(msgspec.structs.replace(card, peers=compared))
    progress(1.0, "measured")
    return msgspec.structs.replace(validation, cards=tuple(cards))


def compare(unseen: Unseen, card: int, *, seed: int, draws: int) -> tuple[PeerComparison, ...]:
    """Train the peers on the fields of a card, given by its place, and compare them with it."""
    fields = [feature.field for feature in unseen.model.cards[card].features]
    labels = unseen.rows.labels
    scores, line, forest = np.empty((3, len(labels)))
    train_rows = 0
    for part in unseen.parts():
        sample = _sample(unseen.learned(part), seed)
        train_rows = max(train_rows, len(sample))
        scores[part.places] = -card_points(part, card)
        line[part.places] = _logistic(fields, sample, part.rows)
        forest[part.places] = _forest(fields, sample, part.rows, seed)
    predicted = {"logistic regression": line, "boosted forest": forest}
    rankings = [metrics.rank(labels, given) for given in (scores, *predicted.values())]
    replicates = metrics.replicate(
        labels,
        lambda weights: np.array([ranking.auc(weights) for ranking in rankings]),
        draws,
        seed,
        unseen.rows.people,
    )
    ours = rankings[0].auc()
    compared = []
    for place, (name, probabilities) in enumerate(predicted.items(), start=1):
        theirs = rankings[place].auc()
        ahead = replicates[:, 0] - replicates[:, place]
        compared.append(
            PeerComparison(
                name=name,
                auc=theirs,
                auc_interval=metrics.percentile_interval(replicates[:, place]),
                log_loss=metrics.log_loss(labels, probabilities),
                calibration_error=metrics.calibration_error(labels, probabilities),
                ahead=ours - theirs,
                ahead_interval=metrics.percentile_interval(ahead),
                train_rows=train_rows,
            )
        )
    return tuple(compared)


def _sample(train: Dataset, seed: int) -> Dataset:
    if len(train) <= ROWS_MAX:
        return train
    rows = np.random.default_rng(seed).choice(len(train), ROWS_MAX, replace=False)
    return train.take(np.sort(rows))


def _logistic(fields: Sequence[str], train: Dataset, judged: Dataset) -> Floats:
    designs = [_Design(train.columns[name], train.labels) for name in fields]
    matrices = [
        np.column_stack([d.of(data.columns[n]) for n, d in zip(fields, designs, strict=True)])
        for data in (train, judged)
    ]
    machine = LogisticRegression(solver="newton-cholesky", max_iter=200)
    machine.fit(matrices[0], train.labels)
    return _chance_of_default(machine, matrices[1])


class _Design:
    """A field as columns for a line: the number (median where missing) and a flag; or its words."""

    def __init__(self, column: Column, labels: Labels) -> None:
        if isinstance(column, Words):
            self._kept = _frequent_words(column)
            return
        self._kept = ()
        given = column[~np.isnan(column)]
        self._median = float(np.median(given)) if len(given) else 0.0
        self._spread = max(float(np.std(given)) if len(given) else 0.0, 1e-12)
        self._flagged = len(given) < len(labels)

    def of(self, column: Column) -> Floats:
        if isinstance(column, Words):
            ranks = _word_ranks(column, self._kept)
            chosen: Floats = (ranks[:, None] == np.arange(len(self._kept))).astype(np.float64)
            return chosen
        missing = np.isnan(column)
        filled = (np.where(missing, self._median, column) - self._median) / self._spread
        return np.column_stack([filled, missing]) if self._flagged else filled[:, None]


def _forest(fields: Sequence[str], train: Dataset, judged: Dataset, seed: int) -> Floats:
    kept = {
        name: _frequent_words(column)
        for name in fields
        if isinstance(column := train.columns[name], Words)
    }
    matrices = [
        np.column_stack([_forest_column(data.columns[n], kept.get(n, ())) for n in fields])
        for data in (train, judged)
    ]
    large = len(train) >= _EARLY_STOPPING_ROWS_MIN
    chances = np.zeros(len(judged))
    # On a busy machine its threads wait for each other by spinning, which can take minutes.
    with threadpool_limits(limits=1, user_api="openmp"):
        for bag, weights in enumerate(metrics.resamples(len(train), _BAGS, seed)):
            forest = HistGradientBoostingClassifier(
                learning_rate=0.08,
                max_iter=300 if large else 60,
                max_leaf_nodes=15,
                min_samples_leaf=40,
                l2_regularization=1.0,
                early_stopping=large,
                categorical_features=[name in kept for name in fields],
                random_state=(seed + bag) % 2**32,
            )
            # Early stopping draws rows of its own for each bag; few rows are resampled instead, row
            # by row: given weights, the library weighs every border of every bin, ten times slower.
            often = np.ones(len(train), int) if large else weights.astype(int)
            rows = np.repeat(np.arange(len(train)), often)
            forest.fit(matrices[0][rows], train.labels[rows])
            chances += _chance_of_default(forest, matrices[1]) / _BAGS
    return chances


def _forest_column(column: Column, kept: Sequence[str]) -> Floats:
    if not isinstance(column, Words):
        return column
    ranks = _word_ranks(column, kept).astype(np.float64)
    return np.where(ranks < 0, np.nan, ranks)


def _frequent_words(column: Words) -> tuple[str, ...]:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.vocabulary))
    most = sorted(range(len(counts)), key=lambda code: (-counts[code], column.vocabulary[code]))
    return tuple(column.vocabulary[code] for code in most[:_WORDS_MAX] if counts[code])


def _word_ranks(column: Words, kept: Sequence[str]) -> NDArray[np.int64]:
    """Give the place of each row's word among the kept ones; -1 missing, their count for others."""
    place = {word: rank for rank, word in enumerate(kept)}
    rank_of_code = np.array(
        [*(place.get(word, len(kept)) for word in column.vocabulary), -1], dtype=np.int64
    )
    return rank_of_code[column.codes]


def _chance_of_default(
    machine: LogisticRegression | HistGradientBoostingClassifier, matrix: Floats
) -> Floats:
    chances: Floats = machine.predict_proba(matrix)[:, 1]
    return chances
