"""Who was booked: a logistic regression over the bands of a card, on all who applied.

applications -> the ends beyond which next to nobody was booked -> within them, log-odds by slot
             -> centred on the grid -> the limit below which such were seldom booked

A model that learned from booked loans has nothing to say where there are none. That is the overlap
of Crump, Hotz, Imbens and Mitnik (2009): whoever has too small a chance of being in the sample is
left out, here to a person. The limit is in proportion to the share that was booked, so that
a lender who books one in five at random has everyone inside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from alama.core.booking import Booking, FieldBooking, ends_in, on_step
from alama.core.kernel import BatchScorecard, Column, Words
from alama.training.making.masking import rows_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from alama.core.catalogue import Catalogue
    from alama.core.tables import Card
    from alama.training.dataset import Dataset

    Floats = NDArray[np.float64]

    Mask = NDArray[np.bool_]

    Places = NDArray[np.intp]


SUPPORT: Final = 0.5
"""Seldom is less than this times as often as on average. Measured: docs/decisions/0018."""

ROWS_MIN: Final = 100
"""Applications that must have been booked, and that must not, for anything to be learned."""

_NEVER: Final = 0.2
"""Next to nobody is less than this times as often as seldom."""

_EVIDENCE_MIN: Final = 5.0
"""Loans that an end must be short of: so many would be there had next to nobody been booked."""

_STEPS_MAX: Final = 200


def learn_booking(card: Card, applications: Dataset) -> Booking | None:
    """Learn who of those that a card serves was booked; labels are 1 for whoever was.

    None where there is too little to tell by.
    """
    served = applications.take(rows_for(applications, [feature.field for feature in card.features]))
    booked = served.labels == 1
    if not _tells(booked):
        return None
    share = float(np.mean(booked))
    chance_min = SUPPORT * share
    ends = [
        _ends(served.columns[feature.field], booked, _NEVER * chance_min)
        for feature in card.features
    ]
    inside = np.ones(len(served), dtype=np.bool_)
    for feature, (low, high) in zip(card.features, ends, strict=True):
        inside &= ~_beyond(served.columns[feature.field], low, high)
    slots = [slot[inside] for slot in BatchScorecard(card, served.catalogue).slots(served.columns)]
    base, tables = _log_odds(slots, [len(f.main) for f in card.features], booked[inside])
    return Booking(
        card=card.name,
        base=base,
        fields=tuple(
            FieldBooking(table, *(end if math.isfinite(end) else None for end in two))
            for table, two in zip(tables, ends, strict=True)
        ),
        log_odds_min=on_step(math.log(chance_min / (1.0 - chance_min))),
        booked_share=round(share, 6),
    )


def log_odds_by_field(
    booking: Booking,
    card: Card,
    catalogue: Catalogue,
    columns: Mapping[str, Column],
    money_factor: float = 1.0,
) -> Floats:
    """Give what each field of each row says (fields x rows), minus infinity beyond an end.

    With the base they sum to less than `log_odds_min` exactly where `ReadyBooking.is_seldom`.
    """
    slots = BatchScorecard(card, catalogue, money_factor).slots(columns)
    said = np.empty((len(slots), len(slots[0])))
    for place, (feature, field) in enumerate(zip(card.features, booking.fields, strict=True)):
        low, high = ends_in(field, feature, catalogue, money_factor)
        said[place] = np.array(field.log_odds)[slots[place]]
        said[place, _beyond(columns[feature.field], low, high)] = -np.inf
    return said


def _beyond(values: Column, low: float, high: float) -> Mask:
    """Say which values lie beyond the ends; one that is not given does not."""
    if isinstance(values, Words):
        return np.zeros(len(values.codes), dtype=np.bool_)
    # Nothing is below or above NaN.
    return np.asarray((values < low) | (values > high))


def _tells(booked: Mask) -> bool:
    count = int(np.count_nonzero(booked))
    return min(count, len(booked) - count) >= ROWS_MIN


def _ends(column: Column, booked: Mask, share_max: float) -> tuple[float, float]:
    """Give the ends beyond which next to nobody was booked, infinite where there is none."""
    if isinstance(column, Words):
        return -math.inf, math.inf
    given = ~np.isnan(column)
    values, were = column[given], booked[given]
    return _lower_end(values, were, share_max), -_lower_end(-values, were, share_max)


def _lower_end(values: Floats, booked: Mask, share_max: float) -> float:
    """Give the least value that is not in a tail where fewer than `share_max` were booked.

    The tail ends where it is furthest short of the loans that this share would make: one more
    value that was booked any oftener would shorten what is missing.
    """
    order = np.argsort(values, kind="stable")
    rising = values[order]
    short = np.cumsum(share_max - booked[order])
    last = np.flatnonzero(rising[1:] != rising[:-1])
    if not len(last):
        return -math.inf
    end = int(last[np.argmax(short[last])])
    return float(rising[end + 1]) if short[end] >= _EVIDENCE_MIN else -math.inf


def _log_odds(
    slots: Sequence[Places], sizes: Sequence[int], booked: Mask
) -> tuple[float, list[tuple[float, ...]]]:
    """Give the base, and for each field the log-odds of its slots, which average to nothing.

    A slot where nobody stands says nothing: it has the average.
    """
    if not _tells(booked):
        count, rows = int(np.count_nonzero(booked)), len(booked)
        flat = math.log((count + 0.5) / (rows - count + 0.5))
        return on_step(flat), [(0.0,) * size for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    machine = LogisticRegression(solver="newton-cg", max_iter=_STEPS_MAX)
    machine.fit(_design(slots, starts), booked)
    base = float(machine.intercept_[0])
    tables = []
    for slot, start, size in zip(slots, starts[:-1], sizes, strict=True):
        found = machine.coef_[0, start : start + size]
        counts = np.bincount(slot, minlength=size)
        mean = float(found @ counts) / len(slot)
        base += mean
        tables.append(
            tuple(
                on_step(cell - mean) if count else 0.0
                for cell, count in zip(found.tolist(), counts.tolist(), strict=True)
            )
        )
    return on_step(base), tables


def _design(slots: Sequence[Places], starts: NDArray[np.intp]) -> sparse.csr_array:
    """Give a row for each application with a one at the slot of each field."""
    places = np.column_stack([slot + start for slot, start in zip(slots, starts, strict=False)])
    rows, fields = places.shape
    ends = np.arange(0, rows * fields + 1, fields)
    return sparse.csr_array((np.ones(rows * fields), places.ravel(), ends), (rows, int(starts[-1])))
