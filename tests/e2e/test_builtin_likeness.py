"""Whom the built-in model calls unlike its training, on fresh people and on impossible ones."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from alama.core.kernel import BatchScorecard, choose_card
from alama.core.likeness import Likeness, ReadyLikeness
from alama.platform.files.packaged import builtin
from alama.training.making.likeness import strangeness_of_rows
from alama.training.population.people import PopulationOptions
from alama.training.validation.stability import dealt_anew
from tests.e2e.test_builtin_model import drawn

pytestmark = pytest.mark.long

MODEL = builtin()
HELD_OUT = PopulationOptions(rows=200_000, seed=79)
"""Neither trained on, nor looked at when the number of groups was chosen (seed 77)."""
ASKED = 0.001
"""The share of training rows that is called unlike, as a policy would set it."""

Slots = list[NDArray[np.intp]]


@dataclass(frozen=True)
class Fresh:
    """Applications that a card serves, by their slots, and the card's likeness."""

    fields: list[str]
    slots: Slots
    likeness: Likeness

    @property
    def complete(self) -> Slots:
        whole = np.logical_and.reduce([slot > 0 for slot in self.slots])
        return [slot[whole] for slot in self.slots]

    def unlike(self, slots: Slots) -> float:
        """The share of these rows that is beyond the limit."""
        limit = ReadyLikeness(self.likeness).limit(ASKED)
        return float(np.mean(strangeness_of_rows(self.likeness, slots) > limit))

    def set_to(self, values: dict[str, int]) -> Slots:
        """Complete rows with some fields put into a slot; -1 is the last."""
        counts = {f.field: len(f.main) for card in MODEL.cards for f in card.features}
        return [
            np.full_like(slot, values[name] % counts[name]) if name in values else slot
            for name, slot in zip(self.fields, self.complete, strict=True)
        ]


def served_by(place: int) -> Fresh:
    columns, _, _ = drawn(HELD_OUT)
    card = MODEL.cards[place]
    rows = choose_card(MODEL.cards, columns, HELD_OUT.rows) == place
    slots = BatchScorecard(card, MODEL.catalogue).slots(columns)
    likeness = next(known for known in MODEL.likeness if known.card == card.name)
    fields = [feature.field for feature in card.features]
    return Fresh(fields, [slot[rows] for slot in slots], likeness)


@pytest.fixture(scope="module")
def full() -> Fresh:
    return served_by(1)


def test_of_complete_applications_about_the_share_asked_for_is_unlike(full: Fresh) -> None:
    assert ASKED / 2 < full.unlike(full.complete) < ASKED * 2


def test_of_no_common_pattern_of_missing_fields_more_than_thrice_that(full: Fresh) -> None:
    given = np.array([slot > 0 for slot in full.slots])
    number = (given * 2 ** np.arange(len(given))[:, None]).sum(axis=0)
    patterns, counts = np.unique(number, return_counts=True)
    common = patterns[counts >= 0.03 * len(number)]
    assert len(common) >= 5
    for pattern in common:
        assert full.unlike([slot[number == pattern] for slot in full.slots]) < 3 * ASKED


def test_nor_where_hardly_more_than_the_core_is_given(full: Fresh) -> None:
    core = set(MODEL.catalogue.core_names)
    for added in ({"region"}, {"device_type"}, {"requested_amount", "requested_term_days"}):
        thin = [
            slot if name in core | added else np.zeros_like(slot)
            for name, slot in zip(full.fields, full.slots, strict=True)
        ]
        assert full.unlike(thin) < 3 * ASKED


def test_the_compact_card_calls_about_the_share_asked_for_unlike() -> None:
    assert served_by(0).unlike(served_by(0).slots) < 3 * ASKED


def test_of_people_whose_fields_were_dealt_out_anew_almost_half_are_unlike(full: Fresh) -> None:
    assert full.unlike(dealt_anew(full.complete, np.random.default_rng(1))) > 0.4


def test_without_the_tree_nobody_would_notice_that_fields_were_dealt_out_anew(full: Fresh) -> None:
    """The naive alternative: each field by its own distribution, however rare together."""
    alone = msgspec.structs.replace(
        full.likeness,
        branches=tuple(
            msgspec.structs.replace(branch, parent=None, beside=branch.beside[:1])
            for branch in full.likeness.branches
        ),
    )
    strange = strangeness_of_rows(alone, full.complete)
    limit = np.quantile(strange, 1.0 - ASKED)
    dealt = dealt_anew(full.complete, np.random.default_rng(1))
    assert np.mean(strangeness_of_rows(alone, dealt) > limit) < 2 * ASKED


LOWEST, HIGHEST = 1, -1


@pytest.mark.parametrize(
    ("values", "at_least"),
    [
        ({"avg_inflow": LOWEST, "avg_outflow": HIGHEST}, 0.7),
        ({"avg_inflow": HIGHEST, "avg_outflow": LOWEST}, 0.6),
        ({"avg_inflow": LOWEST, "avg_balance": HIGHEST}, 0.7),
        ({"tx_frequency": LOWEST, "counterparties": HIGHEST}, 0.6),
        ({"avg_inflow": LOWEST, "requested_amount": HIGHEST}, 0.5),
    ],
)
def test_fields_that_contradict_each_other_are_unlike(
    full: Fresh, values: dict[str, int], at_least: float
) -> None:
    assert full.unlike(full.set_to(values)) > at_least


def test_one_word_never_met_is_rarely_enough_and_three_are(full: Fresh) -> None:
    assert full.unlike(full.set_to({"region": -1})) < 0.1
    unknown = {"region": -1, "loan_purpose": -1, "device_type": -1}
    assert full.unlike(full.set_to(unknown)) > 0.9
