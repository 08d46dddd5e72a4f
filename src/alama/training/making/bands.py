"""Bands a person can read: neighbouring slots whose points hardly differ become one.

Each field gets the fewest bands whose loss, weighed against the data, stays under the recipe's
budget, found exactly by dynamic programming; then each pair a coarser grid made of those bands;
then cuts move to numbers people use where hardly a row minds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.catalogue import Kind
from alama.training.making.draft import Axis, Draft, DraftPair
from alama.training.portable import line_totals, total, totals_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.making.draft import Slots

    Floats = NDArray[np.float64]

    Places = NDArray[np.intp]


ROWS_MOVED_MAX: Final = 0.002
"""The share of rows that rounding one cut may move to the neighbouring band."""


@dataclass(frozen=True, slots=True)
class Fineness:
    """How fine bands are: the log-loss a row that a table may lose, and the most bands."""

    loss: float
    bands_max: int
    pair_bands_max: int


FINENESSES: Final = (
    Fineness(1e-5, 24, 10),
    Fineness(3e-6, 24, 10),
    Fineness(1e-6, 24, 10),
    Fineness(1e-6, 32, 12),
    Fineness(2e-7, 64, 16),
)
"""From what is read best to what loses least."""

_TRACE: Final = 1e-3
"""Where no row stands, the product of the marginals decides, at this weight."""

_DIGITS_MAX: Final = 12


@dataclass(frozen=True, slots=True)
class _Spread:
    """A pair's table spread over all slots of its two axes, with the weight of each cell."""

    table: Floats
    weights: Floats


class Bander:
    """A draft that can be given on bands of any fineness."""

    def __init__(
        self, draft: Draft, data: Dataset, slots: Sequence[Slots], weights: Floats
    ) -> None:
        """Measure what merging any neighbours would lose; `weights` is p (1 - p) of each row."""
        axes = [_at_whole_numbers(axis, data) for axis in draft.axes]
        slots = [
            slot if axis is before else axis.slots(data.columns[axis.field])
            for slot, axis, before in zip(slots, axes, draft.axes, strict=True)
        ]
        draft = draft.on(axes)
        self._draft = draft
        self._data = data
        self._slots = slots
        self._weights = weights
        self._heights = [
            totals_by(slot, weights, axis.count)
            for slot, axis in zip(slots, draft.axes, strict=True)
        ]
        self._spreads = [_spread(pair, slots, weights, self._heights) for pair in draft.pairs]
        self._axes = [self._runs_of(place) for place in range(len(draft.axes))]

    def within(self, cost: float) -> Fineness:
        """Give the coarsest bands that lose so much log-loss a row at most, else the finest."""
        return next((one for one in FINENESSES if self._cost(one) <= cost), FINENESSES[-1])

    def _cost(self, fineness: Fineness) -> float:
        """Give what bands lose, were the draft without them the truth: to second order."""
        banded = self.at(fineness)
        moved = banded.margins(banded.slots(self._data.columns)) - self._draft.margins(self._slots)
        return 0.5 * total(self._weights * moved * moved) / len(moved)

    def at(self, fineness: Fineness) -> Draft:
        """Give the draft on bands."""
        draft, budget = self._draft, fineness.loss * len(self._data)
        axes, maps, mains = [], [], []
        for place, (axis, (inner, runs)) in enumerate(zip(draft.axes, self._axes, strict=True)):
            groups = [
                [int(slot) for slot in inner[a:b]] for a, b in runs.cut(budget, fineness.bands_max)
            ]
            merged, slot_map = _regrouped(axis, groups, self._data)
            axes.append(merged)
            maps.append(slot_map)
            mains.append(
                _collapse(draft.mains[place], self._heights[place], slot_map, merged.count)
            )
        pairs = [
            _merge_pair(
                pair,
                spread,
                (maps[pair.first], maps[pair.second]),
                budget,
                fineness.pair_bands_max,
            )
            for pair, spread in zip(draft.pairs, self._spreads, strict=True)
        ]
        return Draft(tuple(axes), draft.base, tuple(mains), tuple(pairs))

    def _runs_of(self, place: int) -> tuple[Places, Runs]:
        """Give the inner slots of an axis (not missing, not other) and what their runs lose.

        Words stand in the order of their main.
        """
        axis, heights = self._draft.axes[place], self._heights[place]
        inner = np.arange(1, axis.count if axis.cuts is not None else axis.count - 1)
        if axis.cuts is None:
            inner = inner[np.argsort(self._draft.mains[place][inner], kind="stable")]
        parts = [self._draft.mains[place][:, None]]
        for pair, spread in zip(self._draft.pairs, self._spreads, strict=True):
            if pair.first == place:
                lines = pair.table[pair.rows]
                contexts = totals_by(pair.columns, line_totals(spread.weights, 0), lines.shape[1])
            elif pair.second == place:
                lines = pair.table.T[pair.columns]
                contexts = totals_by(pair.rows, line_totals(spread.weights, 1), lines.shape[1])
            else:
                continue
            parts.append(lines * np.sqrt(contexts / total(contexts))[None, :])
        vectors = np.concatenate(parts, axis=1)[inner]
        least = _TRACE * total(heights) / len(heights)
        return inner, Runs(vectors, heights[inner] + least)


