from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from alama.platform.terminal import terminal
from alama.platform.terminal.tables import facts


def unseen() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=200)


def seen() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=200, color_system=None)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_where_nobody_is_looking_progress_is_one_line_at_the_end() -> None:
    console = unseen()
    with terminal.progress("scoring [all]", 3_000, unit="rows", console=console) as work:
        work.advance(1_000)
        work.note("AUC 0.71")
        work.advance(2_000)
        work.note("AUC 0.78")
        assert written(console) == ""
    assert re.fullmatch(r"scoring \[all\]: 3,000 rows in \d+\.\d s, AUC 0\.78\n", written(console))


def test_where_nobody_is_looking_progress_that_vanishes_leaves_nothing() -> None:
    console = unseen()
    with terminal.progress("looking", 1, console=console, vanishing=True) as work:
        work.advance()
    assert written(console) == ""


def test_progress_needs_no_note_no_unit_and_no_total() -> None:
    console = unseen()
    with terminal.progress("counting", console=console) as work:
        work.advance()
        work.advance()
    assert re.fullmatch(r"counting: 2 in \d+\.\d s\n", written(console))


def test_work_that_fails_leaves_no_line_saying_it_is_done() -> None:
    console = unseen()

    def fail_halfway() -> None:
        with terminal.progress("training", 10, console=console) as work:
            work.advance(4)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert written(console) == ""


@pytest.mark.parametrize("vanishing", [True, False])
def test_a_bar_that_vanishes_is_wiped_once_it_is_done(*, vanishing: bool) -> None:
    console = seen()
    with terminal.progress("looking", 1, vanishing=vanishing, console=console) as work:
        work.advance()
    assert written(console).endswith("\x1b[1A\x1b[2K") == vanishing


@pytest.mark.parametrize("total", [3_000, None])
def test_in_a_terminal_a_bar_shows_the_amount_and_the_latest_note(total: int | None) -> None:
    console = seen()
    with terminal.progress("training [full]", total, unit="steps", console=console) as work:
        work.note("AUC 0.71")
        work.advance(3_000)
        work.note("AUC 0.78")
    last = [line for line in written(console).splitlines() if "training [full]" in line][-1]
    assert "3,000 steps" in last
    assert "100%" in last
    assert "AUC 0.78" in last
    assert "AUC 0.71" not in last


def test_a_warning_goes_to_stderr_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.warn("column [x] was ignored")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "warning: column [x] was ignored\n")


@pytest.mark.parametrize("text", ["a\x1b[2Jb", "a\x9b2Jb", "a\u202eb", "a\x00b"], ids=ascii)
def test_no_text_steers_the_terminal(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = f"a?{text[2:]}"
    terminal.stdout().print(text, markup=False)
    terminal.stdout().print(facts([("region", text)]))
    terminal.error(text, hint=text)
    out, err = capsys.readouterr()
    assert out.startswith(f"{shown}\nregion  a?")
    assert text[1] not in out
    assert err == f"error: {shown}\n  hint: {shown}\n"


def test_styles_still_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal.stdout.cache_clear()
    try:
        with terminal.stdout().capture() as captured:
            terminal.stdout().print("x\x1b[2J", style="bold", markup=False)
    finally:
        terminal.stdout.cache_clear()
    assert captured.get() == "\x1b[1mx?[2J\x1b[0m\n"


def test_results_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.stdout().print("612")
    assert capsys.readouterr().out == "612\n"
