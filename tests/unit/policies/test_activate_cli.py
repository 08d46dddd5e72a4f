"""A risk officer lets a policy answer, looks back, and goes back."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.lending.draft import default_policy, default_text
from alama.lenders import installation
from alama.platform import settings
from alama.platform.book import Book, Mode
from tests.lending import open_live
from tests.unit.policies.policy_files import digits, run, squeezed, written


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files and an installation lie, and where commands are called."""
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ------------------------------------------------------------------------------------ activate


@pytest.mark.usefixtures("installed_at_home")
def test_a_policy_is_activated_and_the_way_back_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours = written("ours")
    assert run("activate", "ours.toml") == 0
    out, err = capsys.readouterr()
    assert out == (
        f"ours, version 1 ({digits(ours)}) answers for demo in test mode, "
        "in every process within a second.\n"
    )
    before = digits(default_policy("KES"))
    assert err == (
        f"Before it was default KES, version 1 ({before}).\n"
        f"To go back: alama policy activate {before} --lender demo --mode test\n"
    )
    assert main(err.split("alama ")[1].split()) == 0
    assert capsys.readouterr().out.startswith(f"default KES, version 1 ({before}) answers for demo")


@pytest.mark.usefixtures("installed_at_home")
def test_the_way_back_is_signed_by_the_same_hand(capsys: pytest.CaptureFixture[str]) -> None:
    written("ours")
    assert run("activate", "ours.toml", "--mode", "live", "--by", "W. Mutua") == 0
    assert capsys.readouterr().err.endswith(" --lender demo --mode live --by 'W. Mutua'\n")


@pytest.mark.usefixtures("installed_at_home")
def test_another_policy_under_the_same_name_and_version_is_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = written("ours")
    run("activate", "ours.toml")
    written("other")
    run("activate", "other.toml")
    capsys.readouterr()
    written("ours", ("limit_max = 50_000", "limit_max = 60_000"))
    assert run("activate", "ours.toml") == 0
    told = f"warning: ours, version 1 ({digits(first)}) answered here too, by the same name"
    assert told in capsys.readouterr().err
    assert run("activate", "other.toml") == 0
    assert "warning" not in capsys.readouterr().err


@pytest.mark.usefixtures("installed_at_home")
def test_the_same_policy_again_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    ours = written("ours")
    run("activate", "ours.toml", "--by", "W. Mutua")
    capsys.readouterr()
    Path("ours.toml").write_text(Path("ours.toml").read_text("utf-8") + "# a comment\n", "utf-8")
    for reference in ("ours.toml", digits(ours)):
        assert run("activate", reference, "--by", "A. Njeri") == 0
        out, err = capsys.readouterr()
        assert out.endswith("answers for demo in test mode, as it did before.\n")
        assert err == ""
    run("history")
    out = capsys.readouterr().out
    assert out.count(digits(ours)) == 1
    assert "W. Mutua" in out


@pytest.mark.usefixtures("installed_at_home")
def test_the_word_default_means_the_default_though_a_file_has_that_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written("ours")
    Path("default").write_bytes(Path("ours.toml").read_bytes())
    run("activate", "ours.toml")
    capsys.readouterr()
    assert run("activate", "default") == 0
    assert capsys.readouterr().out.startswith("default KES, version 1 (")
    assert run("activate", "./default") == 0
    assert capsys.readouterr().out.startswith("ours, version 1 (")


@pytest.mark.usefixtures("installed_at_home")
def test_a_policy_can_be_activated_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = written("ours")
    text = Path("ours.toml").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run("activate", "-") == 0
    assert digits(ours) in capsys.readouterr().out


@pytest.mark.usefixtures("installed_at_home")
def test_a_live_book_without_a_model_is_not_said_to_be_answered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written("ours")
    assert run("activate", "ours.toml", "--mode", "live", "--by", "W. Mutua") == 0
    assert capsys.readouterr().out.endswith(
        "answers for demo in live mode, as soon as a model of its own does.\n"
    )
    opened = installation.open_installation(settings.read(os.environ))
    open_live(opened.registry, Book("demo", Mode.LIVE))
    opened.close()
    assert run("activate", "ours.toml", "--mode", "live", "--by", "W. Mutua") == 0
    assert capsys.readouterr().out.endswith("in live mode, in every process within a second.\n")


