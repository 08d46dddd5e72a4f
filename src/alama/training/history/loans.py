"""A lender's history of loans, read and doubted: what a model of its own may learn from.

file -> which column says what -> row by row: sound, or left out and counted -> repeated rows
     -> columns that give the outcome away -> months, drift, enough? -> History
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alama.core.errors import TrainingProblem
from alama.core.kernel import Column, Words
from alama.core.product import PRODUCT
from alama.platform.files.reader import open_table
from alama.platform.files.table import OWN, Limits, Table
from alama.training.dataset import Dataset, take_column
from alama.training.history import columns as quality
from alama.training.history import doubts, split
from alama.training.history.findings import Findings, report_of
from alama.training.history.load import ROWS_MIN, Passes
from alama.training.history.report import Duplicate, HistoryReport, Standing, Suspect
from alama.training.history.roles import REGION, Roles, Wishes, assign
from alama.training.history.rows import Book, Rows, read_rows
from alama.training.history.split import JUDGING_DEFAULTS_MIN, out_of_time

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.training.history.columns import Giveaway


Watch = Callable[[float], None]
"""Called with the share of the reading that is done."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the lender calls a default, the currency of all money in its file, and the evidence.

    So many defaults it wants a model to be judged by.
    """

    days_past_due: int
    currency: str
    judging_defaults: int = JUDGING_DEFAULTS_MIN


@dataclass(frozen=True, slots=True)
class Options:
    """What may become an input, which columns say who is treated how, and what day it is.

    `exclude` takes fields of a request out of the inputs. `keep` leaves one in that gives the
    outcome away, on somebody's word: the gate of validation then blocks. `groups` are columns of
    the file that are looked at for fairness and never are inputs. `today` is that of UTC.
    """

    today: date
    region: bool = False
    exclude: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """What was read. `loans` holds inputs only; `applications` every field of the file.

    Beside the loans: equal `borrowers` are one person, and `places` says where a loan stands among
    the applications. Beside the applications: `groups` are words for fairness (always with the
    region where the file gives it), whether each was `booked`, when it was made, and for how
    many days a loan was given (NaN where nothing says it).
    """

    loans: Dataset
    borrowers: NDArray[np.int64]
    groups: Mapping[str, Words]
    applications: Mapping[str, Column]
    booked: NDArray[np.bool_]
    applied_on: NDArray[np.datetime64]
    term_days: NDArray[np.float64]
    places: NDArray[np.intp]
    report: HistoryReport


def read_history(
    path: Path, terms: Terms, options: Options, watch: Watch, limits: Limits = OWN
) -> History:
    """Read a lender's file, or raise FileProblem where it is no history at all, or too large.

    A file with faults is read: what is wrong stands in the report. Columns that give the outcome
    away and about which nobody has decided are left out of the loans; `refuse_open_suspects`
    stops a run that would learn without them.
    """
    table = open_table(path, limits)
    wishes = Wishes(options.exclude, options.keep, options.groups, region=options.region)
    roles = assign(table, wishes)
    passes = Passes(table, 2, watch)
    rows = read_rows(table, roles, np.datetime64(options.today, "D"), passes.step)
    passes.next()
    doubted = _doubt(table, roles, rows, terms, passes)
    return _history(roles, doubted, terms, options)


def refuse_open_suspects(report: HistoryReport) -> None:
    """Raise TrainingProblem where an input gives the outcome away and nobody has decided."""
    if not report.open_suspects:
        return
    names = ", ".join(report.open_suspects)
    raise TrainingProblem(
        f"these fields tell the outcome almost by themselves: {names}",
        hint="if they were filled in after the loan, leave them out with --exclude NAME; --keep "
        "NAME keeps one as an input, and the model then cannot be approved",
    )


# ----------------------------------------------------------------------------------- doubts


@dataclass(frozen=True, slots=True)
class _Doubted:
    """The rows that stay after doubts, and what the second look at the file found."""

    rows: Rows
    repeated: int
    duplicates: tuple[Duplicate, ...]
    outside: Mapping[str, Giveaway]


def _doubt(table: Table, roles: Roles, rows: Rows, terms: Terms, passes: Passes) -> _Doubted:
    shared, groups = doubts.loan_groups(rows.book)
    sampled = _sample(rows.book, shared, terms)
    looked = doubts.second_look(
        table, roles, rows.numbers[shared], rows.numbers[sampled], passes.step
    )
    repeated, told = doubts.repeats(rows.book, rows.numbers, shared, groups, looked.fingerprints)
    outside = doubts.giveaways(looked, _labels(rows.book.take(sampled), terms))
    stay = np.setdiff1d(np.arange(len(rows.numbers)), repeated, assume_unique=True)
    return _Doubted(rows.take(stay), len(repeated), told, outside)


def _sample(book: Book, shared: NDArray[np.intp], terms: Terms) -> NDArray[np.intp]:
    """Choose mature loans in which other columns are looked at; rows that may repeat are none."""
    mature = _mature(book, terms)
    mature[shared] = False
    places = np.flatnonzero(mature)
    return places[:: max(1, -(-len(places) // doubts.SAMPLE_ROWS))]


def _mature(book: Book, terms: Terms) -> NDArray[np.bool_]:
    return book.booked & split.mature(book.due_on, book.observed_on, terms.days_past_due)


def _labels(book: Book, terms: Terms) -> NDArray[np.int8]:
    bad = split.defaulted(book.days_past_due, book.restructured, terms.days_past_due)
    return bad.astype(np.int8)


def _suspects(
    roles: Roles, columns: Mapping[str, Column], labels: NDArray[np.int8], options: Options
) -> list[Suspect]:
    """Find the fields of a request that give the outcome away; the file's spelling names them."""
    kept = {PRODUCT.field(name).name for name in options.keep if name in PRODUCT.position}
    found = []
    for spelled, known in roles.fields.items():
        column = columns.get(known.name)
        told = None if column is None else quality.giveaway(column, labels)
        if told is None:
            continue
        if known.name not in roles.inputs:
            standing = Standing.EXCLUDED
        else:
            standing = Standing.KEPT if known.name in kept else Standing.OPEN
        found.append(Suspect(spelled, round(told.auc, 4), told.why, standing))
    return found


