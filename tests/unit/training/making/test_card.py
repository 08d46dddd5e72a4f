"""A draft becomes points that add up exactly, calibrated in the mean, however steep it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import tables
from alama.core.calibration import POINTS_PER_LOG_ODDS, points_of_log_odds
from alama.core.catalogue import Catalogue, Direction, Field, Kind
from alama.core.kernel import BatchScorecard
from alama.core.tables import Card
from alama.core.units import LogOdds
from alama.training import portable
from alama.training.dataset import Dataset
from alama.training.making.card import card_of, intercept_for
from alama.training.making.draft import Draft
from tests.tries import tries
from tests.unit.training.making.test_draft import random_draft, random_rows

SEEDS = st.integers(0, 10_000)
STEEP = st.sampled_from([1.0, 30.0, 1_000.0, 20_000.0])
FREE = Catalogue(fields=(Field("a", Kind.NUMBER), Field("b", Kind.NUMBER), Field("c", Kind.WORD)))
DIRECTED = Catalogue(
    fields=(
        Field("a", Kind.NUMBER, direction=Direction.SAFER),
        Field("b", Kind.NUMBER, direction=Direction.RISKIER),
        Field("c", Kind.WORD),
    )
)


def rows(seed: int, catalogue: Catalogue = FREE) -> Dataset:
    rng = np.random.default_rng(seed)
    labels = (rng.random(400) < rng.choice([0.05, 0.3])).astype(np.int8)
    labels[:2] = 0, 1
    return Dataset(catalogue, random_rows(seed, 400), labels)


def times(draft: Draft, factor: float) -> Draft:
    return Draft(
        draft.axes,
        factor * draft.base,
        tuple(factor * main for main in draft.mains),
        tuple(replace(pair, table=factor * pair.table) for pair in draft.pairs),
    )


def points_of(card: Card, data: Dataset) -> np.ndarray:
    return BatchScorecard(card, data.catalogue).score(data.columns).points


def chances_of(points: np.ndarray) -> np.ndarray:
    even = points_of_log_odds(LogOdds(0.0))
    return portable.logistic((even - points) / POINTS_PER_LOG_ODDS)


@given(SEEDS, st.sampled_from([0.3, 1.0, 1.7]))
@tries(60)
def test_points_are_the_calibrated_log_odds_of_the_draft(seed: int, slope: float) -> None:
    draft, data = random_draft(seed), rows(seed)
    card = card_of("full", draft, slope, data, capped=False)
    margins = draft.margins(draft.slots(data.columns))
    log_odds = intercept_for(margins, data.labels, slope) + slope * margins
    expected = [points_of_log_odds(LogOdds(one)) for one in log_odds.tolist()]
    assert np.max(np.abs(points_of(card, data) - expected)) < 1e-6
    assert not list(tables.impurities(card))


@given(SEEDS, STEEP)
@tries(60)
def test_a_draft_too_steep_is_shrunk_in_its_order_and_calibrated(seed: int, steep: float) -> None:
    draft, data = times(random_draft(seed), steep), rows(seed)
    card = card_of("full", draft, 1.0, data, capped=False)
    assert tables.reach(card) <= tables.POINTS_MAX
    assert not list(tables.faults(card))
    points = points_of(card, data)
    assert chances_of(points).mean() == pytest.approx(data.labels.mean(), abs=1e-4)
    safest_first = np.argsort(draft.margins(draft.slots(data.columns)), kind="stable")
    assert np.all(np.diff(points[safest_first]) <= 1e-6), "who is safer has no fewer points"
    assert np.ptp(points) > 10.0, "and they are told apart"


def test_a_draft_is_shrunk_no_further_than_it_must_be() -> None:
    data = rows(1)
    card = card_of("full", times(random_draft(1), 1_000.0), 1.0, data, capped=False)
    assert tables.reach(card) > 0.9 * tables.POINTS_MAX


@given(SEEDS, STEEP, st.booleans())
@tries(60)
def test_no_draft_is_refused(seed: int, steep: float, capped: bool) -> None:  # noqa: FBT001
    draft, data = times(random_draft(seed), steep), rows(seed, DIRECTED)
    card = card_of("full", draft, 4.0, data, capped=capped)
    assert not list(tables.faults(card))
    assert not list(tables.monotone_breaks(card, data.catalogue))
    if capped:
        assert all(
            feature.main[tables.MISSING] <= 1e-9 or feature.shares[tables.MISSING] == 1.0
            for feature in card.features
        )


def test_a_card_tells_of_each_band_how_many_were_there_and_how_many_defaulted() -> None:
    draft, data = random_draft(0), rows(0)
    card = card_of("full", draft, 1.0, data, capped=False)
    for place, feature in enumerate(card.features):
        slots = draft.slots(data.columns)[place]
        for slot, (share, rate) in enumerate(
            zip(feature.shares, feature.default_rates, strict=True)
        ):
            there = slots == slot
            assert share == pytest.approx(np.mean(there))
            if there.any():
                assert rate == pytest.approx(data.labels[there].mean(), abs=1e-6)
            else:
                assert rate is None
    assert card.features[0].lowest == -9.0
    assert card.features[0].highest == 99.0
    assert card.features[2].words == (("x",), ("y", "z"))
