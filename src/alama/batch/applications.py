"""Columns back into rows: the applications of a batch, for what has to look at each as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alama.core.application import Application
from alama.core.catalogue import Kind
from alama.core.kernel import Column, Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.core.application import Value
    from alama.core.catalogue import Catalogue, Field


def applications(
    catalogue: Catalogue, columns: Mapping[str, Column], rows: int
) -> Iterator[Application]:
    """Give the applications of so many rows; a field without a column is not given by any.

    The columns already keep the rules of the catalogue.
    """
    nothing: Sequence[Value] = [None] * rows
    by_field = [
        _values(columns[field.name], field) if field.name in columns else nothing
        for field in catalogue.fields
    ]
    return map(Application, zip(*by_field, strict=True))


def _values(column: Column, field: Field) -> Sequence[Value]:
    """Give a column as values of Python, None where nothing is given."""
    if isinstance(column, Words):
        # The last entry answers for code -1, which is missing.
        vocabulary = [*column.vocabulary, None]
        return [vocabulary[code] for code in column.codes.tolist()]
    number = int if field.kind is Kind.INTEGER else float
    return [
        None if missing else number(value)
        for value, missing in zip(column.tolist(), np.isnan(column).tolist(), strict=True)
    ]
