"""`alama statements` as somebody calls it: read, derive, and a whole history for training."""

from __future__ import annotations

import csv
import json
import re
import shlex
from datetime import date
from pathlib import Path

import pyarrow.parquet
import pytest

from alama.app.cli import main
from alama.statements.examples import SAMPLE
from alama.training.population.formats import FORMATS
from alama.training.population.people import KNOWN

PAGE = (Path(__file__).parents[3] / "docs" / "statements.md").read_text("utf-8")
TODAY = "2026-11-02"
KENYA = ("--country", "KE")
HISTORY = ("--rows", "18", "--seed", "5", "--history", "--closed-on", "2026-11-18")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("statement.csv").write_bytes(SAMPLE)


def run(*words: str) -> int:
    return main(["statements", *words])


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(*words) == 2
    return capsys.readouterr().err


def test_a_statement_is_read_reported_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--as-of", TODAY, "--holder", "wanjiku JANE", "--out", "ledger.parquet")
    assert run("read", "statement.csv", *KENYA, *asked) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[0] == "mpesa_csv, KES: 10 of 10 rows read"
    assert re.search(r"^pass +balances:", told, re.MULTILINE)
    assert re.search(r"^pass +holder:", told, re.MULTILINE)
    assert "holds together\n" in told
    assert "ledger.parquet: 10 entries" in told
    kept = pyarrow.parquet.read_table("ledger.parquet").to_pydict()
    assert kept["kind"].count("airtime_out") == 3
    assert not re.search(r"works|kplc|wanjiku", str(kept), re.IGNORECASE)