@pytest.mark.usefixtures("installed_at_home")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["other.toml"], "cannot read other.toml: No such file"),
        (["broken.toml"], "broken.toml:\n  line "),
        (["ugx.toml"], "ugx.toml: the policy lends in UGX, but demo lends in KES"),
        (["ours.toml", "--lender", "nobody"], "there is no lender nobody"),
        (["default", "--lender", "nobody"], "there is no lender nobody"),
        (["ours.toml", "--by", ""], "1 to 200 characters, all on one line"),
        (["ours.toml", "--note", "a\nb"], "1 to 200 characters, all on one line"),
        (["ours.toml", "--mode", "live"], 'hint: add --by "W. Mutua"; the history keeps it'),
        (
            [default_policy("KES").id[7:9]],
            "is too short to name a policy\n  hint: give the first 4 digits",
        ),
        (["0a1b2c3d"], "no policy 0a1b2c3d ever answered here"),
        (["ours"], "no policy ours ever answered here"),
        (["x" * 5_000], "ever answered here"),
    ],
)
def test_what_cannot_be_activated_changes_nothing(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written("ours")
    written("ugx", currency="UGX")
    broken = Path("ours.toml").read_text("utf-8").replace("limit_step = 500", "limit_step = 0")
    Path("broken.toml").write_text(broken, "utf-8")
    assert run("activate", *arguments) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    run("history")
    assert "demo has had no policy of its own in test mode" in capsys.readouterr().err


def test_nothing_is_installed_by_asking(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written("ours")
    for arguments in (["activate", "ours.toml"], ["show"], ["history"]):
        assert run(*arguments) == EXIT_MISTAKE
        assert "there is no installation at" in capsys.readouterr().err
    assert [path.name for path in home.iterdir()] == ["ours.toml"]


# ------------------------------------------------------------------------------------ looking back


def test_the_history_says_what_answered_since_when_by_whom_and_why(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    main(["db", "upgrade"])
    main(["lenders", "add", "umoja", "--name", "Umoja", "--currency", "KES"])
    ours, theirs = written("ours"), written("theirs")
    where = ["--lender", "umoja", "--mode", "test"]
    run("activate", "ours.toml", *where, "--by", "W. [bold] Mutua", "--note", "our first")
    run("activate", "theirs.toml", *where)
    run("activate", digits(ours)[:6], *where, "--by", "A. Njeri", "--note", "theirs lost money")
    run("activate", "default", *where)
    capsys.readouterr()
    assert run("history", *where) == 0
    head, _, *rows = squeezed(capsys.readouterr().out)
    assert head == "since (UTC) id policy by note"
    assert all(re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d ", row) for row in rows)
    assert [row[len("2026-11-15 18:00 ") :] for row in rows] == [
        f"{digits(default_policy('KES'))} default KES, version 1",
        f"{digits(ours)} ours, version 1 A. Njeri theirs lost money",
        f"{digits(theirs)} theirs, version 1",
        f"{digits(ours)} ours, version 1 W. [bold] Mutua our first",
    ]


@pytest.mark.usefixtures("installed_at_home")
def test_at_80_columns_times_and_ids_of_the_history_stay_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ours = written("ours")
    note = "the cut-off of tier C, as the committee of Monday agreed, for a month at first"
    run("activate", "ours.toml", "--by", "Wanjiku wa Mutua-Kariuki", "--note", note)
    capsys.readouterr()
    run("history")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert re.match(rf"20\d\d-\d\d-\d\d \d\d:\d\d  {digits(ours)}  ours", lines[2])


@pytest.mark.usefixtures("installed_at_home")
def test_a_policy_is_shown_as_it_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show") == 0
    assert capsys.readouterr() == (default_text("KES").decode(), "")
    ours = written("ours", more="# ours, caf\u00e9\n")
    run("activate", "ours.toml")
    written("theirs")
    run("activate", "theirs.toml")
    capsys.readouterr()
    for arguments, name in (
        ([], "theirs.toml"),
        (["--id", digits(ours)], "ours.toml"),
        (["--id", ours.id], "ours.toml"),
    ):
        assert run("show", *arguments) == 0
        assert capsys.readouterr().out == Path(name).read_text("utf-8")
    for reference in ("default", digits(default_policy("KES"))):
        assert run("show", "--id", reference) == 0
        assert capsys.readouterr().out == default_text("KES").decode()


@pytest.mark.usefixtures("installed_at_home")
def test_a_policy_gives_no_orders_to_a_terminal_and_keeps_its_bytes_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written("ours", more="# ours\t\u009b2J \u202eyad\n")
    run("activate", "ours.toml")
    capsys.readouterr()
    assert run("show") == 0
    assert capsys.readouterr().out == Path("ours.toml").read_text("utf-8")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run("show") == 0
    assert "# ours\t?2J ?yad\n" in capsys.readouterr().out


@pytest.mark.usefixtures("installed_at_home")
@pytest.mark.parametrize("action", ["show", "history"])
def test_a_lender_that_is_not_there_has_no_policies(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(action, "--lender", "nobody") == EXIT_MISTAKE
    assert "there is no lender nobody" in capsys.readouterr().err
