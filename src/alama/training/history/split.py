"""The one split of a history: which loans teach a model, which judge it, and which do neither.

Every loan before the first day of the out-of-time part teaches. Of those from that day on, the
loans of borrowers without an earlier loan judge: a model that has met the person would look better
than it is. The rest came back. They are shown beside, and count neither way.

No loan is taken out of those that teach for what its borrower did later. Mostly people who repaid
come back, so that would take out repaid loans and leave the defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.training.validation.gates import FOR_EVERYONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Days = NDArray[np.datetime64]

    Labels = NDArray[np.int8]

    Mask = NDArray[np.bool_]

    People = NDArray[np.int64]


_NEARLY_ALL: Final = 0.99
"""So many loans were observed by the day on which the books were read; the rest may be mistakes."""


def mature(
    due_on: NDArray[np.datetime64], observed_on: NDArray[np.datetime64], days_past_due: int
) -> Mask:
    """Say which loans are old enough; a loan without either day is not (NaT compares False)."""
    known: Mask = observed_on >= due_on + np.timedelta64(days_past_due, "D")
    return known


def unread(
    due_on: NDArray[np.datetime64], observed_on: NDArray[np.datetime64], days_past_due: int
) -> Mask:
    """Say which loans would be mature, had they been observed when the books were read.

    Where the books are read on one day there is none. Where `observed_on` holds the day on which
    a loan was closed, these are the loans that were repaid in time: setting them aside would leave
    the defaults.
    """
    known = observed_on[~np.isnat(observed_on)]
    if not len(known):
        return np.zeros(len(observed_on), dtype=np.bool_)
    # Not the last day of all: one wrong one would make every young loan look overlooked.
    day = np.sort(known)[int(_NEARLY_ALL * (len(known) - 1))]
    in_time: Mask = mature(due_on, np.full_like(observed_on, day), days_past_due)
    return in_time & ~np.isnat(observed_on) & ~mature(due_on, observed_on, days_past_due)


def defaulted(
    largest_days_past_due: NDArray[np.float64], restructured: Mask, days_past_due: int
) -> Mask:
    """Say which loans defaulted, whether mature or not; NaN days past due are none."""
    late: Mask = largest_days_past_due >= days_past_due
    return late | restructured


OUT_OF_TIME_SHARE: Final = 0.2
OUT_OF_TIME_SHARE_MAX: Final = 0.5
"""The last loans are set apart: a fifth of them, or more where a fifth holds too few defaults."""

JUDGING_DEFAULTS_MIN: Final = FOR_EVERYONE.out_of_time_defaults_min
LEARNING_DEFAULTS_MIN: Final = FOR_EVERYONE.defaults_min - FOR_EVERYONE.out_of_time_defaults_min


@dataclass(frozen=True, slots=True)
class Counted:
    """How many loans there are, and how many of them defaulted."""

    loans: int
    defaults: int

    @property
    def repaid(self) -> int:
        """Count the loans that did not default."""
        return self.loans - self.defaults

    @property
    def rarer(self) -> int:
        """Count the rarer outcome: there is no more to learn than that."""
        return min(self.defaults, self.repaid)


@dataclass(frozen=True, slots=True)
class Sides:
    """Which loans learn, which judge, and which are later loans of people who came back."""

    learning: Mask
    judging: Mask
    returned: Mask


@dataclass(frozen=True, slots=True)
class OutOfTime:
    """The first day of the out-of-time part, and what each side holds."""

    first_day: np.datetime64
    learning: Counted
    judging: Counted
    returned: Counted


def sides(applied_on: Days, borrowers: People, first_day: np.datetime64) -> Sides:
    """Split loans at a day."""
    late: Mask = applied_on.astype("datetime64[D]") >= first_day
    unmet: Mask = _first_met(applied_on, borrowers) >= first_day
    return Sides(~late, unmet, late & ~unmet)


def out_of_time(
    applied_on: Days,
    borrowers: People,
    labels: Labels,
    judging_defaults: int = JUDGING_DEFAULTS_MIN,
) -> OutOfTime | None:
    """Choose the last part of the calendar, or None where there is no loan.

    It is the shortest that holds a fifth of the loans and in which so many defaults judge; where
    half of the loans do not hold so many, in which as many judge as everyone must have; else it is
    the fifth, and too little to judge by.
    """
    if not len(labels):
        return None
    days, place = np.unique(applied_on.astype("datetime64[D]"), return_inverse=True)
    met = np.searchsorted(days, _first_met(applied_on, borrowers))
    loans = np.cumsum(np.bincount(place)[::-1])[::-1]
    # Whoever was first met on a day or later has no loan before it: all their loans judge.
    bad = np.cumsum(np.bincount(met, weights=labels, minlength=len(days))[::-1])[::-1]
    wide = loans >= OUT_OF_TIME_SHARE * len(labels)
    within = wide & (loans <= OUT_OF_TIME_SHARE_MAX * len(labels))
    wished = (within & (bad >= least) for least in (judging_defaults, JUDGING_DEFAULTS_MIN))
    chosen = next((starts for starts in wished if starts.any()), wide)
    first_day = days[int(np.flatnonzero(chosen)[-1])]
    found = sides(applied_on, borrowers, first_day)
    return OutOfTime(
        first_day,
        *(
            Counted(int(np.count_nonzero(rows)), int(np.count_nonzero(labels[rows])))
            for rows in (found.learning, found.judging, found.returned)
        ),
    )


def _first_met(applied_on: Days, borrowers: People) -> Days:
    """Give for each loan the day of its borrower's first."""
    _, person = np.unique(borrowers, return_inverse=True)
    days = applied_on.astype("datetime64[D]").astype(np.int64)
    first = np.full(int(person.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, person, days)
    return first[person].astype("datetime64[D]")
