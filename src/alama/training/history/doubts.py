"""Rows that repeat each other, and columns outside the catalogue that give the outcome away.

Both need values of columns that no model reads, but of few rows only. So they are looked up in a
second pass over the file, rather than kept in memory from the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from alama.core.kernel import Column, Words
from alama.platform.files.columns import looks, plain, without_markers, words
from alama.training.history import columns as quality
from alama.training.history.columns import MOSTLY, Giveaway
from alama.training.history.report import FIRST_ROWS_MAX, Duplicate, DuplicateKind
from alama.training.history.rows import Book, read_days, read_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from alama.platform.files.table import Table
    from alama.training.history.roles import Roles

    Labels = NDArray[np.int8]

    Places = NDArray[np.intp]


SAMPLE_ROWS: Final = 20_000
"""Rows in which a column outside the catalogue is looked at."""

_BATCH_ROWS: Final = 16_384
"""Remarks and addresses can be long: less of them at a time."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What the second pass found: a fingerprint a candidate row, and a value a sampled row."""

    fingerprints: NDArray[np.int64]
    columns: dict[str, pa.Array[Any]]


def second_look(
    table: Table,
    roles: Roles,
    candidates: NDArray[np.int64],
    sampled: NDArray[np.int64],
    watch: Callable[[], None],
) -> Looked:
    """Read whole candidate rows, and the other columns of the sampled rows.

    Both are numbers of rows in the file, rising; `watch` is called after each batch.
    """
    others = roles.others
    names = [*roles.read, *others] if len(candidates) else list(others)
    if not names:
        watch()
        return Looked(np.empty(0, dtype=np.int64), {})
    fingerprints: list[int] = []
    parts: dict[str, list[pa.Array[Any]]] = {name: [] for name in others}
    first_row = 1
    for batch in table.batches(names, _BATCH_ROWS):
        whole = _within(candidates, first_row, batch.num_rows)
        if len(whole):
            texts = [plain(column.take(whole)).cast(pa.string()) for column in batch.columns]
            rows = zip(*(text.to_pylist() for text in texts), strict=True)
            fingerprints.extend(hash(row) for row in rows)
        some = _within(sampled, first_row, batch.num_rows)
        for name in others:
            parts[name].append(plain(batch.column(name).take(some)))
        first_row += batch.num_rows
        watch()
    return Looked(
        np.array(fingerprints, dtype=np.int64),
        {name: pa.concat_arrays(found) for name, found in parts.items()},
    )


def _within(rows: NDArray[np.int64], first_row: int, many: int) -> pa.Array[Any]:
    start, end = np.searchsorted(rows, (first_row, first_row + many))
    return pa.array(rows[start:end] - first_row)


# ----------------------------------------------------------------------------------- duplicates


def loan_groups(book: Book) -> tuple[Places, Places]:
    """Give the rows that share borrower, day and amount with another, and a number a group.

    Two amounts that are not given are equal here: the rows may still be equal as a whole.
    """
    amount = np.nan_to_num(book.amount, nan=-1.0)
    keys = (amount, book.applied_on.astype(np.int64), book.borrower)
    order = np.lexsort(keys)
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for key in keys:
        same &= key[order[1:]] == key[order[:-1]]
    group = np.concatenate([[0], np.cumsum(~same)]).astype(np.intp)[: len(order)]
    of_row = np.empty(len(order), dtype=np.intp)
    of_row[order] = group
    shared = np.flatnonzero(np.bincount(group)[of_row] > 1) if len(order) else np.empty(0, np.intp)
    return shared, of_row[shared]


def repeats(
    book: Book,
    numbers: NDArray[np.int64],
    shared: Places,
    groups: Places,
    fingerprints: NDArray[np.int64],
) -> tuple[Places, tuple[Duplicate, ...]]:
    """Give the rows to leave out, and what to say of them; see `Duplicate`.

    An applicant may ask twice in a day for the same amount, so only loans count as the same.
    """
    order = np.lexsort((shared, fingerprints, groups))
    again = np.zeros(len(shared), dtype=np.bool_)
    again[order[1:]] = (groups[order[1:]] == groups[order[:-1]]) & (
        fingerprints[order[1:]] == fingerprints[order[:-1]]
    )
    loans = ~again & book.booked[shared] & ~np.isnan(book.amount[shared])
    many = np.bincount(groups[loans], minlength=groups.max(initial=0) + 1)
    differing = loans & (many[groups] > 1)
    told = tuple(
        Duplicate(kind, int(np.count_nonzero(rows)), _first(numbers[shared[rows]]))
        for kind, rows in (
            (DuplicateKind.WHOLE_ROW, again),
            (DuplicateKind.SAME_LOAN, differing),
        )
        if rows.any()
    )
    return shared[again | differing], told


def _first(rows: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(np.sort(rows)[:FIRST_ROWS_MAX].tolist())


# ----------------------------------------------------------------------------------- giveaways


def giveaways(looked: Looked, labels: Labels) -> dict[str, Giveaway]:
    """Find the columns outside the catalogue that give the outcome away."""
    found = {}
    for name, raw in looked.columns.items():
        told = quality.giveaway(_column(raw, name), labels)
        if told is not None:
            found[name] = told
    return found


def _column(raw: pa.Array[Any], name: str) -> Column:
    """Read a column as what most of its values are; days are as good as numbers here."""
    bare = without_markers(raw)
    seen = looks(bare)
    given = seen.numbers + seen.days + seen.booleans + seen.words
    if seen.days and seen.days >= MOSTLY * given:
        days, _ = read_days(bare, name)
        return np.where(np.isnat(days), np.nan, days.astype(np.int64))
    if seen.numbers and seen.numbers >= MOSTLY * given:
        return read_numbers(bare, name)[0]
    return words(bare, name) if given else Words(np.full(len(raw), -1, dtype=np.int32), ())
