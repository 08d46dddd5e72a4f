"""Contributions are the exact Shapley values of the score, not an approximation of them."""

from itertools import combinations, product
from math import factorial

from hypothesis import given
from hypothesis import strategies as st

from alama.core.scorecard import Scorecard
from alama.core.tables import Card
from tests.factories import cases, rows
from tests.tries import tries


def points_at(card: Card, slots: tuple[int, ...]) -> float:
    """The model as it is written down, with nothing shared with the code under test."""
    mains = sum(feature.main[slot] for feature, slot in zip(card.features, slots, strict=True))
    pairs = sum(2.0 * pair.half(slots[pair.first], slots[pair.second]) for pair in card.pairs)
    return card.base + mains + pairs


def expected_points(card: Card, slots: list[int], known: frozenset[int]) -> float:
    """What the score averages to when the other features are drawn from their own marginals."""
    choices = [
        [(slots[place], 1.0)]
        if place in known
        else [(slot, share) for slot, share in enumerate(feature.shares) if share > 0.0]
        for place, feature in enumerate(card.features)
    ]
    total = 0.0
    for drawn in product(*choices):
        chance = 1.0
        for _, share in drawn:
            chance *= share
        total += chance * points_at(card, tuple(slot for slot, _ in drawn))
    return total


def brute_force_shapley(card: Card, slots: list[int]) -> list[float]:
    count = len(card.features)
    everyone = range(count)
    worth = {
        known: expected_points(card, slots, known)
        for size in range(count + 1)
        for known in map(frozenset, combinations(everyone, size))
    }
    values = []
    for place in everyone:
        value = 0.0
        for known, without in worth.items():
            if place in known:
                continue
            size = len(known)
            weight = factorial(size) * factorial(count - size - 1) / factorial(count)
            value += weight * (worth[known | {place}] - without)
        values.append(value)
    return values


@given(st.data())
@tries(150)
def test_contributions_equal_shapley_values_by_enumeration_of_all_subsets(
    data: st.DataObject,
) -> None:
    case = data.draw(cases(features_max=4, bands_max=4))
    values = data.draw(rows(case))
    scored = Scorecard(case.card, case.catalogue).score(values)
    expected = brute_force_shapley(case.card, scored.slots)
    for found, wanted in zip(scored.contributions, expected, strict=True):
        assert abs(found - wanted) < 1e-9


@given(st.data())
@tries(150)
def test_the_base_is_what_the_score_averages_to_over_the_population(data: st.DataObject) -> None:
    case = data.draw(cases(features_max=4, bands_max=4))
    nobody: frozenset[int] = frozenset()
    average = expected_points(case.card, [0] * len(case.card.features), nobody)
    assert abs(average - case.card.base) < 1e-9


@given(st.data())
@tries(200)
def test_base_and_contributions_sum_to_the_points_exactly_in_any_order(
    data: st.DataObject,
) -> None:
    case = data.draw(cases())
    scored = Scorecard(case.card, case.catalogue).score(data.draw(rows(case)))
    shuffled = data.draw(st.permutations([scored.base, *scored.contributions]))
    assert sum(shuffled) == scored.points
    assert scored.points == points_at(case.card, tuple(scored.slots))
