"""`alama lists`: on a list and off it, one by one and by the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from alama.app.cli import main
from alama.lenders.installation import open_installation
from alama.platform.settings import Settings

REF = "customer-7f3a"


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    open_installation(Settings(home=str(tmp_path))).close()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["lists", *arguments]) == 0
    return capsys.readouterr().out


def test_an_applicant_is_put_on_a_list_shown_and_taken_off(
    capsys: pytest.CaptureFixture[str],
) -> None:
    book = ("demo", "--mode", "test")
    said = ("--list", "block", "--reason", "fraud", "--by", "W. Mutua", "--note", "case 12")
    until = ("--until", "2999-06-30")
    assert "is on the block list of demo." in run(capsys, "add", *book, "--ref", REF, *said, *until)
    assert "was on the block list so already" in run(
        capsys, "add", *book, "--ref", REF, *said, *until
    )
    for more in ((), ("--ref", REF)):
        shown = run(capsys, "show", *book, *more)
        assert "fraud" in shown
        assert "2999-06-30" in shown
        assert "over" not in shown
        assert REF not in shown
    assert run(capsys, "show", "demo") == ""
    assert "is off the block list of demo." in run(capsys, "remove", *book, "--ref", REF)
    assert "is on no list of demo" in run(capsys, "remove", *book, "--ref", REF)
    assert run(capsys, "show", *book, "--ref", REF) == ""


def test_a_file_is_loaded_and_may_be_loaded_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fraud.csv"
    rows = [f"ref-{number},watch,staff,,\n" for number in range(1_200)]
    file.write_text("applicant_ref,list,reason,until,note\n" + "".join(rows), "utf-8")
    for said in ("1,200 added", "1,200 unchanged"):
        loaded = run(capsys, "load", "demo", "--mode", "test", str(file), "--by", "W. Mutua")
        assert loaded == f"fraud.csv: {said}.\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("applicant_ref,list\nref-1,block\n", "reason missing, 0 unknown"),
        ("applicant_ref,list,reason,colour\nref-1,block,fraud,red\n", "none missing, 1 unknown"),
        ("applicant_ref,list,reason\nok,block,fraud\nref-2,red,fraud\n", "line 3: list is block"),
        ("applicant_ref,list,reason\nok,block,fraud\n,block,fraud\n", "line 3: an applicant is"),
        ("applicant_ref,list,reason\n" + "x" * 2_000 + ",block,fraud\n", "cannot be read as CSV"),
    ],
)
def test_nothing_is_done_where_a_line_cannot_be_an_entry(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "list.csv"
    file.write_text(text, "utf-8")
    assert main(["lists", "load", "demo", str(file)]) != 0
    assert told in capsys.readouterr().err
    assert run(capsys, "show", "demo") == ""


@pytest.mark.parametrize("date", ["tomorrow", "2027-13-01"])
def test_a_day_that_is_none_is_refused(date: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = ["--list", "block", "--reason", "fraud", "--until", date]
    with pytest.raises(SystemExit):
        main(["lists", "add", "demo", "--ref", REF, *said])
    assert "must be a date such as 2027-06-30" in capsys.readouterr().err
