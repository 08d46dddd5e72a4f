from __future__ import annotations

import re
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.lending.draft import default_text
from alama.lenders import installation
from alama.lenders.records import Signed
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from tests.lending import open_live
from tests.stored import give_score

ADD = ["lenders", "add", "umoja-sacco", "--name", "Umoja [bold] SACCO", "--currency", "ugx"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("installed_at_home")
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
    opened = installation.open_installation(settings.Settings(home=str(home)))
    open_live(opened.registry, Book("demo", Mode.LIVE))
    opened.close()
    assert main(["lenders", "list"]) == 0
    assert re.search(r" open *$", capsys.readouterr().out)


def test_a_lender_that_collects_repayments_is_listed_as_in_shadow(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["onboard", "terms", "demo", "--jurisdiction", "none", "--two-eyes"]) == 0
    assert main(["keys", "issue", "--lender", "demo", "--mode", "live", "--shadow"]) == 0
    capsys.readouterr()
    assert main(["lenders", "list"]) == 0
    assert re.search(r"\ndemo .* shadow *\n", capsys.readouterr().out + "\n")
    assert main(["lenders", "pause", "demo", "--reason", "payments are down"]) == 0
    assert "every decision is REVIEW within a second" in capsys.readouterr().out


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


# ------------------------------------------------------------------------------------ the pause


def pauses(home: Path) -> dict[Mode, str | None]:
    """The reason for which the lender demo is paused in each mode."""
    opened = installation.open_installation(settings.Settings(home=str(home)))
    found = {mode: opened.registry.pause_of(Book("demo", mode)) for mode in Mode}
    opened.close()
    return {mode: pause and pause.reason for mode, pause in found.items()}


@pytest.mark.usefixtures("installed_at_home")
def test_a_pause_is_of_the_live_decisions_unless_told_otherwise(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = installation.open_installation(settings.Settings(home=str(home)))
    open_live(opened.registry, Book("demo", Mode.LIVE))
    opened.close()
    assert main(["lenders", "pause", "demo", "--reason", "payments are down"]) == 0
    out, err = capsys.readouterr()
    assert out == "demo is paused in live mode: every decision is REVIEW within a second.\n"
    assert err == "To end it: alama lenders resume demo --mode live\n"
    assert pauses(home) == {Mode.LIVE: "payments are down", Mode.TEST: None}
    assert main(["lenders", "pause", "demo", "--mode", "test", "--reason", "a rehearsal"]) == 0
    assert pauses(home) == {Mode.LIVE: "payments are down", Mode.TEST: "a rehearsal"}


@pytest.mark.usefixtures("installed_at_home")
def test_to_pause_a_mode_that_is_not_open_is_said_to_stop_nothing_yet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lenders", "pause", "demo", "--reason", "payments are down"]) == 0
    out, err = capsys.readouterr()
    assert out == (
        "demo is paused in live mode: every decision will be REVIEW once that mode is open.\n"
    )
    assert "test decisions go on: to pause those, add --mode test\n" in err


@pytest.mark.usefixtures("installed_at_home")
def test_the_reason_of_a_pause_that_stands_is_told_and_stays(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lenders", "pause", "demo", "--reason", "payments are [bold] down"])
    capsys.readouterr()
    assert main(["lenders", "pause", "demo", "--reason", "something else"]) == 0
    out, err = capsys.readouterr()
    said = r"demo was paused in live mode at 20\d\d-\d\d-\d\d \d\d:\d\d UTC already\.\n"
    assert re.fullmatch(said, out)
    assert err == "The reason that stands: payments are [bold] down\n"
    assert pauses(home)[Mode.LIVE] == "payments are [bold] down"


@pytest.mark.usefixtures("installed_at_home")
def test_a_lender_decides_again_once_it_is_resumed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lenders", "pause", "demo", "--mode", "test", "--reason", "payments are down"])
    capsys.readouterr()
    assert main(["lenders", "resume", "demo"]) == 0
    out, err = capsys.readouterr()
    assert out == "demo was not paused in live mode.\n"
    assert err == "demo is paused in test mode: add --mode test to end that.\n"
    assert main(["lenders", "resume", "demo", "--mode", "test"]) == 0
    said = r"demo decides again in test mode; it was paused for \d+ s\.\n"
    assert re.fullmatch(said, capsys.readouterr().out)
    assert pauses(home) == {Mode.LIVE: None, Mode.TEST: None}


@pytest.mark.usefixtures("installed_at_home")
@pytest.mark.parametrize("width", ["80", "120"])
def test_the_list_says_who_is_paused_since_when_and_why(
    width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    main(ADD)
    for mode in Mode:
        main(["lenders", "pause", "demo", "--mode", mode, "--reason", f"[bold] {mode}"])
    capsys.readouterr()
    assert main(["lenders", "list"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"\ndemo +Demo lender +KES +20\S+ +not yet +test, live *\n", out)
    assert re.search(r"\numoja-sacco .* +not yet *\n", out)
    for mode in Mode:
        since = r"20\d\d-\d\d-\d\d \d\d:\d\d UTC"
        assert re.search(rf"\ndemo is paused in {mode} mode since {since}: \[bold\] {mode}\n", out)


@pytest.mark.parametrize(
    ("volume_max", "said"),
    [
        (1_000_000, r"KES [\d,]+ of 1,000,000 approved"),
        (500, r"KES [\d,]+ of 500 approved; every decision is REVIEW until the next day"),
    ],
)
def test_the_list_says_where_a_day_that_is_bounded_stands(
    volume_max: int, said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    text = default_text("KES").replace(b"# volume_max = 1_000_000", b"volume_max = %d" % volume_max)
    (home / "ours.toml").write_bytes(text)
    assert main(["policy", "activate", str(home / "ours.toml")]) == 0
    capsys.readouterr()
    assert main(["lenders", "list"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    since = r"20\d\d-\d\d-\d\d 00:00 UTC"
    assert re.fullmatch(rf"demo in test mode, today since {since}: {said}", last)
    assert "KES 0 " not in last


@pytest.mark.usefixtures("installed_at_home")
def test_a_policy_that_cannot_be_read_does_not_spoil_the_list(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = installation.open_installation(settings.Settings(home=str(home)))
    opened.registry.keep_policy("sha256:damaged", b"damaged", clock.wall_us())
    signed = Signed(clock.wall_us())
    opened.registry.deploy_policy(Book("demo", Mode.TEST), "sha256:damaged", signed)
    opened.close()
    assert main(["lenders", "list"]) == 0
    out = capsys.readouterr().out
    assert "\ndemo in test mode has a policy that cannot be read: " in out
    assert re.search(r"\ndemo +Demo lender +KES ", out)


@pytest.mark.usefixtures("installed_at_home")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pause", "nobody", "--reason", "why"], "there is no lender nobody"),
        (["resume", "nobody"], "there is no lender nobody"),
        (["pause", "demo", "--reason", " "], "a reason has 1 to 200 characters"),
        (["pause", "demo", "--reason", "a\nb"], "all on one line"),
    ],
)
def test_a_pause_that_cannot_be_is_refused(
    arguments: list[str], message: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lenders", *arguments]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert pauses(home) == {Mode.LIVE: None, Mode.TEST: None}
