"""Whom an earlier policy let into the history: booked against applied, and what lies outside.

A model learns from booked loans alone and is asked about everyone who applies. This shows how far
the two differ, and how many applications look like nobody who was booked: a policy leaves those to
a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import calibration, kernel
from alama.core.kernel import Words
from alama.training.validation import metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from alama.core.kernel import Column
    from alama.core.model import Model
    from alama.training.validation.decided import Decided
    from alama.training.validation.metrics import Floats

    Mask = NDArray[np.bool_]

_SCORE_STEP_POINTS: Final = 20
_SCORE_BANDS: Final = 10


class FieldSelection(msgspec.Struct, frozen=True):
    """How far a field of the booked differs from that of all who applied (PSI); medians."""

    field: str
    psi: float
    applied_median: float | None
    booked_median: float | None


class Selection(msgspec.Struct, frozen=True):
    """Booked against applied, scored by the candidate. Shares are 0 to 1.

    `outside_` are the shares of those unlike the booked loans that the model learned from, but
    `outside_approved` and `outside_declined` count applications; `predicted_` are the mean
    probabilities of those inside.
    """

    applications: int
    booked: int
    score_psi: float
    score_edges: tuple[float, ...]
    applied_shares: tuple[float, ...]
    booked_shares: tuple[float, ...]
    fields: tuple[FieldSelection, ...]
    outside_booked: float
    outside_not_booked: float
    outside_to_review: float
    outside_approved: int
    outside_declined: int
    predicted_booked: float
    predicted_not_booked: float

    @property
    def booked_share(self) -> float:
        """Give the share of the applications that were booked."""
        return self.booked / max(self.applications, 1)


def select(
    model: Model,
    columns: Mapping[str, Column],
    booked: Mask,
    points: Floats,
    decided: Decided,
) -> Selection:
    """Compare the booked with all who applied; `points` and `decided` are of every application."""
    edges = _score_edges(points)
    scores = np.clip(points, calibration.SCORE_MIN, calibration.SCORE_MAX)
    cuts = np.quantile(points, np.linspace(0.0, 1.0, _SCORE_BANDS + 1)[1:-1])
    bands = np.searchsorted(cuts, points, side="right")
    inside = ~decided.outside
    chances = kernel.probabilities(points)
    outside = decided.outside
    return Selection(
        applications=len(booked),
        booked=int(np.count_nonzero(booked)),
        score_psi=_psi(bands, booked, _SCORE_BANDS),
        score_edges=tuple(edges.tolist()),
        applied_shares=_histogram(scores, edges),
        booked_shares=_histogram(scores[booked], edges),
        fields=_fields(model, columns, booked),
        outside_booked=_mean(outside[booked]),
        outside_not_booked=_mean(outside[~booked]),
        outside_to_review=_mean(decided.review[outside]),
        outside_approved=int(np.count_nonzero(outside & decided.approved)),
        outside_declined=int(np.count_nonzero(outside & decided.declined)),
        predicted_booked=_mean(chances[booked & inside]),
        predicted_not_booked=_mean(chances[~booked & inside]),
    )


def _fields(
    model: Model, columns: Mapping[str, Column], booked: Mask
) -> tuple[FieldSelection, ...]:
    card = model.cards[-1]
    slots = kernel.BatchScorecard(card, model.catalogue).slots(columns)
    found = [
        FieldSelection(
            feature.field,
            _psi(slot, booked, len(feature.main)),
            _median(columns[feature.field]),
            _median(columns[feature.field], booked),
        )
        for feature, slot in zip(card.features, slots, strict=True)
    ]
    return tuple(sorted(found, key=lambda field: (-field.psi, field.field)))


def _psi(bands: NDArray[np.intp], booked: Mask, size: int) -> float:
    applied = np.bincount(bands, minlength=size) / len(bands)
    kept = np.bincount(bands[booked], minlength=size) / max(int(np.count_nonzero(booked)), 1)
    return metrics.psi(applied, kept)


def _median(column: Column, rows: Mask | None = None) -> float | None:
    if isinstance(column, Words):
        return None
    given = column if rows is None else column[rows]
    given = given[~np.isnan(given)]
    return float(np.median(given)) if len(given) else None


def _score_edges(points: Floats) -> Floats:
    step = _SCORE_STEP_POINTS
    shown = np.clip(points, calibration.SCORE_MIN, calibration.SCORE_MAX)
    first, last = (np.floor(end / step) * step for end in (shown.min(), shown.max()))
    return np.arange(first, last + 2 * step, step, dtype=np.float64)


def _histogram(scores: Floats, edges: Floats) -> tuple[float, ...]:
    counts, _ = np.histogram(scores, bins=edges)
    return tuple((counts / max(len(scores), 1)).tolist())


def _mean(values: Floats | Mask) -> float:
    """Give the mean; 0 of nothing, which the counts beside it tell apart."""
    return float(np.mean(values)) if len(values) else 0.0
