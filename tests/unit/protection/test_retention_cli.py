from __future__ import annotations

import io
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.platform import clock
from alama.platform.days import DAY_US
from tests.stored import give_score

YEARS_US = 10 * 366 * DAY_US


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def years_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A score was given, ten years have gone by, and a person says so."""
    give_score()
    now_us = clock.wall_us()
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: now_us + YEARS_US)
    main(["clock", "accept", "--yes"])


class Typing(io.StringIO):
    """A person at a terminal."""

    def isatty(self) -> bool:
        return True


def obey_kenya(home: Path) -> None:
    policy = str(home / "policy.toml")
    main(["policy", "init", "--jurisdiction", "KE", "--out", policy])
    main(["policy", "activate", policy, "--lender", "demo", "--mode", "test"])


@pytest.mark.usefixtures("years_later")
def test_periods_are_shown_with_the_law_and_with_what_is_due(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    obey_kenya(home)
    capsys.readouterr()
    assert main(["retention", "show"]) == 0
    test, live = capsys.readouterr().out.splitlines()[-2:]
    assert test.split()[:5] == ["demo", "test", "2,557", "days", "1"]
    assert "Kenya: Proceeds of Crime" in test
    assert live.split()[:3] == ["demo", "live", "ever"]
    assert "its policy names no jurisdiction" in live


@pytest.mark.parametrize("ahead_us", [YEARS_US, -YEARS_US])
def test_nothing_is_deleted_by_a_clock_that_has_leapt(
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    ahead_us: int,
) -> None:
    give_score()
    obey_kenya(home)
    now_us = clock.wall_us()
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: now_us + ahead_us)
    capsys.readouterr()
    assert main(["retention", "run"]) == EXIT_MISTAKE
    assert "alama clock accept" in capsys.readouterr().err
    main(["retention", "show"])
    assert capsys.readouterr().out.splitlines()[-2].split()[4] == "0"


@pytest.mark.usefixtures("years_later")
def test_a_dry_run_deletes_nothing_and_a_run_does(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    obey_kenya(home)
    capsys.readouterr()
    assert main(["retention", "run", "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split()[-1] == "1"
    assert err == "demo, live mode, is left alone: its policy names no jurisdiction.\n"
    assert main(["retention", "run", "demo", "--by", "W. Mutua"]) == 0
    assert "demo, test mode: 1 score deleted" in capsys.readouterr().out
    assert main(["retention", "run"]) == 0
    assert capsys.readouterr().out == "Nothing is due.\n"
    assert main(["audit", "verify"]) == 0


@pytest.mark.usefixtures("years_later")
def test_fewer_days_than_the_law_asks_for_delete_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    obey_kenya(home)
    capsys.readouterr()
    assert main(["retention", "run", "demo", "--days", "30", "--yes"]) == EXIT_MISTAKE
    assert "30 days are fewer than Kenya asks for, 2557" in capsys.readouterr().err
    main(["scores", "list"])
    assert "req_" in capsys.readouterr().out


@pytest.mark.usefixtures("years_later")
def test_where_no_law_is_known_days_say_when(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retention", "run"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("is left alone") == 2
    assert main(["retention", "run", "demo", "--days", "365", "--yes"]) == 0
    assert "1 score deleted" in capsys.readouterr().out


@pytest.mark.usefixtures("years_later")
def test_days_delete_of_one_lender_alone_and_only_when_it_is_meant(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["retention", "run", "--days", "365", "--yes"]) == EXIT_MISTAKE
    assert "alama retention run LENDER --days N" in capsys.readouterr().err
    assert main(["retention", "run", "demo", "--days", "365"]) == EXIT_MISTAKE
    assert "add --yes if it is meant" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Typing("no\n"))
    assert main(["retention", "run", "demo", "--days", "365"]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split()[-1] == "1"
    assert "nothing was done" in err
    monkeypatch.setattr("sys.stdin", Typing("delete\n"))
    assert main(["retention", "run", "demo", "--days", "365"]) == 0
    assert "1 score deleted" in capsys.readouterr().out


def test_why_four_days_are_the_least_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    assert main(["retention", "run", "demo", "--days", "3", "--yes"]) == EXIT_MISTAKE
    assert "for three days a retry may ask for its reply again" in capsys.readouterr().err
