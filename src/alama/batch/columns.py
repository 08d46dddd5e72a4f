"""The columns of a file as fields of a catalogue: found, read, held to the rules.

A file with a value that an application may not hold is refused as a whole, with the rows and the
rules, and never the values.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core import kernel
from alama.core.application import may_be_word
from alama.core.catalogue import Field, Kind
from alama.core.errors import FileProblem
from alama.core.kernel import Column, Words
from alama.platform.files import columns as file_columns
from alama.platform.files.table import Table, columns_hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray


def broken_rules(
    fields: Sequence[Field],
    column_of: Mapping[str, str],
    columns: Mapping[str, Column],
    first_row: int,
    count_max: int,
) -> list[str]:
    """Say in words which rows break which rules, at most `count_max`, in the order of the rows.

    `column_of` names each field as the file does.
    """
    found: list[tuple[int, str]] = []
    for field in fields:
        column = columns[field.name]
        spelled = column_of.get(field.name, field.name)
        if field.required:
            absent = np.flatnonzero(~kernel.present(column))[:count_max]
            found += [(int(row), f"{spelled} is required") for row in absent]
        wrong = np.flatnonzero(_wrong(field, column))[:count_max]
        found += [(int(row), f"{spelled} {field.rule}") for row in wrong]
    found.sort(key=lambda problem: problem[0])
    return [f"row {first_row + row}: {words}" for row, words in found[:count_max]]


def _wrong(field: Field, column: Column) -> NDArray[np.bool_]:
    """Mark the rows whose value is not what the field holds; a missing one is not wrong."""
    if isinstance(column, Words):
        # The last entry answers for code -1, which is missing.
        no_word = np.array([*(not may_be_word(word) for word in column.vocabulary), False])
        marked: NDArray[np.bool_] = no_word[column.codes]
        return marked
    wrong = np.zeros(len(column), dtype=np.bool_)
    # Comparisons with NaN are false, so that a missing value passes each of them.
    if field.kind is Kind.INTEGER:
        wrong |= np.floor(column) < column
    if field.minimum is not None:
        wrong |= column < field.minimum
    if field.above is not None:
        wrong |= column <= field.above
    if field.maximum is not None:
        wrong |= column > field.maximum
    return wrong


PROBLEMS_MAX: Final = 10
"""Broken rules told before reading stops."""

MISSPELT_LIKENESS: Final = 0.75
"""From here on (0 to 1, by `difflib`) a column looks like a field that somebody misspelt."""


class FieldColumns:
    """Some fields over the columns of one file.

    Making one raises FileProblem where a required field has no column, before any row is read.
    `absent` lists the fields that the file lacks. `markers` counts, by column, the marks such as
    NA that the latest reading took as missing.
    """

    def __init__(self, source: Table, fields: Sequence[Field]) -> None:
        self.source = source
        self._fields = fields
        self._column_of = _columns_of(source, fields)
        self._absent = [field for field in fields if field.name not in self._column_of]
        self.absent = tuple(field.name for field in self._absent)
        self.markers: dict[str, int] = {}

    def meant(self, ignored: Sequence[str]) -> dict[str, str]:
        """Give the absent field, as the file might spell it, behind each column that looks so."""
        spelled = {name.lower(): name for field in self._absent for name in _spellings(field)}
        meant: dict[str, str] = {}
        for name in ignored:
            close = difflib.get_close_matches(name.lower(), spelled, 1, MISSPELT_LIKENESS)
            if close:
                meant[name] = spelled[close[0]]
        return meant

    def read(
        self, size: int, keep: Sequence[str] = ()
    ) -> Iterator[tuple[pa.RecordBatch, dict[str, Column]]]:
        """Read the file once, at most `size` rows at a time; `keep` names columns to read beside.

        Gives each batch with a column for every field, all missing where the file has none. Raises
        FileProblem where values break rules; from the first such batch on, nothing is given.
        """
        self.markers.clear()
        problems: list[str] = []
        wanted = list(dict.fromkeys([*keep, *self._column_of.values()]))
        first_row = 1
        for batch in self.source.batches(wanted, size):
            columns = self._columns(batch, first_row)
            problems += broken_rules(
                self._fields, self._column_of, columns, first_row, PROBLEMS_MAX - len(problems)
            )
            if len(problems) == PROBLEMS_MAX:
                break
            if not problems:
                yield batch, columns
            first_row += batch.num_rows
        if problems:
            raise _refusal(self.source.path, problems)

    def _columns(self, batch: pa.RecordBatch, first_row: int) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        for field in self._fields:
            name = self._column_of.get(field.name)
            if name is None:
                columns[field.name] = _nothing(field, batch.num_rows)
            elif field.numeric:
                values, markers = file_columns.numbers_and_markers(
                    batch.column(name), name, first_row
                )
                columns[field.name] = values
                if markers:
                    self.markers[name] = self.markers.get(name, 0) + markers
            else:
                columns[field.name] = file_columns.words(batch.column(name), name, first_row)
        return columns


def _columns_of(source: Table, fields: Sequence[Field]) -> dict[str, str]:
    """Map each field to the column that holds it, whichever way it is spelled."""
    found: dict[str, str] = {}
    missing: list[str] = []
    for field in fields:
        spellings = _spellings(field)
        there = [name for name in spellings if name in source.names]
        if len(there) > 1:
            message = f"{source.path}: the columns {' and '.join(there)} are the same field"
            raise FileProblem(message, hint="remove one of them")
        if there:
            found[field.name] = there[0]
        elif field.required:
            missing.append(" or ".join(spellings))
    if missing:
        message = f"{source.path} lacks what the model requires: {', '.join(missing)}"
        raise FileProblem(message, hint=columns_hint(source.names))
    if fields and not found:
        message = f"{source.path} has no column that the model reads: there is nothing to score"
        read = ", ".join(field.name for field in fields)
        raise FileProblem(message, hint=f"the model reads {read}")
    return found


def _spellings(field: Field) -> tuple[str, ...]:
    return tuple(dict.fromkeys([field.name, field.other_spelling or field.name]))


def _nothing(field: Field, rows: int) -> Column:
    if field.numeric:
        return np.full(rows, np.nan)
    return Words(np.full(rows, -1, dtype=np.int32), ())


def _refusal(path: Path, problems: Sequence[str]) -> FileProblem:
    more = " (and perhaps more)" if len(problems) == PROBLEMS_MAX else ""
    listing = "".join(f"\n  {problem}" for problem in problems)
    message = f"{path} holds values that no application may hold{more}:{listing}"
    return FileProblem(message, hint="mend these rows or leave them out; nothing was written")
