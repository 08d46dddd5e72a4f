"""From what was read to the report of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.core.catalogue import Use
from alama.training.history import evidence, structure
from alama.training.history import rows as checks
from alama.training.history import split as outcomes
from alama.training.history.evidence import Calendar
from alama.training.history.gather import VOCABULARY_MAX
from alama.training.history.report import (
    FIRST_ROWS_MAX,
    STALE_DAYS,
    Drift,
    Duplicate,
    Fault,
    HistoryReport,
    Oddity,
    Suspect,
)
from alama.training.history.roles import BORROWER_ID, OBSERVED_ON, REGION, RESTRUCTURED, Roles
from alama.training.history.split import Counted, OutOfTime

if TYPE_CHECKING:
    from datetime import date

    from numpy.typing import NDArray

    from alama.core.catalogue import Catalogue
    from alama.training.dataset import Dataset
    from alama.training.history.rows import Book, Rows


_MUCH: Final = 0.05
"""Where more of the rows are unsound, those that stay may not be like those that go."""

_OVERLOOKED: Final = 0.01
"""Where more of the loans that are old enough were not looked at again, it is no slip of a hand."""

_MANY_PHONES: Final = 0.1
"""Below this share, ids of another making may look like phone numbers by chance."""


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was read: the rows that stay, which of them are mature, and what is doubted."""

    roles: Roles
    rows: Rows
    mature: NDArray[np.bool_]
    loans: Dataset
    split: OutOfTime | None
    suspects: tuple[Suspect, ...]
    repeated: int
    duplicates: tuple[Duplicate, ...]
    groups: tuple[str, ...]
    notes: tuple[str, ...]
    catalogue: Catalogue
    odd: tuple[Oddity, ...] = ()


def report_of(found: Findings, currency: str, days_past_due: int, today: date) -> HistoryReport:
    """Give the report. It holds no value of any row."""
    book, labels, dates = found.rows.book, found.loans.labels, found.loans.dates
    assert dates is not None
    booked = book.booked
    bad = np.zeros(len(booked), dtype=np.bool_)
    bad[np.flatnonzero(found.mature)] = labels == 1
    split, none = found.split, Counted(0, 0)
    learning, judging = (none, none) if split is None else (split.learning, split.judging)
    verdict = evidence.enough(split)
    unread = _unread(found, days_past_due)
    drift = evidence.drift(found.rows.fields, book.applied_on)
    calendar = _calendar(book, today)
    return HistoryReport(
        currency=currency,
        days_past_due=days_past_due,
        tells_restructuring=RESTRUCTURED in found.roles.loan,
        rows=found.rows.rows,
        unsound=found.rows.unsound,
        repeated=found.repeated,
        not_booked=int(np.count_nonzero(~booked)),
        immature=int(np.count_nonzero(booked & ~found.mature)),
        mature=len(labels),
        defaults=found.loans.defaults,
        borrowers=len(np.unique(book.borrower[found.mature])),
        first_applied_on=_first(book.applied_on),
        last_applied_on=_last(book.applied_on),
        last_observed_on=_last(book.observed_on[booked]),
        out_of_time_from=None if split is None else str(split.first_day),
        learning_loans=learning.loans,
        learning_defaults=learning.defaults,
        out_of_time_loans=judging.loans,
        out_of_time_defaults=judging.defaults,
        returned_loans=0 if split is None else split.returned.loans,
        inputs=tuple(found.loans.columns),
        groups=found.groups,
        set_aside=(*found.roles.others, *found.roles.unread),
        faults=tuple(sorted((*found.rows.faults, *unread), key=lambda fault: -fault.rows)),
        missing=found.rows.missing,
        suspects=tuple(sorted(found.suspects, key=lambda s: (-s.auc, s.column))),
        duplicates=found.duplicates,
        months=evidence.months(book.applied_on, booked, found.mature, bad),
        drift=drift,
        notes=(*_notes(found, drift), *found.notes),
        enough=verdict,
        advice=(
            *_own_words(found.rows),
            *_mend_first(found.rows),
            *_read_the_books_again(unread, len(labels)),
            *_read_them_today(calendar),
            *evidence.advice(verdict, dates, labels, split, calendar),
        ),
        excluded=tuple(sorted(found.roles.excluded)),
        books_age_days=calendar.books_age_days if booked.any() else None,
        structure=_structure(found, bad, days_past_due),
    )


