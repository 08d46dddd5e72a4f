"""The rules that the rows of a history must keep, and a count of those that break one.

A row that breaks a rule is left out. Nothing is mended here: who wrote the file knows what it
should have said, and finds the place by column, rule and the first rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from alama.training.history.report import FIRST_ROWS_MAX, Fault
from alama.training.history.roles import (
    APPLIED_ON,
    BORROWER_ID,
    DISBURSED_ON,
    DUE_ON,
    LARGEST_DAYS_PAST_DUE,
    OBSERVED_ON,
    RESTRUCTURED,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Days = NDArray[np.datetime64]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

GIVEN: Final = "must be given"
A_DAY: Final = "must be a date such as 2024-03-31"
A_NUMBER: Final = "must be a number"
YES_OR_NO: Final = "must be yes or no"
NOT_AHEAD: Final = "must not lie in the future"
GIVEN_OF_LOAN: Final = "must be given where disbursed_on is"
DISBURSED_IF_REPAID: Final = "must be given where largest_days_past_due or restructured is"
AFTER_APPLIED: Final = "must not lie before applied_on"
AFTER_DISBURSED: Final = "must not lie before disbursed_on"
DAY_OF_THE_BOOKS: Final = "must be the day on which the books were read"
POSSIBLE_DAYS: Final = "must not exceed the days from disbursed_on to observed_on"


@dataclass(frozen=True, slots=True)
class Book:
    """What rows say of their loans. NaT and NaN where nothing is said or it cannot be read.

    Equal numbers in `borrower` are one person; 0 is nobody. An empty `restructured` says no.
    """

    borrower: NDArray[np.int64]
    applied_on: Days
    disbursed_on: Days
    due_on: Days
    observed_on: Days
    days_past_due: Floats
    restructured: Mask
    amount: Floats
    term_days: Floats

    @property
    def booked(self) -> Mask:
        """Say which rows are loans, not only applications."""
        return ~np.isnat(self.disbursed_on)

    def take(self, rows: NDArray[np.intp]) -> Book:
        """Give these rows."""
        return Book(*(column[rows] for column in self.columns))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Give the columns in their order."""
        return tuple(getattr(self, name) for name in self.__slots__)


def joined(books: Sequence[Book]) -> Book:
    """Put books below each other; there must be one at least."""
    return Book(*(np.concatenate(parts) for parts in zip(*(b.columns for b in books), strict=True)))


class Inspection:
    """Judges the rows of a file batch by batch, and counts what they break."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], list[int]] = {}
        self.unsound = 0

    def faults(self) -> tuple[Fault, ...]:
        """Give the broken rules, those that most rows break first."""
        told = [
            Fault(column, rule, rows, tuple(self._first[column, rule]))
            for (column, rule), rows in self._rows.items()
        ]
        return tuple(sorted(told, key=lambda f: (-f.rows, f.column, f.rule)))

    def batch(self, rows: int, first_row: int) -> BatchInspection:
        """Begin with the next rows of the file."""
        return BatchInspection(self, rows, first_row)

    def add(self, column: str, rule: str, rows: NDArray[np.intp]) -> None:
        """Count rows, by their numbers in the file, that break a rule."""
        key = column, rule
        self._rows[key] = self._rows.get(key, 0) + len(rows)
        first = self._first.setdefault(key, [])
        first.extend(rows[: FIRST_ROWS_MAX - len(first)].tolist())


class BatchInspection:
    """The rows of one batch: which are sound so far."""

    def __init__(self, whole: Inspection, rows: int, first_row: int) -> None:
        self.sound: Mask = np.ones(rows, dtype=np.bool_)
        self._whole = whole
        self._first_row = first_row

    def tell(self, column: str, rule: str, broken: Mask) -> None:
        """Count the rows that break a rule."""
        if broken.any():
            self._whole.add(column, rule, np.flatnonzero(broken) + self._first_row)
            self.sound &= ~broken

    def done(self) -> Mask:
        """Count the rows that are left out, and give those that stay."""
        self._whole.unsound += int(np.count_nonzero(~self.sound))
        return self.sound


def inspect_book(
    found: BatchInspection, book: Book, given: Mapping[str, Mask], today: np.datetime64
) -> None:
    """Check what rows say of their loans against each other and against the calendar.

    `given` says for each column where something stands, be it readable or not: what cannot be
    read has been told of, and is not told of again as missing. `today` is that of UTC.
    """
    # East of Greenwich it is tomorrow already, and a file may be written just after midnight.
    last_day = today + np.timedelta64(1, "D")
    booked = given[DISBURSED_ON]
    for name in (BORROWER_ID, APPLIED_ON):
        found.tell(name, GIVEN, ~given[name])
    for name in (DUE_ON, OBSERVED_ON, LARGEST_DAYS_PAST_DUE):
        found.tell(name, GIVEN_OF_LOAN, booked & ~given[name])
    has_outcome = given[LARGEST_DAYS_PAST_DUE] | given[RESTRUCTURED]
    found.tell(DISBURSED_ON, DISBURSED_IF_REPAID, ~booked & has_outcome)
    # Comparing with NaT and NaN is False: what is missing breaks none of these.
    for name, values in (
        (APPLIED_ON, book.applied_on),
        (DISBURSED_ON, book.disbursed_on),
        (OBSERVED_ON, book.observed_on),
    ):
        found.tell(name, NOT_AHEAD, values > last_day)
    found.tell(DISBURSED_ON, AFTER_APPLIED, book.disbursed_on < book.applied_on)
    found.tell(DUE_ON, AFTER_DISBURSED, book.due_on < book.disbursed_on)
    found.tell(OBSERVED_ON, AFTER_DISBURSED, book.observed_on < book.disbursed_on)
    # An instalment can be late long before the last one is due, but none before there is a loan.
    seen = (book.observed_on - book.disbursed_on) / np.timedelta64(1, "D")
    found.tell(LARGEST_DAYS_PAST_DUE, POSSIBLE_DAYS, (seen >= 0) & (book.days_past_due > seen))