def test_the_fields_of_a_ledger_are_those_of_the_example_on_paper(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run("read", "statement.csv", *KENYA, "--out", "ledger.parquet")
    capsys.readouterr()
    assert run("fields", "ledger.parquet", *KENYA, "--as-of", TODAY) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fields"]["avg_balance"] == 4544.1
    assert told["missing"] == dict.fromkeys(("inflow_trend", "inflow_regularity"), "too_few_months")
    older = ("--as-of", TODAY, "--opened-on", "2024-10-31")
    assert run("fields", "ledger.parquet", *KENYA, *older) == 0
    assert json.loads(capsys.readouterr().out)["fields"]["mm_months"] == 24


def test_files_of_one_wallet_are_one_ledger_and_rows_of_both_count_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = SAMPLE.decode().splitlines(keepends=True)
    folder = Path("wallet")
    folder.mkdir()
    (folder / "a.csv").write_text("".join(lines[:5] + lines[5:12]))
    (folder / "b.csv").write_text("".join(lines[:5] + lines[9:]))
    assert run("read", "wallet", *KENYA, "--as-of", TODAY, "--out", "both.parquet") == 0
    assert run("read", "statement.csv", *KENYA, "--out", "one.parquet") == 0
    both, one = (
        pyarrow.parquet.read_table(name).drop_columns(["id", "group", "counterparty"]).to_pylist()
        for name in ("both.parquet", "one.parquet")
    )
    assert sorted(map(str, both)) == sorted(map(str, one))
    assert "10 entries" in capsys.readouterr().out


def test_what_does_not_hold_together_is_said_and_its_rows_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("statement.csv").write_bytes(
        SAMPLE.replace(b"5400.00", b"5900.00").replace(b"2026-09-30 19:30:00", b"yesterday")
    )
    assert run("read", "statement.csv", *KENYA, "--as-of", TODAY) == 0
    told = capsys.readouterr().out
    assert "9 of 10 rows read" in told
    assert re.search(r"^  row 10 is no date", told, re.MULTILINE)
    assert re.search(r"^fail +balances:", told, re.MULTILINE)
    assert told.endswith("doubtful: a person has to look\n")


def test_a_table_of_other_words_is_read_by_the_mapping_of_the_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    Path("bank.toml").write_text(shown)
    Path("bank.csv").write_text(
        "Posted;No;Narrative;Money received;Money sent;Left\n"
        "01/04/2026 08:00;R1;Salary;6.000,00;;6.000,00\n"
    )
    assert run("read", "bank.csv", *KENYA, "--mapping", "bank.toml") == 0
    assert "mapped_csv, KES: 1 of 1 rows read" in capsys.readouterr().out
    assert "lacks a column of the mapping" in refused(
        capsys, "read", "statement.csv", *KENYA, "--mapping", "bank.toml"
    )
    Path("bank.toml").write_text('at = "Posted"\ncolour = "red"')
    said = refused(capsys, "read", "bank.csv", *KENYA, "--mapping", "bank.toml")
    assert "bank.toml is no mapping" in said
    assert "docs/statements.md lists its keys" in said


def test_what_is_no_statement_no_ledger_or_no_place_is_refused_with_a_hint(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("letter.txt").write_text("Dear Sir or Madam,\n")
    Path("empty").mkdir()
    assert "the columns of the table are not known" in refused(capsys, "read", "letter.txt", *KENYA)
    assert "name the statements of one wallet" in refused(capsys, "read", "empty", *KENYA)
    assert "cannot be read" in refused(capsys, "read", "gone.csv", *KENYA)
    assert "is no ledger" in refused(capsys, "fields", "statement.csv", *KENYA)
    assert "name the zone" in refused(capsys, "read", "statement.csv", "--country", "XX")


# ------------------------------------------------------------------------------- histories


@pytest.fixture
def history() -> list[dict[str, str]]:
    assert main(["population", *HISTORY, "--ledgers", "statements", "--out", "loans.csv"]) == 0
    return rows("loans.csv")


def rows(name: str) -> list[dict[str, str]]:
    with Path(name).open(newline="") as file:
        return list(csv.DictReader(file))


def derive(out: str = "fields.csv") -> int:
    return run("fields", "statements", *KENYA, "--history", "loans.csv", "--out", out)


def write(loans: list[dict[str, str]]) -> None:
    with Path("loans.csv").open("w", newline="") as file:
        written = csv.DictWriter(file, list(loans[0]))
        written.writeheader()
        written.writerows(loans)


def test_each_loan_of_a_history_gets_the_figures_of_its_own_day(
    history: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    endings = {one["statement"].partition("-")[2] for one in history}
    assert endings == {f"{one.name}{one.suffix}" for one in FORMATS if one.currency != "UGX"}
    assert derive() == 0
    assert "18 loans, 18 statements read, 0 doubtful, 0 not read" in capsys.readouterr().out
    found = rows("fields.csv")
    assert len(found) == len(history)
    for loan, told in zip(history, found, strict=True):
        assert told["statement_problem"] == ""
        assert {name: told[name] for name in loan} == loan
        for name in (one for one in loan if one.startswith(KNOWN)):
            derived = float(told[name.removeprefix(KNOWN)])
            assert derived == pytest.approx(float(loan[name]), rel=0, abs=1e-9), name


def test_a_history_with_statements_is_one_to_train_on(history: list[dict[str, str]]) -> None:
    from tests.histories import read  # noqa: PLC0415

    assert history
    derive()
    report = read(Path("fields.csv"), today=date(2026, 11, 18)).report
    assert report.rows == 18
    assert report.unsound == 0
    assert {"avg_inflow", "balance_stability", "airtime_regularity"} <= set(report.inputs)


def test_a_loan_whose_statement_cannot_be_read_says_why_and_holds_up_no_other(
    history: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    (Path("statements") / history[1]["statement"]).write_text("no table")
    history[0]["statement"] = "gone.csv"
    history[2]["applied_on"] = "in May"
    history[3]["statement"] += " ; " + history[3]["statement"]  # the same twice counts once
    write(history)
    assert derive() == 0
    assert "18 loans, 15 statements read, 0 doubtful, 3 not read" in capsys.readouterr().out
    found = rows("fields.csv")
    assert found[0]["statement_problem"] == "there is no such file, or it cannot be read"
    assert "columns of the table are not known" in found[1]["statement_problem"]
    assert found[2]["statement_problem"] == "applied_on is no day such as 2026-03-31"
    assert found[0]["avg_inflow"] == ""
    assert float(found[3]["avg_inflow"]) == float(found[3][f"{KNOWN}avg_inflow"])


def test_a_file_of_loans_that_cannot_be_joined_is_refused(
    history: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("fields", "statements", *KENYA, "--history", "loans.csv")
    assert "a history needs --out" in refused(capsys, *asked)
    write([loan | {"avg_inflow": "1"} for loan in history])
    assert "has columns that are derived: avg_inflow" in refused(capsys, *asked, "--out", "f.csv")
    write([{"applied_on": "2026-01-01"}])
    assert "lacks the column statement" in refused(capsys, *asked, "--out", "f.csv")
    assert not Path("f.csv").exists()


# ------------------------------------------------------------------------------------ docs


def test_the_commands_at_the_head_of_the_page_run(history: list[dict[str, str]]) -> None:
    (shown,) = re.findall(r"\n\n((?:    alama statements .*\n)+)", PAGE)
    assert history
    for line in shown.splitlines():
        assert main(shlex.split(line)[1:]) == 0, line


# ------------------------------------------------------------------------- mappings of a lender

BANK = (
    "Posted;No;Narrative;Money received;Money sent;Left\n"
    "01/04/2026 08:00;R1;Salary;6.000,00;;6.000,00\n"
    "02/04/2026 08:00;R2;Rent;;900,00;5.100,00\n"
)


@pytest.fixture
def lender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path / "home"))
    assert main(["lenders", "add", "umoja", "--name", "Umoja", "--currency", "KES"]) == 0
    Path("bank.csv").write_text(BANK)
    return "umoja"


def test_how_a_table_is_read_is_looked_at_kept_used_and_removed(
    lender: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(capsys, "map", lender, "bank.csv")
    assert "the table does not tell dates" in told
    assert "say --dates day-first or month-first" in told
    said = ("map", lender, "bank.csv", "--dates", "day-first")
    assert "confirmed" in refused(capsys, *said)
    assert run(*said, "--yes", "--by", "A. Wanjiru") == 0
    shown = capsys.readouterr().out
    assert re.search(r"Money received +amount +paid_in +likeness", shown)
    assert re.search(r"2026-04-01 08:00 +6,000.00 +6,000.00 +salary_in", shown)
    assert "2 of 2 rows read" in shown

    # The next of that bank is read so; one of other columns, and of another lender, is not.
    Path("next.csv").write_text(BANK.replace("04/2026", "05/2026").replace("900", "800"))
    assert run("read", "next.csv", *KENYA, "--lender", lender) == 0
    assert "mapped_csv: 2 of 2" in capsys.readouterr().out.replace(", no currency told", "")
    assert "not known" in refused(capsys, "read", "next.csv", *KENYA)
    Path("other.csv").write_text(BANK.replace("Left", "Remaining"))
    assert "not known" in refused(capsys, "read", "other.csv", *KENYA, "--lender", lender)

    assert run("map", lender) == 0
    assert '"paid_in":"Money received"' in capsys.readouterr().out
    assert run("map", lender, "--remove") == 0
    assert "not known" in refused(capsys, "read", "next.csv", *KENYA, "--lender", lender)
    assert "no mapping is kept" in refused(capsys, "map", lender, "--remove")


def test_a_history_is_read_by_what_is_kept_of_its_banks(lender: str) -> None:
    folder = Path("statements")
    folder.mkdir()
    (folder / "bank.csv").write_text(BANK)
    write([{"statement": "bank.csv", "applied_on": "2026-06-02"}])
    assert derive() == 0
    assert "columns of the table are not known" in rows("fields.csv")[0]["statement_problem"]
    assert run("map", lender, "bank.csv", "--dates", "day-first", "--yes") == 0
    asked = ("fields", "statements", *KENYA, "--history", "loans.csv", "--out", "fields.csv")
    assert run(*asked, "--lender", lender) == 0
    (found,) = rows("fields.csv")
    assert (found["statement_problem"], float(found["avg_inflow"])) == ("", 3000.0)


def test_what_is_said_of_a_table_that_it_does_not_have_is_refused(
    lender: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("letter.txt").write_text("Dear Sir or Madam,\n")
    assert "no row of names" in refused(capsys, "map", lender, "letter.txt")
    with pytest.raises(SystemExit):
        run("map", lender, "bank.csv", "--column", "colour=Red")
    wrong = ("--column", "paid_in=Narrative", "--dates", "day-first", "--yes")
    assert "no row of bank.csv can be read so" in refused(capsys, "map", lender, "bank.csv", *wrong)
    assert "nobody" in refused(capsys, "map", "nobody", "bank.csv")


def test_the_commands_of_the_page_that_keep_a_mapping_run(lender: str) -> None:
    shown = re.findall(r"^    \$ alama (statements .*)$", PAGE, re.MULTILINE)
    assert len(shown) == 3
    for line in shown:
        assert line.split()[2].startswith((lender, "bank"))
        assert main(shlex.split(line)) == 0, line
