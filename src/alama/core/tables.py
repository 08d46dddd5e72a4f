"""The tables of a scorecard as they are stored: bands, points, and what the tables prove.

    points = base + sum over features of main[slot] + sum over pairs of 2 x half[slot, slot]

A *slot* is the place of a value in a feature's table: slot 0 is "missing"; a number then falls into
the bands between the cuts (a value equal to a cut goes right); a word into the group that names
it, the last slot being "other". A pair stores *half* its points, because each of its two features
is due exactly half: that is its Shapley value once pairs are purified.

Every cell is a multiple of GRID. Doubles of that size add without rounding, in any order and any
language, so that "the same score" means the same bits in Python, NumPy and SQL.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.application import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.catalogue import Catalogue


GRID: Final = 2.0**-40
"""Points are multiples of this: fine enough (1e-12) that rounding to it changes nothing."""

POINTS_MAX: Final = 2.0**12
"""The most that all cells together may reach, in points: below it every sum of them is exact."""

PURITY_TOLERANCE: Final = 1e-9
SHARE_TOLERANCE: Final = 1e-9

MISSING: Final = 0
"""The slot of a field that was not given."""


class Feature(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The main table of one field.

    `shares` is the distribution of the training population over the slots: the marginal that
    purification, Shapley values and drift are measured against. `default_rates` are observed
    (None where a slot was empty). `lowest` and `highest` bound the values seen in training.
    """

    field: str
    main: tuple[float, ...]
    shares: tuple[float, ...]
    default_rates: tuple[float | None, ...]
    cuts: tuple[float, ...] = ()
    words: tuple[tuple[str, ...], ...] = ()
    lowest: float | None = None
    highest: float | None = None


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table of two features together, on bands of its own.

    `rows` and `columns` map each slot of the first and the second feature to a row and a column
    of `halves`.
    """

    first: int
    second: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    halves: tuple[tuple[float, ...], ...]

    def half(self, first_slot: int, second_slot: int) -> float:
        """Give what each of the two features gets."""
        return self.halves[self.rows[first_slot]][self.columns[second_slot]]


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scorecard: the base, a table for each feature, a table for each pair."""

    name: str
    base: float
    features: tuple[Feature, ...]
    pairs: tuple[Pair, ...]


def neighbours(slots: Sequence[int]) -> list[tuple[int, int]]:
    """Gather neighbouring slots: 1, 2, 3, 5 are 1 to 3 and 5 to 5."""
    runs: list[tuple[int, int]] = []
    for slot in slots:
        if runs and runs[-1][1] == slot - 1:
            runs[-1] = (runs[-1][0], slot)
        else:
            runs.append((slot, slot))
    return runs


def on_grid(points: float) -> float:
    """Give the nearest multiple of GRID."""
    return round(points / GRID) * GRID


def faults(card: Card) -> Iterator[str]:
    """Yield what makes these tables no scorecard; nothing for a sound one."""
    if not _is_cell(card.base):
        yield "the base is off the grid"
    if not card.features:
        yield "it reads no field"
    names = [feature.field for feature in card.features]
    if len(names) != len(set(names)):
        yield "a field stands in it twice"
    for feature in card.features:
        yield from _feature_faults(feature)
    for pair in card.pairs:
        yield from _pair_faults(card, pair)
    if reach(card) > POINTS_MAX:
        yield f"its cells reach beyond {POINTS_MAX:.0f} points"


def _feature_faults(feature: Feature) -> Iterator[str]:
    name = feature.field
    slots = len(feature.main)
    expected = len(feature.words) + 2 if feature.words else len(feature.cuts) + 2
    if feature.words and feature.cuts:
        yield f"{name}: has both cuts and words"
    if slots != expected:
        yield f"{name}: {slots} cells where its bands need {expected}"
    if len(feature.shares) != slots or len(feature.default_rates) != slots:
        yield f"{name}: shares or default rates do not match its cells"
    if not all(_is_cell(cell) for cell in feature.main):
        yield f"{name}: a cell is off the grid"
    if not all(math.isfinite(cut) for cut in feature.cuts):
        yield f"{name}: a cut is not a finite number"
    if any(low >= high for low, high in zip(feature.cuts, feature.cuts[1:], strict=False)):
        yield f"{name}: its cuts do not rise"
    if not all(0.0 <= share <= 1.0 for share in feature.shares):
        yield f"{name}: a share is not between 0 and 1"
    elif abs(math.fsum(feature.shares) - 1.0) > SHARE_TOLERANCE:
        yield f"{name}: its shares do not sum to 1"
    yield from _word_faults(feature)


