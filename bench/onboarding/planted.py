"""A lender's history into which faults are planted, and what a report of it has to name.

Every fault is planted in so few rows that a report names each of them.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from alama.training.history.report import HistoryReport

    Rows = list[dict[str, str]]

BAD_VALUES: Final = (
    ("mm_months", "-4", (12, 13, 14)),
    ("balance_stability", "1.7", (31,)),
    ("due_on", "31/31/2024", (21,)),
    ("largest_days_past_due", "many", (51, 52)),
    ("borrower_id", "", (41, 42)),
    ("disbursed_on", "2019-02-01", (61,)),
)
"""A column, what is written into it, and into which rows, counted from 1."""

LEAKING_FIELD: Final = "avg_balance"
"""Filled in after the outcome: a field of a request, so somebody has to decide on it."""

LEAKING_COLUMN: Final = "collector"
"""Who collected the debt: no field of a request, so it is set aside by itself."""

REPEATED: Final = range(101, 106)
CONTRADICTED: Final = range(201, 203)
"""Rows that are written twice: as they are, and with another income."""

_SECRETS: Final = ("default", "true_default_probability")
"""What no lender knows: the population has it, its books do not."""

_LATE_DAYS: Final = 30


class Planted(NamedTuple):
    """Where the faults are, by the numbers of rows in the file that was written."""

    again: tuple[int, ...]
    contradicting: tuple[int, ...]


def plant(source: Path, out: Path, without: Sequence[str] = ()) -> Planted:
    """Copy a file of `alama population --history`, spoil it, and say where the rest was put.

    `without` names columns that are left out, for a run that has to be short.
    """
    with source.open(newline="") as file:
        rows = list(csv.DictReader(file))
    hidden = {*_SECRETS, *without}
    rows = [{name: text for name, text in row.items() if name not in hidden} for row in rows]
    _leak(rows)
    for column, text, places in BAD_VALUES:
        for place in places:
            rows[place - 1][column] = text
    first = len(rows) + 1
    rows += [dict(rows[place - 1]) for place in REPEATED]
    second = len(rows) + 1
    rows += [_with_another_income(rows[place - 1]) for place in CONTRADICTED]
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return Planted(tuple(range(first, second)), tuple(range(second, len(rows) + 1)))


def _leak(rows: Rows) -> None:
    for row in rows:
        late = int(row["largest_days_past_due"] or 0) >= _LATE_DAYS or row["restructured"] == "yes"
        row[LEAKING_FIELD] = "0" if late else str(500.0 + float(row[LEAKING_FIELD] or 0.0))
        row[LEAKING_COLUMN] = "agency" if late else ""


def _with_another_income(row: dict[str, str]) -> dict[str, str]:
    return row | {"avg_inflow": str(1.0 + float(row["avg_inflow"] or 0.0))}


def unnamed(planted: Planted, report: HistoryReport) -> list[str]:
    """Give the planted faults that a report does not name; none is what one hopes for."""
    return [*_unnamed_values(report), *_unnamed_rows(planted, report), *_unnamed_leaks(report)]


def _unnamed_values(report: HistoryReport) -> Iterator[str]:
    found = {fault.column: set(fault.first_rows) for fault in report.faults}
    for column, _, places in BAD_VALUES:
        if lacking := set(places) - found.get(column, set()):
            yield f"{column} in rows {sorted(lacking)}"


def _unnamed_rows(planted: Planted, report: HistoryReport) -> Iterator[str]:
    found = {row for repeated in report.duplicates for row in repeated.first_rows}
    for row in (*planted.again, *CONTRADICTED, *planted.contradicting):
        if row not in found:
            yield f"row {row}, which repeats another"


def _unnamed_leaks(report: HistoryReport) -> Iterator[str]:
    found = {suspect.column for suspect in report.suspects}
    yield from sorted({LEAKING_FIELD, LEAKING_COLUMN} - found)
