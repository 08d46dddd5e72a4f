"""The run as a whole: sound, judged on what it did not see, and telling what it is."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from alama.core import model as models
from alama.core import tables
from alama.core.kernel import BatchScorecard, probabilities
from alama.training.making.make import deal
from alama.training.pipeline import Judged, Order, Trained, judge, train
from alama.training.validation.figures import Measure
from alama.training.validation.metrics import auc
from tests.coarse import coarse_training
from tests.patterned import CATALOGUE, QUICK, patterned, unwatched

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("pipeline")


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    """How often it bags is said by test_recipe.py, and by the hash in test_reproducible.py."""
    with coarse_training():
        yield


@pytest.fixture(scope="module")
def trained() -> Trained:
    order = Order(name="small", label="bad", recipe=QUICK, currency="KES", currencies=("UGX",))
    return train(patterned(5_000), order, unwatched)


@pytest.fixture(scope="module")
def judged(trained: Trained) -> Judged:
    return judge(trained, 5, unwatched)


def test_there_is_a_card_for_the_core_and_one_for_everything(trained: Trained) -> None:
    compact, full = trained.model.cards
    assert [f.field for f in compact.features] == ["months", "inflow"]
    assert [f.field for f in full.features] == [f.name for f in CATALOGUE.fields]


def test_all_rows_learn(trained: Trained) -> None:
    assert trained.holdout is None
    assert len(trained.train) == trained.model.lineage.rows == 5_000


def test_each_fold_has_a_model_that_was_made_without_it(trained: Trained) -> None:
    assert len(trained.without) == QUICK.folds == len(np.unique(trained.folds))
    for judge_of_fold in trained.without:
        assert [card.name for card in judge_of_fold.cards] == ["compact", "full"]
        assert judge_of_fold.cards != trained.model.cards
        assert [known.card for known in judge_of_fold.likeness] == ["compact", "full"]


def test_the_model_is_sound_and_its_directions_proven(trained: Trained) -> None:
    assert models.decode(models.encode(trained.model)) == trained.model
    for card in trained.model.cards:
        assert not list(tables.monotone_breaks(card, CATALOGUE))


def test_every_card_knows_what_its_rows_look_like(trained: Trained) -> None:
    names = [likeness.card for likeness in trained.model.likeness]
    assert names == [card.name for card in trained.model.cards]


def test_it_predicts_what_it_has_not_seen(trained: Trained) -> None:
    fresh = patterned(5_000, seed=9)
    card = BatchScorecard(trained.model.cards[-1], CATALOGUE)
    probability = probabilities(card.score(fresh.columns).points)
    assert auc(fresh.labels, probability) > 0.65
    assert probability.mean() == pytest.approx(fresh.labels.mean(), abs=0.02)


def test_the_notes_tell_what_each_step_cost(trained: Trained) -> None:
    for note in trained.notes:
        assert [stage.name for stage in note.stages] == [
            "floor",
            "smooth",
            "boosted",
            "chosen",
            "banded",
            "projected",
        ]
        assert note.prices[0].field == "months", "where the pattern breaks the direction"
        assert note.prices[0].log_loss > 0.0
    assert {gain.field for gain in trained.notes[-1].withheld} == {"amount", "weekend", "device"}


def test_the_model_says_what_it_was_made_of(trained: Trained) -> None:
    model = trained.model
    assert model.lineage.rows == 5_000
    assert model.lineage.label == "bad"
    assert model.lineage.recipe["seed"] == QUICK.seed
    assert model.outcome.days_past_due == 30
    assert model.money is not None
    assert set(model.money.reference_inflows) == {"KES", "UGX"}
    for reference in model.references:
        assert sum(reference.score_shares) == pytest.approx(1.0)


def test_the_judged_model_carries_its_figures_and_another_id(
    trained: Trained, judged: Judged
) -> None:
    assert set(judged.model.lineage.metrics) == {"compact", "full", "as served"}
    assert judged.model.id != trained.model.id
    assert judged.model.cards == trained.model.cards


def test_every_row_judges_by_the_model_made_without_it(trained: Trained, judged: Judged) -> None:
    points = np.empty(5_000)
    for fold, without in enumerate(trained.without):
        rows = np.flatnonzero(trained.folds == fold)
        columns = trained.train.take(rows).columns
        points[rows] = BatchScorecard(without.cards[-1], CATALOGUE).score(columns).points
    assert (judged.validation.judged.rows, judged.validation.folds) == (5_000, QUICK.folds)
    found = judged.validation.cards[-1].performance.figure(Measure.AUC).value
    assert found == auc(trained.train.labels, -points)


def test_figures_out_of_fold_are_those_of_rows_that_nobody_has_seen(
    trained: Trained, judged: Judged
) -> None:
    fresh = patterned(20_000, seed=9)
    card = BatchScorecard(trained.model.cards[-1], CATALOGUE)
    truth = auc(fresh.labels, -card.score(fresh.columns).points)
    interval = judged.validation.cards[-1].performance.figure(Measure.AUC).interval
    assert interval.low <= truth <= interval.high


def test_a_model_of_noise_is_not_flattered() -> None:
    data = patterned(1_500)
    luck = np.random.default_rng(3).random(1_500) < 0.3
    order = Order(name="noise", label="bad", recipe=QUICK)
    trained = train(replace(data, labels=luck.astype(np.int8)), order, unwatched)

    card = BatchScorecard(trained.model.cards[-1], CATALOGUE)
    remembered = auc(trained.train.labels, -card.score(trained.train.columns).points)
    found = judge(trained, 5, unwatched).validation.served.figure(Measure.AUC)

    assert remembered > 0.53
    assert found.interval.low < 0.5
    assert found.value < remembered - 0.02


def test_a_hold_out_judges_where_one_is_asked_for() -> None:
    order = Order(name="small", label="bad", recipe=QUICK, holdout=0.2)
    trained = train(patterned(2_000), order, unwatched)
    judged = judge(trained, 5, unwatched)

    assert trained.holdout is not None
    assert (len(trained.train), len(trained.holdout)) == (1_600, 400)
    assert trained.holdout.defaults / 400 == pytest.approx(trained.train.defaults / 1_600, abs=0.01)
    assert judged.validation.folds is None
    assert (judged.validation.train.rows, judged.validation.judged.rows) == (1_600, 400)
    points = (
        BatchScorecard(trained.model.cards[-1], CATALOGUE).score(trained.holdout.columns).points
    )
    found = judged.validation.cards[-1].performance.figure(Measure.AUC).value
    assert found == auc(trained.holdout.labels, -points)


def test_those_of_one_person_stay_in_one_fold_and_folds_share_the_defaults() -> None:
    rng = np.random.default_rng(0)
    people = rng.integers(0, 700, 3_000)
    labels = (rng.random(3_000) < 0.2).astype(np.int8)
    folds = deal(labels, people, QUICK)
    assert len({(person, fold) for person, fold in zip(people, folds, strict=True)}) == len(
        np.unique(people)
    )
    rates = [labels[folds == fold].mean() for fold in range(QUICK.folds)]
    assert max(rates) - min(rates) < 0.03
