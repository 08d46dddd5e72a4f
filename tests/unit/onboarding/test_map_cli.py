"""Files as they come, at the command line: shown, asked about, kept, used for the next one."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from tests.histories import history_columns, write_csv
from tests.own_fields import TEXT

NAMES = {"borrower_id": "Client No.", "amount": "Loan Amount (KES)", "applied_on": "Date applied"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    new = ["--name", "Umoja", "--currency", "KES", "--by", "W. Mutua", "--two-eyes"]
    assert main(["onboard", "terms", "umoja", *new]) == 0
    return tmp_path


def _cells(name: str, value: object) -> str:
    if isinstance(value, date):
        return f"{value.replace(day=value.day % 12 + 1):%d/%m/%Y}"
    return f"KES {value:,.2f}" if name == "amount" else str(value)


def as_a_lender_writes_it(folder: Path, money: str = "KES") -> Path:
    """Days that could be months, money in words, other names, a title and a total."""
    columns = history_columns(900)
    for name in ("disbursed_on", "due_on", "observed_on"):
        columns[name] = [day.replace(day=28) for day in columns[name]]
    path = folder / "loans.csv"
    with path.open("w", newline="") as file:
        written = csv.writer(file, delimiter=";")
        written.writerow(["UMOJA SACCO"])
        written.writerow([NAMES.get(name, name).replace("KES", money) for name in columns])
        for row in zip(*columns.values(), strict=True):
            cells = [_cells(n, v) for n, v in zip(columns, row, strict=True)]
            written.writerow([cell.replace("KES", money) for cell in cells])
        written.writerow(["TOTAL"])
    return path


def test_a_file_goes_through_after_one_question(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = as_a_lender_writes_it(home)
    assert main(["onboard", "history", "umoja", str(path)]) == EXIT_MISTAKE
    told = capsys.readouterr().err
    assert "3rd of April or the 4th of March" in told
    assert f"alama onboard map umoja {path}" in told
    assert main(["onboard", "map", "umoja", str(path), "--yes"]) == EXIT_MISTAKE
    assert "--dates day-first or month-first" in capsys.readouterr().err
    assert main(["onboard", "map", "umoja", str(path), "--dates", "day-first", "--yes"]) == 0
    shown = capsys.readouterr().out
    assert "Loan Amount (KES) name a currency" in shown
    assert "1 row is left out with totals" in shown
    main(["onboard", "history", "umoja", str(path), "--json", str(home / "report.json")])
    assert "900 rows" in capsys.readouterr().out
    assert "must be a date" not in (home / "report.json").read_text("utf-8")


def test_all_that_is_open_is_said_at_once_where_nobody_can_be_asked(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = as_a_lender_writes_it(home)
    path.write_text(path.read_text().replace("observed_on", "Bila jina"))
    assert main(["onboard", "map", "umoja", str(path), "--yes"]) == EXIT_MISTAKE
    told = " ".join(capsys.readouterr().err.split())
    assert "--column observed_on=COLUMN, one of: Bila jina; --dates day-first or" in told


def test_the_fields_that_a_lender_declared_are_columns_too(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export, declared = home / "export.csv", home / "fields.toml"
    lines = write_csv(home, history_columns(300)).read_text().splitlines()
    scores = ["Bureau Score", *(str(200 + place) for place in range(300))]
    export.write_text("\n".join(map(",".join, zip(lines, scores, strict=True))))
    column = ["--column", "bureau_score=Bureau Score", "--yes"]
    assert main(["onboard", "map", "umoja", str(export), *column]) == EXIT_MISTAKE
    assert "bureau_score is no column that is read" in capsys.readouterr().err
    declared.write_bytes(TEXT)
    assert main(["fields", "activate", str(declared), "--lender", "umoja", "--by", "W"]) == 0
    capsys.readouterr()
    for said in ([], column):
        if said:
            assert main(["onboard", "map", "umoja", str(export), *said]) == 0
        main(["onboard", "history", "umoja", str(export), "--json", str(home / "report.json")])
        inputs = json.loads((home / "report.json").read_text("utf-8"))["inputs"]
        assert "bureau_score" in inputs


@pytest.mark.parametrize("kept", [False, True])
def test_no_column_is_read_by_likeness_before_somebody_has_looked(
    home: Path, capsys: pytest.CaptureFixture[str], *, kept: bool
) -> None:
    path = write_csv(home, history_columns(300))
    if kept:
        said = ["--column", "loan_purpose=", "--yes"]
        assert main(["onboard", "map", "umoja", str(path), *said]) == 0
    likened = path.read_text().replace("amount,", "Loan amount,", 1)
    path.write_text(likened)
    assert main(["onboard", "history", "umoja", str(path)]) == EXIT_MISTAKE
    assert "By likeness: amount from Loan amount" in " ".join(capsys.readouterr().err.split())


def test_what_is_kept_is_shown_and_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = as_a_lender_writes_it(home)
    main(["onboard", "map", "umoja", str(path), "--dates", "day-first", "--yes"])
    capsys.readouterr()
    assert main(["onboard", "map", "umoja"]) == 0
    shown = capsys.readouterr().out
    assert "Version 1" in shown
    assert "Client No." in shown
    assert "day-first" in shown
    assert main(["onboard", "map", "umoja", "--remove"]) == 0
    assert main(["onboard", "map", "umoja"]) == 0
    assert "Nothing is kept" in capsys.readouterr().out


def test_amounts_in_another_currency_than_that_of_the_lender_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = as_a_lender_writes_it(home, money="UGX")
    assert main(["onboard", "map", "umoja", str(path), "--dates", "day-first"]) == EXIT_MISTAKE
    assert "UGX, and the lender lends in KES" in " ".join(capsys.readouterr().err.split())


def test_an_export_of_excel_goes_through_without_an_edit(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = write_csv(home, history_columns(600))
    export = home / "export.csv"
    with plain.open(newline="") as file, export.open("w", encoding="utf-8-sig", newline="") as out:
        written = csv.writer(out, delimiter=";")
        for number, row in enumerate(csv.reader(file)):
            is_name = not number
            written.writerow([c if is_name or "-" in c else c.replace(".", ",") for c in row])
    reports = []
    for path in (plain, export):
        main(["onboard", "history", "umoja", str(path), "--json", str(home / "report.json")])
        reports.append((home / "report.json").read_text("utf-8").split('"source"')[0])
    assert reports[0] == reports[1]
    assert "decimal commas" in capsys.readouterr().out
