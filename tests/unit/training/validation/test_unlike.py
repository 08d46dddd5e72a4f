"""What the report says of rows that are unlike training."""

import msgspec
import numpy as np
import pytest

from alama.core.kernel import choose_card
from alama.core.model import Model
from alama.training.dataset import Dataset
from alama.training.making.likeness import learn_likeness
from alama.training.validation.report import render
from alama.training.validation.stability import SHOWN_SHARES, dealt_anew, unlike_shares
from alama.training.validation.unseen import Unseen
from alama.training.validation.validate import validate
from tests.factories import a_dataset, a_model

ROWS = 8_000
BARE = a_model(7)


@pytest.fixture(scope="module")
def model() -> Model:
    train = a_dataset(BARE, seed=1, rows=ROWS)
    learned = tuple(learn_likeness(card, train, 0.002) for card in BARE.cards)
    return msgspec.structs.replace(BARE, likeness=learned)


def apart(model: Model, holdout: Dataset) -> Unseen:
    return Unseen.set_apart(model, holdout, holdout)


def test_about_as_many_as_asked_for_are_called_unlike(model: Model) -> None:
    holdout = a_dataset(model, seed=2, rows=ROWS)
    chosen = choose_card(model.cards, holdout.columns, len(holdout))
    found = unlike_shares(apart(model, holdout), chosen, seed=0)
    assert tuple(share.asked for share in found) == SHOWN_SHARES
    assert found[0].judged == pytest.approx(0.01, rel=0.6)
    # The fields of this population are independent: dealt out anew it is the same population.
    assert found[0].shuffled == pytest.approx(found[0].judged, rel=0.5)


def test_a_card_without_likeness_calls_nothing_unlike(model: Model) -> None:
    holdout = a_dataset(model, seed=2, rows=ROWS)
    chosen = np.zeros(len(holdout), np.intp)
    full_only = msgspec.structs.replace(model, likeness=model.likeness[1:])
    assert all(
        share.judged == 0.0 for share in unlike_shares(apart(full_only, holdout), chosen, seed=0)
    )
    assert unlike_shares(apart(BARE, holdout), chosen, seed=0) == ()


def test_dealing_anew_keeps_who_gave_what_and_how_often_each_value_stands() -> None:
    rng = np.random.default_rng(0)
    slots = [rng.integers(0, 5, 1_000).astype(np.intp) for _ in range(3)]
    for before, after in zip(slots, dealt_anew(slots, rng), strict=True):
        assert np.array_equal(before == 0, after == 0)
        assert np.array_equal(np.bincount(before), np.bincount(after))
        assert not np.array_equal(before, after)


def test_the_report_shows_it_where_the_model_can_tell(model: Model) -> None:
    train, holdout = (a_dataset(model, seed=seed, rows=2_000) for seed in (1, 2))
    known, bare = (Unseen.set_apart(one, train, holdout) for one in (model, BARE))
    page = render(model, validate(known, [], seed=5, draws=5), [])
    assert "Unlike training" in page
    without = render(BARE, validate(bare, [], seed=5, draws=5), [])
    assert "Unlike training" not in without
