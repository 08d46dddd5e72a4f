"""A labelled table in memory: the columns of a catalogue, and who defaulted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from alama.core.kernel import Column, Words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from alama.core.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Dataset:
    """Columns by field name (NaN or code -1 where missing) and labels, 1 for default.

    Where `people` are known, equal numbers are one person: the rows are not independent then.
    """

    catalogue: Catalogue
    columns: Mapping[str, Column]
    labels: NDArray[np.int8]
    dates: NDArray[np.datetime64] | None = None
    people: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def defaults(self) -> int:
        return int(np.count_nonzero(self.labels))

    def take(self, rows: NDArray[np.intp]) -> Dataset:
        """Give these rows, in this order."""
        return replace(
            self,
            columns={name: take_column(column, rows) for name, column in self.columns.items()},
            labels=self.labels[rows],
            dates=None if self.dates is None else self.dates[rows],
            people=None if self.people is None else self.people[rows],
        )

    def only(self, names: Sequence[str]) -> Dataset:
        """Give the named columns alone."""
        return replace(
            self,
            catalogue=self.catalogue.only(names),
            columns={name: self.columns[name] for name in names},
        )

    def in_canonical_order(self) -> Dataset:
        """Sort the rows by their content, so that a file's row order cannot reach the model."""
        return self.take(self.canonical_order())

    def canonical_order(self) -> NDArray[np.intp]:
        """Give the places of the rows, sorted by their content."""
        keys: list[NDArray[Any]] = [self.labels]
        if self.dates is not None:
            keys.append(self.dates.astype(np.int64))
        for name in sorted(self.columns):
            column = self.columns[name]
            keys.append(_word_ranks(column) if isinstance(column, Words) else column)
        return np.lexsort(keys[::-1])

    def fingerprint(self) -> str:
        """Hash the content of the rows in their order."""
        digest = hashlib.sha256(self.labels.tobytes())
        for name in sorted(self.columns):
            digest.update(name.encode())
            column = self.columns[name]
            if isinstance(column, Words):
                digest.update("\x00".join(sorted(column.vocabulary)).encode())
                digest.update(_word_ranks(column).tobytes())
            else:
                # One bit pattern for every NaN and both zeros.
                plain = np.where(np.isnan(column), np.nan, column + 0.0)
                digest.update(plain.tobytes())
        return "sha256:" + digest.hexdigest()


def take_column(column: Column, rows: NDArray[np.intp]) -> Column:
    if isinstance(column, Words):
        return Words(column.codes[rows], column.vocabulary)
    return column[rows]


def _word_ranks(column: Words) -> NDArray[np.int32]:
    """Give codes that depend on the words alone, not on the order in which they were met."""
    order = sorted(range(len(column.vocabulary)), key=column.vocabulary.__getitem__)
    rank_of_code = np.full(len(order) + 1, -1, dtype=np.int32)
    rank_of_code[order] = np.arange(len(order), dtype=np.int32)
    return rank_of_code[column.codes]
