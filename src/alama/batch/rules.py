"""The rules of the catalogue over whole columns: those of `core.application`, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alama.core import kernel
from alama.core.application import may_be_word
from alama.core.catalogue import Kind
from alama.core.kernel import Column, Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from alama.core.catalogue import Field


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
