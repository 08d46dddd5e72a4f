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
from alama.training.making.fit import Axis, Draft, DraftPair
from alama.training.portable import line_totals, total, totals_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.training.dataset import Dataset
    from alama.training.making.fit import Slots
    from alama.training.recipe import Recipe

    Floats = NDArray[np.float64]

    Places = NDArray[np.intp]


ROWS_MOVED_MAX: Final = 0.002
"""The share of rows that rounding one cut may move to the neighbouring band."""

EVIDENCE_MIN: Final = 10.0
"""The least weight of a band, in rows times p (1 - p): about so many defaults, or repayments where
those are rarer. Fewer cannot carry a step of their own."""

_TRACE: Final = 1e-3
"""Where no row stands, the product of the marginals decides, at this weight."""

_DIGITS_MAX: Final = 12


@dataclass(frozen=True, slots=True)
class _Spread:
    """A pair's table spread over all slots of its two axes, with the weight of each cell."""

    table: Floats
    weights: Floats


def band(
    draft: Draft, data: Dataset, slots: Sequence[Slots], weights: Floats, recipe: Recipe
) -> Draft:
    """Give the draft on readable bands; `weights` is p (1 - p) of each row."""
    budget = recipe.band_loss * len(data)
    heights = [
        totals_by(slot, weights, axis.count) for slot, axis in zip(slots, draft.axes, strict=True)
    ]
    spreads = [_spread(pair, slots, weights, heights) for pair in draft.pairs]
    axes, maps, mains = [], [], []
    for place, axis in enumerate(draft.axes):
        groups = _merge_axis(draft, spreads, place, heights[place], budget, recipe.bands_max)
        merged, slot_map = _regrouped(axis, groups, data)
        axes.append(merged)
        maps.append(slot_map)
        mains.append(_collapse(draft.mains[place], heights[place], slot_map, merged.count))
    pairs = [
        _merge_pair(pair, spread, (maps[pair.first], maps[pair.second]), budget, recipe)
        for pair, spread in zip(draft.pairs, spreads, strict=True)
    ]
    return Draft(tuple(axes), draft.base, tuple(mains), tuple(pairs))


def _spread(
    pair: DraftPair, slots: Sequence[Slots], weights: Floats, heights: Sequence[Floats]
) -> _Spread:
    first, second = heights[pair.first], heights[pair.second]
    flat = slots[pair.first].astype(np.intp) * len(second) + slots[pair.second]
    joint = totals_by(flat, weights, len(first) * len(second)).reshape(len(first), len(second))
    product = first[:, None] * second[None, :] / total(first)
    return _Spread(pair.table[np.ix_(pair.rows, pair.columns)], joint + _TRACE * product)


def _merge_axis(
    draft: Draft,
    spreads: Sequence[_Spread],
    place: int,
    heights: Floats,
    budget: float,
    most: int,
) -> list[list[int]]:
    """Group the inner slots of an axis (not missing, not other); words in order of their main."""
    axis = draft.axes[place]
    inner = np.arange(1, axis.count if axis.cuts is not None else axis.count - 1)
    if axis.cuts is None:
        inner = inner[np.argsort(draft.mains[place][inner], kind="stable")]
    parts = [draft.mains[place][:, None]]
    for pair, spread in zip(draft.pairs, spreads, strict=True):
        if pair.first == place:
            parts.append(_scaled(spread.table, spread.weights))
        elif pair.second == place:
            parts.append(_scaled(spread.table.T, spread.weights.T))
    vectors = np.concatenate(parts, axis=1)[inner]
    floor = _TRACE * total(heights) / len(heights)
    return [
        [int(slot) for slot in inner[a:b]]
        for a, b in segments(vectors, heights[inner] + floor, budget, most, EVIDENCE_MIN)
    ]


def _scaled(table: Floats, weights: Floats) -> Floats:
    """Scale columns so that squared distances of rows weigh contexts by their share."""
    column_weights = line_totals(weights, 0)
    return table * np.sqrt(column_weights / total(column_weights))[None, :]


def segments(
    vectors: Floats, weights: Floats, budget: float, most: int, least: float = 0.0
) -> list[tuple[int, int]]:
    """Cut a sequence of weighted vectors into the fewest runs within a loss budget.

    The loss of a run is half the weighted squared distance to its mean: log-loss to second order.
    Exact, by dynamic programming; at most `most` runs, and none that weighs less than `least` (but
    for a run of everything), even where that exceeds the budget.
    """
    count = len(vectors)
    if count == 0:
        return []
    loss = _run_losses(vectors, weights)
    reached = np.concatenate([[0.0], np.cumsum(weights)])
    light = reached[None, :] - reached[:, None] < least
    light[0, count] = False
    loss[light] = np.inf
    best = np.full((min(most, count) + 1, count + 1), np.inf)
    choice = np.zeros(best.shape, dtype=np.intp)
    best[0, 0] = 0.0
    for runs in range(1, len(best)):
        for end in range(1, count + 1):
            totals = best[runs - 1, :end] + loss[:end, end]
            choice[runs, end] = np.argmin(totals)
            best[runs, end] = totals[choice[runs, end]]
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
    loss = np.zeros((count + 1, count + 1))
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
    pair: DraftPair, spread: _Spread, maps: tuple[Places, Places], budget: float, recipe: Recipe
) -> DraftPair:
    """Collapse a pair to the bands of its axes, then merge rows and columns further."""
    counts = tuple(int(slot_map.max()) + 1 for slot_map in maps)
    table, weights = _collapse_table(spread.table, spread.weights, maps, counts)
    rows = _coarser(table, weights, budget, recipe.pair_bands_max)
    columns = _coarser(table.T, weights.T, budget, recipe.pair_bands_max)
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
        segments(vectors[1:], row_weights[1:] + 1e-9, budget, most), start=1
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