def _word_faults(feature: Feature) -> Iterator[str]:
    listed = [word for group in feature.words for word in group]
    if len(listed) != len(set(listed)):
        yield f"{feature.field}: a word stands in two groups"
    if any(word != fold(word) for word in listed):
        yield f"{feature.field}: a word is not written as words are compared"


def _pair_faults(card: Card, pair: Pair) -> Iterator[str]:
    count = len(card.features)
    if not 0 <= pair.first < pair.second < count:
        yield "a pair names a feature that is not there"
        return
    first, second = card.features[pair.first], card.features[pair.second]
    name = f"{first.field} x {second.field}"
    if len(pair.rows) != len(first.main) or len(pair.columns) != len(second.main):
        yield f"{name}: its bands do not match its features"
    height = len(pair.halves)
    width = len(pair.halves[0]) if height else 0
    if any(len(row) != width for row in pair.halves):
        yield f"{name}: its rows differ in length"
    if any(not 0 <= row < height for row in pair.rows):
        yield f"{name}: a slot points outside the table"
    if any(not 0 <= column < width for column in pair.columns):
        yield f"{name}: a slot points outside the table"
    if not all(_is_cell(cell) for row in pair.halves for cell in row):
        yield f"{name}: a cell is off the grid"


def _is_cell(points: float) -> bool:
    return math.isfinite(points) and (points / GRID).is_integer()


def reach(card: Card) -> float:
    """Bound every partial sum that scoring can meet."""
    mains = sum(max(map(abs, feature.main), default=0.0) for feature in card.features)
    pairs = sum(
        2.0 * max((abs(cell) for row in pair.halves for cell in row), default=0.0)
        for pair in card.pairs
    )
    return abs(card.base) + mains + pairs


def impurities(card: Card) -> Iterator[str]:
    """Yield each table whose average over the population is not zero.

    Only of purified tables is main + half of each pair a Shapley value. For a sound card only.
    """
    for feature in card.features:
        if abs(_average(feature.main, feature.shares)) > PURITY_TOLERANCE:
            yield f"{feature.field}: its points do not average to zero"
    for pair in card.pairs:
        first, second = card.features[pair.first], card.features[pair.second]
        rows = _gathered(pair.rows, first.shares, len(pair.halves))
        columns = _gathered(pair.columns, second.shares, len(pair.halves[0]))
        lines = [_average(row, columns) for row in pair.halves]
        lines += [_average(column, rows) for column in zip(*pair.halves, strict=True)]
        if max(map(abs, lines)) > PURITY_TOLERANCE:
            yield f"{first.field} x {second.field}: a line of it does not average to zero"


def _average(points: Sequence[float], shares: Sequence[float]) -> float:
    return math.fsum(point * share for point, share in zip(points, shares, strict=True))


def _gathered(places: Sequence[int], shares: Sequence[float], count: int) -> list[float]:
    totals = [0.0] * count
    for place, share in zip(places, shares, strict=True):
        totals[place] += share
    return totals


def monotone_breaks(card: Card, catalogue: Catalogue) -> Iterator[str]:
    """Yield each step of a directed feature that could move the score the wrong way.

    This is a proof, not a sample: a step is sound when its main step outweighs the worst that
    all its pairs can do, each in its own worst context (missing included). All sums are exact.
    """
    for place, feature in enumerate(card.features):
        sign = catalogue.field(feature.field).direction.sign
        if sign == 0:
            continue
        for slot in range(1, len(feature.main) - 1):
            gain = gain_of_step(card, place, feature.main, slot, sign)
            if gain < 0.0:
                yield f"{feature.field}: band {slot} to {slot + 1} can lose {-gain:.6g} points"


def gain_of_step(card: Card, place: int, main: Sequence[float], slot: int, sign: int) -> float:
    """Give the least that a step from a slot to the next can gain, with this main table."""
    worst = sum(_worst_gain(pair, place, slot, sign) for pair in card.pairs)
    return sign * (main[slot + 1] - main[slot]) + worst


def _worst_gain(pair: Pair, place: int, slot: int, sign: int) -> float:
    """Give the least that a step from a slot to the next can gain in one pair."""
    if place == pair.first:
        here, there = pair.halves[pair.rows[slot]], pair.halves[pair.rows[slot + 1]]
        return min(2.0 * sign * (b - a) for a, b in zip(here, there, strict=True))
    if place == pair.second:
        here_column, there_column = pair.columns[slot], pair.columns[slot + 1]
        return min(2.0 * sign * (row[there_column] - row[here_column]) for row in pair.halves)
    return 0.0
