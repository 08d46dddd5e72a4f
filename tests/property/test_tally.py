"""A tally is a sum of counts: in any order, from any parts, written down or not."""

from collections import Counter
from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alama.core import tally
from alama.core.assess import Assessment, assess
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.tally import SCORE_STEP, Tally, seen
from tests.applications import random_application
from tests.factories import a_model
from tests.tries import tries

MODEL = ReadyModel(a_model(seed=3))
CARDS = {scorecard.card.name: scorecard.card for scorecard in MODEL.scorecards}


@cache
def given_scores() -> tuple[Assessment, ...]:
    """Some of every kind: both cards, all tiers, fields that were not given."""
    rng = np.random.default_rng(8)
    policy = ReadyPolicy(default_policy("KES"), MODEL)
    return tuple(assess(MODEL, policy, random_application(rng, MODEL)) for _ in range(300))


SOME = st.lists(st.integers(0, 299), max_size=60).map(lambda at: [given_scores()[i] for i in at])


def counted(*groups: list[Assessment]) -> Tally:
    total = Tally()
    for group in groups:
        for said in group:
            total.add(seen(said))
    return total


def merged(*parts: Tally) -> Tally:
    total = Tally()
    for part in parts:
        total.merge(part)
    return total


@tries(80)
@given(SOME, SOME, SOME)
def test_tallies_merge_as_sums_do(
    first: list[Assessment], second: list[Assessment], third: list[Assessment]
) -> None:
    a, b, c = counted(first), counted(second), counted(third)
    together = counted(first, second, third)
    assert merged(a, b, c) == merged(c, a, b) == merged(merged(a, b), c) == together
    assert merged(a, Tally()) == merged(Tally(), a) == a
    assert (a, b, c) == (counted(first), counted(second), counted(third))  # parts stay as they are


@tries(80)
@given(SOME)
def test_a_tally_can_be_written_down_and_read_back(group: list[Assessment]) -> None:
    total = counted(group)
    assert tally.decode(tally.encode(total)) == total


@tries(80)
@given(SOME)
def test_a_tally_says_what_counting_by_hand_says(group: list[Assessment]) -> None:
    total = counted(group)
    assert total.count == len(group)
    assert total.tiers == Counter(said.tier for said in group)
    assert total.decisions == Counter(said.decision.value for said in group)
    assert set(total.cards) == {said.card for said in group}
    steps = Counter(said.score // SCORE_STEP * SCORE_STEP for said in group)
    assert {300 + SCORE_STEP * at: n for at, n in enumerate(total.steps) if n} == steps
    for name, card in total.cards.items():
        by_card = [said for said in group if said.card == name]
        assert card.count == len(by_card)
        assert len(card.bands) == len(CARDS[name].features)
        for place, counts in enumerate(card.bands):
            by_hand = Counter(said.slots[place] for said in by_card)
            assert {slot: n for slot, n in enumerate(counts) if n} == by_hand


def test_what_is_given_covers_every_card_tier_and_decision() -> None:
    total = counted(list(given_scores()))
    assert set(total.cards) == set(CARDS)
    assert (len(total.tiers), len(total.decisions)) == (5, 3)
