from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from alama.core import kernel
from alama.core import model as models
from alama.core.application import Application
from alama.core.errors import TrainingProblem
from alama.core.model import Model, ReadyModel
from alama.training.recipe import CardNotes, ConstraintPrice
from alama.training.validation import metrics
from alama.training.validation.figures import Measure, log_odds_of, performance
from alama.training.validation.peers import beside_peers, compare
from alama.training.validation.report import findings
from alama.training.validation.unseen import Unseen
from alama.training.validation.validate import (
    AS_SERVED,
    Period,
    Validation,
    metrics_for_model,
    validate,
)
from tests.coarse import coarse_training
from tests.factories import a_dataset, a_model

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("validate")

ROWS = 3_000
NOTES = [CardNotes("full", (), (ConstraintPrice("mm_months", 1e-5),), (), 1.0)]


@pytest.fixture(scope="module")
def model() -> Model:
    return a_model(7)


@pytest.fixture
def coarse() -> Iterator[None]:
    """For what is not about the peers, nor shared."""
    with coarse_training():
        yield


@pytest.fixture(scope="module")
def validation(model: Model) -> Validation:
    train, holdout = (a_dataset(model, seed=seed, rows=ROWS) for seed in (1, 2))
    return validate(Unseen.set_apart(model, train, holdout), NOTES, seed=5, draws=40)


def test_every_card_and_the_model_as_served_are_measured(
    model: Model, validation: Validation
) -> None:
    assert [card.card for card in validation.cards] == [card.name for card in model.cards]
    assert validation.served.name == AS_SERVED
    for performed in (validation.served, *(card.performance for card in validation.cards)):
        assert [figure.measure for figure in performed.figures] == list(Measure)
        for figure in performed.figures:
            assert figure.interval.low <= figure.value <= figure.interval.high


def test_figures_are_those_of_the_metrics(model: Model, validation: Validation) -> None:
    holdout = a_dataset(model, seed=2, rows=ROWS)
    card = model.cards[-1]
    points = kernel.BatchScorecard(card, model.catalogue).score(holdout.columns).points
    chances = kernel.probabilities(points)
    performed = validation.cards[-1].performance
    found = {figure.measure: figure.value for figure in performed.figures}
    assert found == pytest.approx(
        {
            Measure.AUC: metrics.auc(holdout.labels, chances),
            Measure.GINI: 2.0 * metrics.auc(holdout.labels, chances) - 1.0,
            Measure.KS: metrics.rank(holdout.labels, chances).auc_and_ks()[1],
            Measure.BRIER: brier_score_loss(holdout.labels, chances),
            Measure.LOG_LOSS: metrics.log_loss(holdout.labels, chances),
            Measure.CALIBRATION_ERROR: metrics.calibration_error(holdout.labels, chances),
            Measure.CALIBRATION_SLOPE: metrics.calibration_line(
                holdout.labels, log_odds_of(points)
            )[0],
        }
    )


def test_the_quick_slope_interval_agrees_with_full_fits(
    model: Model, validation: Validation
) -> None:
    holdout = a_dataset(model, seed=2, rows=ROWS)
    card = model.cards[-1]
    points = kernel.BatchScorecard(card, model.catalogue).score(holdout.columns).points
    full = metrics.replicate(
        holdout.labels,
        lambda w: np.array([metrics.calibration_line(holdout.labels, log_odds_of(points), w)[0]]),
        40,
        5,
    )
    interval = metrics.percentile_interval(full[:, 0])
    quick = validation.cards[-1].performance.figure(Measure.CALIBRATION_SLOPE).interval
    assert (quick.low, quick.high) == pytest.approx((interval.low, interval.high), abs=0.02)


def test_scores_that_part_the_outcomes_without_error_can_be_measured() -> None:
    labels = (np.arange(400) % 4 == 0).astype(np.int8)
    points = np.where(labels == 1, -2_000.0, 3_000.0) + np.arange(400.0) % 7.0
    found = performance("leak", labels, points, seed=0, draws=5)
    assert found.figure(Measure.AUC).value == 1.0
    assert all(math.isfinite(figure.value) for figure in found.figures)


