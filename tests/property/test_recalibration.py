"""A recalibrated model is the same model, so many points higher or lower."""

from __future__ import annotations

import math
from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import calibration, tables
from alama.core import model as models
from alama.core.application import Application
from alama.core.assess import explain_score
from alama.core.model import ReadyModel
from alama.core.monitoring import rates, recalibration
from alama.core.monitoring.recalibration import Given, Shift, points_of, recalibrated, shift
from alama.core.tally import SCORE_STEP
from alama.core.units import LogOdds, Points
from tests import factories
from tests.applications import random_application
from tests.factories import a_model

MODEL = a_model(seed=5, pairs=3, bands_max=5)
READY = ReadyModel(MODEL)
DAY = "2026-11-16"

SHIFTS = st.floats(-1.0, 1.0, allow_nan=False)
LOANS = st.integers(1, 3_000).flatmap(
    lambda many: st.builds(Given, st.floats(0.001, 0.9), st.just(many), st.integers(0, many))
)


def by(log_odds: float) -> Shift:
    return Shift(LogOdds(log_odds), 0.05, 1_000, 100)


def moved_by_points(probability: float, points: float) -> float:
    return calibration.probability_of(Points(factories.points_of(probability) + points))


@cache
def applications() -> list[Application]:
    rng = np.random.default_rng(11)
    return [random_application(rng, READY) for _ in range(40)]


@given(SHIFTS, st.integers(0, 39))
def test_every_score_moves_by_the_same_points_and_no_contribution_does(
    log_odds: float, place: int
) -> None:
    application = applications()[place]
    moved = ReadyModel(recalibrated(MODEL, by(log_odds), DAY))
    was, now = explain_score(READY, application), explain_score(moved, application)
    assert now.contributions == was.contributions
    assert now.points == was.points + points_of(by(log_odds))
    assert now.base == was.base + points_of(by(log_odds))


@given(SHIFTS)
def test_the_log_odds_of_default_move_by_the_shift(log_odds: float) -> None:
    points = points_of(by(log_odds))
    was = calibration.probability_of(Points(calibration.ANCHOR_POINTS))
    now = calibration.probability_of(Points(calibration.ANCHOR_POINTS + points))
    assert rates.log_odds(now) - rates.log_odds(was) == pytest.approx(log_odds, abs=1e-9)


@given(SHIFTS)
def test_it_is_read_back_with_all_checks_and_says_what_it_was_made_from(log_odds: float) -> None:
    moved = recalibrated(MODEL, by(log_odds), DAY)
    assert models.decode(models.encode(moved)) == moved
    assert moved.id != MODEL.id
    made = moved.lineage.recalibrated
    assert made is not None
    assert (made.model_id, made.on, made.shift) == (MODEL.id, DAY, log_odds)
    assert (made.loans, made.defaults) == (1_000, 100)
    unmoved = msgspec.structs.replace(moved.lineage, recalibrated=None)
    assert unmoved == MODEL.lineage


@given(SHIFTS)
def test_references_move_along_in_whole_steps_and_keep_their_shares(log_odds: float) -> None:
    points = points_of(by(log_odds))
    moved = recalibrated(MODEL, by(log_odds), DAY)
    for was, now in zip(MODEL.references, moved.references, strict=True):
        step = now.score_edges[0] - was.score_edges[0]  # 400, which stays on the scale
        assert step % SCORE_STEP == 0
        assert abs(step - points) <= SCORE_STEP / 2.0
        assert len(now.score_shares) == len(now.score_edges) + 1
        assert math.fsum(now.score_shares) == pytest.approx(1.0)


@given(st.lists(LOANS, min_size=1, max_size=6))
def test_the_mean_prediction_of_the_sample_is_what_was_realised(sample: list[Given]) -> None:
    found = shift(sample)
    if found is None or abs(found.log_odds) > 5.0:
        return
    points = points_of(found)
    predicted = math.fsum(one.loans * moved_by_points(one.probability, points) for one in sample)
    assert predicted == pytest.approx(found.defaults, rel=1e-6)
    assert recalibration.predicted_rate(sample, found.log_odds) == pytest.approx(
        found.defaults / found.loans, rel=1e-9
    )


def test_edges_that_leave_the_scale_are_put_with_their_neighbours() -> None:
    reference = models.Reference(
        MODEL.cards[0].name, (310, 325, 825, 850), (0.1, 0.2, 0.4, 0.2, 0.1)
    )
    model = models.seal(msgspec.structs.replace(MODEL, references=(reference,)))
    [down] = recalibrated(model, by(20.0 / calibration.POINTS_PER_LOG_ODDS), DAY).references
    assert down.score_edges == (305, 805, 830)
    assert down.score_shares == pytest.approx((0.3, 0.4, 0.2, 0.1))
    [up] = recalibrated(model, by(-20.0 / calibration.POINTS_PER_LOG_ODDS), DAY).references
    assert up.score_edges == (330, 345, 845)
    assert up.score_shares == pytest.approx((0.1, 0.2, 0.4, 0.3))


def test_a_second_recalibration_follows_the_first_and_has_one_remark_in_its_name() -> None:
    first = recalibrated(MODEL, by(0.2), DAY)
    second = recalibrated(first, by(-0.2), "2027-02-01")
    assert second.name == f"{MODEL.name}, recalibrated 2027-02-01"
    made = second.lineage.recalibrated
    assert made is not None
    assert made.model_id == first.id
    for was, now in zip(MODEL.cards, second.cards, strict=True):
        assert now.base == pytest.approx(was.base, abs=2 * tables.GRID)


def test_a_document_from_before_recalibration_keeps_its_id() -> None:
    assert b"recalibrated" not in models.encode(MODEL)
