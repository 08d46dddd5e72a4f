"""What the values of a column mean: numbers, words or days.

Rows are counted from 1, without the header. No message repeats a value.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alama.core.errors import FileProblem
from alama.core.kernel import Words

if TYPE_CHECKING:
    from numpy.typing import NDArray


_NUMBER: Final = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DAY: Final = r"^\d{4}-\d{2}-\d{2}([T ].*)?$"
_DAY_ELSEWHERE: Final = r"^\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}$"

MISSING_MARKERS: Final = ("na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", ".")
"""How tools write a missing number (folded). In a column of words each may be a word."""

_WHOLE_AS_TEXT_MAX: Final = 1e15
"""Up to here a whole number in a column of doubles is written without a point, as it was typed."""


@dataclass(frozen=True, slots=True)
class Looks:
    """How many values of a column could be read as what; adds up over batches."""

    missing: int = 0
    numbers: int = 0
    days: int = 0
    booleans: int = 0
    words: int = 0

    def __add__(self, other: Looks) -> Looks:
        return Looks(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def looks(column: pa.Array[Any]) -> Looks:
    """Count what the values are: by their type, and text by how it reads."""
    column = plain(column)
    missing, given = column.null_count, len(column) - column.null_count
    kind = column.type
    if pa.types.is_boolean(kind):
        return Looks(missing, booleans=given)
    if pa.types.is_temporal(kind):
        return Looks(missing, days=given)
    if _is_numeric(kind):
        return Looks(missing, numbers=given)
    if not _is_text(kind):
        return Looks(missing, words=given)
    text = _trimmed(column)
    missing = text.null_count
    numbers = _count(pc.match_substring_regex(text, _NUMBER))
    days = _count(pc.match_substring_regex(text, f"{_DAY}|{_DAY_ELSEWHERE}"))
    return Looks(missing, numbers, days, words=len(text) - missing - numbers - days)


def numbers(column: pa.Array[Any], name: str, first_row: int = 1) -> NDArray[np.float64]:
    """Give doubles, NaN where a value is missing (null, empty text, NaN in a column of doubles).

    `first_row` is the number of the column's first row in the file. FileProblem names the column
    and a row whose value is no finite number; booleans and dates are none.
    """
    column = plain(column)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_decimal(kind):
        # Arrow's own way from decimal to double is off by a bit at times; text is not.
        column, kind = column.cast(pa.string()), pa.string()
    if _is_text(kind):
        values = _numbers_of_text(column, name, first_row)
    elif _is_numeric(kind):
        values = _doubles(column.cast(pa.float64(), safe=False))
    else:
        message = f"column {name} must hold numbers but holds {_noun(kind)}"
        raise FileProblem(message)
    infinite = np.isinf(values)
    if infinite.any():
        raise _no_number(name, first_row + int(np.argmax(infinite)), "a finite number")
    return values


def numbers_and_markers(
    column: pa.Array[Any], name: str, first_row: int = 1
) -> tuple[NDArray[np.float64], int]:
    """Give what `numbers` gives, with marks such as NA read as missing, and how many there were."""
    column = plain(column)
    try:
        return numbers(column, name, first_row), 0
    except FileProblem:
        bare = without_markers(column)
        if bare.null_count == column.null_count:
            raise
        return numbers(bare, name, first_row), bare.null_count - column.null_count


def without_markers(column: pa.Array[Any]) -> pa.Array[Any]:
    """Give text with the usual marks of a missing number as null; any other column unchanged."""
    if not _is_text(column.type):
        return column
    folded = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    marked = pc.is_in(folded, value_set=pa.array(MISSING_MARKERS, type=folded.type))
    blanked: pa.Array[Any] = pc.if_else(marked, None, column)
    return blanked


def words(column: pa.Array[Any], name: str, first_row: int = 1) -> Words:
    """Give words without space around them; what is no text is taken as it would be written.

    Null and empty text are missing. A whole number is the same word in a column of integers, of
    doubles and of text.
    """
    column = plain(column)
    if pa.types.is_nested(column.type):
        message = f"column {name} must hold words but holds {_noun(column.type)}"
        raise FileProblem(message)
    encoded: pa.DictionaryArray[Any, Any] = column.dictionary_encode()
    raw_codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    vocabulary: dict[str, int] = {}
    code_of_raw = np.full(len(encoded.dictionary) + 1, -1, dtype=np.int32)
    for raw, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            word = _word(value)
        except UnicodeDecodeError:
            row = first_row + int(np.argmax(raw_codes == raw))
            message = f"column {name}, row {row}: is not UTF-8 text"
            raise FileProblem(message) from None
        if word:
            code_of_raw[raw] = vocabulary.setdefault(word, len(vocabulary))
    return Words(code_of_raw[raw_codes], tuple(vocabulary))


def days(column: pa.Array[Any], name: str, first_row: int = 1) -> NDArray[np.datetime64]:
    """Give days, NaT where missing, from dates, times or text such as 2024-03-31."""
    column = plain(column)
    kind = column.type
    if _is_text(kind):
        column = _days_of_text(_trimmed(column), name, first_row)
    elif not (pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_null(kind)):
        message = f"column {name} must hold dates but holds {_noun(kind)}"
        raise FileProblem(message)
    whole = column.cast(pa.date32(), safe=False)
    result: NDArray[np.datetime64] = whole.to_numpy(zero_copy_only=False).astype("datetime64[D]")
    return result


def plain(column: pa.Array[Any]) -> pa.Array[Any]:
    """Undo encodings that say nothing about the values."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Give the type that `plain` turns this one into."""
    kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return pa.string() if pa.types.is_string_view(kind) else kind