def test_rows_are_served_by_the_card_the_service_would_take(
    model: Model, validation: Validation
) -> None:
    ready = ReadyModel(model)
    for pattern in validation.patterns:
        values = tuple(
            ("x" if not field.numeric else 1.0) if field.name in pattern.given else None
            for field in model.catalogue.fields
        )
        assert pattern.card == ready.scorecard_for(Application(values)).card.name
    assert {pattern.card for pattern in validation.patterns} == {"compact", "full"}


def test_patterns_are_common_and_name_their_fields(validation: Validation) -> None:
    described = [pattern.described for pattern in validation.patterns]
    assert "every field" in described
    assert any(text.startswith("only mm_months, avg_inflow") for text in described)
    assert all(pattern.rows >= 0.03 * ROWS for pattern in validation.patterns)
    counts = [pattern.rows for pattern in validation.patterns]
    assert counts == sorted(counts, reverse=True)


def test_each_field_of_a_card_has_its_cost_and_its_shift(
    model: Model, validation: Validation
) -> None:
    for card, found in zip(model.cards, validation.cards, strict=True):
        fields = [feature.field for feature in card.features]
        assert [cost.field for cost in found.missing_costs] == fields
        assert [shift.field for shift in found.stability.features] == fields
        assert len(found.stability.months) == 12
        assert all(len(shift.by_month) == 12 for shift in found.stability.features)


def test_the_same_population_is_called_stable(validation: Validation) -> None:
    for card in validation.cards:
        assert card.stability.score_psi is not None
        assert card.stability.score_psi < 0.02
        assert all(shift.psi is not None and shift.psi < 0.05 for shift in card.stability.features)


@pytest.mark.usefixtures("coarse")
def test_a_shifted_field_shows_in_its_index_and_in_the_findings(model: Model) -> None:
    train, holdout = (a_dataset(model, seed=seed, rows=ROWS) for seed in (1, 2))
    inflow = holdout.columns["avg_inflow"]
    assert isinstance(inflow, np.ndarray)
    holdout = replace(holdout, columns={**holdout.columns, "avg_inflow": inflow * 0.1})
    moved = validate(Unseen.set_apart(model, train, holdout), [], seed=0, draws=5)
    shifts = {shift.field: shift.psi or 0.0 for shift in moved.cards[-1].stability.features}
    assert max(shifts, key=shifts.__getitem__) == "avg_inflow"
    assert any("avg_inflow" in found for found in findings(moved))


def test_peers_are_measured_only_where_they_are_asked_for(validation: Validation) -> None:
    assert all(card.peers == () for card in validation.cards)


def test_peers_are_named_and_compared_on_the_same_rows(
    model: Model, validation: Validation
) -> None:
    train, holdout = (a_dataset(model, seed=seed, rows=ROWS) for seed in (1, 2))
    beside = beside_peers(validation, Unseen.set_apart(model, train, holdout), seed=5, draws=40)
    for card in beside.cards:
        assert [peer.name for peer in card.peers] == ["logistic regression", "boosted forest"]
        ours = card.performance.figure(Measure.AUC).value
        for peer in card.peers:
            assert peer.ahead == pytest.approx(ours - peer.auc)
            assert peer.ahead_interval.low <= peer.ahead <= peer.ahead_interval.high
            assert peer.train_rows == ROWS
            assert 0.5 < peer.auc < 1.0


def test_prices_come_from_the_notes_of_the_card(validation: Validation) -> None:
    assert [len(card.prices) for card in validation.cards] == [0, 1]


