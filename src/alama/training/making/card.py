"""A finished draft as a card: points on the exact grid, monotone to the last bit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import tables
from alama.core.calibration import POINTS_PER_LOG_ODDS, points_of_log_odds
from alama.core.errors import TrainingProblem
from alama.core.kernel import Words
from alama.core.tables import Card, Feature, Pair, on_grid
from alama.core.units import LogOdds
from alama.training import portable
from alama.training.making.draft import Draft, shares_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.catalogue import Catalogue
    from alama.training.dataset import Dataset
    from alama.training.making.draft import Slots

    Floats = NDArray[np.float64]


GRAIN: Final = 2.0**-20
"""Slope and intercept are rounded to this, so that last bits do not reach the model."""

SLOPE_MIN: Final = 0.1
"""A slope below this says that the margins hold nothing; the order of the scores is kept."""

SLOPE_MAX: Final = 4.0
"""A slope above this says that the margins part the outcomes without error, which luck can do."""

_SHRUNK: Final = 0.98

_SLOPE_STEPS: Final = 12
_INTERCEPT_STEPS: Final = 24
_LOG_ODDS_MAX: Final = 60.0
_RIDGE: Final = 1e-9
_BALANCE: Final = 1e-11
"""Near enough, far below the grain; sums have a fixed order, so every processor stops alike."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibrated log-odds = intercept + slope x margin."""

    slope: float
    intercept: float


def calibrate(margins: Floats, labels: NDArray[np.int8]) -> Calibration:
    """Fit slope and intercept to margins that the trainer did not see (Platt)."""
    slope, intercept = 1.0, 0.0
    for _ in range(_SLOPE_STEPS):
        # The best intercept for a slope is found safely, so only the slope needs care of its own.
        intercept = _balanced(margins, labels, slope, intercept)
        p = portable.logistic(intercept + slope * margins)
        weight = p * (1.0 - p)
        mean = portable.total(weight * margins) / (portable.total(weight) + _RIDGE)
        spread = portable.total(weight * (margins - mean) * (margins - mean)) + _RIDGE
        step = portable.total((labels - p) * margins) / spread
        if abs(step) <= _BALANCE:
            break
        # At most a doubling or a halving at a time: far from the optimum a full step overshoots.
        slope = min(max(slope + step, slope / 2.0, SLOPE_MIN), slope * 2.0, SLOPE_MAX)
    slope = _grained(slope)
    return Calibration(slope, _grained(_balanced(margins, labels, slope, intercept)))


def intercept_for(margins: Floats, labels: NDArray[np.int8], slope: float) -> float:
    """Give the intercept at which the mean probability is the observed default rate."""
    return _grained(_balanced(margins, labels, slope, 0.0))


def _balanced(margins: Floats, labels: NDArray[np.int8], slope: float, start: float) -> float:
    """Find the intercept that balances the mean probability, which rises with it.

    Newton's steps inside an interval that is known to hold it: they are halved when they leave it.
    """
    defaults = portable.total(labels.astype(np.float64))
    scaled = slope * margins
    low = -_LOG_ODDS_MAX - float(np.max(scaled))
    high = _LOG_ODDS_MAX - float(np.min(scaled))
    intercept = min(max(start, low), high)
    for _ in range(_INTERCEPT_STEPS):
        p = portable.logistic(intercept + scaled)
        short = defaults - portable.total(p)
        if abs(short) <= _BALANCE * defaults:
            break
        low, high = (intercept, high) if short > 0.0 else (low, intercept)
        stepped = intercept + short / (portable.total(p * (1.0 - p)) + _RIDGE)
        intercept = stepped if low <= stepped <= high else 0.5 * (low + high)
    return intercept


def _grained(value: float) -> float:
    return round(value / GRAIN) * GRAIN


