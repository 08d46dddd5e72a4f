"""One pass over a file: the rows whose outcome is known, as columns of numbers and of words.

Values are checked against the rules of their fields on the way. What breaks one is named by column
and row, never repeated: a table holds people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from alama.core.application import fold, may_be_word
from alama.core.catalogue import Field, Kind
from alama.core.errors import FileProblem, TrainingProblem
from alama.core.kernel import Column, Words
from alama.platform.files.columns import MISSING_MARKERS, days, numbers_and_markers, words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.platform.files.table import Table

    Mask = NDArray[np.bool_]


PROBLEMS_MAX: Final = 10
"""Broken rules told at once; more would not be read."""

VOCABULARY_MAX: Final = 100_000
"""Distinct words beyond which a column names its rows rather than says something about them."""

FRESH_ROWS_MAX: Final = 30_000
"""Rows without an outcome that are kept for comparison."""

_OUTCOMES: Final = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
_UNKNOWN: Final = -1
_NO_OUTCOME: Final = -2


@dataclass(frozen=True, slots=True)
class Request:
    """What to read: the field behind each column, the outcome, and perhaps the day.

    A day that nobody asked for by name (`day_wanted` False) is given up where it cannot be read.
    So is a column of texts that are no words and whose kind was `guessed`; under a catalogue they
    are an error.
    """

    fields: Mapping[str, Field]
    label: str
    day: str | None = None
    day_wanted: bool = False
    guessed: bool = False

    @property
    def names(self) -> list[str]:
        """Give the columns to read, the outcome first."""
        return [self.label, *self.fields, *([self.day] if self.day is not None else [])]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The rows with a known outcome. `overflowing` columns held too many words to be kept.

    `fresh` has some rows without an outcome, for comparison only: what cannot be read there is
    missing. Its words follow the codes of `columns`; those met nowhere else share one more.
    """

    columns: dict[str, Column]
    fresh: dict[str, Column]
    labels: NDArray[np.int8]
    dates: NDArray[np.datetime64] | None
    rows_without_outcome: int
    markers: dict[str, int]
    no_words: tuple[str, ...]
    overflowing: tuple[str, ...]
    day_refused: str | None


def gather(table: Table, request: Request, watch: Callable[[], None]) -> Gathered:
    """Read the file once; `watch` is called after each batch."""
    problems = _Problems(table.path)
    numeric = {n: _Numbers(n, f, problems) for n, f in request.fields.items() if f.numeric}
    wordy = {
        n: _WordCodes(n, f, None if request.guessed else problems)
        for n, f in request.fields.items()
        if not f.numeric
    }
    readers: dict[str, _Numbers | _WordCodes] = {**numeric, **wordy}
    labels: list[NDArray[np.int8]] = []
    calendar = _Days(request)
    first_row, fresh_rows = 1, 0
    for batch in table.batches(request.names):
        outcome = _outcomes(batch.column(0), request.label, first_row)
        known = outcome != _UNKNOWN
        labels.append(outcome[known])
        for name, reader in readers.items():
            reader.add(_only(batch.column(name), known), first_row, known)
        calendar.add(batch, first_row, known)
        fresh = np.flatnonzero(~known)[: FRESH_ROWS_MAX - fresh_rows]
        if len(fresh):
            for name, reader in readers.items():
                reader.add_fresh(batch.column(name).take(fresh))
        fresh_rows += len(fresh)
        first_row += batch.num_rows
        watch()
    problems.raise_if_any()
    found = np.concatenate(labels) if labels else np.empty(0, dtype=np.int8)
    return Gathered(
        columns={n: reader.column() for n, reader in readers.items() if not reader.given_up},
        fresh={n: reader.fresh() for n, reader in readers.items() if not reader.given_up},
        labels=found,
        dates=calendar.dates(),
        rows_without_outcome=first_row - 1 - len(found),
        markers={name: reader.markers for name, reader in numeric.items() if reader.markers},
        no_words=tuple(name for name, reader in wordy.items() if reader.no_words),
        overflowing=tuple(name for name, reader in wordy.items() if reader.overflowing),
        day_refused=calendar.refused,
    )


def _outcomes(column: pa.Array[Any], name: str, first_row: int) -> NDArray[np.int8]:
    """Give 1 for a default, 0 for none, -1 where nobody knows."""
    found = words(column, name, first_row)
    by_code = np.array([*map(_outcome, found.vocabulary), _UNKNOWN], dtype=np.int8)
    outcome: NDArray[np.int8] = by_code[found.codes]
    if (refused := outcome == _NO_OUTCOME).any():
        row = first_row + int(np.argmax(refused))
        message = (
            f"column {name}, row {row}: the outcome must be 0 or 1, true or false, yes or no; "
            "empty where it is not known"
        )
        raise TrainingProblem(message, hint="1, true or yes says that the loan defaulted")
    return outcome


def _outcome(word: str) -> int:
    known = _OUTCOMES.get(fold(word))
    if known is not None:
        return known
    if fold(word) in MISSING_MARKERS:
        return _UNKNOWN
    try:
        return {0.0: 0, 1.0: 1}.get(float(word), _NO_OUTCOME)
    except ValueError:
        return _NO_OUTCOME


def _only(column: pa.Array[Any], known: Mask) -> pa.Array[Any]:
    """Blank the rows that are left out, so that the others keep their numbers."""
    if known.all():
        return column
    return column.take(pa.array(np.arange(len(known)), type=pa.int64(), mask=~known))


