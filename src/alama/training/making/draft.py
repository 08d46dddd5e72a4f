"""A card in the making: axes, and tables of log-odds on them that add up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from alama.core.application import fold
from alama.core.kernel import Column, Words
from alama.training.portable import line_totals, total, totals_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    Slots = NDArray[np.int16]

    Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Axis:
    """The slots of one field: `cuts` for numbers, `groups` of words otherwise."""

    field: str
    cuts: Floats | None = None
    groups: tuple[tuple[str, ...], ...] | None = None

    @property
    def count(self) -> int:
        """Count the slots, missing and (for words) other included."""
        if self.cuts is not None:
            return len(self.cuts) + 2
        assert self.groups is not None
        return len(self.groups) + 2

    def slots(self, column: Column) -> Slots:
        """Give the slot of each row."""
        if isinstance(column, Words):
            assert self.groups is not None
            slot_of = {w: slot for slot, group in enumerate(self.groups, 1) for w in group}
            of_code = [slot_of.get(fold(word), self.count - 1) for word in column.vocabulary]
            by_code: Slots = np.array([*of_code, 0], dtype=np.int16)
            return by_code[column.codes]
        assert self.cuts is not None
        slots: Slots = (np.searchsorted(self.cuts, column, side="right") + 1).astype(np.int16)
        slots[np.isnan(column)] = 0
        return slots


@dataclass(frozen=True, slots=True)
class DraftPair:
    """A pair's table; `rows` and `columns` map the slots of its two axes into it."""

    first: int
    second: int
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    table: Floats

    def cells(self, slots: Sequence[Slots]) -> NDArray[np.intp]:
        """Give the flat cell of each row."""
        width = self.table.shape[1]
        flat: NDArray[np.intp] = self.rows[slots[self.first]] * width
        flat += self.columns[slots[self.second]]
        return flat


@dataclass(frozen=True, slots=True)
class Draft:
    """Log-odds of default = base + mains + pairs."""

    axes: tuple[Axis, ...]
    base: float
    mains: tuple[Floats, ...]
    pairs: tuple[DraftPair, ...]

    def slots(self, columns: Mapping[str, Column]) -> list[Slots]:
        """Give the slots of every axis for every row."""
        return [axis.slots(columns[axis.field]) for axis in self.axes]

    def margins(self, slots: Sequence[Slots]) -> Floats:
        """Give the log-odds of default of every row."""
        margins = np.full(len(slots[0]), self.base)
        for main, slot in zip(self.mains, slots, strict=True):
            margins += main[slot]
        for pair in self.pairs:
            margins += pair.table.ravel()[pair.cells(slots)]
        return margins

    def on(self, axes: Sequence[Axis]) -> Draft:
        """Give the same function on finer axes: each has all the cuts, or the words, of its own."""
        maps = [_slots_within(old, new) for old, new in zip(self.axes, axes, strict=True)]
        return Draft(
            tuple(axes),
            self.base,
            tuple(main[slots] for main, slots in zip(self.mains, maps, strict=True)),
            tuple(
                replace(
                    pair,
                    rows=pair.rows[maps[pair.first]],
                    columns=pair.columns[maps[pair.second]],
                )
                for pair in self.pairs
            ),
        )

    def among(self, axes: Sequence[Axis]) -> Draft:
        """Give the same function among more fields, in the same order; the others add nothing."""
        place_of = {axis.field: place for place, axis in enumerate(axes)}
        grown, mains = list(axes), [np.zeros(axis.count) for axis in axes]
        for axis, main in zip(self.axes, self.mains, strict=True):
            grown[place_of[axis.field]], mains[place_of[axis.field]] = axis, main
        moved = [place_of[axis.field] for axis in self.axes]
        pairs = tuple(
            replace(pair, first=moved[pair.first], second=moved[pair.second]) for pair in self.pairs
        )
        return Draft(tuple(grown), self.base, tuple(mains), pairs)

    def purified(self, shares: Sequence[Floats]) -> Draft:
        """Move what pairs hold of mains, and mains of the base, to where it belongs.

        Against the product of the marginals `shares` every row and column of a pair, and every
        main, then averages to zero: the function is unchanged, and main + half of each pair is
        the exact Shapley value of the game in which absent features are drawn from `shares`.
        """
        mains = [main.copy() for main in self.mains]
        base = self.base
        pairs = []
        for pair in self.pairs:
            height, width = pair.table.shape
            row_shares = totals_by(pair.rows, shares[pair.first], height)
            column_shares = totals_by(pair.columns, shares[pair.second], width)
            row_means = weighted_mean(pair.table, column_shares, axis=1)
            column_means = weighted_mean(pair.table, row_shares, axis=0)
            mean = float(weighted_mean(row_means[None, :], row_shares, axis=1)[0])
            mains[pair.first] += row_means[pair.rows] - mean
            mains[pair.second] += column_means[pair.columns] - mean
            base += mean
            table = pair.table - row_means[:, None] - column_means[None, :] + mean
            pairs.append(replace(pair, table=table))
        for place, (main, share) in enumerate(zip(mains, shares, strict=True)):
            mean = float(weighted_mean(main[None, :], share, axis=1)[0])
            mains[place] = main - mean
            base += mean
        return replace(self, base=base, mains=tuple(mains), pairs=tuple(pairs))


