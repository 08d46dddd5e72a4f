"""Whether the population stands still: judging rows against training, and month by month."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core import kernel
from alama.core.kernel import BatchScorecard
from alama.core.likeness import ReadyLikeness
from alama.core.tables import MISSING
from alama.training.making.likeness import strangeness_of_rows
from alama.training.validation import metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.tables import Card
    from alama.training.dataset import Dataset
    from alama.training.validation.metrics import Floats
    from alama.training.validation.unseen import Unseen

    Places = NDArray[np.intp]


_SCORE_BANDS: Final = 10
_MONTHS_MAX: Final = 24
_MONTH_ROWS_MIN: Final = 200
"""A month of fewer rows says more about chance than about drift."""

LATELY_DAYS: Final = 91
LATELY_ROWS_MIN: Final = 200
"""The last three months, or the last rows where three months hold fewer."""


class FeatureShift(msgspec.Struct, frozen=True):
    """How a field's distribution over its bands moved from that of the training rows (PSI).

    `psi` is of the rows set apart, None out of fold.
    """

    field: str
    psi: float | None
    by_month: tuple[float, ...]


class Month(msgspec.Struct, frozen=True):
    """One calendar month of all rows, scored by one card."""

    month: str
    rows: int
    score_psi: float
    predicted_rate: float
    default_rate: float


class Stability(msgspec.Struct, frozen=True):
    """How far scores and fields of one card moved from the rows it learned from."""

    score_psi: float | None
    features: tuple[FeatureShift, ...]
    months: tuple[Month, ...]


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows of a stretch of time, or of all: where scores and fields fall."""

    rows: Dataset
    points: Floats
    slots: Sequence[Places]


def stability(unseen: Unseen, card: int, points: Floats) -> Stability:
    """Measure drift of the scores and fields of a card; `points` are those of the rows that judge.

    Where rows were set apart they are held against the training rows, and months of both alike. Out
    of fold there is nothing else to hold the rows against: each month is held against all of them.
    """
    table = unseen.model.cards[card]
    scorecard = kernel.BatchScorecard(table, unseen.model.catalogue)
    judged = _Stretch(unseen.rows, points, scorecard.slots(unseen.rows.columns))
    if unseen.train is None:
        return _measured(table, judged, None)
    columns = unseen.train.columns
    learned = _Stretch(unseen.train, scorecard.score(columns).points, scorecard.slots(columns))
    return _measured(table, learned, judged)


def _measured(card: Card, learned: _Stretch, later: _Stretch | None) -> Stability:
    edges = np.quantile(learned.points, np.linspace(0.0, 1.0, _SCORE_BANDS + 1)[1:-1])
    stretches = [learned] if later is None else [learned, later]
    bands = [np.searchsorted(edges, one.points, side="right") for one in stretches]
    labels = np.concatenate([one.rows.labels for one in stretches])
    chances = kernel.probabilities(np.concatenate([one.points for one in stretches]))
    all_bands = np.concatenate(bands)
    reference = _shares(bands[0], _SCORE_BANDS)

    months = _months([one.rows for one in stretches])
    shifts = []
    for place, feature in enumerate(card.features):
        size = len(feature.main)
        trained = _shares(learned.slots[place], size)
        together = np.concatenate([one.slots[place] for one in stretches])
        shifts.append(
            FeatureShift(
                feature.field,
                None if later is None else metrics.psi(trained, _shares(later.slots[place], size)),
                tuple(metrics.psi(trained, _shares(together[rows], size)) for _, rows in months),
            )
        )
    return Stability(
        None if later is None else metrics.psi(reference, _shares(bands[1], _SCORE_BANDS)),
        tuple(shifts),
        tuple(
            Month(
                month=name,
                rows=len(rows),
                score_psi=metrics.psi(reference, _shares(all_bands[rows], _SCORE_BANDS)),
                predicted_rate=float(np.mean(chances[rows])),
                default_rate=float(np.mean(labels[rows])),
            )
            for name, rows in months
        ),
    )


