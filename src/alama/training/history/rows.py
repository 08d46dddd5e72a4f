"""One pass over a lender's history: the sound rows, and the count of the others."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from alama.core.application import fold, may_be_word
from alama.core.kernel import Words
from alama.files.columns import plain, without_markers, words
from alama.training.dataset import take_column
from alama.training.history import checks
from alama.training.history.checks import Book, Inspection
from alama.training.history.gather import VOCABULARY_MAX, breaks_rule
from alama.training.history.phones import may_be_phone
from alama.training.history.report import Missing
from alama.training.history.roles import (
    AMOUNT,
    APPLIED_ON,
    BORROWER_ID,
    DISBURSED_ON,
    DUE_ON,
    LARGEST_DAYS_PAST_DUE,
    NUMBERS,
    OBSERVED_ON,
    RESTRUCTURED,
    TERM_DAYS,
)
from alama.training.history.tolerant import read_days, read_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from alama.core.catalogue import Field
    from alama.core.kernel import Column
    from alama.files.table import Table
    from alama.training.history.checks import BatchInspection
    from alama.training.history.report import Fault
    from alama.training.history.roles import Roles

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

_ANSWERS: Final = {
    **dict.fromkeys(("yes", "true", "1", "1.0"), 1),
    **dict.fromkeys(("no", "false", "0", "0.0"), 0),
}
_NO_ANSWER: Final = -1
_REQUESTED_AMOUNT: Final = "requested_amount"


@dataclass(frozen=True, slots=True)
class Rows:
    """The sound rows of a file. `numbers` are their places in it, from 1 on.

    `fields` are columns of fields of a request by their names, `groups` by those of the columns;
    `overflowing` names columns of more words than anyone could learn from. `phone_ids` counts the
    rows of the file whose borrower_id looks like a phone number.
    """

    book: Book
    numbers: NDArray[np.int64]
    fields: dict[str, Column]
    groups: dict[str, Words]
    rows: int
    unsound: int
    faults: tuple[Fault, ...]
    missing: tuple[Missing, ...]
    overflowing: tuple[str, ...]
    phone_ids: int

    def take(self, places: NDArray[np.intp]) -> Rows:
        """Give these of the sound rows; the counts stay those of the file."""
        return replace(
            self,
            book=self.book.take(places),
            numbers=self.numbers[places],
            fields={name: take_column(column, places) for name, column in self.fields.items()},
            groups={n: Words(g.codes[places], g.vocabulary) for n, g in self.groups.items()},
        )


def read_rows(table: Table, roles: Roles, today: np.datetime64, watch: Callable[[], None]) -> Rows:
    """Read the file once; `watch` is called after each batch."""
    inspection = Inspection()
    reader = _Reader(roles)
    first_row = 1
    for batch in table.batches(roles.read):
        found = inspection.batch(batch.num_rows, first_row)
        reader.add(batch, found, first_row, today)
        first_row += batch.num_rows
        watch()
    return reader.rows(first_row - 1, inspection)


class _Reader:
    """Gathers the sound rows of batch after batch."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._books: list[Book] = []
        self._numbers: list[NDArray[np.int64]] = []
        self._fields: dict[str, list[Floats]] = {
            f.name: [] for f in roles.fields.values() if f.numeric
        }
        self._words = {f.name: _Words() for f in roles.fields.values() if not f.numeric}
        self._groups = {name: _Words() for name in roles.groups}
        self._missing = dict.fromkeys(roles.read, 0)
        self._phone_ids = 0

    def add(
        self, batch: pa.RecordBatch, found: BatchInspection, first_row: int, today: np.datetime64
    ) -> None:
        told = _Told(batch, found)
        numbers = _read_numbers(told, self._roles)
        texts = {
            field.name: told.words(column, field.rule)
            for column, field in self._roles.fields.items()
            if not field.numeric
        }
        groups = {name: told.as_written(batch.column(name), name) for name in self._groups}
        book = _read_book(told, self._roles, numbers)
        checks.inspect_book(found, book, told.given, today)
        sound = np.flatnonzero(found.done())
        self._books.append(book.take(sound))
        self._numbers.append(sound + first_row)
        for name, parts in self._fields.items():
            parts.append(numbers[name][sound])
        for name, text in texts.items():
            self._words[name].add(text, sound)
        for name, text in groups.items():
            self._groups[name].add(text, sound)
        self._phone_ids += told.phone_ids
        for name in self._missing:
            self._missing[name] += int(np.count_nonzero(~told.given[name]))

    def rows(self, rows: int, inspection: Inspection) -> Rows:
        overflowing = [n for n, column in self._words.items() if column.overflowing]
        overflowing += [n for n, column in self._groups.items() if column.overflowing]
        known: dict[str, Column] = {
            field.name: np.concatenate(self._fields.pop(field.name))
            if field.numeric
            else self._words[field.name].column()
            for field in self._roles.fields.values()
            if field.numeric or not self._words[field.name].overflowing
        }
        return Rows(
            book=checks.joined(self._books),
            numbers=np.concatenate(self._numbers),
            fields=known,
            groups={n: g.column() for n, g in self._groups.items() if not g.overflowing},
            rows=rows,
            unsound=inspection.unsound,
            faults=inspection.faults(),
            missing=tuple(Missing(name, many / rows) for name, many in self._missing.items()),
            overflowing=tuple(overflowing),
            phone_ids=self._phone_ids,
        )


