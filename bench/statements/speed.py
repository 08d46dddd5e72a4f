"""`python -m bench.statements.speed`: the fields of a year's statement, from CSV and from PDF.

Each turn takes the same CSV through pandas first, which parses its days and amounts and sums them
by month: what a lender's analyst would write. Seconds of processors are told, own and those of
readers, so that what else a machine does counts for little; a ratio is against pandas of its turn.
"""

from __future__ import annotations

import io
import resource
import statistics
import sys
from typing import TYPE_CHECKING

import pandas as pd

from alama.statements.deriving import Asked, found_in
from tests.drawn_statements import csv_of, known

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 3_000


def main(turns: int) -> None:
    wanted = known(11, rows=ROWS)
    table, pdf = csv_of(wanted), wanted.mpesa_pdf()

    def alama(content: bytes) -> Callable[[], object]:
        day = wanted.sheet.made_on
        asked = Asked(files=[content], as_of=day, utc_offset_s=10_800, weekend=(5, 6))
        return lambda: found_in(asked)

    ways = {"pandas": lambda: by_month(table), "CSV": alama(table), "PDF": alama(pdf)}
    took: dict[str, list[float]] = {name: [] for name in ways}
    for name, way in ways.items():
        _ = name, way()  # what is imported and compiled once
    for _ in range(turns):
        for name, way in ways.items():
            before = _processors_s()
            way()
            took[name].append(_processors_s() - before)
    for name, seconds in took.items():
        ratios = [own / peer for own, peer in zip(seconds, took["pandas"], strict=True)]
        print(
            f"{name:7} {1e3 * statistics.median(seconds):6.0f} ms, "
            f"{statistics.median(ratios):5.1f} times pandas, {len(wanted.entries):,} rows"
        )


def by_month(content: bytes) -> pd.DataFrame:
    """Sum what came and what went by month."""
    table = pd.read_csv(io.BytesIO(content))
    month = pd.to_datetime(table["Completion Time"]).dt.to_period("M")
    return table.groupby(month)[["Paid In", "Withdrawn"]].sum()


def _processors_s() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