def test_figures_for_the_model_are_rounded_and_encode(model: Model, validation: Validation) -> None:
    found = metrics_for_model(validation)
    assert set(found) == {"compact", "full", AS_SERVED}
    for listed in found.values():
        assert [metric.name for metric in listed] == [measure.value for measure in Measure]
        for metric in listed:
            assert metric.low is not None
            assert metric.high is not None
            for value in (metric.value, metric.low, metric.high):
                assert value == round(value, 5)
                assert math.isfinite(value)
    lineage = msgspec.structs.replace(model.lineage, metrics=found)
    sealed = models.seal(msgspec.structs.replace(model, lineage=lineage))
    assert models.decode(models.encode(sealed)) == sealed


def test_validation_repeats_for_a_seed(model: Model, validation: Validation) -> None:
    train, holdout = (a_dataset(model, seed=seed, rows=ROWS) for seed in (1, 2))
    again = validate(Unseen.set_apart(model, train, holdout), NOTES, seed=5, draws=40)
    assert metrics_for_model(again) == metrics_for_model(validation)


@pytest.mark.usefixtures("coarse")
def test_progress_runs_from_nothing_to_all(model: Model) -> None:
    train, holdout = (a_dataset(model, seed=seed, rows=600) for seed in (1, 2))
    heard: list[float] = []
    unseen = Unseen.set_apart(model, train, holdout)
    validate(unseen, [], seed=0, draws=2, progress=lambda share, _: heard.append(share))
    assert heard == sorted(heard)
    assert (heard[0], heard[-1]) == (0.0, 1.0)


@pytest.mark.usefixtures("coarse")
def test_rows_without_dates_have_no_months(model: Model) -> None:
    train, holdout = (replace(a_dataset(model, seed=seed, rows=600), dates=None) for seed in (1, 2))
    found = validate(Unseen.set_apart(model, train, holdout), [], seed=0, draws=2)
    assert found.cards[0].stability.months == ()
    assert found.train.period is None


@pytest.mark.usefixtures("coarse")
def test_findings_warn_of_probabilities_that_are_too_extreme(model: Model) -> None:
    train, holdout = (a_dataset(model, seed=seed, rows=ROWS) for seed in (1, 2))
    flipped = np.random.default_rng(0).random(ROWS) < 0.25
    noisy = replace(holdout, labels=np.where(flipped, 1 - holdout.labels, holdout.labels))
    found = findings(validate(Unseen.set_apart(model, train, noisy), [], seed=0, draws=40))
    assert any("overconfident" in sentence for sentence in found)
    assert any("were predicted to default" in sentence for sentence in found)


def test_findings_say_when_the_split_cannot_show_drift(validation: Validation) -> None:
    assert "same period" in findings(validation)[-1]
    later = msgspec.structs.replace(validation.judged, period=Period("2025-01-01", "2025-02-01"))
    assert not any(
        "same period" in f for f in findings(msgspec.structs.replace(validation, judged=later))
    )
    undated = msgspec.structs.replace(validation.judged, period=None)
    assert "no dates" in findings(msgspec.structs.replace(validation, judged=undated))[-1]


def test_hold_out_rows_of_one_outcome_are_refused(model: Model) -> None:
    data = a_dataset(model, rows=50)
    repaid = replace(data, labels=np.zeros(50, dtype=np.int8))
    with pytest.raises(TrainingProblem):
        validate(Unseen.set_apart(model, data, repaid), [], seed=0)


# ----------------------------------------------------------------------------------- out of fold


def moved(model: Model, points: float) -> Model:
    """The same model with another base."""
    return msgspec.structs.replace(
        model,
        cards=tuple(msgspec.structs.replace(c, base=c.base + points) for c in model.cards),
    )


@pytest.fixture(scope="module")
def out_of_fold(model: Model) -> Unseen:
    """Half of the rows are judged by one model, half by another; the whole one is another still."""
    rows = a_dataset(model, seed=2, rows=ROWS)
    folds = np.arange(ROWS) % 2
    without = model, moved(model, 40.0)
    return Unseen.out_of_fold(moved(model, 90.0), without, rows, folds.astype(np.int8))


@pytest.fixture(scope="module")
def judged_out_of_fold(out_of_fold: Unseen) -> Validation:
    return validate(out_of_fold, NOTES, seed=5, draws=40)


