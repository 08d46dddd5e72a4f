"""Small histories of a lender, and a way to read them: what tests of onboarding share."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from alama.training.history.loans import History, Options, Terms, read_history
from alama.training.history.report import Fault, HistoryReport

TODAY = date(2026, 11, 15)
TERMS = Terms(days_past_due=30, currency="KES")

Columns = dict[str, list[Any]]


def history_columns(rows: int = 2_000, *, bad_every: int = 5, seed: int = 0) -> Columns:
    """Mature, sound loans of two years, each of another borrower; every so many-th defaulted."""
    rng = np.random.default_rng(seed)
    applied = [date(2024, 1, 1) + timedelta(days=row * 700 // rows) for row in range(rows)]
    bad = [row % bad_every == 0 for row in range(rows)]
    return {
        "borrower_id": [f"b{row:06}" for row in range(rows)],
        "applied_on": applied,
        "disbursed_on": [day + timedelta(days=1) for day in applied],
        "due_on": [day + timedelta(days=31) for day in applied],
        "observed_on": [day + timedelta(days=200) for day in applied],
        "amount": [500.0 + row for row in range(rows)],
        "largest_days_past_due": [45 if late else row % 7 for row, late in enumerate(bad)],
        "restructured": ["no"] * rows,
        "mm_months": rng.integers(0, 100, rows).tolist(),
        "avg_inflow": (100.0 * rng.random(rows)).round(2).tolist(),
        "balance_stability": rng.random(rows).round(3).tolist(),
        "airtime_regularity": rng.random(rows).round(3).tolist(),
        "avg_balance": (50.0 * rng.random(rows)).round(2).tolist(),
        "device_type": rng.choice(["smartphone", "basic_phone"], rows).tolist(),
        "region": rng.choice(["Nairobi", "Kisumu"], rows).tolist(),
    }


def write_csv(folder: Path, columns: Columns) -> Path:
    path = folder / "history.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def write_parquet(folder: Path, columns: Columns) -> Path:
    path = folder / "history.parquet"
    pyarrow.parquet.write_table(pa.table({name: pa.array(v) for name, v in columns.items()}), path)
    return path


def repeat(columns: Columns, rows: Iterable[int]) -> None:
    """Write these rows once more, at the end."""
    chosen = list(rows)
    for values in columns.values():
        values.extend([values[row] for row in chosen])


def read(path: Path, terms: Terms = TERMS, **options: Any) -> History:
    chosen = Options(**{"today": TODAY, **options})
    return read_history(path, terms, chosen, lambda _share: None)


def fault(report: HistoryReport, column: str) -> Fault:
    """Give the only fault of a column."""
    [found] = [fault for fault in report.faults if fault.column == column]
    return found