def _outside_suspects(found: Mapping[str, Giveaway]) -> list[Suspect]:
    return [
        Suspect(name, round(told.auc, 4), told.why, Standing.SET_ASIDE)
        for name, told in found.items()
    ]


# ----------------------------------------------------------------------------------- the result


def _history(roles: Roles, doubted: _Doubted, terms: Terms, options: Options) -> History:
    rows, book = doubted.rows, doubted.rows.book
    mature = _mature(book, terms)
    places = np.flatnonzero(mature)
    labels = _labels(book.take(places), terms)
    columns = {name: take_column(column, places) for name, column in rows.fields.items()}
    suspects = _suspects(roles, columns, labels, options)
    inputs, said = _inputs(roles, columns, suspects, len(labels))
    groups = dict(rows.groups)
    if isinstance(region := rows.fields.get(REGION), Words):
        groups[REGION] = region
    loans = Dataset(
        catalogue=PRODUCT.only(inputs),
        columns={name: columns[name] for name in inputs},
        labels=labels,
        dates=book.applied_on[places],
    )
    borrowers = book.borrower[places]
    findings = Findings(
        roles=roles,
        rows=rows,
        mature=mature,
        loans=loans,
        split=out_of_time(book.applied_on[places], borrowers, labels, terms.judging_defaults),
        suspects=(*suspects, *_outside_suspects(doubted.outside)),
        repeated=doubted.repeated,
        duplicates=doubted.duplicates,
        groups=tuple(groups),
        notes=tuple(said),
    )
    return History(
        loans=loans,
        borrowers=borrowers,
        groups=groups,
        applications=rows.fields,
        booked=book.booked,
        applied_on=book.applied_on,
        term_days=book.term_days,
        places=places,
        report=report_of(findings, terms.currency, terms.days_past_due, options.today),
    )


def _inputs(
    roles: Roles, columns: Mapping[str, Column], suspects: list[Suspect], loans: int
) -> tuple[list[str], list[str]]:
    """Choose what a model may learn from, and say why something is left out."""
    doubtful = {PRODUCT.field(s.column).name for s in suspects if s.standing is Standing.OPEN}
    wanted = [name for name in columns if name in roles.inputs and name not in doubtful]
    chosen, said = [], []
    for name in wanted:
        # In a handful of rows every column looks useless.
        reason = quality.uselessness(columns[name]) if loans >= ROWS_MIN else None
        if reason is None:
            chosen.append(name)
        else:
            said.append(f"{name} is no input: {reason}")
    if not chosen:
        raise TrainingProblem("\n  ".join(["no field is left to learn from", *said]))
    return chosen, said
