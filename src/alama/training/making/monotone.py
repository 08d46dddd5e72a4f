"""Projection of all tables onto the monotone cone: one convex problem, exact in every context.

For a field with a risk direction every step to the next band must not lower risk (or raise it)
whatever the other fields hold:

    s (f(b+1) - f(b)) + sum over pairs of t(b) >= 0,   t(b) <= s (g(b+1, c) - g(b, c)) for every c

with t the worst that a pair can do to the step. Besides, a missing value, and an unknown word, must
not be worth more than the population's average, pairs included (on average over the others: in
every context would cost the calibration of those who really leave the field out). The objective is
the second-order change of the log-loss over the rows, plus a small ridge on each cell; it is
minimised by accelerated projected steps, each a sparse quadratic problem with a diagonal objective.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import clarabel
import numpy as np
from scipy import sparse

from alama.core.errors import TrainingProblem
from alama.training.portable import total, totals_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from alama.training.making.draft import Draft, Slots

    Floats = NDArray[np.float64]

    Places = NDArray[np.intp]


STEPS: Final = 40
"""Accelerated steps; a fixed number, because a stopping rule would hang on last bits."""

GRAIN: Final = 2.0**-16
"""Projected log-odds are rounded to this, so that a solver's last bits do not reach the model."""

_CELL_FLOOR: Final = 1e-4
"""The least share of all weight that a cell counts for, so that empty cells stay put."""

Row = tuple[tuple[int, float], ...]
"""A constraint: the sum of coefficient x variable is at least 0."""


class Layout:
    """Where each cell of a draft stands in one long vector: the base, the mains, the pairs."""

    def __init__(self, draft: Draft) -> None:
        self.main_at: list[int] = []
        self.pair_at: list[int] = []
        at = 1
        for main in draft.mains:
            self.main_at.append(at)
            at += len(main)
        for pair in draft.pairs:
            self.pair_at.append(at)
            at += pair.table.size
        self.size = at
        self.pair_cells = [
            np.arange(at, at + pair.table.size).reshape(pair.table.shape)
            for at, pair in zip(self.pair_at, draft.pairs, strict=True)
        ]

    def flat(self, draft: Draft) -> Floats:
        """Give the cells of a draft as one vector."""
        parts = [np.array([draft.base]), *draft.mains, *(p.table.ravel() for p in draft.pairs)]
        return np.concatenate(parts)

    def filled(self, draft: Draft, cells: Floats) -> Draft:
        """Give the draft with other cells."""
        mains = tuple(
            cells[at : at + len(main)].copy()
            for at, main in zip(self.main_at, draft.mains, strict=True)
        )
        pairs = tuple(
            replace(pair, table=cells[at : at + pair.table.size].reshape(pair.table.shape).copy())
            for at, pair in zip(self.pair_at, draft.pairs, strict=True)
        )
        return replace(draft, base=float(cells[0]), mains=mains, pairs=pairs)


class Cone:
    """What must hold of the cells, as sparse rows; helper variables stand after the cells."""

    def __init__(
        self, draft: Draft, signs: Mapping[str, int], shares: Sequence[Floats], *, capped: bool
    ) -> None:
        """Write the rows; `signs` are +1 where risk grows with a field and -1 where it falls."""
        self._draft = draft
        self._layout = Layout(draft)
        self.variables = self._layout.size
        self.rows: list[Row] = []
        for place, axis in enumerate(draft.axes):
            self._add_steps(place, signs.get(axis.field, 0))
            untold = [0] if axis.cuts is not None else [0, axis.count - 1]
            for slot in untold if capped else ():
                self._add_cap(place, slot, shares)

    def _add_steps(self, place: int, sign: int) -> None:
        if sign == 0:
            return
        count = self._draft.axes[place].count
        for slot in range(1, count - 1):
            weights = np.zeros(count)
            weights[slot], weights[slot + 1] = -sign, sign
            self._hold(place, weights)

    def _add_cap(self, place: int, slot: int, shares: Sequence[Floats]) -> None:
        """A value that was not told, or not known, is at least as risky as the average."""
        weights = -shares[place]
        weights[slot] += 1.0
        terms = self._main_terms(place, weights)
        for cells, lines, other, crossing in self._pairs_of(place):
            by_line = totals_by(lines, weights, cells.shape[0])
            by_context = totals_by(crossing, shares[other], cells.shape[1])
            priced = by_line[:, None] * by_context[None, :]
            at = np.flatnonzero(priced)
            terms += zip(cells.ravel()[at].tolist(), priced.ravel()[at].tolist(), strict=True)
        self.rows.append(tuple(terms))

    def _main_terms(self, place: int, weights: Floats) -> list[tuple[int, float]]:
        at = self._layout.main_at[place]
        return [(at + int(slot), float(weights[slot])) for slot in np.flatnonzero(weights)]

    def _pairs_of(self, place: int) -> Iterator[tuple[Places, Places, int, Places]]:
        """Yield each pair of a field as seen from it: its cells, its lines, the other, crossing."""
        for cells, pair in zip(self._layout.pair_cells, self._draft.pairs, strict=True):
            if place == pair.first:
                yield cells, pair.rows, pair.second, pair.columns
            elif place == pair.second:
                yield cells.T, pair.columns, pair.first, pair.rows

    def _hold(self, place: int, weights: Floats) -> None:
        """Let the weighted sum over the slots be at least 0, whatever the other fields hold.

        A pair enters by the least it can give, a helper variable below its every context.
        """
        terms = self._main_terms(place, weights)
        for cells, lines, _, _ in self._pairs_of(place):
            by_line = totals_by(lines, weights, len(cells))
            touched = np.flatnonzero(by_line)
            if len(touched) == 0:
                continue
            least = self.variables
            self.variables += 1
            terms.append((least, 1.0))
            for context in cells[touched].T:
                held = zip(context.tolist(), by_line[touched].tolist(), strict=True)
                self.rows.append((*held, (least, -1.0)))
        self.rows.append(tuple(terms))


