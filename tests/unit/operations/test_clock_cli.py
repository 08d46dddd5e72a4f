"""`alama clock`: what is seen of time, and a person's word for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.app.cli import main
from alama.lenders import installation
from alama.platform import clock
from alama.platform.clock import TOLERANCE_US
from alama.platform.clock_store import SqlSeen
from alama.platform.days import DAY_US
from tests.stored import give_score
from tests.unit.operations.patients import opened

EXIT_LEAP = 1
EXIT_MISTAKE = 2
HOUR_US = 3_600_000_000
ISSUE = ["keys", "issue", "--lender", "demo", "--mode", "test"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    give_score()
    return tmp_path


@pytest.fixture(params=[("ahead of", 400), ("behind", -400)], ids=["ahead", "behind"])
def leapt(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The clock of the machine has been set; whether it is ahead or behind."""
    side, days = request.param
    now_us = clock.wall_us()
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: now_us + days * DAY_US)
    return str(side)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["clock", *arguments])
    return code, capsys.readouterr().out


def test_a_time_that_fits_is_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = said(capsys)
    assert code == 0
    assert "The time is trusted." in out
    assert "time of this machine" in out


def test_a_leap_is_shown_until_a_person_accepts_it(
    capsys: pytest.CaptureFixture[str], leapt: str
) -> None:
    code, out = said(capsys)
    assert code == EXIT_LEAP
    assert f"it is 399 d {leapt}" in out or f"it is 400 d {leapt}" in out
    code, out = said(capsys, "accept", "--by", "asha", "--yes")
    assert (code, "\nIt is " in out) == (0, True)
    assert said(capsys)[0] == 0
    main(["audit", "log"])
    assert "clock accepted" in capsys.readouterr().out.replace("  ", " ")


@pytest.mark.usefixtures("leapt")
def test_what_was_accepted_leaves_an_audit_that_holds() -> None:
    main(["clock", "accept", "--yes"])
    give_score()
    assert main(["audit", "verify"]) == 0


def obey_kenya(home: Path) -> None:
    policy = str(home / "policy.toml")
    main(["policy", "init", "--jurisdiction", "KE", "--out", policy])
    main(["policy", "activate", policy, "--lender", "demo", "--mode", "test"])


def test_what_becomes_due_is_shown_before_it_is_accepted(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main([*ISSUE, "--days", "30"])
    obey_kenya(home)
    now_us = clock.wall_us()
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: now_us + 3_000 * DAY_US)
    code, out = said(capsys, "accept")
    assert code == EXIT_MISTAKE  # there is nobody to ask
    assert "1 of the scores of demo, test mode, are due" in out
    assert "1 of 2 API keys expire" in out
    assert said(capsys)[0] == EXIT_LEAP


@pytest.fixture
def followed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[installation.Installation]:
    """The installation of a service that ran when the clock jumped, by less than a day."""
    with opened(home) as one:
        now_us = clock.wall_us()
        monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: now_us + 20 * HOUR_US)
        one.clock._source = lambda: now_us + 20 * HOUR_US
        one.clock.look()
        yield one


def test_the_leap_of_a_running_service_is_shown_and_moved_by_no_command(
    capsys: pytest.CaptureFixture[str], followed: installation.Installation
) -> None:
    seen = SqlSeen(followed.database).seen()
    code, out = said(capsys)
    assert code == EXIT_LEAP
    assert "ahead of the last time seen" in out
    for refused in (["retention", "run"], [*ISSUE, "--days", "30"]):
        assert main(refused) == EXIT_MISTAKE
        assert "alama clock accept" in capsys.readouterr().err
    assert main(ISSUE) == 0
    assert SqlSeen(followed.database).seen() == seen
    newest_us = SqlSeen(followed.database).signed_us()
    assert newest_us is not None
    assert newest_us <= followed.clock() + TOLERANCE_US


@pytest.mark.usefixtures("followed")
def test_a_jump_with_commands_in_it_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(ISSUE)
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: time.time_ns() // 1_000)
    assert said(capsys)[0] == 0
    main(ISSUE)
    assert main(["audit", "verify"]) == 0


def test_acts_signed_out_of_order_by_a_wrong_clock_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_us = clock.wall_us()
    with monkeypatch.context() as wrong:
        wrong.setattr("alama.lenders.installation.wall_us", lambda: now_us + 400 * DAY_US)
        main(ISSUE)
    main(ISSUE)
    capsys.readouterr()
    assert main(["audit", "verify"]) == EXIT_LEAP
    out = capsys.readouterr().out
    assert "An entry is earlier than the one before it" in out
    assert "days" in out
