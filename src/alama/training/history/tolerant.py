"""Columns read to the end although some values are wrong: what could be read, and what could not.

`alama.files.columns` refuses a column at its first wrong value, which is right where a file is
used as it is. Here a person must see all that is wrong with it. A column whose very type is wrong
is refused here too.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alama.core.errors import FileProblem
from alama.files import cells
from alama.files.columns import days, numbers_and_markers, plain, without_markers, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Days = NDArray[np.datetime64]
    Mask = NDArray[np.bool_]

_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})([T ].*)?", re.ASCII | re.DOTALL)
_NO_DAY: Final = np.datetime64("NaT", "D")


def read_numbers(column: pa.Array[Any], name: str) -> tuple[Floats, Mask]:
    """Give doubles (NaN where nothing is said or cannot be read) and where it cannot be read."""
    try:
        values, _ = numbers_and_markers(column, name)
    except FileProblem:
        return _numbers_of(column, name)
    return values, np.zeros(len(values), dtype=np.bool_)


def _numbers_of(column: pa.Array[Any], name: str) -> tuple[Floats, Mask]:
    column = plain(column)
    if _is_text(column.type):
        bare = pc.utf8_trim_whitespace(without_markers(column))
        given = pc.not_equal(bare, pa.scalar(""))
        reads = pc.match_substring_regex(bare, cells.NUMBER)
        parsed = pc.if_else(reads, bare, None).cast(pa.float64())
        refused = _mask(pc.and_not(given, reads))
    elif pa.types.is_floating(column.type):
        parsed = column.cast(pa.float64())
        refused = np.zeros(len(column), dtype=np.bool_)
    else:
        raise FileProblem(f"column {name} must hold numbers but holds values of another type")
    values: Floats = parsed.to_numpy(zero_copy_only=False).astype(np.float64)
    infinite = np.isinf(values)
    return np.where(infinite, np.nan, values), refused | infinite


def read_days(column: pa.Array[Any], name: str) -> tuple[Days, Mask]:
    """Give days (NaT where nothing is said or cannot be read) and where it cannot be read."""
    column = plain(column)
    if not _is_text(column.type):
        found = days(column, name)
        return found, np.zeros(len(found), dtype=np.bool_)
    texts = words(without_markers(column), name)
    parsed = [_day(text) for text in texts.vocabulary]
    refused = np.array([*(day is None for day in parsed), False], dtype=np.bool_)
    known = np.array([*(_NO_DAY if d is None else d for d in parsed), _NO_DAY], dtype="M8[D]")
    return known[texts.codes], refused[texts.codes]


def _day(text: str) -> np.datetime64 | None:
    shaped = _DAY.fullmatch(text)
    if shaped is None:
        return None
    try:
        return np.datetime64(date.fromisoformat(shaped[1]), "D")
    except ValueError:
        return None


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _mask(found: pa.Array[Any]) -> Mask:
    told: Mask = found.fill_null(False).to_numpy(zero_copy_only=False)  # noqa: FBT003 - Arrow's
    return told
