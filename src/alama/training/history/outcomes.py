"""Which loans defaulted, and which are old enough to say so.

A loan defaults where it was ever k days past due by its due date + k, or was restructured in
distress. Who has not paid by the due date + k is k days late that day, so the largest number of
days past due that is seen later says the same.

A loan is mature where it was observed on its due date + k or later. Those that are not are all set
aside, also those that are k days late already: a bad loan shows early, a good one only at the end,
and counting the early ones would make every recent month look worse than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

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
