"""The projection holds directions in every context, changes no more than it must, and is priced."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from alama.core import tables
from alama.core.kernel import Words
from alama.core.tables import Card
from alama.training import portable
from alama.training.dataset import Dataset
from alama.training.making.bands import Bander, Fineness
from alama.training.making.boost import Note, boost, word_axis
from alama.training.making.card import card_of
from alama.training.making.draft import Axis, Draft, shares_of
from alama.training.making.make import deal
from alama.training.making.monotone import Cone, Layout, Projection
from tests.factories import missing_gain
from tests.patterned import QUICK, patterned
from tests.property.test_shapley import brute_force_shapley

SIGNS = {"months": -1, "inflow": -1, "amount": 1}

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("monotone")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Draft, Projection]:
    data = patterned(6_000)
    recipe = replace(QUICK.for_data(len(data), data.defaults), folds=3)
    words = {
        name: word_axis(name, column, recipe)
        for name, column in data.columns.items()
        if isinstance(column, Words)
    }
    folds = deal(data.labels, None, recipe)
    note = Note(str(tmp_path_factory.mktemp("notes")), 0)
    draft = boost(data, words, folds, 0, recipe, note)
    slots = draft.slots(data.columns)
    p = portable.logistic(draft.margins(slots))
    banded = Bander(draft, data, slots, p * (1.0 - p)).at(Fineness(1e-5, 8, 4))
    slots = banded.slots(data.columns)
    shares = shares_of(slots, banded.axes)
    return data, banded, Projection(banded, slots, p * (1.0 - p), shares, ridge=0.3)


def worst(draft: Draft, signs: dict[str, int], data: Dataset, *, capped: bool = True) -> float:
    """How far the worst constraint is from holding, computed from the rows of the cone."""
    shares = shares_of(draft.slots(data.columns), draft.axes)
    cone = Cone(draft, signs, shares, capped=capped)
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
    projected, cost = projection.solve(SIGNS, capped=True)
    assert worst(projected, SIGNS, data) > -1e-3  # rounding to the grain; settled on the card
    assert cost > 0.0


def test_the_card_made_of_it_is_monotone_exactly_and_missing_is_worth_no_more_than_average(
    made: tuple[Dataset, Draft, Projection],
) -> None:
    data, _, projection = made
    projected, _ = projection.solve(SIGNS, capped=True)
    card = card_of("full", projected, 1.0, data, capped=True)
    assert not list(tables.faults(card))
    assert not list(tables.monotone_breaks(card, data.catalogue))
    assert all(missing_gain(card, place) < 1e-9 for place in range(len(card.features)))


def test_what_the_finished_card_says_of_a_row_is_its_shapley_values_by_enumeration(
    made: tuple[Dataset, Draft, Projection],
) -> None:
    data, _, projection = made
    card = card_of("full", projection.solve(SIGNS, capped=True)[0], 1.07, data, capped=True)
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
    projected, cost = projection.solve(SIGNS, capped=True)
    slots = projected.slots(data.columns)
    again = Projection(
        projected, slots, np.full(len(data), 0.2), shares_of(slots, projected.axes), ridge=0.3
    )
    same, second_cost = again.solve(SIGNS, capped=True)
    assert second_cost < cost / 100.0
    assert np.max(np.abs(same.margins(slots) - projected.margins(slots))) < 0.01


def test_fewer_constraints_never_cost_more(made: tuple[Dataset, Draft, Projection]) -> None:
    _, _, projection = made
    _, all_of_them = projection.solve(SIGNS, capped=True)
    for field in SIGNS:
        _, without = projection.solve({n: s for n, s in SIGNS.items() if n != field}, capped=True)
        assert without <= all_of_them + 1e-6
    _, broken_one = projection.solve({"months": -1}, capped=True)
    assert broken_one == pytest.approx(all_of_them, rel=0.5)  # months is where the pattern broke


def test_without_a_cap_directions_hold_and_what_is_missing_stays_as_the_rows_have_it(
    made: tuple[Dataset, Draft, Projection],
) -> None:
    data, draft, projection = made
    # Whoever leaves the amount out is the best of all.
    amount = [axis.field for axis in draft.axes].index("amount")
    mains = list(draft.mains)
    mains[amount] = np.where(np.arange(len(mains[amount])) == 0, -3.0, mains[amount])
    slots = draft.slots(data.columns)
    better = replace(draft, mains=tuple(mains))
    shares = shares_of(slots, draft.axes)
    projection = Projection(better, slots, np.full(len(data), 0.2), shares, ridge=0.3)
    free, free_cost = projection.solve(SIGNS, capped=False)
    capped, capped_cost = projection.solve(SIGNS, capped=True)
    assert free_cost < capped_cost, "a cap costs something"
    assert worst(free, SIGNS, data, capped=False) > -1e-3
    assert worst(capped, SIGNS, data) > -1e-3
    assert free.mains[amount][0] == pytest.approx(-3.0, abs=0.3)
    card = card_of("full", free, 1.0, data, capped=False)
    assert not list(tables.monotone_breaks(card, data.catalogue))
    assert missing_gain(card, amount) > 50.0
    for one in (capped, free):  # a card that is capped is so whatever it is made of
        assert missing_gain(card_of("full", one, 1.0, data, capped=True), amount) < 1e-9


def test_nothing_to_hold_changes_nothing_and_costs_nothing(
    made: tuple[Dataset, Draft, Projection],
) -> None:
    _, draft, projection = made
    same, cost = projection.solve({}, capped=False)
    assert same is draft
    assert cost == 0.0


def test_few_steps_come_near_to_what_many_give(made: tuple[Dataset, Draft, Projection]) -> None:
    data, _, projection = made
    many, cost = projection.solve(SIGNS, capped=True)
    few, judged = projection.solve(SIGNS, capped=True, steps=10)
    assert worst(few, SIGNS, data) > -1e-3, "directions hold after any number of them"
    assert judged == pytest.approx(cost, rel=0.1)
    slots = many.slots(data.columns)
    assert np.std(few.margins(slots) - many.margins(slots)) < 0.1


def test_a_field_of_one_band_has_no_step_to_hold() -> None:
    axes = (Axis("one", cuts=np.array([])), Axis("two", cuts=np.array([1.0])))
    draft = Draft(axes, 0.1, (np.array([0.0, 0.2]), np.array([0.1, 0.2, 0.3])), ())
    rng = np.random.default_rng(0)
    slots = [rng.integers(0, axis.count, 100).astype(np.int16) for axis in axes]
    projection = Projection(draft, slots, np.full(100, 0.2), shares_of(slots, axes), ridge=0.3)
    same, cost = projection.solve({"one": 1}, capped=False)
    assert cost < 1e-9
    assert np.max(np.abs(same.margins(slots) - draft.margins(slots))) < 1e-4
