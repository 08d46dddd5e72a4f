"""How rows are dealt, and what a card and the cards that judge it may know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # ships no types

from alama.core import tables
from alama.core.kernel import BatchScorecard
from alama.core.tables import Card
from alama.training.dataset import Dataset
from alama.training.making import learn, make
from alama.training.making.card import Calibration
from alama.training.making.choose import Choice
from alama.training.making.make import Made, Part, deal, make_card
from alama.training.recipe import Recipe
from alama.training.validation.metrics import auc
from tests.factories import missing_gain
from tests.patterned import QUICK, patterned, unwatched
from tests.tries import tries

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("make")

SEEDS = st.integers(0, 10_000)
FOLDS = st.integers(2, 7)
DATA = patterned(1_200, seed=3)
# Bands may cost all there is, so that no row has a say in how fine they are: test_bands.py has it.
RECIPE = replace(QUICK, folds=3, bags=1, band_cost=1.0).for_data(len(DATA), DATA.defaults)
LEFT_OUT = 1


@given(SEEDS, FOLDS, st.integers(2, 300))
@tries(100)
def test_folds_have_as_many_rows_and_defaults_as_any_other_within_one(
    seed: int, count: int, rows: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = (rng.random(rows) < rng.random()).astype(np.int8)
    folds = deal(labels, None, Recipe(seed=seed, folds=count))
    for outcome in (0, 1):
        dealt = np.bincount(folds[labels == outcome], minlength=count)
        assert len(dealt) == count
        assert np.ptp(dealt) <= 1


@given(SEEDS, FOLDS)
@tries(100)
def test_the_rows_of_a_person_stay_in_one_fold_and_those_who_ever_defaulted_are_dealt_evenly(
    seed: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    people = 1_000 + 7 * rng.integers(0, 60, 200)
    labels = (rng.random(200) < 0.2).astype(np.int8)
    folds = deal(labels, people, Recipe(seed=seed, folds=count))
    of_person: dict[int, int] = {}
    for person, fold in zip(people.tolist(), folds.tolist(), strict=True):
        assert of_person.setdefault(person, fold) == fold
    bad = set(people[labels == 1].tolist())
    for wanted in (bad, set(of_person) - bad):
        dealt = np.bincount([of_person[person] for person in wanted], minlength=count)
        assert np.ptp(dealt) <= 1


@given(SEEDS)
@tries(60)
def test_dealing_is_reproducible_and_each_seed_deals_in_its_own_way(seed: int) -> None:
    labels = (np.random.default_rng(seed).random(200) < 0.3).astype(np.int8)
    once = deal(labels, None, Recipe(seed=seed, folds=4))
    assert np.array_equal(once, deal(labels, None, Recipe(seed=seed, folds=4)))
    assert not np.array_equal(once, deal(labels, None, Recipe(seed=seed + 1, folds=4)))


def test_everyone_a_person_of_one_row_is_dealt_as_rows_are() -> None:
    labels = (np.arange(50) % 5 == 0).astype(np.int8)
    recipe = Recipe(folds=4)
    assert np.array_equal(deal(labels, None, recipe), deal(labels, np.arange(50), recipe))


# ------------------------------------------------------------------------------------ a whole card


def made_of(data: Dataset, folds: np.ndarray, recipe: Recipe = RECIPE) -> Made:
    with threadpool_limits(limits=1):  # as the pipeline has it
        return make_card("full", data, folds, recipe, 1, Part(unwatched, 0.0, 1.0))


@pytest.fixture(scope="module")
def folds() -> np.ndarray:
    return deal(DATA.labels, None, RECIPE)


@pytest.fixture(scope="module")
def made(folds: np.ndarray) -> Made:
    return made_of(DATA, folds)


def points_of(card: Card, data: Dataset) -> np.ndarray:
    return BatchScorecard(card, data.catalogue).score(data.columns).points


def test_every_card_is_sound_and_holds_its_directions(made: Made) -> None:
    assert len(made.without) == RECIPE.folds
    for card in (made.card, *made.without):
        assert not list(tables.faults(card))
        assert not list(tables.impurities(card))
        assert not list(tables.monotone_breaks(card, DATA.catalogue))
        assert all(missing_gain(card, place) < 1e-9 for place in range(len(card.features)))


def test_the_cards_that_judge_rank_rows_that_they_have_not_seen(
    made: Made, folds: np.ndarray
) -> None:
    points = np.empty(len(DATA))
    for fold, card in enumerate(made.without):
        left = np.flatnonzero(folds == fold)
        points[left] = points_of(card, DATA.take(left))
    unseen = auc(DATA.labels, -points)
    assert unseen > 0.6
    assert unseen < auc(DATA.labels, -points_of(made.card, DATA)) + 0.01
    projected = made.notes.stages[-1]
    assert unseen == pytest.approx(projected.auc, abs=0.02), "it is what the notes tell"


def test_the_notes_tell_each_step_and_no_step_costs_much(made: Made) -> None:
    names = [stage.name for stage in made.notes.stages]
    assert names == ["floor", "smooth", "boosted", "chosen", "banded", "projected"]
    by_name = {stage.name: stage for stage in made.notes.stages}
    assert by_name["chosen"].auc >= by_name["floor"].auc - 0.01
    assert by_name["projected"].log_loss <= by_name["chosen"].log_loss + 0.01
    assert {price.field for price in made.notes.prices} == {"months", "inflow", "amount"}
    assert all(price.log_loss >= 0.0 for price in made.notes.prices)


def test_a_card_is_made_again_to_the_last_bit(made: Made, folds: np.ndarray) -> None:
    again = made_of(DATA, folds)
    assert again.card == made.card
    assert again.without == made.without


def turned(folds: np.ndarray) -> Dataset:
    """The rows with every outcome of one fold turned round."""
    labels = np.where(folds == LEFT_OUT, 1 - DATA.labels, DATA.labels)
    return replace(DATA, labels=labels.astype(np.int8))


def test_no_fit_made_without_a_fold_knows_its_outcomes(
    folds: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do its bands, its directions or its base: all but what is chosen, which is held here."""
    chosen = Choice(strength=4, pairs=2, smooth=0.5, boosted=0.5, floor=0.1, base=0.0)
    monkeypatch.setattr(make, "choose", lambda *_: chosen)
    monkeypatch.setattr(make, "calibrate", lambda *_: Calibration(0.9, 0.0))
    once, other = made_of(DATA, folds), made_of(turned(folds), folds)
    assert other.without[LEFT_OUT] == once.without[LEFT_OUT]
    assert other.card != once.card
    assert other.without[0] != once.without[0]


def test_a_wide_table_is_read_by_the_fields_that_tell_most(
    folds: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "FIELDS_MAX", 3)
    rows = learn.Rows.of(DATA, folds, RECIPE)
    for one in learn.learn(rows, RECIPE, 1, unwatched):
        for draft in (*one.smooth, one.boosted):
            assert [axis.field for axis in draft.axes] == list(DATA.columns)
            read = {
                axis.field
                for axis, main in zip(draft.axes, draft.mains, strict=True)
                if np.any(main != 0.0)
            }
            assert len(read) <= 3
            assert "months" in read, "which tells most"
        assert all(np.any(main != 0.0) for main in one.floor.mains), "the floor reads them all"