class _Told:
    """One batch read column by column: what is wrong is told, and where something is given kept."""

    def __init__(self, batch: pa.RecordBatch, found: BatchInspection) -> None:
        self.given: dict[str, Mask] = {}
        self.rows = batch.num_rows
        self.phone_ids = 0
        self._batch = batch
        self._found = found

    def numbers(self, name: str, field: Field) -> Floats:
        values, refused = read_numbers(self._batch.column(name), name)
        self.given[name] = ~np.isnan(values) | refused
        self._found.tell(name, checks.A_NUMBER, refused)
        self._found.tell(name, field.rule, breaks_rule(field, values))
        if field.required:
            self._found.tell(name, checks.GIVEN, ~self.given[name])
        return values

    def days(self, name: str) -> NDArray[np.datetime64]:
        values, refused = read_days(self._batch.column(name), name)
        self.given[name] = ~np.isnat(values) | refused
        self._found.tell(name, checks.A_DAY, refused)
        return values

    def words(self, name: str, rule: str) -> Words:
        text = self.as_written(self._batch.column(name), name)
        refused = np.array([*(not may_be_word(word) for word in text.vocabulary), False])
        self._found.tell(name, rule, refused[text.codes])
        return text

    def as_written(self, column: pa.Array[Any], name: str) -> Words:
        text = words(column, name)
        self.given[name] = text.codes >= 0
        return text

    def people(self) -> NDArray[np.int64]:
        ids = self.as_written(without_markers(plain(self._batch.column(BORROWER_ID))), BORROWER_ID)
        phones = np.array([*map(may_be_phone, ids.vocabulary), False])
        self.phone_ids = int(np.count_nonzero(phones[ids.codes]))
        return _people(ids)

    def restructured(self) -> Mask:
        column = without_markers(plain(self._batch.column(RESTRUCTURED)))
        text = self.as_written(column, RESTRUCTURED)
        known = [_ANSWERS.get(fold(word), _NO_ANSWER) for word in text.vocabulary]
        answers = np.array([*known, 0], dtype=np.int8)[text.codes]
        self._found.tell(RESTRUCTURED, checks.YES_OR_NO, answers == _NO_ANSWER)
        return np.asarray(answers == 1)


def _read_numbers(told: _Told, roles: Roles) -> dict[str, Floats]:
    """Give the columns of numbers by the names of their fields."""
    wanted = {column: field for column, field in roles.fields.items() if field.numeric}
    wanted |= {name: field for name, field in NUMBERS.items() if name in roles.loan}
    return {field.name: told.numbers(column, field) for column, field in wanted.items()}


def _read_book(told: _Told, roles: Roles, numbers: Mapping[str, Floats]) -> Book:
    nothing = np.full(told.rows, np.nan)
    asked = numbers.get(_REQUESTED_AMOUNT, nothing)
    lent = numbers.get(AMOUNT, nothing)
    term = numbers.get(TERM_DAYS, nothing)
    disbursed, due = told.days(DISBURSED_ON), told.days(DUE_ON)
    if RESTRUCTURED in roles.loan:
        restructured = told.restructured()
    else:
        restructured = told.given[RESTRUCTURED] = np.zeros(told.rows, dtype=np.bool_)
    return Book(
        borrower=told.people(),
        applied_on=told.days(APPLIED_ON),
        disbursed_on=disbursed,
        due_on=due,
        observed_on=told.days(OBSERVED_ON),
        days_past_due=numbers[LARGEST_DAYS_PAST_DUE],
        restructured=restructured,
        amount=np.where(np.isnan(lent), asked, lent),
        term_days=np.where(np.isnan(term), (due - disbursed) / np.timedelta64(1, "D"), term),
    )


class _Words:
    """A column of words with one vocabulary for all batches, folded as words are compared."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.int32]] = []
        self._code_of: dict[str, int] = {}

    @property
    def overflowing(self) -> bool:
        return len(self._code_of) > VOCABULARY_MAX

    def add(self, text: Words, rows: NDArray[np.intp]) -> None:
        if self.overflowing:
            return
        codes = [self._code_of.setdefault(fold(w), len(self._code_of)) for w in text.vocabulary]
        self._parts.append(np.array([*codes, -1], dtype=np.int32)[text.codes[rows]])

    def column(self) -> Words:
        return Words(np.concatenate(self._parts), tuple(self._code_of))


def _people(ids: Words) -> NDArray[np.int64]:
    """Number people by a hash of their id: the same in every batch and in every run.

    Eight bytes a row, where a table of ids would hold them all; two of a million people meet in
    one number once in tens of millions of files.
    """
    known = [
        int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), signed=True) or 1
        for word in ids.vocabulary
    ]
    return np.array([*known, 0], dtype=np.int64)[ids.codes]
