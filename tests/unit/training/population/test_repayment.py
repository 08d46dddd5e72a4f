from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest

from alama.training.history.loans import Options, Terms, read_history
from alama.training.population.applicants import COLUMNS, DAYS_PAST_DUE, OBSERVED_ON
from alama.training.population.people import CHUNK_ROWS, PopulationOptions, batches, schema
from tests.histories import TODAY

ROWS = 60_000


def table(rows: int = ROWS, **options: Any) -> pa.Table:
    chosen = PopulationOptions(rows=rows, seed=11, history=True, **options)
    return pa.Table.from_batches(list(batches(chosen)), schema(chosen))


def days(books: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return books.column(name).cast(pa.int32()).to_numpy().astype(np.int64)


@pytest.fixture(scope="module")
def books() -> pa.Table:
    return table()


@pytest.mark.parametrize("prior_policy", [False, True])
def test_a_history_only_adds_columns(prior_policy: bool) -> None:  # noqa: FBT001 - drawn
    plain = PopulationOptions(rows=30_000, seed=11, prior_policy=prior_policy, drift=0.3)
    without = pa.Table.from_batches(list(batches(plain)))
    with_books = table(30_000, prior_policy=prior_policy, drift=0.3)

    assert with_books.drop_columns([name for name, _ in COLUMNS]).equals(without)


@pytest.mark.parametrize("rows", [1, CHUNK_ROWS - 1, CHUNK_ROWS + 1])
def test_the_first_rows_do_not_depend_on_how_many_follow(books: pa.Table, rows: int) -> None:
    assert table(rows).equals(books.slice(0, rows))


def test_dates_follow_each_other(books: pa.Table) -> None:
    applied, disbursed, due = (days(books, n) for n in ("applied_on", "disbursed_on", "due_on"))

    assert ((disbursed >= applied) & (disbursed <= applied + 3)).all()
    assert (due - disbursed == books.column("term_days").to_numpy()).all()
    assert pc.unique(books.column("observed_on")).to_pylist() == [OBSERVED_ON]


def test_a_mature_loan_defaulted_exactly_where_the_books_say_so(books: pa.Table) -> None:
    late = books.column("largest_days_past_due").to_numpy()
    restructured = books.column("restructured").to_numpy(zero_copy_only=False) == "yes"
    since_due = days(books, "observed_on") - days(books, "due_on")
    mature = since_due >= DAYS_PAST_DUE
    by_books = (late >= DAYS_PAST_DUE) | restructured

    assert (by_books == (books.column("default").to_numpy() == 1))[mature].all()
    assert not by_books[since_due < 0].any()
    assert (late <= np.maximum(since_due, 0)).all()
    assert 0.95 < mature.mean() < 0.99
    assert 0.002 < restructured.mean() < 0.01
    assert 0.15 < ((late > 0) & (late < DAYS_PAST_DUE)).mean() < 0.35


def test_borrowers_come_back_from_the_same_region_with_a_wallet_that_has_aged(
    books: pa.Table,
) -> None:
    people = books.column("borrower_id").to_numpy(zero_copy_only=False)
    found, person, loans = np.unique(people, return_inverse=True, return_counts=True)
    month = days(books, "applied_on").astype("M8[D]").astype("M8[M]").astype(np.int64)
    opened = month - books.column("mm_months").to_numpy()
    order = np.lexsort((days(books, "applied_on"), person))
    same = person[order[1:]] == person[order[:-1]]

    assert 0.6 < len(found) / ROWS < 0.85
    assert loans.max() < 12
    assert (opened[order[1:]] == opened[order[:-1]])[same].all()
    assert (np.diff(days(books, "applied_on")[order]) > 0)[same].all()
    told = books.column("region").to_numpy(zero_copy_only=False)[order]
    both = same & (told[1:] != None) & (told[:-1] != None)  # noqa: E711 - an array of objects
    assert (told[1:] == told[:-1])[both].all()


def test_what_the_earlier_lender_turned_away_has_no_loan_and_no_outcome() -> None:
    books = table(30_000, prior_policy=True)
    away = pc.equal(books.column("booked"), pa.scalar(0, pa.int8()))
    refused, booked = books.filter(away), books.filter(pc.invert(away))

    for name in ("disbursed_on", "due_on", "largest_days_past_due", "restructured", "default"):
        assert refused.column(name).null_count == refused.num_rows
        assert booked.column(name).null_count == 0
    assert refused.column("borrower_id").null_count == 0


@pytest.mark.parametrize("prior_policy", [False, True])
def test_a_history_is_read_without_a_fault(
    tmp_path: Path,
    prior_policy: bool,  # noqa: FBT001 - drawn
) -> None:
    books = table(prior_policy=prior_policy)
    path = tmp_path / "history.parquet"
    pyarrow.parquet.write_table(books, path)

    history = read_history(path, Terms(30, "KES"), Options(today=TODAY), lambda _share: None)

    report = history.report
    assert report.faults == ()
    assert report.duplicates == ()
    assert {s.column for s in report.suspects} == {"default"}
    assert report.enough == "model"
    known = books.filter(pc.is_valid(books.column("disbursed_on")))
    mature = days(known, "due_on") + 30 <= days(known, "observed_on")
    assert history.loans.labels.tolist() == known.column("default").to_numpy()[mature].tolist()
    assert report.not_booked == ROWS - known.num_rows
