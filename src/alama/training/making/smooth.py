"""A smooth additive fit: each field a curve of few steps, all of them in one penalised regression.

    log-odds = base + sum over fields of f(slot),   penalty = strength x squared steps of each f

It is convex, so that its result is the one there is, whatever the machine; and where rows are few
it draws the calmer curves. Words have no order: their cells are held near nought instead of near
their neighbours. Beside it stands the floor, a penalised regression on weights of evidence: one
figure a field, the least that any table of loans carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.kernel import Words
from alama.training import portable
from alama.training.making.draft import Axis, Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from alama.core.kernel import Column
    from alama.training.making.draft import Slots

    Floats = NDArray[np.float64]

    Labels = NDArray[np.int8]

    Places = NDArray[np.intp]


STRENGTHS: Final = (128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5)
"""From calm to lively; which one is told by rows that the fit has not seen."""

ROWS_MAX: Final = 10_000
"""Rows that such a fit learns from at most: a few hundred cells need no more."""

_STEPS_MAX: Final = 24
_STEP_ROWS: Final = 10
_CELLS_MIN: Final = 300
_CELLS_MAX: Final = 1_200
_LEVEL: Final = 0.02
"""What a level costs beside a step, so that a curve without evidence lies at nought."""

GRAIN: Final = 2.0**-16
"""Log-odds are rounded to this, so that a solver's last bits do not reach the model."""

_NEWTON_STEPS: Final = 30
_NEAR: Final = 1e-7
_TOLD: Final = 1e-12
"""Newton's errors are squared from one step to the next: after one this small, or one that lowers
the loss by this share of it, the rest is far below the grain."""

_WEIGHT_MIN: Final = 1e-6

_EVIDENCE_STEPS: Final = 6
_EVIDENCE_ROWS: Final = 10.0
"""Rows of the average outcome that stand in each slot beforehand: evidence of a few is shrunk."""

_DECIMALS: Final = 9