# ----------------------------------------------------------------------------------- text


def _numbers_of_text(column: pa.Array[Any], name: str, first_row: int) -> NDArray[np.float64]:
    try:
        parsed = column.cast(pa.float64())
    except pa.ArrowInvalid:
        # Slower, and rarely needed: space around a value, empty text, or no number at all.
        column = _trimmed(column)
        is_number = pc.match_substring_regex(column, _NUMBER)
        refused = pc.index(is_number, value=False).as_py()
        if refused >= 0:
            raise _no_number(name, first_row + refused, "a number") from None
        parsed = column.cast(pa.float64())
    values = _doubles(parsed)
    # Arrow reads "nan" too; a missing value is written as nothing.
    spelled_out = np.isnan(values) & column.is_valid().to_numpy(zero_copy_only=False)
    if spelled_out.any():
        raise _no_number(name, first_row + int(np.argmax(spelled_out)), "a number")
    return values


def _no_number(name: str, row: int, what: str) -> FileProblem:
    message = f"column {name}, row {row}: must be {what}"
    return FileProblem(message, hint="leave a missing value empty; write numbers as 1234.5")


def _days_of_text(text: pa.Array[Any], name: str, first_row: int) -> pa.Array[Any]:
    # The shape is judged on the whole value, the calendar on its first ten characters.
    shaped = pc.match_substring_regex(text, _DAY)
    day = pc.utf8_slice_codeunits(pc.if_else(shaped, text, "no date"), 0, 10)
    try:
        whole: pa.Array[Any] = day.cast(pa.date32())
    except pa.ArrowInvalid as error:
        refused = next(n for n, value in enumerate(day.to_pylist()) if not _is_day(value))
        message = f"column {name}, row {first_row + refused}: must be a date such as 2024-03-31"
        raise FileProblem(message) from error
    return whole


def _is_day(value: str | None) -> bool:
    try:
        return value is None or bool(date.fromisoformat(value))
    except ValueError:
        return False


def _word(value: object) -> str:
    """Write a value as a person would have typed it; nothing for what is missing."""
    match value:
        case str():
            word = value
        case bytes():
            word = value.decode()
        case bool():
            word = "true" if value else "false"
        case None:
            word = ""
        case float() if math.isnan(value):
            word = ""
        case float() if value.is_integer() and abs(value) < _WHOLE_AS_TEXT_MAX:
            word = str(int(value))
        case Decimal():
            word = f"{value.normalize():f}"
        case _:
            word = str(value)  # a date is written as 2024-03-31
    return word.strip()


# ----------------------------------------------------------------------------------- Arrow


def _trimmed(text: pa.Array[Any]) -> pa.Array[Any]:
    """Cut space around values; empty ones become null."""
    bare = pc.utf8_trim_whitespace(text)
    trimmed: pa.Array[Any] = pc.if_else(pc.equal(bare, pa.scalar("")), None, bare)
    return trimmed


def _doubles(column: pa.Array[Any]) -> NDArray[np.float64]:
    values: NDArray[np.float64] = column.to_numpy(zero_copy_only=False)
    return values


def _count(mask: pa.Array[Any]) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_numeric(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _noun(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "true and false"
    if pa.types.is_temporal(kind):
        return "dates or times"
    if pa.types.is_nested(kind):
        return "lists or structures"
    return "numbers" if _is_numeric(kind) else f"values of type {kind}"