def score_psi(learned: Floats, later: Floats) -> float:
    """Give how far scores moved from those of the training rows, in tenths of the latter (PSI)."""
    edges = np.quantile(learned, np.linspace(0.0, 1.0, _SCORE_BANDS + 1)[1:-1])
    return metrics.psi(
        *(
            _shares(np.searchsorted(edges, points, side="right"), _SCORE_BANDS)
            for points in (learned, later)
        )
    )


def lately(dates: NDArray[np.datetime64]) -> NDArray[np.bool_] | None:
    """Say which rows are of the last three months; None where there are too few rows to tell."""
    if len(dates) < LATELY_ROWS_MIN:
        return None
    days = dates.astype("datetime64[D]")
    since = min(days.max() - LATELY_DAYS, np.sort(days)[-LATELY_ROWS_MIN])
    return np.asarray(days >= since)


def _shares(places: NDArray[np.intp], size: int) -> Floats:
    shares: Floats = np.bincount(places, minlength=size) / len(places)
    return shares


def _months(parts: Sequence[Dataset]) -> Sequence[tuple[str, Places]]:
    """Give the latest months with rows enough, each with its rows; none without dates."""
    known_dates = [part.dates for part in parts if part.dates is not None]
    if len(known_dates) < len(parts):
        return []
    dates = np.concatenate(known_dates)
    month = dates.astype("datetime64[M]").astype(np.int64)
    # NaT becomes the least integer: rows without a date belong to no month.
    known = np.flatnonzero(~np.isnat(dates))
    order = known[np.argsort(month[known], kind="stable")]
    values, starts = np.unique(month[order], return_index=True)
    groups = np.split(order, starts[1:])
    full = [
        (str(np.datetime64(int(value), "M")), rows)
        for value, rows in zip(values, groups, strict=True)
        if len(rows) >= _MONTH_ROWS_MIN
    ]
    return full[-_MONTHS_MAX:]


SHOWN_SHARES: Final = (0.01, 0.001, 0.0001)


class UnlikeShare(msgspec.Struct, frozen=True):
    """Rows called unlike training where `asked` of the training rows are, as shares.

    `judged` is of rows as they are, `shuffled` of the same with every field dealt out anew: each
    value is an ordinary one, and together they are nobody's.
    """

    asked: float
    judged: float
    shuffled: float


def unlike_shares(unseen: Unseen, chosen: Places, *, seed: int) -> tuple[UnlikeShare, ...]:
    """Measure the model as served, `chosen` being the card of each row; nothing without likeness.

    A card without a likeness calls nothing unlike.
    """
    if not unseen.model.likeness:
        return ()
    rng = np.random.default_rng([seed, 5])
    called = np.zeros((len(SHOWN_SHARES), 2))
    for part in unseen.parts():
        known = {likeness.card: likeness for likeness in part.model.likeness}
        for place, card in enumerate(part.model.cards):
            rows = np.flatnonzero(chosen[part.places] == place)
            if not len(rows) or card.name not in known:
                continue
            columns = part.rows.take(rows).columns
            slots = BatchScorecard(card, part.model.catalogue).slots(columns)
            ready = ReadyLikeness(known[card.name])
            as_they_are = strangeness_of_rows(ready.likeness, slots)
            shuffled = strangeness_of_rows(ready.likeness, dealt_anew(slots, rng))
            for number, asked in enumerate(SHOWN_SHARES):
                beyond = (as_they_are > ready.limit(asked), shuffled > ready.limit(asked))
                called[number] += np.count_nonzero(beyond, axis=1)
    return tuple(
        UnlikeShare(asked, *shares)
        for asked, shares in zip(SHOWN_SHARES, (called / len(unseen.rows)).tolist(), strict=True)
    )


def dealt_anew(slots: Sequence[Places], rng: np.random.Generator) -> list[Places]:
    """Shuffle each field among the rows that give it: the same values, no longer together."""
    shuffled = []
    for slot in slots:
        given = np.flatnonzero(slot != MISSING)
        dealt = slot.copy()
        dealt[given] = slot[rng.permutation(given)]
        shuffled.append(dealt)
    return shuffled
