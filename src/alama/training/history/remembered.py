"""What a book would have remembered of each borrower on the day of each application of a file.

It is what `alama.core.memory` says of the same loans on that day, worked out for all rows at once.
Only what is dated that day or before has a part in it. Of several applications of one borrower on
one day a file does not say which came first, so none knows of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from alama.core.memory import ASKED_HOURS, DAY_HOURS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from alama.training.history.rows import Book

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Places = NDArray[np.intp]


ROWS_MAX: Final = 1_000
"""Of one borrower: more is no borrower, but an id that many share, and nothing is said of them."""

_PAIRS_AT_ONCE: Final = 1_000_000
_ASKED_DAYS: Final = ASKED_HOURS // DAY_HOURS
_NEVER: Final = np.iinfo(np.int64).max // 4


class _Days(NamedTuple):
    """The days of loans since 1970, sorted by borrower; what did not happen is never."""

    applied: Ints
    disbursed: Ints
    due: Ints
    repaid: Ints
    amount: Floats


def columns_as_of(book: Book) -> dict[str, Floats]:
    """Give the fields of the memory that a file tells; NaN where it is not known.

    Applications are known of a file only where some did not become loans, and what was declined is
    known of none.
    """
    order = np.lexsort((book.applied_on.astype(np.int64), book.borrower))
    loans = _sorted(book, order)
    people = book.borrower[order]
    starts = np.flatnonzero(np.append(True, people[1:] != people[:-1])[: len(order)])
    found = _Columns(len(order))
    for mine, earlier in _pairs(starts, len(order)):
        found.add(loans, mine, earlier)
    found.forget(_crowded(starts, len(order)))
    if book.booked.all():
        del found.columns["applications_30d"]
    back = np.empty(len(order), dtype=np.intp)
    back[order] = np.arange(len(order))
    return {name: column[back] for name, column in found.columns.items()}


def _sorted(book: Book, order: Places) -> _Days:
    disbursed = _day_numbers(book.disbursed_on[order])
    return _Days(
        _day_numbers(book.applied_on[order]),
        disbursed,
        _day_numbers(book.due_on[order]),
        _day_numbers(book.repaid_on[order]),
        book.amount[order],
    )


def _day_numbers(days: NDArray[np.datetime64]) -> Ints:
    return np.where(np.isnat(days), _NEVER, days.astype("datetime64[D]").astype(np.int64))


def _sizes(starts: Places, rows: int) -> Places:
    return np.diff(starts, append=rows)


def _crowded(starts: Places, rows: int) -> NDArray[np.bool_]:
    sizes = _sizes(starts, rows)
    return np.repeat(sizes > ROWS_MAX, sizes)


def _pairs(starts: Places, rows: int) -> Iterator[tuple[Places, Places]]:
    """Give each row with each row before it of the same borrower, so many at a time."""
    sizes = _sizes(starts, rows)
    wanted = (sizes > 1) & (sizes <= ROWS_MAX)
    starts, sizes = starts[wanted], sizes[wanted]
    cuts = np.cumsum(sizes * sizes) // _PAIRS_AT_ONCE
    for cut in np.unique(cuts):
        first, many = starts[cuts == cut], sizes[cuts == cut]
        mine = _runs(first, many)
        before = mine - np.repeat(first, many)
        yield np.repeat(mine, before), _runs(np.repeat(first, many), before)


def _runs(first: Places, many: Places) -> Places:
    """Give the numbers from each first on, so many of each."""
    ends = np.cumsum(many)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - many - first, many)


class _Columns:
    """The fields by their names, of nobody at first."""

    def __init__(self, rows: int) -> None:
        self._last = np.full(rows, -_NEVER)
        names = (
            *("open_loans", "open_balance", "loans_repaid", "worst_days_past_due"),
            *("days_since_last_loan", "applications_30d", "largest_repaid", "days_past_due"),
        )
        self.columns = {name: np.zeros(rows) for name in names}
        self.columns["days_since_last_loan"][:] = np.nan

    def add(self, loans: _Days, mine: Places, earlier: Places) -> None:
        """Let rows know of earlier ones; all that one row knows of comes at once."""
        day = loans.applied[mine]
        asked = loans.applied[earlier] < day
        self._sum("applications_30d", mine, asked & (day - loans.applied[earlier] < _ASKED_DAYS))
        known = asked & (loans.disbursed[earlier] <= day)
        mine, earlier, day = mine[known], earlier[known], day[known]
        due, repaid_on, amount = loans.due[earlier], loans.repaid[earlier], loans.amount[earlier]
        repaid = repaid_on <= day
        late = np.where(due < day, np.maximum(np.minimum(repaid_on, day) - due, 0), 0)
        self._sum("open_loans", mine, ~repaid)
        self._sum("loans_repaid", mine, repaid)
        self._sum("open_balance", mine, np.where(repaid, 0.0, amount))
        self._most("largest_repaid", mine, np.where(repaid, amount, 0.0))
        self._most("worst_days_past_due", mine, late)
        self._most("days_past_due", mine, np.where(repaid, 0, late))
        np.maximum.at(self._last, mine, loans.disbursed[earlier])
        rows = np.unique(mine)
        self.columns["days_since_last_loan"][rows] = loans.applied[rows] - self._last[rows]

    def _sum(self, name: str, mine: Places, more: NDArray[np.generic]) -> None:
        np.add.at(self.columns[name], mine, more)

    def _most(self, name: str, mine: Places, values: NDArray[np.generic]) -> None:
        with np.errstate(invalid="ignore"):  # an amount that nobody knows leaves the most unknown
            np.maximum.at(self.columns[name], mine, values)

    def forget(self, rows: NDArray[np.bool_]) -> None:
        for column in self.columns.values():
            column[rows] = np.nan
