"""A lender's history of loans, read and doubted: what a model of its own may learn from.

file -> which column says what -> row by row: sound, or left out and counted -> repeated rows
     -> columns that give the outcome away -> months, drift, enough? -> History
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from alama.core.catalogue import Use
from alama.core.errors import TrainingProblem
from alama.core.kernel import Column, Words
from alama.core.product import PRODUCT
from alama.platform.files.columns import looks, plain, without_markers, words
from alama.platform.files.reader import open_table
from alama.platform.files.table import OWN, Limits, Table
from alama.training.dataset import Dataset, take_column
from alama.training.history import columns as quality
from alama.training.history import leaks, split, structure
from alama.training.history.columns import MOSTLY, Giveaway
from alama.training.history.findings import Findings, report_of
from alama.training.history.leaks import Books, Judgement
from alama.training.history.load import ROWS_MIN, Passes
from alama.training.history.remembered import columns_as_of
from alama.training.history.report import (
    FIRST_ROWS_MAX,
    Duplicate,
    DuplicateKind,
    HistoryReport,
    Oddity,
    Standing,
    Suspect,
)
from alama.training.history.roles import REGION, REPAID_ON, Roles, Wishes, assign
from alama.training.history.rows import Book, Rows, read_days, read_numbers, read_rows
from alama.training.history.split import JUDGING_DEFAULTS_MIN, out_of_time
from alama.training.money import LoanMoney

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from numpy.typing import NDArray

    from alama.core.catalogue import Catalogue

    Labels = NDArray[np.int8]

    Places = NDArray[np.intp]


SAMPLE_ROWS: Final = 20_000
"""Rows in which a column outside the catalogue is looked at."""

_BATCH_ROWS: Final = 16_384
"""Remarks and addresses can be long: less of them at a time."""

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
    The catalogue has the fields of the product, the own ones of the lender behind them, and behind
    those what the book of the lender remembers.
    """

    today: date
    region: bool = False
    exclude: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    catalogue: Catalogue = PRODUCT


@dataclass(frozen=True, slots=True)
class History:
    """What was read. `loans` holds inputs only; `applications` every field of the file.

    Beside the loans: equal `borrowers` are one person, `places` says where a loan stands among the
    applications, and `money` what it was. Beside the applications: `groups` are words for fairness
    (always with the region where the file gives it), whether each was `booked`, when it was made,
    and for how many days a loan was given (NaN where nothing says it).
    """

    catalogue: Catalogue
    loans: Dataset
    borrowers: NDArray[np.int64]
    groups: Mapping[str, Words]
    applications: Mapping[str, Column]
    booked: NDArray[np.bool_]
    applied_on: NDArray[np.datetime64]
    term_days: NDArray[np.float64]
    places: NDArray[np.intp]
    money: LoanMoney
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
    wishes = Wishes(
        options.exclude, options.keep, options.groups, options.region, options.catalogue
    )
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
    doubts = ", ".join(s.column for s in report.suspects if s.doubt)
    raise TrainingProblem(
        f"these fields may have been filled in after the outcome: {names}",
        hint="if they were, leave them out with --exclude NAME; --keep NAME keeps one as an input, "
        f"and the model then cannot be approved{f' (but with {doubts})' if doubts else ''}",
    )


# ------------------------------------------------------------------------------------------- doubts


@dataclass(frozen=True, slots=True)
class _Doubted:
    """The rows that stay after doubts, and what the second look at the file found."""

    rows: Rows
    repeated: int
    duplicates: tuple[Duplicate, ...]
    outside: Mapping[str, Giveaway]
    odd: tuple[Oddity, ...]


