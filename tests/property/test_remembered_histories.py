"""A history tells of earlier loans what the memory would have said, and never looks ahead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alama.core.lending.policy import Decision
from alama.core.memory import DAY_HOURS, Amount
from alama.memory.borrower import (
    NOBODY,
    LoanEvent,
    LoanEventKind,
    after_asking,
    after_event,
    remembered,
)
from alama.training.history.remembered import columns_as_of
from alama.training.history.rows import Book

FIRST_DAY = 19_000
NAMES = (
    *("open_loans", "open_balance", "loans_repaid", "worst_days_past_due"),
    *("days_since_last_loan", "applications_30d", "largest_repaid", "days_past_due"),
)


class Row(msgspec.Struct, frozen=True):
    """An application on a day, and the loan that came of it; days count from there on."""

    borrower: int
    day: int
    amount: int
    paid_out_after: int | None
    term_days: int
    repaid_after: int | None

    @property
    def disbursed(self) -> int | None:
        return None if self.paid_out_after is None else self.day + self.paid_out_after

    @property
    def due(self) -> int | None:
        return None if self.disbursed is None else self.disbursed + self.term_days

    @property
    def repaid(self) -> int | None:
        if self.disbursed is None or self.repaid_after is None:
            return None
        return self.disbursed + self.repaid_after


ROW = st.builds(
    Row,
    borrower=st.integers(1, 3),
    day=st.integers(FIRST_DAY, FIRST_DAY + 120),
    amount=st.integers(1, 100_000),
    paid_out_after=st.none() | st.integers(0, 3),
    term_days=st.integers(1, 40),
    repaid_after=st.none() | st.integers(0, 90),
)
REFUSED = Row(9, FIRST_DAY, 1, None, 1, None)
"""Of nobody else: with it, a file holds applications that were not booked."""


def book_of(rows: list[Row]) -> Book:
    def days(values: list[int | None]) -> Any:
        return np.array([np.datetime64("NaT") if d is None else d for d in values], "M8[D]")

    nothing = np.full(len(rows), np.nan)
    return Book(
        borrower=np.array([row.borrower for row in rows], dtype=np.int64),
        applied_on=days([row.day for row in rows]),
        disbursed_on=days([row.disbursed for row in rows]),
        due_on=days([row.due for row in rows]),
        observed_on=days([FIRST_DAY + 999 for _ in rows]),
        days_past_due=nothing,
        restructured=np.zeros(len(rows), dtype=np.bool_),
        amount=np.array([float(row.amount) for row in rows]),
        term_days=nothing,
        repaid=nothing,
        propensity=nothing,
        present_score=nothing,
        repaid_on=days([row.repaid for row in rows]),
    )


def columns(rows: list[Row]) -> list[tuple[float, ...]]:
    found = columns_as_of(book_of([*rows, REFUSED]))
    return list(zip(*(found[name].tolist()[: len(rows)] for name in NAMES), strict=True))


def as_served(rows: list[Row], asked: Row) -> tuple[float, ...]:
    """Tell the memory what had happened by the day of an application, and ask it."""
    borrower = NOBODY
    earlier = [r for r in rows if r.borrower == asked.borrower and r.day < asked.day]
    for number, row in enumerate(sorted(earlier, key=lambda r: r.day)):
        hour = row.day * DAY_HOURS + 12
        borrower = after_asking(borrower, hour, Decision.DECLINED, 0, f"req_{number}")
    for number, row in enumerate(earlier):
        if row.disbursed is None or row.due is None or row.disbursed > asked.day:
            continue
        paid_out = LoanEvent(
            str(number),
            LoanEventKind.DISBURSED,
            row.disbursed,
            amount=row.amount,
            dues=(Amount(row.due, row.amount),),
        )
        borrower, _ = after_event(borrower, paid_out)
        if row.repaid is not None and row.repaid <= asked.day:
            closed = LoanEvent(str(number), LoanEventKind.CLOSED, row.repaid)
            borrower, _ = after_event(borrower, closed)
    told = remembered(borrower, asked.day * DAY_HOURS + 12)
    values = (getattr(told, name) for name in NAMES)
    return tuple(float("nan") if value is None else float(value) for value in values)


@given(st.lists(ROW, min_size=1, max_size=12))
def test_a_history_tells_what_the_memory_would_have_said_on_that_day(rows: list[Row]) -> None:
    for row, told in zip(rows, columns(rows), strict=True):
        np.testing.assert_equal(told, as_served(rows, row))


def forget_after(row: Row, day: int) -> Row | None:
    """Give a row as it was known on a day; None: nobody had asked yet."""
    if row.day > day:
        return None
    if row.disbursed is not None and row.disbursed > day:
        return msgspec.structs.replace(row, paid_out_after=None)
    if row.repaid is not None and row.repaid > day:
        return msgspec.structs.replace(row, repaid_after=None)
    return row


@given(st.lists(ROW, min_size=1, max_size=12), ROW, st.data())
def test_nothing_that_comes_later_changes_what_was_known(
    rows: list[Row], later: Row, data: st.DataObject
) -> None:
    asked = data.draw(st.integers(0, len(rows) - 1))
    day = rows[asked].day
    before = columns(rows)[asked]

    known = [(place, forget_after(row, day)) for place, row in enumerate(rows)]
    kept = [(place, row) for place, row in known if row is not None]
    place = next(at for at, (number, _) in enumerate(kept) if number == asked)
    np.testing.assert_equal(columns([row for _, row in kept])[place], before)

    added = msgspec.structs.replace(later, day=day + 1 + later.day - FIRST_DAY)
    np.testing.assert_equal(columns([*rows, added])[asked], before)


@given(st.lists(ROW, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_says_nothing(rows: list[Row], chance: Any) -> None:
    places = list(range(len(rows)))
    chance.shuffle(places)
    told = columns(rows)
    np.testing.assert_equal(columns([rows[p] for p in places]), [told[p] for p in places])


def test_of_a_file_of_loans_alone_nobody_knows_who_asked() -> None:
    book = book_of([Row(1, FIRST_DAY, 5, 0, 30, 20), Row(1, FIRST_DAY + 40, 5, 0, 30, None)])
    found = columns_as_of(book)
    assert "applications_30d" not in found
    assert found["loans_repaid"].tolist() == [0, 1]
    silent = replace(book, amount=np.full(2, np.nan))
    assert np.isnan(columns_as_of(silent)["largest_repaid"]).tolist() == [False, True]


def test_of_an_id_that_many_share_nothing_is_said() -> None:
    many = [Row(1, FIRST_DAY + number // 10, 5, 0, 30, 20) for number in range(1_001)]
    found = columns_as_of(book_of([*many, Row(2, FIRST_DAY, 5, 0, 30, 20)]))
    assert np.isnan(found["open_loans"]).tolist() == [*[True] * 1_001, False]
