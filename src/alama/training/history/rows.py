"""One pass over a lender's history: the sound rows, and the count of the others."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alama.core.application import fold, may_be_word
from alama.core.errors import FileProblem
from alama.core.kernel import Column, Words
from alama.platform.files import cells
from alama.platform.files.columns import days, numbers_and_markers, plain, without_markers, words
from alama.training.dataset import take_column
from alama.training.history.columns import may_be_national, may_be_phone
from alama.training.history.gather import VOCABULARY_MAX, breaks_rule
from alama.training.history.report import FIRST_ROWS_MAX, Fault, Missing
from alama.training.history.roles import (
    AMOUNT,
    APPLIED_ON,
    BORROWER_ID,
    DISBURSED_ON,
    DUE_ON,
    LARGEST_DAYS_PAST_DUE,
    NUMBERS,
    OBSERVED_ON,
    PRESENT_SCORE,
    PROPENSITY,
    REPAID_AMOUNT,
    REPAID_ON,
    RESTRUCTURED,
    TERM_DAYS,
    Roles,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from alama.core.catalogue import Field
    from alama.platform.files.table import Table

    Floats = NDArray[np.float64]

    Days = NDArray[np.datetime64]

    Mask = NDArray[np.bool_]


GIVEN: Final = "must be given"
A_DAY: Final = "must be a date such as 2024-03-31"
A_NUMBER: Final = "must be a number"
YES_OR_NO: Final = "must be yes or no"
NOT_AHEAD: Final = "must not lie in the future"
GIVEN_OF_LOAN: Final = "must be given where disbursed_on is"
DISBURSED_IF_REPAID: Final = "must be given where largest_days_past_due or restructured is"
AFTER_APPLIED: Final = "must not lie before applied_on"
AFTER_DISBURSED: Final = "must not lie before disbursed_on"
DAY_OF_THE_BOOKS: Final = "must be the day on which the books were read"
POSSIBLE_DAYS: Final = "must not exceed the days from disbursed_on to observed_on"
_REQUESTED_AMOUNT: Final = "requested_amount"
_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})([T ].*)?", re.ASCII | re.DOTALL)
_NO_DAY: Final = np.datetime64("NaT", "D")
_ANSWERS: Final = {
    **dict.fromkeys(("yes", "true", "1", "1.0"), 1),
    **dict.fromkeys(("no", "false", "0", "0.0"), 0),
}
_NO_ANSWER: Final = -1


@dataclass(frozen=True, slots=True)
class Book:
    """What rows say of their loans. NaT and NaN where nothing is said or it cannot be read.

    Equal numbers in `borrower` are one person; 0 is nobody. An empty `restructured` says no, an
    empty `repaid_on` that a loan was not paid back in full when the books were read.
    """

    borrower: NDArray[np.int64]
    applied_on: Days
    disbursed_on: Days
    due_on: Days
    observed_on: Days
    days_past_due: Floats
    restructured: Mask
    amount: Floats
    term_days: Floats
    repaid: Floats
    propensity: Floats
    present_score: Floats
    repaid_on: Days

    @property
    def booked(self) -> Mask:
        """Say which rows are loans, not only applications."""
        return ~np.isnat(self.disbursed_on)

    def take(self, rows: NDArray[np.intp]) -> Book:
        return Book(*(column[rows] for column in self.columns))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Give the columns in their order."""
        return tuple(getattr(self, name) for name in self.__slots__)


def joined(books: Sequence[Book]) -> Book:
    """Put books below each other; there must be one at least."""
    return Book(*(np.concatenate(parts) for parts in zip(*(b.columns for b in books), strict=True)))


