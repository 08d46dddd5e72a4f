"""The real tables: how often each is cross-validated, and which way risk runs by meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from alama.core.catalogue import Direction

if TYPE_CHECKING:
    from pathlib import Path

    from bench.engine.options import Options
    from bench.progress import Bar

FOLDS: Final = 5
LABEL: Final = "default"


@dataclass(frozen=True, slots=True)
class Table:
    """One file; small ones are repeated, because one split of them says little."""

    name: str
    repeats: int
    riskier: dict[str, str] = field(default_factory=dict)
    safer: dict[str, str] = field(default_factory=dict)

    @property
    def directions(self) -> dict[str, Direction]:
        """Give the directions by field."""
        return {
            **dict.fromkeys(self.riskier, Direction.RISKIER),
            **dict.fromkeys(self.safer, Direction.SAFER),
        }


_LATE = "months behind with the bill; not paying for longer cannot speak for anyone"
_PAID = "paid back that month; paying more cannot speak against anyone"

TABLES: Final = (
    Table("german", repeats=6),
    Table("hmeq", repeats=3),
    Table(
        "taiwan",
        repeats=2,
        riskier=dict.fromkeys(("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"), _LATE),
        safer={
            "LIMIT_BAL": "the limit other lenders' care has left standing",
            **dict.fromkeys([f"PAY_AMT{month}" for month in range(1, 7)], _PAID),
        },
        # Free: bills (a high one is use and want at once), age, sex, education, marriage.
    ),
    Table(
        "gmsc",
        repeats=1,
        riskier={
            "RevolvingUtilizationOfUnsecuredLines": "the nearer to the limit, the less is left",
            "NumberOfTime30_59DaysPastDueNotWorse": "a late payment cannot speak for anyone",
            "NumberOfTime60_89DaysPastDueNotWorse": "a late payment cannot speak for anyone",
            "NumberOfTimes90DaysLate": "a late payment cannot speak for anyone",
            "NumberOfDependents": "more people live on the same income",
        },
        safer={
            "age": "longer history and steadier income",
            "MonthlyIncome": "more to pay from",
        },
        # Free: DebtRatio (an amount, not a ratio, where income is missing), counts of open lines
        # and of real-estate loans (too few and too many are both news).
    ),
)


def path_of(options: Options, table: Table) -> Path:
    return options.tables / f"{table.name}.csv"


def found(options: Options, bar: Bar) -> list[Table]:
    """Give the tables asked for that are there; those that are not are told and skipped."""
    asked = [table for table in TABLES if table.name in options.names]
    for table in asked:
        if not path_of(options, table).exists():
            bar.say(f"{table.name}.csv is not in the folder of tables: skipped")
    return [table for table in asked if path_of(options, table).exists()]