def _doubt(table: Table, roles: Roles, rows: Rows, terms: Terms, passes: Passes) -> _Doubted:
    shared, groups = _loan_groups(rows.book)
    sampled = _sample(rows.book, shared, terms)
    looked = _second_look(table, roles, rows.numbers[shared], rows.numbers[sampled], passes.step)
    repeated, told = _repeats(rows.book, rows.numbers, shared, groups, looked.fingerprints)
    outside = _giveaways(looked, _labels(rows.book.take(sampled), terms))
    stay = np.setdiff1d(np.arange(len(rows.numbers)), repeated, assume_unique=True)
    odd = structure.of_columns(looked.columns, len(sampled), int(rows.book.booked.sum()))
    return _Doubted(rows.take(stay), len(repeated), told, outside, tuple(odd))


def _sample(book: Book, shared: NDArray[np.intp], terms: Terms) -> NDArray[np.intp]:
    """Choose mature loans in which other columns are looked at; rows that may repeat are none."""
    mature = _mature(book, terms)
    mature[shared] = False
    places = np.flatnonzero(mature)
    return places[:: max(1, -(-len(places) // SAMPLE_ROWS))]


def _mature(book: Book, terms: Terms) -> NDArray[np.bool_]:
    return book.booked & split.mature(book.due_on, book.observed_on, terms.days_past_due)


def _labels(book: Book, terms: Terms) -> NDArray[np.int8]:
    bad = split.defaulted(book.days_past_due, book.restructured, terms.days_past_due)
    return bad.astype(np.int8)


@dataclass(frozen=True, slots=True)
class _Looked:
    """What the second pass found: a fingerprint a candidate row, and a value a sampled row."""

    fingerprints: NDArray[np.int64]
    columns: dict[str, pa.Array[Any]]


def _second_look(
    table: Table,
    roles: Roles,
    candidates: NDArray[np.int64],
    sampled: NDArray[np.int64],
    watch: Callable[[], None],
) -> _Looked:
    """Read whole candidate rows, and the other columns of the sampled rows.

    Doubts need values of columns that no model reads, but of few rows only. So they are looked up
    in a second pass over the file, rather than kept in memory from the first.
    Both are numbers of rows in the file, rising; `watch` is called after each batch.
    """
    others = roles.others
    names = [*roles.read, *others] if len(candidates) else list(others)
    if not names:
        watch()
        return _Looked(np.empty(0, dtype=np.int64), {})
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
    return _Looked(
        np.array(fingerprints, dtype=np.int64),
        {name: pa.concat_arrays(found) for name, found in parts.items()},
    )


def _within(rows: NDArray[np.int64], first_row: int, many: int) -> pa.Array[Any]:
    start, end = np.searchsorted(rows, (first_row, first_row + many))
    return pa.array(rows[start:end] - first_row)


def _loan_groups(book: Book) -> tuple[Places, Places]:
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


def _repeats(
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


# ---------------------------------------------------------------------------------------- giveaways


def _giveaways(looked: _Looked, labels: Labels) -> dict[str, Giveaway]:
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


def _suspects(
    roles: Roles,
    columns: Mapping[str, Column],
    labels: NDArray[np.int8],
    judgement: Judgement,
    options: Options,
) -> list[Suspect]:
    """Find the fields of a request that were hardly known in time; the file's spelling names them.

    What fresh loans bear out is strong, and no suspect.
    """
    catalogue = options.catalogue
    kept = {catalogue.field(name).name for name in options.keep if name in catalogue.position}
    found = []
    for spelled, known in roles.fields.items():
        column = columns.get(known.name)
        told = None if column is None else quality.giveaway(column, labels)
        sign = judgement.doubts.get(known.name)
        why = sign or judgement.unusual.get(known.name)
        if told is not None and not told.certain and known.name in judgement.borne_out:
            told = None
        if column is None or (told is None and why is None):
            continue
        if known.name not in roles.inputs:
            standing = Standing.EXCLUDED
        else:
            standing = Standing.KEPT if known.name in kept else Standing.OPEN
        area = quality.area_alone(column, labels) if told is None else told.auc
        # Strength alone is a question; strength and a sign of a later hand are an answer.
        doubt = told is None or not (told.certain or sign is not None)
        reason = why if told is None or (why is not None and not told.certain) else told.why
        assert reason is not None
        found.append(Suspect(spelled, round(area, 4), reason, standing, doubt))
    return found


def _judged(rows: Rows, mature: NDArray[np.bool_], labels: Labels) -> Judgement:
    """Hold the fields of loans whose outcome is known against those of loans where it is not.

    Where few loans are too young to judge, applications without a loan stand beside them. Those
    that were refused look riskier, not safer, so they make no honest field look like a leak.
    """
    young = rows.book.booked & ~mature
    if not leaks.enough_fresh(int(np.count_nonzero(young)), labels):
        young = ~mature
    places = np.flatnonzero(mature | young)
    return leaks.judge(
        Books(
            {name: take_column(column, places) for name, column in rows.fields.items()},
            mature[places],
            labels,
            rows.book.applied_on[places],
            leaks.USUAL_AUC,
        )
    )


def _outside_suspects(found: Mapping[str, Giveaway]) -> list[Suspect]:
    return [
        Suspect(name, round(told.auc, 4), told.why, Standing.SET_ASIDE)
        for name, told in found.items()
    ]


# --------------------------------------------------------------------------------------- the result


def _history(roles: Roles, doubted: _Doubted, terms: Terms, options: Options) -> History:
    rows, remembered = _remembered(doubted.rows, roles)
    book = rows.book
    mature = _mature(book, terms)
    places = np.flatnonzero(mature)
    labels = _labels(book.take(places), terms)
    columns = {name: take_column(column, places) for name, column in rows.fields.items()}
    suspects = _suspects(roles, columns, labels, _judged(rows, mature, labels), options)
    inputs, said = _inputs(roles, columns, suspects, len(labels), options.catalogue)
    catalogue = _readable(options.catalogue, inputs)
    groups = dict(rows.groups)
    if isinstance(region := rows.fields.get(REGION), Words):
        groups[REGION] = region
    loans = Dataset(
        catalogue=catalogue.only(inputs),
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
        notes=(*said, *remembered),
        odd=doubted.odd,
        catalogue=catalogue,
    )
    return History(
        catalogue=catalogue,
        loans=loans,
        borrowers=borrowers,
        groups=groups,
        applications=rows.fields,
        booked=book.booked,
        applied_on=book.applied_on,
        term_days=book.term_days,
        places=places,
        money=LoanMoney(book.amount, book.repaid, book.propensity, book.present_score).take(places),
        report=report_of(findings, terms.currency, terms.days_past_due, options.today),
    )


def _remembered(rows: Rows, roles: Roles) -> tuple[Rows, list[str]]:
    """Give the rows with what would have been remembered of each borrower, and what to say of it.

    Of rows that repeat others nothing is remembered twice: they are gone by now.
    """
    if not roles.worked_out:
        return rows, []
    found = columns_as_of(rows.book)
    known = {name: column for name, column in found.items() if name in roles.worked_out}
    told = (
        f"{', '.join(known)}: worked out for the day of each application from the earlier loans "
        f"of its borrower, by {REPAID_ON}. A model that learns them needs applicant_ref, and the "
        "same loans told by POST /v1/loans before it answers"
    )
    said = [told]
    if unknown := sorted(roles.worked_out - known.keys()):
        said.append(f"the file cannot tell {', '.join(unknown)}: the model will not know them")
    return replace(rows, fields={**rows.fields, **known}), said


def _readable(catalogue: Catalogue, inputs: Sequence[str]) -> Catalogue:
    """Give the catalogue without what is remembered and is no input: nobody can send it."""
    kept = tuple(f for f in catalogue.fields if f.use is not Use.MEMORY or f.name in inputs)
    return msgspec.structs.replace(catalogue, fields=kept)


def _inputs(
    roles: Roles,
    columns: Mapping[str, Column],
    suspects: list[Suspect],
    loans: int,
    catalogue: Catalogue,
) -> tuple[list[str], list[str]]:
    """Choose what a model may learn from, and say why something is left out."""
    doubtful = {catalogue.field(s.column).name for s in suspects if s.standing is Standing.OPEN}
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
