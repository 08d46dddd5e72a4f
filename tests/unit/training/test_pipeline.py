"""The run as a whole: sound, judged on what it did not see, and telling what it is."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from alama.core import model as models
from alama.core import tables
from alama.core.kernel import BatchScorecard, probabilities
from alama.training.dataset import Dataset
from alama.training.pipeline import Judged, Order, Trained, judge, train
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


def test_a_fifth_is_set_apart_with_its_share_of_defaults(trained: Trained) -> None:
    assert trained.holdout is not None
    assert len(trained.holdout) == 1_000
    assert trained.holdout.defaults / 1_000 == pytest.approx(
        trained.train.defaults / len(trained.train), abs=0.001
    )


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
            "fitted",
            "pairs chosen",
            "banded",
            "projected",
        ]
        assert note.prices[0].field == "months", "where the pattern breaks the direction"
        assert note.prices[0].log_loss > 0.0
    assert {gain.field for gain in trained.notes[-1].withheld} == {"amount", "weekend", "device"}


def test_the_model_says_what_it_was_made_of(trained: Trained) -> None:
    model = trained.model
    assert model.lineage.rows == 4_000
    assert model.lineage.label == "bad"
    assert model.lineage.recipe["seed"] == QUICK.seed
    assert model.outcome.days_past_due == 30
    assert model.money is not None
    assert set(model.money.reference_inflows) == {"KES", "UGX"}
    for reference in model.references:
        assert sum(reference.score_shares) == pytest.approx(1.0)


def test_that_pairs_are_left_out_is_said_of_the_rows_that_were_learnt_from(
    trained: Trained,
) -> None:
    everything = patterned(5_000)
    few, enough = (
        replace(trained, train=with_defaults(everything, defaults)) for defaults in (999, 1_000)
    )
    [said] = few.warnings
    assert said == (
        "999 of the rarer outcome are left to learn from, fewer than 1,000: each field is learnt "
        "by itself, without pairs"
    )
    assert enough.warnings == ()


def test_what_is_set_apart_does_not_count_towards_pairs() -> None:
    order = Order(name="small", label="bad", recipe=QUICK, holdout=0.2)
    trained = train(with_defaults(patterned(5_000), 1_200), order, unwatched)
    assert trained.train.defaults == 960
    assert not any(card.pairs for card in trained.model.cards)
    assert any("without pairs" in said for said in trained.warnings)


def with_defaults(data: Dataset, defaults: int) -> Dataset:
    """Give the same rows, of which the first so many defaulted."""
    return replace(data, labels=(np.arange(len(data)) < defaults).astype(np.int8))


def test_the_judged_model_carries_its_figures_and_another_id(
    trained: Trained, judged: Judged
) -> None:
    assert judged.validation is not None
    assert set(judged.model.lineage.metrics) == {"compact", "full", "as served"}
    assert judged.model.id != trained.model.id
    assert judged.model.cards == trained.model.cards


def test_where_nothing_is_set_apart_nothing_is_claimed() -> None:
    order = Order(name="small", label="bad", recipe=QUICK, holdout=0.0)
    trained = train(patterned(2_000), order, unwatched)
    judged = judge(trained, 5, unwatched)
    assert trained.holdout is None
    assert judged.validation is None
    assert judged.model == trained.model
    assert judged.model.lineage.metrics == {}
    assert np.isclose(sum(judged.model.references[0].score_shares), 1.0)