def _at_whole_numbers(axis: Axis, data: Dataset) -> Axis:
    """Cut whole numbers at whole numbers, each once.

    One fit cuts between two of them and another at the upper: the same to every row, and between
    the two cuts there is none.
    """
    if axis.cuts is None or data.catalogue.field(axis.field).kind is not Kind.INTEGER:
        return axis
    return Axis(axis.field, cuts=np.unique(np.ceil(axis.cuts)) + 0.0)


def _spread(
    pair: DraftPair, slots: Sequence[Slots], weights: Floats, heights: Sequence[Floats]
) -> _Spread:
    first, second = heights[pair.first], heights[pair.second]
    flat = slots[pair.first].astype(np.intp) * len(second) + slots[pair.second]
    joint = totals_by(flat, weights, len(first) * len(second)).reshape(len(first), len(second))
    product = first[:, None] * second[None, :] / total(first)
    return _Spread(pair.table[np.ix_(pair.rows, pair.columns)], joint + _TRACE * product)


def _scaled(table: Floats, weights: Floats) -> Floats:
    """Scale columns so that squared distances of rows weigh contexts by their share."""
    column_weights = line_totals(weights, 0)
    return table * np.sqrt(column_weights / total(column_weights))[None, :]


class Runs:
    """A sequence of weighted vectors, to be cut into few runs.

    The loss of a run is half the weighted squared distance to its mean: log-loss to second order.
    """

    def __init__(self, vectors: Floats, weights: Floats) -> None:
        self._count = len(vectors)
        self._loss = _run_losses(vectors, weights)

    def cut(self, budget: float, most: int) -> list[tuple[int, int]]:
        """Cut into the fewest runs within a loss budget.

        Exact, by dynamic programming; at most `most` runs, even where that exceeds the budget.
        """
        count = self._count
        if count == 0:
            return []
        best = np.full((min(most, count) + 1, count + 1), np.inf)
        choice = np.zeros(best.shape, dtype=np.intp)
        best[0, 0] = 0.0
        for runs in range(1, len(best)):
            totals = best[runs - 1][:, None] + self._loss
            choice[runs] = np.argmin(totals, axis=0)
            best[runs] = np.min(totals, axis=0)
            if best[runs, count] <= budget:
                break
        result = []
        end = count
        for used in range(int(np.argmin(best[: runs + 1, count])), 0, -1):
            start = int(choice[used, end])
            result.append((start, end))
            end = start
        return result[::-1]


def _run_losses(vectors: Floats, weights: Floats) -> Floats:
    """Give the loss of every run start:end as a table; differences of running sums."""
    count = len(vectors)
    weight = np.concatenate([[0.0], np.cumsum(weights)])
    first = np.concatenate(
        [np.zeros((1, vectors.shape[1])), np.cumsum(vectors * weights[:, None], axis=0)]
    )
    squares = line_totals(vectors * vectors, 1)
    second = np.concatenate([[0.0], np.cumsum(squares * weights)])
    loss = np.full((count + 1, count + 1), np.inf)  # a run ends after its start
    for start in range(count):
        ends = slice(start + 1, count + 1)
        moved = first[ends] - first[start]
        centred = line_totals(moved * moved, 1) / (weight[ends] - weight[start])
        # Rounding can leave a hair below zero; a loss is none.
        loss[start, ends] = np.maximum(0.5 * (second[ends] - second[start] - centred), 0.0)
    # Equal losses must not be told apart by their last bits.
    return np.round(loss, 9)