def _structure(found: Findings, bad: NDArray[np.bool_], days_past_due: int) -> tuple[Oddity, ...]:
    rows = found.rows
    return (
        *structure.of_loans(rows.book, rows.fields, found.mature, bad, days_past_due),
        *found.odd,
        *structure.of_ids(rows.phone_ids, rows.national_ids, rows.rows),
    )


def _calendar(book: Book, today: date) -> Calendar:
    """Give the days that count; without any loan the books are those of today."""
    now = np.datetime64(today, "D")
    looked = book.observed_on[book.booked]
    return Calendar(now, looked.max() if len(looked) else now)


def _read_them_today(calendar: Calendar) -> list[str]:
    """Send books back that are too old to speak of the loans of today."""
    if calendar.books_age_days <= STALE_DAYS:
        return []
    told = (
        f"The books were last looked at on {calendar.books_read_on}, "
        f"{calendar.books_age_days:,} days ago: of who borrows and repays since then nothing is "
        "known. Hand in books read today."
    )
    return [told]


def _own_words(rows: Rows) -> list[str]:
    """Ask for ids that mean nothing elsewhere; a phone number names a person."""
    if rows.phone_ids < _MANY_PHONES * rows.rows or not rows.phone_ids:
        return []
    told = (
        f"{rows.phone_ids:,} of {rows.rows:,} {BORROWER_ID} look like phone numbers: put words of "
        "your own in their place, which mean nothing elsewhere, and hand the file in again."
    )
    return [told]


def _mend_first(rows: Rows) -> list[str]:
    """Send a file back that lost so much that the rest may not speak for it."""
    if rows.unsound < _MUCH * rows.rows:
        return []
    worst = rows.faults[0]
    told = (
        f"{rows.unsound:,} of {rows.rows:,} rows break a rule and are left out. Put the file right "
        f"and read it again before anything else, {worst.column} first: it {worst.rule}."
    )
    return [told]


def _unread(found: Findings, days_past_due: int) -> list[Fault]:
    """Find loans that look immature only because nobody looked at them again."""
    booked = np.flatnonzero(found.rows.book.booked)
    book = found.rows.book.take(booked)
    overlooked = outcomes.unread(book.due_on, book.observed_on, days_past_due)
    rows = found.rows.numbers[booked[overlooked]]
    if not len(rows):
        return []
    first = tuple(rows[:FIRST_ROWS_MAX].tolist())
    return [Fault(OBSERVED_ON, checks.DAY_OF_THE_BOOKS, len(rows), first)]


def _read_the_books_again(unread: list[Fault], mature: int) -> list[str]:
    """Say what so many loans that nobody looked at again mostly mean."""
    return [
        f"{fault.rows:,} loans count as too young although the file was written long enough after "
        f"they were due. {OBSERVED_ON} must be the day on which the books were read, not that on "
        "which a loan was closed: else good loans are set aside and bad ones stay. Put it right "
        "and read the file again."
        for fault in unread
        if fault.rows > _OVERLOOKED * (fault.rows + mature)
    ]


def _first(days: NDArray[np.datetime64]) -> str | None:
    return str(days.min()) if len(days) else None


def _last(days: NDArray[np.datetime64]) -> str | None:
    return str(days.max()) if len(days) else None


def _notes(found: Findings, drift: tuple[Drift, ...]) -> list[str]:
    """Say what a person should know before a model is made of this."""
    said = []
    given = {field.name for field in found.roles.fields.values()}
    absent = [
        field.name
        for field in found.catalogue.model_fields
        if field.name not in given and field.use is Use.MODEL
    ]
    if absent:
        them = "it" if len(absent) == 1 else "them"
        said.append(f"the file has no {', '.join(absent)}: the model will not know {them}")
    if REGION in given and REGION not in found.roles.inputs:
        said.append("region is no input: it is looked at for fairness only, unless asked for")
    if RESTRUCTURED not in found.roles.loan:
        said.append(
            "the file does not say which loans were restructured in distress: those count by "
            "their days past due alone"
        )
    said += [
        f"{name} is set aside: it holds more than {VOCABULARY_MAX:,} different words"
        for name in found.rows.overflowing
    ]
    if found.roles.unread:
        said.append(
            f"these columns were not looked at: {', '.join(found.roles.unread)}; do not send what "
            "no decision may use"
        )
    moved = [shift.column for shift in drift if shift.psi >= evidence.DRIFTED_PSI]
    if moved:
        said.append(
            f"in the last {evidence.DRIFT_MONTHS} months other people applied than before: "
            f"{', '.join(moved)} moved (PSI {evidence.DRIFTED_PSI} or more)"
        )
    return said
