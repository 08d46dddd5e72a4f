from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from alama.app.cli import EXIT_MISTAKE, main
from alama.monitoring.cli import summary
from alama.platform.files.packaged import builtin
from tests.reports import states
from tests.stored import give_score

STATES = states()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path


def drawn(state: str, *, width: int = 110) -> str:
    console = Console(width=width, file=io.StringIO(), record=True, highlight=False)
    console.print(summary(STATES[state]))
    return console.export_text()


def test_a_book_is_shown_with_its_model_and_its_mode(capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    assert main(["monitor", "demo"]) == 0
    out, err = capsys.readouterr()
    assert "demo, test mode" in out
    assert builtin().id in out
    assert err.splitlines()[1:] == [
        "Month by month, what moved, and the plots: --html PAGE",
        "This is the test mode; --mode shows the other.",
    ]
    assert re.search(r"note: Nothing is known of what became", out)


def test_a_book_without_scores_is_said_to_be_empty(capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    assert main(["monitor", "demo", "--mode", "live", "--days", "7"]) == 0
    out, _ = capsys.readouterr()
    assert "No scores were given in this period." in out
    assert "Default rate" not in out


def test_all_figures_go_to_a_pipe_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    assert main(["monitor", "demo", "--mode", "test", "--json", "-"]) == 0
    out, _ = capsys.readouterr()
    found = json.loads(out)
    assert found["volume"]["scores"] == 1
    assert found["model"]["id"] == builtin().id
    assert found["rates"]["overall"]["verdict"] == "too_few"


def test_figures_and_page_are_written_to_files(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    page, figures = home / "report.html", home / "report.json"
    assert main(["monitor", "--html", str(page), "--json", str(figures)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{page}: the report" in err
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert json.loads(figures.read_bytes())["lender"] == "demo"


@pytest.mark.parametrize("days", ["0", "731", "x", "1.5"])
def test_days_are_a_whole_number(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["monitor", "demo", "--days", days])
    assert "is not a whole number from 1 to 730" in capsys.readouterr().err


def test_a_model_that_never_answered_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    assert main(["monitor", "demo", "--model", "sha256:none"]) == EXIT_MISTAKE
    assert "no such model gave scores" in capsys.readouterr().err


def test_an_unknown_lender_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    assert main(["monitor", "nobody"]) == EXIT_MISTAKE
    assert "nobody" in capsys.readouterr().err


# ------------------------------------------------------------------------------- drawing


def test_what_to_look_at_comes_before_the_figures() -> None:
    out = drawn("troubled")
    assert out.index("act:") < out.index("scores: ") < out.index("Default rate by tier")


def test_tiers_show_what_came_true_and_what_was_predicted() -> None:
    narrow = drawn("troubled", width=80)
    assert re.search(r"^D +1,600 +576 +36.0% +20.0%  higher", narrow, re.MULTILINE)


def test_products_show_what_came_true_and_what_was_approved() -> None:
    narrow = drawn("troubled", width=80)
    assert re.search(r"^weekly +400 +60 +15.0% +5.0%  higher", narrow, re.MULTILINE)
    assert "weekly: 1,200 loans approved in the period." in narrow
    assert "by product" not in drawn("healthy")


def test_a_field_that_drifted_is_named() -> None:
    assert "avg_inflow" in drawn("troubled")


@pytest.mark.parametrize("state", STATES)
def test_it_fits_a_narrow_terminal(state: str) -> None:
    out = drawn(state, width=80)
    assert max(map(len, out.splitlines())) <= 80
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
