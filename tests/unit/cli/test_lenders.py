from __future__ import annotations

import re
from pathlib import Path

import pytest

from alama import settings, wiring
from alama.cli.main import EXIT_MISTAKE, main
from alama.service.book import Book, Mode

ADD = ["lenders", "add", "umoja-sacco", "--name", "Umoja [bold] SACCO", "--currency", "ugx"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("installed")
def test_a_new_embedded_database_has_the_lender_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lenders", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"demo +Demo lender +KES +20\d\d-\d\d-\d\d +not yet *$", lines[-1])


def test_a_lender_is_added_and_listed_under_the_name_it_was_given(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    assert main(["db", "upgrade"]) == 0
    capsys.readouterr()
    assert main(ADD) == 0
    out, err = capsys.readouterr()
    assert out == "umoja-sacco: Umoja [bold] SACCO, lends in UGX.\n"
    assert err == "Next: alama keys issue --lender umoja-sacco --mode test\n"
    assert main(["lenders", "list"]) == 0
    assert re.search(r"\numoja-sacco +Umoja \[bold\] SACCO +UGX ", capsys.readouterr().out)


def test_a_lender_with_a_live_model_is_listed_as_open(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = wiring.open_installation(settings.Settings(home=str(home)))
    opened.registry.deploy(Book("demo", Mode.LIVE), None, None, wiring.now_us())
    opened.close()
    assert main(["lenders", "list"]) == 0
    assert re.search(r" open *$", capsys.readouterr().out)


def test_a_database_without_lenders_says_how_to_add_one(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", postgres_url)
    assert main(["db", "upgrade"]) == 0
    capsys.readouterr()
    assert main(["lenders", "list"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "There are no lenders yet; `alama lenders add` adds one.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Umoja", "--name", "Umoja", "--currency", "KES"], "a lender's id is 1 to 40 lower-case"),
        (["umoja", "--name", " ", "--currency", "KES"], "a lender's name has 1 to 200 characters"),
        (["umoja", "--name", "a\x1b[2Jb", "--currency", "KES"], "all on one line"),
        (["umoja", "--name", "Umoja", "--currency", "KSH"], "KSH is not a currency"),
        (["demo", "--name", "Umoja", "--currency", "KES"], "there is a lender demo already"),
    ],
)
def test_a_lender_that_cannot_be_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lenders", "add", *arguments]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