@dataclass(frozen=True, slots=True)
class Rows:
    """The sound rows of a file. `numbers` are their places in it, from 1 on.

    `fields` are columns of fields of a request by their names, `groups` by those of the columns;
    `overflowing` names columns of more words than anyone could learn from. `phone_ids` counts the
    rows of the file whose borrower_id looks like a phone number, `national_ids` one of a state.
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
    national_ids: int = 0

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
        self._phone_ids = self._national_ids = 0

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
        inspect_book(found, book, told.given, today)
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
        self._national_ids += told.national_ids
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
            book=joined(self._books),
            numbers=np.concatenate(self._numbers),
            fields=known,
            groups={n: g.column() for n, g in self._groups.items() if not g.overflowing},
            rows=rows,
            unsound=inspection.unsound,
            faults=inspection.faults(),
            missing=tuple(Missing(name, many / rows) for name, many in self._missing.items()),
            overflowing=tuple(overflowing),
            phone_ids=self._phone_ids,
            national_ids=self._national_ids,
        )


class _Told:
    """One batch read column by column: what is wrong is told, and where something is given kept."""

    def __init__(self, batch: pa.RecordBatch, found: BatchInspection) -> None:
        self.given: dict[str, Mask] = {}
        self.rows = batch.num_rows
        self.phone_ids = self.national_ids = 0
        self._batch = batch
        self._found = found

    def numbers(self, name: str, field: Field) -> Floats:
        values, refused = read_numbers(self._batch.column(name), name)
        self.given[name] = ~np.isnan(values) | refused
        self._found.tell(name, A_NUMBER, refused)
        self._found.tell(name, field.rule, breaks_rule(field, values))
        if field.required:
            self._found.tell(name, GIVEN, ~self.given[name])
        return values

    def days(self, name: str) -> NDArray[np.datetime64]:
        values, refused = read_days(self._batch.column(name), name)
        self.given[name] = ~np.isnat(values) | refused
        self._found.tell(name, A_DAY, refused)
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
        nationals = np.array([*map(may_be_national, ids.vocabulary), False])
        self.national_ids = int(np.count_nonzero(nationals[ids.codes]))
        return _people(ids)

    def restructured(self) -> Mask:
        column = without_markers(plain(self._batch.column(RESTRUCTURED)))
        text = self.as_written(column, RESTRUCTURED)
        known = [_ANSWERS.get(fold(word), _NO_ANSWER) for word in text.vocabulary]
        answers = np.array([*known, 0], dtype=np.int8)[text.codes]
        self._found.tell(RESTRUCTURED, YES_OR_NO, answers == _NO_ANSWER)
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
    never = np.full(told.rows, _NO_DAY, dtype="M8[D]")
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
        repaid=numbers.get(REPAID_AMOUNT, nothing),
        propensity=numbers.get(PROPENSITY, nothing),
        present_score=numbers.get(PRESENT_SCORE, nothing),
        repaid_on=told.days(REPAID_ON) if REPAID_ON in roles.loan else never,
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


# ---------------------------------------------------------------------------------- what rows break


class Inspection:
    """Judges the rows of a file batch by batch, and counts what they break."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], list[int]] = {}
        self.unsound = 0

    def faults(self) -> tuple[Fault, ...]:
        """Give the broken rules, those that most rows break first."""
        told = [
            Fault(column, rule, rows, tuple(self._first[column, rule]))
            for (column, rule), rows in self._rows.items()
        ]
        return tuple(sorted(told, key=lambda f: (-f.rows, f.column, f.rule)))

    def batch(self, rows: int, first_row: int) -> BatchInspection:
        """Begin with the next rows of the file."""
        return BatchInspection(self, rows, first_row)

    def add(self, column: str, rule: str, rows: NDArray[np.intp]) -> None:
        """Count rows, by their numbers in the file, that break a rule."""
        key = column, rule
        self._rows[key] = self._rows.get(key, 0) + len(rows)
        first = self._first.setdefault(key, [])
        first.extend(rows[: FIRST_ROWS_MAX - len(first)].tolist())


class BatchInspection:
    """The rows of one batch: which are sound so far."""

    def __init__(self, whole: Inspection, rows: int, first_row: int) -> None:
        self.sound: Mask = np.ones(rows, dtype=np.bool_)
        self._whole = whole
        self._first_row = first_row

    def tell(self, column: str, rule: str, broken: Mask) -> None:
        """Count the rows that break a rule."""
        if broken.any():
            self._whole.add(column, rule, np.flatnonzero(broken) + self._first_row)
            self.sound &= ~broken

    def done(self) -> Mask:
        """Count the rows that are left out, and give those that stay."""
        self._whole.unsound += int(np.count_nonzero(~self.sound))
        return self.sound


def inspect_book(
    found: BatchInspection, book: Book, given: Mapping[str, Mask], today: np.datetime64
) -> None:
    """Check what rows say of their loans against each other and against the calendar.

    `given` says for each column where something stands, be it readable or not: what cannot be
    read has been told of, and is not told of again as missing. `today` is that of UTC.
    """
    # East of Greenwich it is tomorrow already, and a file may be written just after midnight.
    last_day = today + np.timedelta64(1, "D")
    booked = given[DISBURSED_ON]
    for name in (BORROWER_ID, APPLIED_ON):
        found.tell(name, GIVEN, ~given[name])
    for name in (DUE_ON, OBSERVED_ON, LARGEST_DAYS_PAST_DUE):
        found.tell(name, GIVEN_OF_LOAN, booked & ~given[name])
    has_outcome = given[LARGEST_DAYS_PAST_DUE] | given[RESTRUCTURED]
    found.tell(DISBURSED_ON, DISBURSED_IF_REPAID, ~booked & has_outcome)
    # Comparing with NaT and NaN is False: what is missing breaks none of these.
    for name, values in (
        (APPLIED_ON, book.applied_on),
        (DISBURSED_ON, book.disbursed_on),
        (OBSERVED_ON, book.observed_on),
        (REPAID_ON, book.repaid_on),
    ):
        found.tell(name, NOT_AHEAD, values > last_day)
    found.tell(DISBURSED_ON, AFTER_APPLIED, book.disbursed_on < book.applied_on)
    found.tell(DUE_ON, AFTER_DISBURSED, book.due_on < book.disbursed_on)
    found.tell(OBSERVED_ON, AFTER_DISBURSED, book.observed_on < book.disbursed_on)
    found.tell(REPAID_ON, AFTER_DISBURSED, book.repaid_on < book.disbursed_on)
    # An instalment can be late long before the last one is due, but none before there is a loan.
    seen = (book.observed_on - book.disbursed_on) / np.timedelta64(1, "D")
    found.tell(LARGEST_DAYS_PAST_DUE, POSSIBLE_DAYS, (seen >= 0) & (book.days_past_due > seen))


# ------------------------------------------------------------------------------------------- values


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
