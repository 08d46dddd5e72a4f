"""The projection holds directions in every context, changes no more than it must, and is priced."""

import msgspec
import numpy as np
import pytest

from alama.core import tables
from alama.core.tables import Card
from alama.training import portable
from alama.training.dataset import Dataset
from alama.training.making.bands import band
from alama.training.making.card import Calibration, card_of
from alama.training.making.fit import Draft, compile_terms, fit, shares_of
from alama.training.making.monotone import Cone, Layout, Projection
from tests.factories import missing_gain
from tests.patterned import QUICK, patterned, unwatched
from tests.property.test_shapley import brute_force_shapley

SIGNS = {"months": -1, "inflow": -1, "amount": 1}

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("monotone")


@pytest.fixture(scope="module")
def made() -> tuple[Dataset, Draft, Projection]:
    data = patterned(6_000)
    draft, _ = compile_terms(fit(data, np.arange(len(data)), QUICK, watch=unwatched))
    slots = draft.slots(data.columns)
    p = portable.logistic(draft.margins(slots))
    banded = band(draft, data, slots, p * (1.0 - p), QUICK)
    slots = banded.slots(data.columns)
    shares = shares_of(slots, banded.axes)
    return data, banded, Projection(banded, slots, p * (1.0 - p), shares, ridge=0.3)


def worst(draft: Draft, signs: dict[str, int], data: Dataset) -> float:
    """How far the worst constraint is from holding, computed from the rows of the cone."""
    shares = shares_of(draft.slots(data.columns), draft.axes)
    cone = Cone(draft, signs, shares)
    cells = Layout(draft).flat(draft)
    helpers = np.full(cone.variables - len(cells), np.inf)
    values = np.concatenate([cells, helpers])
    for row in cone.rows:  # a helper is the least of its contexts
        helper, coefficient = row[-1]
        if coefficient == -1.0 and helper >= len(cells):
            here = sum(c * values[v] for v, c in row[:-1])
            values[helper] = min(values[helper], here)
    finals = [row for row in cone.rows if not (row[-1][1] == -1.0 and row[-1][0] >= len(cells))]
    return float(min(sum(c * values[v] for v, c in row) for row in finals))


def test_a_free_fit_follows_the_broken_pattern(made: tuple[Dataset, Draft, Projection]) -> None:
    data, draft, _ = made
    assert worst(draft, SIGNS, data) < -0.05


def test_after_the_projection_every_constraint_holds(
    made: tuple[Dataset, Draft, Projection],
) -> None:
    data, _, projection = made
    projected, cost = projection.solve(SIGNS)
    assert worst(projected, SIGNS, data) > -1e-3  # rounding to the grain; settled on the card
    assert cost > 0.0


def test_the_card_made_of_it_is_monotone_exactly_and_missing_is_worth_no_more_than_average(
    made: tuple[Dataset, Draft, Projection],
) -> None:
    data, _, projection = made
    projected, _ = projection.solve(SIGNS)
    card = card_of("full", projected, Calibration(1.0, 0.0), data)
    assert not list(tables.faults(card))
    assert not list(tables.monotone_breaks(card, data.catalogue))
    assert all(missing_gain(card, place) < 1e-9 for place in range(len(card.features)))


def test_what_the_finished_card_says_of_a_row_is_its_shapley_values_by_enumeration(
    made: tuple[Dataset, Draft, Projection],
) -> None:
    data, _, projection = made
    card = card_of("full", projection.solve(SIGNS)[0], Calibration(1.07, -0.2), data)
    assert not list(tables.impurities(card))
    # Enumeration over five fields of eight bands is long; every pair of two fields is enough,
    # because a game of mains and pairs is the sum of the games of its pairs.
    for pair in card.pairs:
        first, second = card.features[pair.first], card.features[pair.second]
        alone = Card(
            "two", card.base, (first, second), (msgspec.structs.replace(pair, first=0, second=1),)
        )
        rng = np.random.default_rng(0)
        for _ in range(10):
            slots = [int(rng.integers(len(f.main))) for f in (first, second)]
            half = alone.pairs[0].half(*slots)
            said = [first.main[slots[0]] + half, second.main[slots[1]] + half]
            expected = brute_force_shapley(alone, slots)
            assert np.max(np.abs(np.array(said) - expected)) < 1e-9


def test_a_cone_that_holds_already_costs_nothing(
    made: tuple[Dataset, Draft, Projection],
) -> None:
    data, _, projection = made
    projected, cost = projection.solve(SIGNS)
    slots = projected.slots(data.columns)
    again = Projection(
        projected, slots, np.full(len(data), 0.2), shares_of(slots, projected.axes), ridge=0.3
    )
    same, second_cost = again.solve(SIGNS)
    assert second_cost < cost / 100.0
    assert np.max(np.abs(same.margins(slots) - projected.margins(slots))) < 0.01


def test_fewer_constraints_never_cost_more(made: tuple[Dataset, Draft, Projection]) -> None:
    _, _, projection = made
    _, all_of_them = projection.solve(SIGNS)
    for field in SIGNS:
        _, without = projection.solve({n: s for n, s in SIGNS.items() if n != field})
        assert without <= all_of_them + 1e-6
    _, broken_one = projection.solve({"months": -1})
    assert broken_one == pytest.approx(all_of_them, rel=0.5)  # months is where the pattern broke