_FLOOR_RIDGE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Curves:
    """The axes of a smooth fit, and where the cells of each stand in one long vector."""

    axes: tuple[Axis, ...]
    starts: tuple[int, ...]
    size: int

    @classmethod
    def over(cls, columns: Mapping[str, Column], word_axes: Mapping[str, Axis]) -> Curves:
        """Cut each number into steps of about equal rows, fewer where there are many fields.

        No more cells than rows, but for a few hundred: they would cost time and tell nothing.
        """
        first = next(iter(columns.values()))
        rows = len(first.codes if isinstance(first, Words) else first)
        cells = min(_CELLS_MAX, max(rows, _CELLS_MIN))
        most = min(_STEPS_MAX, max(3, cells // len(columns)))
        axes = tuple(
            word_axes[name] if isinstance(column, Words) else Axis(name, cuts=_cuts(column, most))
            for name, column in columns.items()
        )
        starts = np.cumsum([1, *(axis.count for axis in axes)]).tolist()
        return cls(axes, tuple(starts[:-1]), starts[-1])

    def cells(self, columns: Mapping[str, Column]) -> Places:
        """Give the cell of every field (columns) of every row."""
        return np.column_stack(
            [
                axis.slots(columns[axis.field]).astype(np.intp) + start
                for axis, start in zip(self.axes, self.starts, strict=True)
            ]
        )

    def draft(self, values: Floats) -> Draft:
        rounded = np.rint(values / GRAIN) * GRAIN
        mains = tuple(
            rounded[start : start + axis.count]
            for axis, start in zip(self.axes, self.starts, strict=True)
        )
        return Draft(self.axes, float(rounded[0]), mains, ())

    def penalty(self) -> Floats:
        """Give the matrix whose quadratic form is the sum of squared steps, and levels a little."""
        penalty = np.zeros((self.size, self.size))
        for axis, start in zip(self.axes, self.starts, strict=True):
            cells = np.arange(start, start + axis.count)
            if axis.cuts is None:
                penalty[cells, cells] = 1.0
                continue
            penalty[cells, cells] = _LEVEL
            penalty[start, start] += 1.0  # missing has no neighbour
            lower, upper = cells[1:-1], cells[2:]
            penalty[lower, lower] += 1.0
            penalty[upper, upper] += 1.0
            penalty[lower, upper] -= 1.0
            penalty[upper, lower] -= 1.0
        return penalty


def _cuts(column: Floats, most: int) -> Floats:
    known = np.sort(column[~np.isnan(column)])
    steps = min(most, len(known) // _STEP_ROWS)
    if steps <= 1:
        return np.array([])
    cuts: Floats = np.unique(known[np.arange(1, steps) * len(known) // steps])
    above: Floats = cuts[cuts > known[0]] + 0.0
    return above


def smooth_path(curves: Curves, cells: Places, labels: Labels) -> Iterator[Draft]:
    """Fit once for each strength, from calm to lively."""
    penalty = curves.penalty()
    values: Floats | None = None
    for strength in STRENGTHS:
        values = _fit(curves, cells, labels, strength * penalty, values)
        yield curves.draft(values)


def smooth(curves: Curves, cells: Places, labels: Labels, strength: float) -> Draft:
    return curves.draft(_fit(curves, cells, labels, strength * curves.penalty(), None))


def _fit(
    curves: Curves, cells: Places, labels: Labels, penalty: Floats, start: Floats | None
) -> Floats:
    """Minimise the penalised log-loss."""
    if start is None:
        start = np.zeros(curves.size)
        start[0] = _log_odds(labels)

    def loss_at(values: Floats) -> float:
        return margin_loss(_margins(values, cells), labels) + 0.5 * float(values @ penalty @ values)

    def slope_and_bend(values: Floats) -> tuple[Floats, Floats]:
        chances = portable.logistic(_margins(values, cells))
        slope = _totals(cells, chances - labels, curves.size) + penalty @ values
        weights = np.maximum(chances * (1.0 - chances), _WEIGHT_MIN)
        return slope, _bend(curves, cells, weights) + penalty

    return newton(start, loss_at, slope_and_bend)


def newton(
    start: Floats,
    loss_at: Callable[[Floats], float],
    slope_and_bend: Callable[[Floats], tuple[Floats, Floats]],
) -> Floats:
    """Minimise a convex loss by Newton's steps, halved where they overshoot.

    Whole steps would lead anywhere where the loss is flat, as beside a field that gives the outcome
    away.
    """
    values, loss = start, loss_at(start)
    for _ in range(_NEWTON_STEPS):
        slope, bend = slope_and_bend(values)
        step = np.linalg.solve(bend, slope)
        length = 1.0
        while (better := loss_at(values - length * step)) > loss and length > _NEAR:
            length /= 2.0
        if better > loss:  # as near as can be told
            break
        values = values - length * step
        if float(np.max(np.abs(step))) <= _NEAR or loss - better <= _TOLD * loss:
            break
        loss = better
    return values


def _log_odds(labels: Labels) -> float:
    rate = portable.total(labels.astype(np.float64)) / len(labels)
    return float(np.log(rate / (1.0 - rate)))


def _margins(values: Floats, cells: Places) -> Floats:
    margins = np.full(len(cells), values[0])
    for column in cells.T:
        margins += values[column]
    return margins


def margin_loss(margins: Floats, labels: Labels) -> float:
    """Give the log-loss of all rows together."""
    # log(1 + e^m) - y m, kept from overflowing.
    rest = np.log1p(np.exp(-np.abs(margins))) + np.maximum(margins, 0.0) - labels * margins
    return portable.total(rest)


def _totals(cells: Places, by_row: Floats, size: int) -> Floats:
    totals = np.zeros(size)
    totals[0] = portable.total(by_row)
    for column in cells.T:
        totals += portable.totals_by(column, by_row, size)
    return totals


def _bend(curves: Curves, cells: Places, weights: Floats) -> Floats:
    """Sum the weights for each two cells that a row stands in."""
    bend = np.zeros((curves.size, curves.size))
    alone = _totals(cells, weights, curves.size)
    bend[0], bend[:, 0] = alone, alone
    spans = [
        (start, start + axis.count, cells[:, place] - start)
        for place, (axis, start) in enumerate(zip(curves.axes, curves.starts, strict=True))
    ]
    for number, (a, b, slots) in enumerate(spans):
        bend[range(a, b), range(a, b)] = alone[a:b]
        for c, d, others in spans[number + 1 :]:
            joint = portable.totals_by(slots * (d - c) + others, weights, (b - a) * (d - c))
            block = joint.reshape(b - a, d - c)
            bend[a:b, c:d], bend[c:d, a:b] = block, block.T
    return bend


# -------------------------------------------------------------------------------------- the floor


def floor(columns: Mapping[str, Column], word_axes: Mapping[str, Axis], labels: Labels) -> Draft:
    """Fit one figure for each field to its weight of evidence."""
    axes = _evidence_axes(columns, word_axes)
    slots = [axis.slots(columns[axis.field]) for axis in axes]
    evidence = [_evidence(slot, axis.count, labels) for slot, axis in zip(slots, axes, strict=True)]
    seen = np.column_stack(
        [np.ones(len(labels)), *(e[s] for e, s in zip(evidence, slots, strict=True))]
    )
    figures = _ridge_line(seen, labels)
    mains = tuple(
        np.rint(figure * table / GRAIN) * GRAIN
        for figure, table in zip(figures[1:].tolist(), evidence, strict=True)
    )
    return Draft(tuple(axes), round(float(figures[0]) / GRAIN) * GRAIN, mains, ())


def information(
    columns: Mapping[str, Column], word_axes: Mapping[str, Axis], labels: Labels
) -> dict[str, float]:
    """Give how much each field says by itself: the mean square of its weight of evidence."""
    told = {}
    for axis in _evidence_axes(columns, word_axes):
        slots = axis.slots(columns[axis.field])
        evidence = _evidence(slots, axis.count, labels)
        told[axis.field] = round(portable.total(evidence[slots] ** 2) / len(labels), _DECIMALS)
    return told


def _evidence_axes(columns: Mapping[str, Column], word_axes: Mapping[str, Axis]) -> list[Axis]:
    return [
        word_axes[name]
        if isinstance(column, Words)
        else Axis(name, cuts=_cuts(column, _EVIDENCE_STEPS))
        for name, column in columns.items()
    ]


def _evidence(slots: Slots, count: int, labels: Labels) -> Floats:
    """Give how much likelier a slot is among defaults, in log-odds; shrunk where rows are few."""
    rows = np.bincount(slots, minlength=count)
    bad = np.bincount(slots, labels, count)
    rate = portable.total(labels.astype(np.float64)) / len(labels)
    shrunk = (bad + _EVIDENCE_ROWS * rate) / (rows + _EVIDENCE_ROWS)
    evidence: Floats = np.log(shrunk / (1.0 - shrunk)) - np.log(rate / (1.0 - rate))
    return evidence


def _ridge_line(seen: Floats, labels: Labels) -> Floats:
    """Fit a line to few columns, the first of which is free."""
    ridge = np.full(seen.shape[1], _FLOOR_RIDGE)
    ridge[0] = 0.0
    start = np.zeros(seen.shape[1])
    start[0] = _log_odds(labels)

    def loss_at(figures: Floats) -> float:
        return margin_loss(seen @ figures, labels) + 0.5 * float(ridge @ (figures * figures))

    def slope_and_bend(figures: Floats) -> tuple[Floats, Floats]:
        chances = portable.logistic(seen @ figures)
        weights = np.maximum(chances * (1.0 - chances), _WEIGHT_MIN)
        slope = seen.T @ (chances - labels) + ridge * figures
        return slope, (seen * weights[:, None]).T @ seen + np.diag(ridge)

    return newton(start, loss_at, slope_and_bend)
