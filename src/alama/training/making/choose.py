"""What is chosen in the making of a card, always by rows that the drafts compared have not seen.

How calm the curves, how many pairs, how much of the smooth fit and how much of the boosted one.
Where neither says more than a penalised regression on weights of evidence, that one is the card.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.training import portable
from alama.training.making.draft import Draft, weighed
from alama.training.making.smooth import margin_loss, newton
from alama.training.validation.metrics import auc, log_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.training.making.draft import Slots

    Floats = NDArray[np.float64]

    Labels = NDArray[np.int8]


PAIR_COUNTS: Final = (0, 1, 2, 3, 5, 8, 12, 18, 25, 40)
"""Numbers of pairs that are tried; the strongest come first."""

_BEFORE: Final = (0.0, 0.5, 0.5)
_FIRMNESS: Final = 10.0
"""The weights of the floor, the smooth and the boosted fit before any row is seen, and how firmly
they are held: few rows cannot tell which is better, and the mean of two errs less than either."""

_SHARES: Final = tuple(tenth / 10 for tenth in range(11))
"""Of the floor, until the whole ranks no worse than the floor alone."""

_GRAIN: Final = 1_024.0
"""Weights are multiples of one over this, so that last bits do not reach the model."""

_WEIGHT_MIN: Final = 1e-9
_DECIMALS: Final = 7
"""Losses are compared rounded to this."""


@dataclass(frozen=True, slots=True)
class Said:
    """What drafts say of rows that they have not seen, in log-odds; one column a row.

    `smooth` has a line for each strength, `boosted` one for each number of pairs.
    """

    floor: Floats
    smooth: Floats
    boosted: Floats

    def of(self, rows: NDArray[np.bool_]) -> Said:
        return Said(self.floor[rows], self.smooth[:, rows], self.boosted[:, rows])


@dataclass(frozen=True, slots=True)
class Choice:
    """How a card is put together; `floor` alone where nothing else says more."""

    strength: int
    pairs: int
    smooth: float
    boosted: float
    floor: float
    base: float

    def towards_floor(self, share: float) -> Choice:
        """Give so much of the floor in the place of as much of everything."""
        kept = 1.0 - share
        return Choice(
            self.strength,
            self.pairs,
            kept * self.smooth,
            kept * self.boosted,
            kept * self.floor + share,
            kept * self.base,
        )

    def margins(self, said: Said) -> Floats:
        margins: Floats = (
            self.base
            + self.floor * said.floor
            + self.smooth * said.smooth[self.strength]
            + self.boosted * said.boosted[self.pairs]
        )
        return margins

    def draft(self, floor: Draft, smooth: Draft, boosted: Draft) -> Draft:
        """Put the parts together; `boosted` has its pairs in the order of what they carry."""
        kept = with_pairs(boosted, PAIR_COUNTS[self.pairs])
        parts = [(self.floor, floor), (self.smooth, smooth), (self.boosted, kept)]
        return weighed(parts, self.base)


def choose(said: Said, labels: Labels, pair_gain: float) -> Choice:
    """Choose by the loss on these rows."""
    strength = _least([_loss(margins, labels) for margins in said.smooth])
    found = []
    for pairs, count in enumerate(PAIR_COUNTS[: len(said.boosted)]):
        parts = said.floor, said.smooth[strength], said.boosted[pairs]
        (floor, smooth, boosted), base = _stacked(parts, labels)
        choice = Choice(strength, pairs, smooth, boosted, floor, base)
        found.append(
            (_loss(choice.margins(said), labels) + pair_gain * count / len(labels), choice)
        )
    best = found[_least([loss for loss, _ in found])][1]
    least = auc(labels, said.floor)
    blends = (best.towards_floor(share) for share in _SHARES)
    return next(one for one in blends if auc(labels, one.margins(said)) >= least)


def by_what_they_carry(draft: Draft, slots: Sequence[Slots], weights: Floats) -> Draft:
    """Put the pairs of a purified draft into the order of the loss that they save, largest first.

    `weights` is p (1 - p) of each row, so that half the weighted square is the loss to second
    order.
    """
    carried = []
    for pair in draft.pairs:
        effect = pair.table.ravel()[pair.cells(slots)]
        carried.append(round(portable.total(weights * effect * effect) / len(weights), _DECIMALS))
    order = sorted(range(len(carried)), key=lambda place: (-carried[place], place))
    return Draft(draft.axes, draft.base, draft.mains, tuple(draft.pairs[p] for p in order))


def with_pairs(draft: Draft, count: int) -> Draft:
    """Give the draft with the first so many of its pairs."""
    return Draft(draft.axes, draft.base, draft.mains, draft.pairs[:count])


def _loss(margins: Floats, labels: Labels) -> float:
    return round(log_loss(labels, portable.logistic(margins)), _DECIMALS)


def _least(losses: Sequence[float]) -> int:
    return min(range(len(losses)), key=lambda place: (losses[place], place))


def _stacked(parts: Sequence[Floats], labels: Labels) -> tuple[tuple[float, ...], float]:
    """Give weights of at least nought, and a base, at which the weighted sum fits best.

    What would get a weight below nought gets none.
    """
    used = list(range(len(parts)))
    while True:
        before = [_BEFORE[place] for place in used]
        weights, base = _line([parts[place] for place in used], labels, before)
        below = [number for number, weight in enumerate(weights) if weight < 0.0]
        if not below:
            break
        used.pop(min(below, key=lambda number: weights[number]))
    of_part = dict(zip(used, weights, strict=True))
    every = tuple(of_part.get(place, 0.0) for place in range(len(parts)))
    return tuple(round(w * _GRAIN) / _GRAIN for w in every), round(base * _GRAIN) / _GRAIN


def _line(
    parts: Sequence[Floats], labels: Labels, before: Sequence[float]
) -> tuple[list[float], float]:
    """Fit weights and a base, drawn a little to the weights held before."""
    held = np.array([0.0, *before])
    firm = np.array([0.0, *(_FIRMNESS for _ in parts)])
    columns = [np.ones(len(labels)), *parts]

    def loss_at(figures: Floats) -> float:
        drawn = portable.total(firm * (figures - held) * (figures - held))
        return margin_loss(_sum(figures, columns), labels) + 0.5 * drawn

    def slope_and_bend(figures: Floats) -> tuple[Floats, Floats]:
        chances = portable.logistic(_sum(figures, columns))
        weights = np.maximum(chances * (1.0 - chances), _WEIGHT_MIN)
        slope = np.array([portable.total((chances - labels) * c) for c in columns])
        bend = np.array([[portable.total(weights * a * b) for b in columns] for a in columns])
        return slope + firm * (figures - held), bend + np.diag(firm)

    base, *weights = newton(held, loss_at, slope_and_bend).tolist()
    return weights, base


def _sum(figures: Floats, columns: Sequence[Floats]) -> Floats:
    total = np.zeros(len(columns[0]))
    for figure, column in zip(figures.tolist(), columns, strict=True):
        total += figure * column
    return total
