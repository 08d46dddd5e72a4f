"""What a file says became of its loans, beside the applications: columns of fixed names.

`default` is 1 or 0, empty where nobody knows; `disbursed_amount` and `repaid_amount` say how much
came back; `propensity` is the chance with which a loan was given, empty where it was sure;
`applied_on` is the day of the application.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from alama.core.errors import FileProblem
from alama.core.lending.earnings import Known
from alama.platform.files import columns as file_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray


DEFAULT: Final = "default"
DISBURSED: Final = "disbursed_amount"
REPAID: Final = "repaid_amount"
PROPENSITY: Final = "propensity"
APPLIED_ON: Final = "applied_on"
COLUMNS: Final = (DEFAULT, DISBURSED, REPAID, PROPENSITY, APPLIED_ON)

PROPENSITY_MIN: Final = 0.001
"""A loan that stands for more than a thousand others would decide alone what is said of them."""

_MONTH_CHARACTERS: Final = 7


class Became(NamedTuple):
    """The month of an application, empty where it is not known, and what became of its loan."""

    month: str
    known: Known | None


_NOTHING: Final = Became("", None)


def columns_in(names: Sequence[str]) -> tuple[str, ...]:
    """Give the columns of a file that say what became of loans."""
    return tuple(name for name in COLUMNS if name in names)


def read(batch: pa.RecordBatch, columns: Sequence[str], first_row: int) -> list[Became]:
    """Read what one batch says; FileProblem where a value is none that its column may hold."""
    if not columns:
        return [_NOTHING] * batch.num_rows
    months = [""] * batch.num_rows
    if APPLIED_ON in columns:
        days = file_columns.days(batch.column(APPLIED_ON), APPLIED_ON, first_row)
        written = np.datetime_as_string(days, unit="D").tolist()
        months = ["" if day == "NaT" else day[:_MONTH_CHARACTERS] for day in written]
    known = _known(batch, columns, first_row)
    return [Became(month, one) for month, one in zip(months, known, strict=True)]


def _known(batch: pa.RecordBatch, columns: Sequence[str], first_row: int) -> list[Known | None]:
    if DEFAULT not in columns:
        return [None] * batch.num_rows
    read = {
        name: _numbers(batch, name, columns, first_row) for name in COLUMNS if name != APPLIED_ON
    }
    default, chance = read[DEFAULT], read[PROPENSITY]
    _refuse(DEFAULT, "must be 0 or 1", (default != 0.0) & (default != 1.0), default, first_row)
    wrong = (chance < PROPENSITY_MIN) | (chance > 1.0)
    _refuse(PROPENSITY, f"must lie between {PROPENSITY_MIN} and 1", wrong, chance, first_row)
    paid_out = np.where(read[DISBURSED] > 0.0, read[DISBURSED], np.nan)
    returned = read[REPAID] / paid_out
    sure = np.where(np.isnan(chance), 1.0, chance)
    return [
        None if np.isnan(ended) else Known(ended == 1.0, None if np.isnan(back) else back, given)
        for ended, back, given in zip(
            default.tolist(), returned.tolist(), sure.tolist(), strict=True
        )
    ]


def _numbers(
    batch: pa.RecordBatch, name: str, columns: Sequence[str], first_row: int
) -> NDArray[np.float64]:
    if name not in columns:
        return np.full(batch.num_rows, np.nan)
    return file_columns.numbers_and_markers(batch.column(name), name, first_row)[0]


def _refuse(
    name: str,
    rule: str,
    wrong: NDArray[np.bool_],
    values: NDArray[np.float64],
    first_row: int,
) -> None:
    broken = np.flatnonzero(wrong & ~np.isnan(values))
    if len(broken):
        raise FileProblem(
            f"column {name}, row {first_row + int(broken[0])}: {rule}",
            hint=f"leave {name} empty where it is not known, or give the column another name",
        )