def weighted_mean(table: Floats, weights: Floats, axis: int) -> Floats:
    """Average along an axis."""
    weighted = table * (weights[None, :] if axis == 1 else weights[:, None])
    return line_totals(weighted, axis) / total(weights)


def shares_of(slots: Sequence[Slots], axes: Sequence[Axis]) -> list[Floats]:
    """Give the distribution of rows over the slots of each axis."""
    rows = len(slots[0])
    return [
        np.bincount(slot, minlength=axis.count) / rows
        for slot, axis in zip(slots, axes, strict=True)
    ]


def finest(drafts: Iterable[Draft]) -> tuple[Axis, ...]:
    """Give axes that have every cut of these drafts; words are split alike in all of them."""
    return tuple(
        axes[0]
        if axes[0].cuts is None
        else Axis(
            axes[0].field,
            cuts=np.unique(np.concatenate([a.cuts for a in axes if a.cuts is not None])),
        )
        for axes in zip(*(draft.axes for draft in drafts), strict=True)
    )


def weighed(parts: Sequence[tuple[float, Draft]], base: float) -> Draft:
    """Add drafts up, each times its weight; their own bases count too."""
    axes = finest(draft for _, draft in parts)
    there = [(weight, draft.on(axes)) for weight, draft in parts if weight]
    mains = [np.zeros(axis.count) for axis in axes]
    pairs: dict[tuple[int, int], list[tuple[float, DraftPair]]] = {}
    for weight, draft in there:
        base += weight * draft.base
        for place, main in enumerate(draft.mains):
            mains[place] += weight * main
        for pair in draft.pairs:
            pairs.setdefault((pair.first, pair.second), []).append((weight, pair))
    return Draft(axes, base, tuple(mains), tuple(_summed(pairs[key]) for key in sorted(pairs)))


def _summed(parts: Sequence[tuple[float, DraftPair]]) -> DraftPair:
    """Add tables of one pair up, which stand on the same bins."""
    table = np.zeros_like(parts[0][1].table)
    for weight, pair in parts:
        table += weight * pair.table
    return replace(parts[0][1], table=table)


def _slots_within(old: Axis, new: Axis) -> Places:
    """Give for each slot of the finer axis the slot of the coarser one that holds it."""
    if old.cuts is None or new.cuts is None:
        return np.arange(new.count)
    # A value on a cut belongs to the band right of it: take each band at its left end.
    left_ends = np.concatenate([[-np.inf], new.cuts])
    inner = np.searchsorted(old.cuts, left_ends, side="right") + 1
    return np.concatenate([[0], inner]).astype(np.intp)
