"""What the columns of a file hold, where no catalogue says so: judged on all their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from alama.core.catalogue import Field, Kind
from alama.core.errors import FileProblem
from alama.files.columns import Looks, looks, numbers, without_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from alama.files.table import Table

MOSTLY: Final = 0.95
"""A column is of the kind that this share of its values is of; the rest are slips of a pen."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A field for each column worth reading (whole numbers not yet told apart), and the rest."""

    fields: dict[str, Field]
    warnings: tuple[str, ...]


def survey(table: Table, names: Sequence[str], watch: Callable[[], None]) -> Survey:
    """Read the columns once and say what each holds; `watch` is called after each batch."""
    as_written = dict.fromkeys(names, Looks())
    unmarked = dict.fromkeys(names, Looks())
    for batch in table.batches(names):
        for name in names:
            column = batch.column(name)
            found = _quick_looks(column)
            as_written[name] += found
            unmarked[name] += _quick_looks(without_markers(column)) if found.words else found
        watch()
    fields: dict[str, Field] = {}
    warnings: list[str] = []
    for name in names:
        kind, warning = _judge(name, as_written[name], unmarked[name])
        if kind is not None:
            fields[name] = Field(name=name, kind=kind)
        if warning is not None:
            warnings.append(warning)
    return Survey(fields, tuple(warnings))


def _quick_looks(column: pa.Array[Any]) -> Looks:
    """Count as `looks` does, but pass by its patterns where all values are numbers."""
    try:
        values = numbers(column, "")
    except FileProblem:
        return looks(column)
    missing = int(np.count_nonzero(np.isnan(values)))
    return Looks(missing=missing, numbers=len(values) - missing)


def _judge(name: str, as_written: Looks, unmarked: Looks) -> tuple[Kind | None, str | None]:
    """Give the kind of a column, None to leave it out, and what to say about it."""
    if not name:
        return None, "a column without a name is ignored"
    given = as_written.numbers + as_written.days + as_written.booleans + as_written.words
    if not given:
        return None, f"column {name} is ignored: it is empty"
    if as_written.days >= MOSTLY * given:
        return None, (
            f"column {name} is ignored: it holds dates, and a model of dates would not outlive "
            "them; give it as a number, such as the months since then"
        )
    without = unmarked.numbers + unmarked.days + unmarked.booleans + unmarked.words
    if unmarked.numbers and unmarked.numbers >= MOSTLY * without:
        return Kind.NUMBER, None  # reading it again names the row of a value that is no number
    if as_written.numbers:
        return Kind.WORD, (
            f"column {name} holds numbers ({as_written.numbers / given:.0%}) and other text, "
            "so all of it is read as words"
        )
    return Kind.WORD, None
