"""Sixty damaged histories: each is read right, asked about or refused, and none is read wrong."""

from __future__ import annotations

import csv
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from alama.core.errors import FileProblem
from alama.core.product import PRODUCT
from alama.platform.files.asis.incoming import look
from alama.platform.files.asis.inspection import Inspected, Mapping, convert, inspect
from alama.training.history.names import targets_of
from tests import damaged_histories
from tests.damaged_histories import (
    ASKED,
    DAYS,
    NAMES,
    NUMBERS,
    READ,
    REFUSED,
    Book,
    Case,
    Loans,
    Text,
)

CASES = damaged_histories.cases()
TARGETS = targets_of(PRODUCT)


def _spelled(name: str) -> str:
    return PRODUCT.field(name).name if name in PRODUCT.position else name


def _as_read(path: Path, found: Inspected, folder: Path) -> Loans:
    """Give the rows that a history would be read from, as true values."""
    assert found.reading is not None, found.questions
    out = folder / "read.csv"
    convert(path, found.reading, TARGETS, out)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    told: Loans = []
    for row in rows:
        loan = [row.get(_spelled(name)) or None for name in NAMES]
        if loan[0] is None:
            continue  # no borrower: the check of each row leaves it out, and says so
        told.append([_value(place, value) for place, value in enumerate(loan)])
    return told


def _value(place: int, value: str | None) -> object:
    if value is None:
        return None
    if place in DAYS:
        return date.fromisoformat(value)
    return float(value) if place in NUMBERS else value


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_no_damaged_file_is_read_wrong(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path)
    if case.comes == REFUSED:
        with pytest.raises(FileProblem, match=case.about) as refused:
            inspect(path, TARGETS)
        assert refused.value.hint
        return
    found = inspect(path, TARGETS)
    if case.comes == ASKED:
        assert found.reading is None
        assert case.about in {q.column or q.about for q in found.questions}
        found = inspect(path, TARGETS, case.answer or Mapping())
    assert _as_read(path, found, tmp_path) == case.truth


def test_a_plain_file_is_looked_at_where_its_days_are_midnights_elsewhere(tmp_path: Path) -> None:
    names = [_spelled(name) for name in NAMES]
    for hour, comes in (("21:00", True), ("21:07", False)):
        path = tmp_path / f"{hour[3:]}.csv"
        written = Text(names=names, day=lambda d, h=hour: f"{d}T{h}:00Z")  # type: ignore[misc]
        written.write(path, damaged_histories.loans())
        if comes:
            with pytest.raises(FileProblem, match="another time zone"):
                look(path, TARGETS, Mapping())
        else:
            assert look(path, TARGETS, Mapping()) is None


def _money_of(path: Path) -> tuple[str, ...]:
    found = inspect(path, TARGETS)
    assert found.reading is not None
    return found.money


def test_a_currency_is_told_by_a_name_and_by_the_format_of_cells(tmp_path: Path) -> None:
    told = damaged_histories.loans()
    names = tuple("amount (UGX)" if name == "amount" else name for name in NAMES)
    for file, name in ((names, "name"), (NAMES, "none")):
        Text(names=file).write(tmp_path / f"{name}.csv", told)
    assert _money_of(tmp_path / "name.csv") == ("UGX",)
    assert _money_of(tmp_path / "none.csv") == ()
    for written, money in (("[$UGX] #,##0.00", ("UGX",)), ("[$-409]#,##0", ()), ("0.00", ())):
        path = tmp_path / "book.xlsx"
        Book(dress=partial(_shown_as, written)).write(path, told)
        assert _money_of(path) == money


def _shown_as(written: str, _book: object, sheet: Any) -> None:
    for row in sheet.iter_rows(min_row=2, min_col=7, max_col=7):
        row[0].number_format = written


def test_what_a_spreadsheet_could_not_work_out_is_told_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    told = damaged_histories.loans()
    told[3][6] = "#REF!"
    Book().write(path, told)
    found = inspect(path, TARGETS)
    assert "1 value of amount cannot be read, and stays as it is (row 5)" in found.told


def test_there_are_sixty_and_each_outcome_is_among_them() -> None:
    assert len(CASES) >= 60
    assert {case.comes for case in CASES} == {READ, ASKED, REFUSED}
    assert len({case.name for case in CASES}) == len(CASES)
