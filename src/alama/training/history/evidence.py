"""How much a history can carry: its months, its drift, what is lacking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.kernel import Column, Words
from alama.training.history.report import COLLECT, Drift, Enough, Month
from alama.training.history.split import JUDGING_DEFAULTS_MIN, LEARNING_DEFAULTS_MIN, OutOfTime
from alama.training.validation.metrics import psi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Days = NDArray[np.datetime64]

    Labels = NDArray[np.int8]

    Mask = NDArray[np.bool_]


DRIFT_MONTHS: Final = 3
DRIFTED_PSI: Final = 0.25
_DRIFT_BANDS: Final = 10
_DRIFT_ROWS_MIN: Final = 200
_DRIFT_WORDS: Final = 20
_RATE_DAYS: Final = 183
_DAYS_A_MONTH: Final = 365.25 / 12.0
_FORECAST_MONTHS_MAX: Final = 60


# ----------------------------------------------------------------------------------- the calendar


def months(applied_on: Days, booked: Mask, mature: Mask, bad: Mask) -> tuple[Month, ...]:
    """Count by the month of the application; `bad` are the defaults among the mature loans."""
    if not len(applied_on):
        return ()
    month = applied_on.astype("datetime64[M]")
    first = month.min()
    place = (month - first).astype(np.int64)
    counts = [
        np.bincount(place[rows], minlength=place.max() + 1).tolist()
        for rows in (slice(None), booked, mature, bad)
    ]
    return tuple(
        Month(str(first + number), asked, lent, known, lost, lost / known if known else None)
        for number, (asked, lent, known, lost) in enumerate(zip(*counts, strict=True))
        if asked
    )


def drift(columns: Mapping[str, Column], applied_on: Days) -> tuple[Drift, ...]:
    """Measure how far each field moved in the last three months, the farthest first.

    Nothing is said where either part is so small that chance alone moves it.
    """
    if not len(applied_on):
        return ()
    month = applied_on.astype("datetime64[M]")
    late = month > month.max() - DRIFT_MONTHS
    if min(np.count_nonzero(late), np.count_nonzero(~late)) < _DRIFT_ROWS_MIN:
        return ()
    found = [Drift(name, round(_shift(column, late), 4)) for name, column in columns.items()]
    return tuple(sorted(found, key=lambda shift: (-shift.psi, shift.column)))


def _shift(column: Column, late: Mask) -> float:
    """Compare shares of bands that were cut on the earlier rows; what is missing is a band."""
    if isinstance(column, Words):
        earlier = np.bincount(column.codes[~late] + 1, minlength=len(column.vocabulary) + 1)
        common = np.argsort(-earlier[1:], kind="stable")[:_DRIFT_WORDS]
        band_of_code = np.full(len(earlier), len(common) + 1, dtype=np.intp)
        band_of_code[0] = 0
        band_of_code[common + 1] = np.arange(len(common)) + 1
        bands = band_of_code[column.codes + 1]
    else:
        given = ~np.isnan(column)
        before = column[given & ~late]
        cuts = np.linspace(0.0, 1.0, _DRIFT_BANDS + 1)[1:-1]
        edges = np.unique(np.quantile(before, cuts)) if len(before) else before
        bands = np.where(given, np.searchsorted(edges, column, side="right") + 1, 0)
    size = int(bands.max()) + 1
    shares = [
        np.bincount(bands[rows], minlength=size) / np.count_nonzero(rows) for rows in (~late, late)
    ]
    return psi(*shares)


# ----------------------------------------------------------------------------------- enough?


@dataclass(frozen=True, slots=True)
class Calendar:
    """What day it is, and on which the books were last looked at."""

    today: np.datetime64
    books_read_on: np.datetime64

    @property
    def books_age_days(self) -> int:
        """Give how many days ago that was."""
        return int((self.today - self.books_read_on) / np.timedelta64(1, "D"))


def enough(split: OutOfTime | None) -> Enough:
    """Say whether enough loans teach a model and enough others judge it; the rarer outcome counts.

    Later loans of borrowers who came back neither teach nor judge, so they do not count.
    """
    if (
        split is None
        or split.judging.rarer < JUDGING_DEFAULTS_MIN
        or split.learning.rarer < LEARNING_DEFAULTS_MIN
    ):
        return Enough.NOTHING
    return Enough.MODEL


def advice(
    verdict: Enough,
    applied_on: Days,
    labels: Labels,
    split: OutOfTime | None,
    calendar: Calendar,
) -> tuple[str, ...]:
    """Say what to do about too little evidence, and about when there will be enough."""
    if verdict is Enough.MODEL:
        return ()
    return _lacking(applied_on, labels, split, calendar), COLLECT


def _lacking(applied_on: Days, labels: Labels, split: OutOfTime | None, calendar: Calendar) -> str:
    """Say how many more loans of which outcome it takes before a model can be made and judged."""
    learning, judging = (
        (0, 0) if split is None else (split.learning.defaults, split.judging.defaults)
    )
    lacking = max(LEARNING_DEFAULTS_MIN - learning, 0) + max(JUDGING_DEFAULTS_MIN - judging, 0)
    scarce = "defaults"
    if not lacking and split is not None:
        scarce = "repaid loans"
        learning, judging = split.learning.repaid, split.judging.repaid
        lacking = max(LEARNING_DEFAULTS_MIN - learning, 0) + max(JUDGING_DEFAULTS_MIN - judging, 0)
    told = (
        f"A model needs {LEARNING_DEFAULTS_MIN} {scarce} to learn from and {JUDGING_DEFAULTS_MIN} "
        "to be judged by, among the last loans and of people it has not met. There are "
        f"{learning:,} and {judging:,}: {lacking:,} more are needed."
    )
    if scarce == "defaults":
        told += _forecast(lacking, applied_on, labels, calendar)
    return told


def _forecast(lacking: int, applied_on: Days, labels: Labels, calendar: Calendar) -> str:
    """Say when there will be so many more, at the rate of the last half-year of mature loans.

    Counted from the last look at the books: what matured since then is not in the file.
    """
    if lacking <= 0 or not len(labels):
        return ""
    last = applied_on.max()
    first = max(applied_on.min(), last - np.timedelta64(_RATE_DAYS - 1, "D"))
    span_months = ((last - first).astype(int) + 1) / _DAYS_A_MONTH
    rate = int(np.count_nonzero(labels[applied_on >= first])) / max(span_months, 1.0)
    if rate <= 0.0 or lacking / rate > _FORECAST_MONTHS_MAX:
        return ""
    waiting = int(np.ceil(lacking / rate))
    when = calendar.books_read_on.astype("datetime64[M]") + waiting
    if when <= calendar.today.astype("datetime64[M]"):
        return (
            f" At about {rate:,.0f} a month, counted from the books of {calendar.books_read_on}, "
            f"there were so many around {when}: hand in books read today."
        )
    return (
        f" At the present rate of about {rate:,.0f} a month there will be so many about "
        f"{waiting:,} month{'' if waiting == 1 else 's'} after {calendar.books_read_on}, around "
        f"{when}."
    )