def _regrouped(axis: Axis, groups: list[list[int]], data: Dataset) -> tuple[Axis, Places]:
    """Give the axis of these groups of slots, and the map of the old slots to the new."""
    slot_map = np.zeros(axis.count, dtype=np.intp)
    if axis.cuts is None:
        assert axis.groups is not None
        words = axis.groups
        groups = sorted(groups, key=min)
        merged = Axis(
            axis.field,
            groups=tuple(
                tuple(sorted(w for slot in group for w in words[slot - 1])) for group in groups
            ),
        )
        slot_map[-1] = merged.count - 1
    else:
        kept = np.array([axis.cuts[group[0] - 2] for group in groups[1:]])
        merged = Axis(axis.field, cuts=readable_cuts(kept, axis.field, data))
    for number, group in enumerate(groups, start=1):
        slot_map[group] = number
    return merged, slot_map


def _collapse(values: Floats, weights: Floats, slot_map: Places, count: int) -> Floats:
    """Average values into their new slots; where nothing weighs, plainly."""
    traced = weights + 1e-9
    held = totals_by(slot_map, traced, count)
    return totals_by(slot_map, values * traced, count) / np.where(held > 0.0, held, 1.0)


def _merge_pair(
    pair: DraftPair, spread: _Spread, maps: tuple[Places, Places], budget: float, most: int
) -> DraftPair:
    """Collapse a pair to the bands of its axes, then merge rows and columns further."""
    counts = tuple(int(slot_map.max()) + 1 for slot_map in maps)
    table, weights = _collapse_table(spread.table, spread.weights, maps, counts)
    rows = _coarser(table, weights, budget, most)
    columns = _coarser(table.T, weights.T, budget, most)
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    table, _ = _collapse_table(table, weights, (rows, columns), shape)
    return DraftPair(pair.first, pair.second, rows, columns, table)


def _collapse_table(
    table: Floats, weights: Floats, maps: tuple[Places, Places], counts: tuple[int, ...]
) -> tuple[Floats, Floats]:
    flat = (maps[0][:, None] * counts[1] + maps[1][None, :]).ravel()
    size = counts[0] * counts[1]
    held = totals_by(flat, weights.ravel(), size)
    averaged = totals_by(flat, (table * weights).ravel(), size) / np.where(held > 0.0, held, 1.0)
    return averaged.reshape(counts), held.reshape(counts)


def _coarser(table: Floats, weights: Floats, budget: float, most: int) -> Places:
    """Map the slots of one side of a pair to fewer; missing stays apart."""
    row_weights = line_totals(weights, 1)
    vectors = _scaled(table, weights)
    slot_map = np.zeros(len(table), dtype=np.intp)
    for number, (start, end) in enumerate(
        Runs(vectors[1:], row_weights[1:] + 1e-9).cut(budget, most), start=1
    ):
        slot_map[start + 1 : end + 1] = number
    return slot_map


def readable_cuts(cuts: Floats, field: str, data: Dataset) -> Floats:
    """Move cuts to numbers with few digits where that moves hardly a row."""
    column = data.columns[field]
    assert isinstance(column, np.ndarray)
    known = np.sort(column[~np.isnan(column)])
    tolerance = ROWS_MOVED_MAX * len(known)
    whole = data.catalogue.field(field).kind is Kind.INTEGER
    chosen: list[float] = []
    for place, cut in enumerate(cuts):
        below = chosen[-1] if chosen else -np.inf
        above = cuts[place + 1] if place + 1 < len(cuts) else np.inf
        chosen.append(_readable(float(cut), known, tolerance, (below, float(above)), whole=whole))
    return np.array(chosen)


def _readable(
    cut: float, known: Floats, tolerance: float, between: tuple[float, float], *, whole: bool
) -> float:
    # For whole numbers the next whole number parts the rows exactly as the cut does.
    start = float(np.ceil(cut)) if whole else cut
    at = np.searchsorted(known, cut, side="left")
    for digits in range(1, _DIGITS_MAX):
        candidate = float(f"{start:.{digits - 1}e}")
        if whole and not candidate.is_integer():
            continue
        moved = abs(int(np.searchsorted(known, candidate, side="left")) - int(at))
        if moved <= tolerance and between[0] < candidate < between[1]:
            return candidate
    return start
