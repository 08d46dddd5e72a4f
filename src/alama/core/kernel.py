"""Many applications through a scorecard at once: the same points, vectorised.

Cells are on a grid on which sums are exact, so the order of additions does not matter and the
points equal those of `scorecard` bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from alama.core import calibration
from alama.core.application import fold
from alama.core.scorecard import cuts_in, word_slots
from alama.core.units import Points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.catalogue import Catalogue
    from alama.core.tables import Card, Feature


_COUNTED_CUTS_MAX: Final = 64
"""Up to here comparing with every cut beats searching among them."""


@dataclass(frozen=True, slots=True)
class Words:
    """A column of words: `codes` into `vocabulary`, -1 for missing."""

    codes: NDArray[np.int32]
    vocabulary: Sequence[str]


Column = NDArray[np.float64] | Words


@dataclass(frozen=True, slots=True)
class BatchScored:
    """Points before rounding (rows) and contributions (features x rows)."""

    points: NDArray[np.float64]
    contributions: NDArray[np.float64]


class BatchScorecard:
    """A card made ready for whole columns, in one currency."""

    def __init__(self, card: Card, catalogue: Catalogue, money_factor: float = 1.0) -> None:
        self.card = card
        self.fields = tuple(feature.field for feature in card.features)
        self._readers = tuple(
            (feature, np.array(cuts_in(feature, catalogue, money_factor)), word_slots(feature))
            for feature in card.features
        )
        self._mains = tuple(np.array(feature.main) for feature in card.features)
        self._pairs = tuple(
            (pair.first, pair.second, np.array(pair.halves)[np.ix_(pair.rows, pair.columns)])
            for pair in card.pairs
        )

    def slots(self, columns: Mapping[str, Column]) -> list[NDArray[np.intp]]:
        """Give the slot of each feature for each row; NaN and code -1 are missing."""
        return [
            _word_column(column, words, feature)
            if isinstance(column := columns[feature.field], Words)
            else _number_column(column, cuts)
            for feature, cuts, words in self._readers
        ]

    def score(self, columns: Mapping[str, Column]) -> BatchScored:
        """Score whole columns, one of each feature of the card."""
        slots = self.slots(columns)
        rows = len(slots[0])
        contributions = np.empty((len(slots), rows))
        for place, (main, slot) in enumerate(zip(self._mains, slots, strict=True)):
            np.take(main, slot, out=contributions[place])
        for first, second, table in self._pairs:
            half = np.take(table.ravel(), slots[first] * table.shape[1] + slots[second])
            contributions[first] += half
            contributions[second] += half
        points = np.full(rows, self.card.base)
        for contribution in contributions:
            points += contribution
        return BatchScored(points, contributions)


def _number_column(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.intp]:
    if len(cuts) > _COUNTED_CUTS_MAX:
        slots = np.searchsorted(cuts, values, side="right") + 1
        slots[np.isnan(values)] = 0
        return slots
    # The slot is the number of cuts at or below the value, plus one for being there at all.
    # Comparisons run eight at a time where a binary search waits for each: six times as fast.
    counted = (~np.isnan(values)).view(np.int8)
    for cut in cuts:
        counted += (values >= cut).view(np.int8)
    return counted.astype(np.intp)


def _word_column(
    column: Words, words: Mapping[str, int] | None, feature: Feature
) -> NDArray[np.intp]:
    known = words or {}
    other = len(feature.main) - 1
    # The last entry is the missing slot, where code -1 finds it.
    slot_of_code = np.array(
        [*(known.get(fold(word), other) for word in column.vocabulary), 0], dtype=np.intp
    )
    return slot_of_code[column.codes]


def shown_scores(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round and clamp, as `calibration.shown_score` does."""
    clamped = np.clip(np.rint(points), calibration.SCORE_MIN, calibration.SCORE_MAX)
    return clamped.astype(np.int64)


def probabilities(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give default probabilities, to the last bit or two those of `calibration`."""
    doublings = (points - calibration.ANCHOR_POINTS) / calibration.POINTS_TO_DOUBLE_THE_ODDS
    result: NDArray[np.float64] = 1.0 / (1.0 + calibration.ANCHOR_ODDS * np.exp2(doublings))
    return result


def shown_probabilities(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give default probabilities exactly as `calibration.shown_probability` shows them."""
    steps = probabilities(points) * calibration.PROBABILITY_STEPS
    shown: NDArray[np.float64] = np.rint(steps) / calibration.PROBABILITY_STEPS
    # The vectorised power may differ in its last bit, which matters here alone.
    near_tie = np.abs(steps - np.floor(steps) - 0.5) < calibration.TIE_WIDTH
    for row in np.flatnonzero(near_tie):
        shown[row] = calibration.shown_probability(Points(float(points[row])))
    return shown


def present(column: Column) -> NDArray[np.bool_]:
    """Say for each row whether the field was given."""
    if isinstance(column, Words):
        return np.asarray(column.codes >= 0)
    return ~np.isnan(column)


def choose_card(
    cards: Sequence[Card], columns: Mapping[str, Column], rows: int
) -> NDArray[np.intp]:
    """Give for each row the place of the smallest card that reads every given field.

    The rule of `ReadyModel.scorecard_for`; a field without a column is given nowhere.
    """
    fields = [{feature.field for feature in card.features} for card in cards]
    chosen = np.full(rows, len(cards) - 1, dtype=np.intp)
    for place in reversed(range(len(cards) - 1)):
        beyond = np.zeros(rows, dtype=np.bool_)
        for name in fields[-1] - fields[place]:
            if name in columns:
                beyond |= present(columns[name])
        chosen[~beyond] = place
    return chosen