def card_of(name: str, draft: Draft, slope: float, data: Dataset, *, capped: bool) -> Card:
    """Turn log-odds into points, purify them on the population `data`, settle them on the grid.

    At this slope, or at the steepest one at which points can still be added up exactly.
    """
    card = _card_at(name, draft, slope, data, capped=capped)
    while (reach := tables.reach(card)) > tables.POINTS_MAX:
        slope = _grained(slope * _SHRUNK * tables.POINTS_MAX / reach)
        card = _card_at(name, draft, slope, data, capped=capped)
    broken = [*tables.faults(card), *tables.monotone_breaks(card, data.catalogue)]
    if broken:
        raise TrainingProblem(f"the finished tables of {name} do not hold: {broken[0]}")
    return card


def _card_at(name: str, draft: Draft, slope: float, data: Dataset, *, capped: bool) -> Card:
    slots = draft.slots(data.columns)
    shares = shares_of(slots, draft.axes)
    intercept = intercept_for(draft.margins(slots), data.labels, slope)
    pure = draft.purified(shares)
    scale = -POINTS_PER_LOG_ODDS * slope
    base = points_of_log_odds(LogOdds(intercept + slope * pure.base))
    pairs = tuple(
        Pair(
            first=pair.first,
            second=pair.second,
            rows=tuple(pair.rows.tolist()),
            columns=tuple(pair.columns.tolist()),
            halves=tuple(
                tuple(on_grid(scale * cell / 2.0) for cell in row) for row in pair.table.tolist()
            ),
        )
        for pair in pure.pairs
    )
    features = tuple(
        _feature(pure, place, scale, shares[place], slots[place], data)
        for place in range(len(pure.axes))
    )
    return settled(Card(name, on_grid(base), features, pairs), data.catalogue, capped=capped)


def _feature(
    draft: Draft, place: int, scale: float, shares: Floats, slots: Slots, data: Dataset
) -> Feature:
    axis = draft.axes[place]
    counts = np.bincount(slots, minlength=axis.count)
    bad = np.bincount(slots, data.labels, axis.count)
    rates = tuple(
        round(float(b) / int(n), 6) if n else None for b, n in zip(bad, counts, strict=True)
    )
    column = data.columns[axis.field]
    known = np.array([]) if isinstance(column, Words) else column[~np.isnan(column)]
    return Feature(
        field=axis.field,
        main=tuple(on_grid(scale * cell) for cell in draft.mains[place].tolist()),
        shares=tuple(shares.tolist()),
        default_rates=rates,
        cuts=() if axis.cuts is None else tuple(axis.cuts.tolist()),
        words=axis.groups or (),
        lowest=float(known.min()) if len(known) else None,
        highest=float(known.max()) if len(known) else None,
    )


def settled(card: Card, catalogue: Catalogue, *, capped: bool) -> Card:
    """Mend what rounding left: directions hold exactly, and a cap on what is missing too.

    What a lift adds to a feature's average goes back to the base, a constant, so that Shapley
    values stay those of the purified tables.
    """
    base = card.base
    features = []
    for place, feature in enumerate(card.features):
        sign = catalogue.field(feature.field).direction.sign
        main = list(feature.main)
        if sign:
            for slot in range(1, len(main) - 1):
                short = tables.gain_of_step(card, place, main, slot, sign)
                if short < 0.0:
                    for later in range(slot + 1, len(main)):
                        main[later] -= sign * short
        if capped:
            main[tables.MISSING] = min(main[tables.MISSING], _average_given(main, feature.shares))
        mean = on_grid(math.fsum(m * s for m, s in zip(main, feature.shares, strict=True)))
        base += mean
        features.append(msgspec.structs.replace(feature, main=tuple(m - mean for m in main)))
    return Card(card.name, base, tuple(features), card.pairs)


def _average_given(main: Sequence[float], shares: Sequence[float]) -> float:
    """Average over those who told the field."""
    told = 1.0 - shares[tables.MISSING]
    total = math.fsum(m * s for m, s in zip(main[1:], shares[1:], strict=True))
    return on_grid(total / told) if told > 0.0 else main[tables.MISSING]
