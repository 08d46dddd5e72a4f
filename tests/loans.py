"""Small files of loans, and a way to load them: what tests of the trainer's front door share."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from alama.core.catalogue import Catalogue, Direction, Kind
from alama.training.history.load import Loaded, load

ROWS = 2_400
Columns = Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]


def outcomes(rows: int = ROWS) -> list[int]:
    """One loan in two defaults: enough of both for no remark."""
    return [row % 2 for row in range(rows)]


def noise(rows: int = ROWS, *, decimals: int = 3, seed: int = 0) -> list[float]:
    return [round(x, decimals) for x in np.random.default_rng(seed).random(rows).tolist()]


def product_columns(rows: int = ROWS) -> dict[str, Sequence[Any]]:
    return {
        "mm_months": [row % 60 for row in range(rows)],
        "avg_inflow": [100.0 * x for x in noise(rows)],
        "balance_stability": noise(rows, seed=1),
        "airtime_regularity": noise(rows, seed=2),
        "region": ["Nairobi" if row % 3 else "Kisumu" for row in range(rows)],
        "default": outcomes(rows),
    }


def write_csv(folder: Path, columns: Columns) -> Path:
    path = folder / "loans.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def write_parquet(folder: Path, columns: Columns) -> Path:
    path = folder / "loans.parquet"
    pyarrow.parquet.write_table(pa.table({name: pa.array(v) for name, v in columns.items()}), path)
    return path


def read(
    path: Path,
    *,
    label: str = "default",
    catalogue: Catalogue | None = None,
    monotone: Mapping[str, Direction] | None = None,
    exclude: Collection[str] = (),
    date_column: str | None = None,
) -> Loaded:
    return load(
        path,
        label=label,
        catalogue=catalogue,
        monotone=monotone or {},
        exclude=exclude,
        date_column=date_column,
    )


def kinds(loaded: Loaded) -> dict[str, Kind]:
    return {field.name: field.kind for field in loaded.dataset.catalogue.model_fields}


def warning_about(loaded: Loaded, text: str) -> str:
    found = [warning for warning in loaded.warnings if text in warning]
    assert len(found) == 1, loaded.warnings
    return found[0]