class _Problems:
    """Broken rules, gathered up to a readable number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told: list[str] = []

    def add(self, message: str) -> None:
        self._told.append(message)
        if len(self._told) == PROBLEMS_MAX:
            self.raise_if_any()

    def add_rows(self, name: str, field: Field, rows: NDArray[np.intp]) -> None:
        for row in rows[:PROBLEMS_MAX].tolist():
            self.add(f"column {name}, row {row}: {field.rule}")

    def raise_if_any(self) -> None:
        if not self._told:
            return
        some = "the first of the" if len(self._told) == PROBLEMS_MAX else "the"
        message = "\n  ".join([f"{self._path}: {some} values that cannot be used", *self._told])
        hint = "mend them, or leave empty what is not known"
        raise FileProblem(message, hint=hint)


class _Numbers:
    """A column of numbers, batch after batch."""

    def __init__(self, name: str, field: Field, problems: _Problems) -> None:
        self.given_up = False
        self.markers = 0
        self._name = name
        self._field = field
        self._problems = problems
        self._parts: list[NDArray[np.float64]] = []
        self._fresh: list[NDArray[np.float64]] = []

    def add(self, column: pa.Array[Any], first_row: int, known: Mask) -> None:
        if self.given_up:
            return
        try:
            values = self._read(column, first_row)
        except FileProblem as problem:
            self.given_up = True  # one such row is enough to tell; the run ends anyway
            self._problems.add(str(problem))
            return
        wrong = np.flatnonzero(known & breaks_rule(self._field, values))
        self._problems.add_rows(self._name, self._field, wrong + first_row)
        self._parts.append(values[known])

    def add_fresh(self, column: pa.Array[Any]) -> None:
        try:
            values, _ = numbers_and_markers(column, self._name, 1)
        except FileProblem:
            values = np.full(len(column), np.nan)
        self._fresh.append(np.where(breaks_rule(self._field, values), np.nan, values))

    def fresh(self) -> NDArray[np.float64]:
        return np.concatenate(self._fresh) if self._fresh else np.empty(0)

    def column(self) -> NDArray[np.float64]:
        column = np.concatenate(self._parts) if self._parts else np.empty(0)
        self._parts.clear()
        return column

    def _read(self, column: pa.Array[Any], first_row: int) -> NDArray[np.float64]:
        values, markers = numbers_and_markers(column, self._name, first_row)
        self.markers += markers
        return values


def breaks_rule(field: Field, values: NDArray[np.float64]) -> Mask:
    """Say which numbers break the rule of their field."""
    # Comparing with NaN is False: what is missing breaks no rule.
    broken = np.zeros(len(values), dtype=np.bool_)
    if field.kind is Kind.INTEGER:
        broken |= values != np.floor(values)
        broken &= ~np.isnan(values)
    if field.minimum is not None:
        broken |= values < field.minimum
    if field.above is not None:
        broken |= values <= field.above
    if field.maximum is not None:
        broken |= values > field.maximum
    return broken


class _WordCodes:
    """A column of words with one vocabulary for all batches, folded as words are compared."""

    def __init__(self, name: str, field: Field, problems: _Problems | None) -> None:
        self.overflowing = False
        self.no_words = False
        self._name = name
        self._field = field
        self._problems = problems
        self._parts: list[NDArray[np.int32]] = []
        self._code_of: dict[str, int] = {}
        self._fresh: list[Words] = []

    @property
    def given_up(self) -> bool:
        return self.overflowing or self.no_words

    def add(self, column: pa.Array[Any], first_row: int, known: Mask) -> None:
        if self.given_up:
            return
        found = words(column, self._name, first_row)
        refused = [not may_be_word(word) for word in found.vocabulary]
        if any(refused):
            if self._problems is None:
                self._give_up(no_words=True)
                return
            rows = np.flatnonzero(np.array([*refused, False])[found.codes])
            self._problems.add_rows(self._name, self._field, rows + first_row)
        codes = [
            self._code_of.setdefault(fold(word), len(self._code_of)) for word in found.vocabulary
        ]
        if len(self._code_of) > VOCABULARY_MAX:
            self._give_up(no_words=False)
            return
        self._parts.append(np.array([*codes, -1], dtype=np.int32)[found.codes[known]])

    def add_fresh(self, column: pa.Array[Any]) -> None:
        if not self.given_up:
            self._fresh.append(words(column, self._name))

    def fresh(self) -> Words:
        other = len(self._code_of)
        parts = [
            np.array(
                [*(self._code_of.get(fold(word), other) for word in part.vocabulary), -1],
                dtype=np.int32,
            )[part.codes]
            for part in self._fresh
        ]
        codes = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
        return Words(codes, (*self._code_of, ""))

    def column(self) -> Words:
        codes = np.concatenate(self._parts) if self._parts else np.empty(0, dtype=np.int32)
        self._parts.clear()
        return Words(codes, tuple(self._code_of))

    def _give_up(self, *, no_words: bool) -> None:
        self.no_words, self.overflowing = no_words, not no_words
        self._parts.clear()
        self._code_of.clear()


class _Days:
    """The day of each application, where the file says it."""

    def __init__(self, request: Request) -> None:
        self.refused: str | None = None
        self._name = request.day
        self._wanted = request.day_wanted
        self._parts: list[NDArray[np.datetime64]] = []

    def add(self, batch: pa.RecordBatch, first_row: int, known: Mask) -> None:
        if self._name is None or self.refused is not None:
            return
        try:
            found = days(_only(batch.column(self._name), known), self._name, first_row)
        except FileProblem as problem:
            if self._wanted:
                raise
            self.refused = str(problem)
            return
        self._parts.append(found[known])

    def dates(self) -> NDArray[np.datetime64] | None:
        if self._name is None or self.refused is not None or not self._parts:
            return None
        return np.concatenate(self._parts)
