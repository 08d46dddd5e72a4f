"""What a history is made of: what was planted is named with its size, and nothing in clean ones."""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from alama.app.cli import main
from alama.training.history.report import Oddity, OddityKind
from tests.histories import read

TODAY = date(2026, 11, 18)
ROWS = 6_000

Loan = dict[str, str]


def _population(folder: Path, seed: int, rows: int = ROWS) -> Path:
    path = folder / f"{seed}.csv"
    order = ["--rows", str(rows), "--seed", str(seed), "--history", "--closed-on", str(TODAY)]
    assert main(["population", *order, "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> list[Loan]:
    with _population(tmp_path_factory.mktemp("loans"), 1).open(newline="") as file:
        return list(csv.DictReader(file))


def _found(folder: Path, loans: list[Loan]) -> list[Oddity]:
    path = folder / "loans.csv"
    with path.open("w", newline="") as file:
        written = csv.DictWriter(file, list(loans[0]), restval="")
        written.writeheader()
        written.writerows(loans)
    return list(read(path, today=TODAY).report.structure)


def _day(loan: Loan, name: str, days: int = 0) -> date:
    return date.fromisoformat(loan[name]) + timedelta(days=days)


def _again(loan: Loan, day: date, **more: str) -> Loan:
    due = day + timedelta(days=30)
    days = {"applied_on": str(day), "disbursed_on": str(day), "due_on": str(due)}
    return loan | days | more


def rollovers(loans: list[Loan]) -> list[Loan]:
    late = [loan for loan in loans if loan["default"] == "1"]
    new = [_again(loan, _day(loan, "due_on", 2), largest_days_past_due="0") for loan in late]
    return [*loans, *[loan for loan in new if _day(loan, "due_on", 31) < TODAY][:200]]


def top_ups(loans: list[Loan]) -> list[Loan]:
    long = [loan for loan in loans if loan["disbursed_on"] and int(loan["term_days"]) >= 30]
    return [*loans, *(_again(loan, _day(loan, "disbursed_on", 10)) for loan in long[:600])]


def mixed(loans: list[Loan]) -> list[Loan]:
    def change(loan: Loan) -> Loan:
        names = [name for name in ("amount", "requested_amount") if loan[name]]
        return loan | {name: str(400 * float(loan[name]) + 900_000) for name in names}

    return [loan if number % 4 else change(loan) for number, loan in enumerate(loans)]


def products(loans: list[Loan]) -> list[Loan]:
    return [loan | {"product": "daily" if n % 5 else "asset"} for n, loan in enumerate(loans)]


def earlier(loans: list[Loan]) -> list[Loan]:
    return [loan | {"previous_loan_id": "" if n % 9 else f"L{n}"} for n, loan in enumerate(loans)]


def worse(loans: list[Loan]) -> list[Loan]:
    def change(loan: Loan) -> Loan:
        is_late = loan["applied_on"] >= "2025-11" and bool(loan["disbursed_on"])
        return loan | {"largest_days_past_due": "45"} if is_late else loan

    return [loan if number % 5 else change(loan) for number, loan in enumerate(loans)]


def in_cents(loans: list[Loan]) -> list[Loan]:
    return [
        loan | {"avg_inflow": str(100 * float(loan["avg_inflow"]))}
        if loan["applied_on"] >= "2025-09" and loan["avg_inflow"]
        else loan
        for loan in loans
    ]


def left_empty(loans: list[Loan]) -> list[Loan]:
    return [x | {"device_type": ""} if x["applied_on"] >= "2025-09" else x for x in loans]


def recorded_late(loans: list[Loan]) -> list[Loan]:
    def is_young(loan: Loan) -> bool:
        return bool(loan["due_on"]) and (TODAY - _day(loan, "due_on")).days <= 90

    return [x | {"largest_days_past_due": "5"} if is_young(x) else x for x in loans]


def phones(loans: list[Loan]) -> list[Loan]:
    return [loans[0] | {"borrower_id": "254712345678"}, *loans[1:]]


def states(loans: list[Loan]) -> list[Loan]:
    return [loans[0] | {"borrower_id": "CM12345678ABCD"}, *loans[1:]]


PLANTED: list[tuple[Callable[[list[Loan]], list[Loan]], OddityKind, int, str]] = [
    (rollovers, OddityKind.ROLLOVERS, 200, "days of the day on which another one was due"),
    (top_ups, OddityKind.TOP_UPS, 600, "not due"),
    (mixed, OddityKind.PRODUCTS, ROWS // 4, "times apart"),
    (products, OddityKind.PRODUCTS, ROWS // 5, "column product"),
    (earlier, OddityKind.EARLIER, ROWS // 9, "previous_loan_id"),
    (worse, OddityKind.RATE, 2_500, "from 2025-11 on"),
    (in_cents, OddityKind.LEVEL, 3_100, "from 2025-09 on avg_inflow"),
    (left_empty, OddityKind.LEVEL, 3_100, "from 2025-09 on device_type"),
    (recorded_late, OddityKind.LATE, 60, "recorded late"),
    (phones, OddityKind.IDS, 1, "phone"),
    (states, OddityKind.IDS, 1, "national"),
]


@pytest.mark.parametrize(("plant", "kind", "rows", "words"), PLANTED)
def test_what_was_planted_is_named_with_its_size(
    plant: Callable[[list[Loan]], list[Loan]],
    kind: OddityKind,
    rows: int,
    words: str,
    loans: list[Loan],
    tmp_path: Path,
) -> None:
    [found] = _found(tmp_path, plant(loans))
    assert found.kind is kind
    assert found.rows == pytest.approx(rows, rel=0.25)
    assert words in found.words


def test_nothing_is_found_in_a_clean_history(loans: list[Loan], tmp_path: Path) -> None:
    assert _found(tmp_path, loans) == []


def test_a_column_that_counts_earlier_loans_names_none(loans: list[Loan], tmp_path: Path) -> None:
    counted = [loan | {"earlier_loans": str(n % 7)} for n, loan in enumerate(loans)]
    assert _found(tmp_path, counted) == []


@pytest.mark.long
@pytest.mark.parametrize("planted", [rollovers, top_ups])
def test_what_was_planted_in_a_large_book_is_named_with_its_size(
    planted: Callable[[list[Loan]], list[Loan]], tmp_path: Path
) -> None:
    with _population(tmp_path, 1, 25_000).open(newline="") as file:
        loans = list(csv.DictReader(file))
    with_them = planted(loans)
    (found,) = _found(tmp_path, with_them)
    assert found.kind.value.startswith(planted.__name__[:3])
    assert 0.7 < found.rows / (len(with_them) - len(loans)) < 1.8


@pytest.mark.long
@pytest.mark.parametrize(
    "rows", [500, 800, 1_200, 2_000, 3_000, 5_000, 8_000, 12_000, 25_000, 50_000]
)
def test_nothing_is_found_in_ten_clean_histories(rows: int, tmp_path: Path) -> None:
    assert read(_population(tmp_path, rows, rows), today=TODAY).report.structure == ()