def test_out_of_fold_each_row_is_scored_by_the_model_that_has_not_seen_it(
    model: Model, judged_out_of_fold: Validation
) -> None:
    rows = a_dataset(model, seed=2, rows=ROWS)
    lift = 40.0 * (np.arange(ROWS) % 2)
    for card, found in zip(model.cards, judged_out_of_fold.cards, strict=True):
        points = kernel.BatchScorecard(card, model.catalogue).score(rows.columns).points + lift
        assert found.performance.figure(Measure.AUC).value == metrics.auc(rows.labels, -points)
        assert found.performance.predicted_rate == pytest.approx(
            np.mean(kernel.probabilities(points))
        )
    patterns = judged_out_of_fold.patterns
    predicted = sum(p.rows * p.predicted_rate for p in patterns) / sum(p.rows for p in patterns)
    assert predicted == pytest.approx(judged_out_of_fold.served.predicted_rate, rel=0.1)


def test_the_way_of_judging_is_told(validation: Validation, judged_out_of_fold: Validation) -> None:
    assert (validation.folds, validation.rows_that_judge) == (None, "hold-out rows")
    assert (judged_out_of_fold.folds, judged_out_of_fold.rows_that_judge) == (2, "out-of-fold rows")
    assert judged_out_of_fold.train == judged_out_of_fold.judged


def test_what_was_scored_fold_by_fold_is_put_together(model: Model, validation: Validation) -> None:
    rows = a_dataset(model, seed=2, rows=ROWS)
    folds = (np.arange(ROWS) % 3).astype(np.int8)
    alike = Unseen.out_of_fold(model, (model, model, model), rows, folds)
    found = validate(alike, NOTES, seed=5, draws=40)
    assert found.served == validation.served
    assert found.patterns == validation.patterns
    for apart, together in zip(validation.cards, found.cards, strict=True):
        assert together.performance == apart.performance
        assert together.missing_costs == apart.missing_costs


def test_out_of_fold_rows_move_by_month_alone(judged_out_of_fold: Validation) -> None:
    for card in judged_out_of_fold.cards:
        assert card.stability.score_psi is None
        assert all(shift.psi is None for shift in card.stability.features)
        assert len(card.stability.months) == 12
        assert all(month.score_psi < 0.2 for month in card.stability.months)
    assert not any("moved between" in found for found in findings(judged_out_of_fold))
    assert "same period" in findings(judged_out_of_fold)[-1]


@pytest.mark.usefixtures("coarse")
def test_peers_do_not_see_the_fold_that_they_are_judged_on(model: Model) -> None:
    rows = a_dataset(model, seed=2, rows=900)
    luck = (np.random.default_rng(0).random(900) < 0.3).astype(np.int8)
    folds = (np.arange(900) % 2).astype(np.int8)
    unseen = Unseen.out_of_fold(model, (model, model), replace(rows, labels=luck), folds)
    for peer in compare(unseen, 1, seed=0, draws=5):
        assert peer.train_rows == 450
        assert abs(peer.auc - 0.5) < 0.07, "nothing can be known of luck"


def test_a_fold_that_holds_no_row_is_passed_over(model: Model) -> None:
    rows = a_dataset(model, seed=2, rows=600)
    folds = (2 * (np.arange(600) % 2)).astype(np.int8)
    unseen = Unseen.out_of_fold(model, (model, model, model), rows, folds)
    assert [len(part.rows) for part in unseen.parts()] == [300, 300]
    assert [len(unseen.learned(part)) for part in unseen.parts()] == [300, 300]


def test_some_rows_are_taken_evenly_with_their_folds(out_of_fold: Unseen) -> None:
    some = out_of_fold.some(600)
    assert np.array_equal(some.rows.labels, out_of_fold.rows.labels[::5])
    assert np.array_equal(some.folds, out_of_fold.folds[::5])
    assert out_of_fold.some(ROWS) is out_of_fold
