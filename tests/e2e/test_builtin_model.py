"""What the built-in model promises, held against a fresh population whose true risk is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # ships no types

from alama.core import model, tables
from alama.core.catalogue import Kind
from alama.core.kernel import BatchScorecard, Column, choose_card, present, probabilities
from alama.core.product import PRODUCT
from alama.platform.files.columns import numbers, words
from alama.platform.files.packaged import builtin
from alama.training.builtin import POPULATION
from alama.training.population.people import PopulationOptions, batches
from alama.training.validation.metrics import (
    auc,
    calibration_error,
    calibration_line,
    calibration_noise,
)
from tests.factories import missing_gain

# One worker makes what the tests here share, once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("builtin-model")]

Floats = NDArray[np.float64]

HELD_OUT = PopulationOptions(rows=200_000, seed=77)
FOREST = PopulationOptions(rows=200_000, seed=78)
MODEL = builtin()


@dataclass(frozen=True)
class Judged:
    """Fresh applications, their outcomes, their true risk, and what the model says of them."""

    columns: dict[str, Column]
    labels: NDArray[np.int8]
    truth: Floats
    probability: Floats
    complete: NDArray[np.bool_]
    pattern: NDArray[np.int64]
    compact: NDArray[np.bool_]


def drawn(options: PopulationOptions) -> tuple[dict[str, Column], NDArray[np.int8], Floats]:
    batch = pa.Table.from_batches(batches(options)).combine_chunks().to_batches()[0]
    columns: dict[str, Column] = {}
    for field in PRODUCT.model_fields:
        read = words if field.kind is Kind.WORD else numbers
        columns[field.name] = read(batch.column(field.name), field.name)
    labels = batch.column("default").to_numpy().astype(np.int8)
    return columns, labels, batch.column("true_default_probability").to_numpy()


@pytest.fixture(scope="module")
def judged() -> Judged:
    columns, labels, truth = drawn(HELD_OUT)
    chosen = choose_card(MODEL.cards, columns, HELD_OUT.rows)
    by_card = [
        probabilities(BatchScorecard(card, MODEL.catalogue).score(columns).points)
        for card in MODEL.cards
    ]
    given = np.array([present(column) for column in columns.values()])
    return Judged(
        columns,
        labels,
        truth,
        np.choose(chosen, by_card),
        np.logical_and.reduce(given, axis=0),
        (given * 2 ** np.arange(len(given))[:, None]).sum(axis=0),
        chosen == 0,
    )


def log_odds(probability: Floats) -> Floats:
    return np.log(probability / (1.0 - probability))


def error_against_truth(probability: Floats, truth: Floats) -> float:
    """The calibration error over 20 quantile bins with the drawing of outcomes left out.

    In a pattern of 10,000 rows the luck of the draw alone would make 0.012 of error.
    """
    order = np.argsort(probability, kind="stable")
    bins = np.array_split(order, 20)
    return sum(abs(float(np.sum(probability[b] - truth[b]))) for b in bins) / len(truth)


def test_it_was_not_trained_on_the_people_it_is_judged_on() -> None:
    assert POPULATION.seed not in {HELD_OUT.seed, FOREST.seed}


def test_on_complete_rows_it_ranks_almost_as_the_truth_does(judged: Judged) -> None:
    rows = judged.complete
    gap = auc(judged.labels[rows], judged.truth[rows]) - auc(
        judged.labels[rows], judged.probability[rows]
    )
    assert gap < 0.006


def test_on_complete_rows_it_is_near_the_true_probability(judged: Judged) -> None:
    rows = judged.complete
    assert np.mean(np.abs(judged.probability - judged.truth)[rows]) < 0.015


def test_on_all_rows_it_ranks_almost_as_the_truth_does(judged: Judged) -> None:
    gap = auc(judged.labels, judged.truth) - auc(judged.labels, judged.probability)
    assert gap < 0.012


def test_it_is_calibrated_over_all(judged: Judged) -> None:
    assert calibration_error(judged.labels, judged.probability) < 0.004
    slope, _ = calibration_line(judged.labels, log_odds(judged.probability))
    assert 0.97 < slope < 1.03


def test_it_is_calibrated_for_each_common_pattern_of_missing_fields(judged: Judged) -> None:
    """Against the truth, and against outcomes by no more than their luck explains."""
    patterns, counts = np.unique(judged.pattern, return_counts=True)
    common = patterns[counts >= 0.03 * len(judged.labels)]
    assert len(common) >= 5
    for pattern in common:
        rows = judged.pattern == pattern
        assert error_against_truth(judged.probability[rows], judged.truth[rows]) < 0.01
        labels, probability = judged.labels[rows], judged.probability[rows]
        by_luck = calibration_noise(probability)
        assert calibration_error(labels, probability) < 0.01 + by_luck


def test_the_compact_card_is_calibrated_for_everyone_and_for_those_it_serves(
    judged: Judged,
) -> None:
    compact = BatchScorecard(MODEL.cards[0], MODEL.catalogue)
    probability = probabilities(compact.score(judged.columns).points)
    everyone = error_against_truth(probability, judged.truth)
    served = judged.compact
    assert 0.03 < served.mean() < 0.06
    assert error_against_truth(probability[served], judged.truth[served]) < 0.01
    slope, _ = calibration_line(judged.labels, log_odds(probability))
    assert everyone < 0.01
    assert calibration_error(judged.labels, probability) < 0.01
    assert 0.97 < slope < 1.03


def test_the_compact_card_is_as_good_as_an_unconstrained_forest_on_its_fields(
    judged: Judged,
) -> None:
    names = [feature.field for feature in MODEL.cards[0].features]
    columns, labels, _ = drawn(FOREST)
    forest = HistGradientBoostingClassifier(
        max_iter=300, learning_rate=0.05, early_stopping=True, random_state=0
    )
    fresh = np.column_stack([np.asarray(judged.columns[name]) for name in names])
    # On a busy machine its threads wait for each other by spinning, which can take minutes.
    with threadpool_limits(limits=1, user_api="openmp"):
        forest.fit(np.column_stack([np.asarray(columns[name]) for name in names]), labels)
        risky = forest.predict_proba(fresh)[:, 1]
    points = BatchScorecard(MODEL.cards[0], MODEL.catalogue).score(judged.columns).points
    behind = auc(judged.labels, risky) - auc(judged.labels, -points)
    assert behind < 0.003


def test_its_directions_are_proven_and_missing_is_never_worth_more_than_average() -> None:
    for card in MODEL.cards:
        assert not list(tables.monotone_breaks(card, MODEL.catalogue))
        for place in range(len(card.features)):
            assert missing_gain(card, place) < 1e-9


def test_it_is_small_and_knows_every_currency_of_the_product() -> None:
    assert len(model.encode(MODEL)) < 1_000_000
    assert MODEL.money is not None
    assert {"KES", "UGX", "TZS", "NGN", "XOF", "INR", "USD", "EUR"} <= set(
        MODEL.money.reference_inflows
    )


def test_a_person_can_read_it() -> None:
    for card in MODEL.cards:
        # 32 bands and 12 a side of a pair, beside "not given" and "any other": decision 5.
        assert all(len(feature.main) <= 34 for feature in card.features)
        assert all(max(len(p.halves), len(p.halves[0])) <= 14 for p in card.pairs)