class Projection:
    """The nearest draft inside a cone, near in log-loss over the rows."""

    def __init__(
        self,
        draft: Draft,
        slots: Sequence[Slots],
        weights: Floats,
        shares: Sequence[Floats],
        ridge: float,
    ) -> None:
        """Measure the curvature of the log-loss; `weights` is p (1 - p) of each row."""
        self.draft = draft
        self._layout = Layout(draft)
        self._shares = shares
        self._rows = len(weights)
        self._start = self._layout.flat(draft)
        curvature = _curvature(draft, self._layout, slots, weights)
        mass = curvature.diagonal()
        self._metric = np.maximum(mass, _CELL_FLOOR * mass[0])
        self._curvature = curvature
        self._ridge = ridge * self._metric
        self._ridge[0] = 0.0  # the base is free
        self._stiffness = self._largest_ratio()

    def _gradient(self, change: Floats) -> Floats:
        gradient: Floats = self._curvature @ change + self._ridge * change
        return gradient

    def _largest_ratio(self) -> float:
        """Estimate the largest curvature against the metric by power iteration, with a margin."""
        vector = np.ones(len(self._metric))
        ratio = 1.0
        for _ in range(30):
            pushed = self._gradient(vector) / self._metric
            ratio = float(np.max(np.abs(pushed)))
            vector = pushed / ratio
        return 1.05 * ratio

    def solve(
        self, signs: Mapping[str, int], *, capped: bool, steps: int = STEPS
    ) -> tuple[Draft, float]:
        """Give the projected draft, and the log-loss a row that it costs.

        `capped` also holds what was not told to the average at most.
        """
        if not signs and not capped:
            return self.draft, 0.0
        held = Cone(self.draft, signs, self._shares, capped=capped)
        solver = _DiagonalProblem(held, self._metric * self._stiffness)
        point = ahead = solver.nearest(self._start)
        momentum = 1.0
        for _ in range(steps):
            gradient = self._gradient(ahead - self._start)
            nearest = solver.nearest(ahead - gradient / (self._metric * self._stiffness))
            following = (1.0 + (1.0 + 4.0 * momentum * momentum) ** 0.5) / 2.0
            ahead = nearest + (momentum - 1.0) / following * (nearest - point)
            point, momentum = nearest, following
        change = point - self._start
        cost = 0.5 * total(change * (self._curvature @ change)) / self._rows
        return self._layout.filled(self.draft, np.rint(point / GRAIN) * GRAIN), cost


def _curvature(
    draft: Draft, layout: Layout, slots: Sequence[Slots], weights: Floats
) -> sparse.csr_array:
    """Sum p (1 - p) over the rows for each two cells that a row stands in."""
    ones = np.zeros(len(weights), dtype=np.intp)
    terms: list[tuple[int, int, NDArray[np.intp]]] = [(0, 1, ones)]
    for at, main, slot in zip(layout.main_at, draft.mains, slots, strict=True):
        terms.append((at, len(main), slot.astype(np.intp)))
    for at, pair in zip(layout.pair_at, draft.pairs, strict=True):
        terms.append((at, pair.table.size, pair.cells(slots)))
    curvature = np.zeros((layout.size, layout.size))
    for number, (at, size, cells) in enumerate(terms):
        for other_at, other_size, other_cells in terms[number:]:
            places = cells * other_size + other_cells
            joint = totals_by(places, weights, size * other_size)
            block = joint.reshape(size, other_size)
            curvature[at : at + size, other_at : other_at + other_size] = block
            curvature[other_at : other_at + other_size, at : at + size] = block.T
    return sparse.csr_array(curvature)


class _DiagonalProblem:
    """The nearest point of a cone under a weighted distance: a sparse quadratic problem."""

    def __init__(self, held: Cone, metric: Floats) -> None:
        self._metric = metric
        self._cells = len(metric)
        self._variables = held.variables
        entries = [
            (number, variable, coefficient)
            for number, row in enumerate(held.rows)
            for variable, coefficient in row
        ]
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        shape = (len(held.rows), held.variables)
        self._against = sparse.csc_matrix((-np.array(values), (rows, columns)), shape=shape)
        # Helpers have no price of their own; scaling by the base keeps the numbers near one.
        self._scale = 1.0 / metric[0]
        diagonal = np.zeros(held.variables)
        diagonal[: self._cells] = metric * self._scale
        self._objective = sparse.csc_matrix(sparse.diags(diagonal))

    def nearest(self, target: Floats) -> Floats:
        """Give the cells of the cone nearest to the target."""
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        linear = np.zeros(self._variables)
        linear[: self._cells] = -self._metric * self._scale * target
        solution = clarabel.DefaultSolver(
            self._objective,
            linear,
            self._against,
            np.zeros(self._against.shape[0]),
            [clarabel.NonnegativeConeT(self._against.shape[0])],
            settings,
        ).solve()
        if str(solution.status) not in {"Solved", "AlmostSolved"}:
            raise TrainingProblem(
                f"the monotone projection did not converge ({solution.status})",
                hint="report this with the data's summary",
            )
        return np.array(solution.x[: self._cells])
