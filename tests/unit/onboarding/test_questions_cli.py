"""What `alama onboard` asks at a terminal."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation
from alama.onboarding.store import Stores
from alama.platform import settings
from tests.histories import history_columns, write_csv


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    return tmp_path


class Typed(io.StringIO):
    """A terminal at which somebody has typed these lines."""

    def isatty(self) -> bool:
        return True


def type_in(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", Typed("".join(f"{line}\n" for line in lines)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


def test_what_nobody_has_said_is_asked_for_until_it_is_understood(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write_csv(tmp_path, history_columns(bad_every=20))
    answers = ("Umoja SACCO", "KSH", "kes", "ke", "soon", "60", "perhaps", "yes")
    type_in(monkeypatch, *answers, str(tmp_path / "nowhere.csv"), str(path))
    assert main(["onboard", "umoja"]) == 1  # of so few defaults nothing can be made
    err = capsys.readouterr().err
    assert "The name of umoja, for people: " in err
    assert "KSH is not a currency that is known here" in err
    assert "Whose law: " in err
    assert "'soon' is not a whole number of 1 or more" in err
    assert "that is neither yes nor no" in err
    assert "there is no file" in err
    opened = installation.open_installation(settings.read(os.environ))
    lender, pilot = opened.registry.lender("umoja"), Stores.at(opened).pilots.find("umoja")
    opened.close()
    assert (lender.name, lender.currency) == ("Umoja SACCO", "KES")
    assert pilot is not None
    assert (pilot.jurisdiction, pilot.days_past_due, pilot.approvers) == ("KE", 60, 2)


def test_an_empty_answer_is_the_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_in(monkeypatch, "", "", "")
    assert main(["onboard", "terms", "demo"]) == 0
    assert "A default is a loan so many days past due [30]: " in capsys.readouterr().err
    opened = installation.open_installation(settings.read(os.environ))
    pilot = Stores.at(opened).pilots.find("demo")
    opened.close()
    assert pilot is not None
    assert (pilot.jurisdiction, pilot.days_past_due, pilot.approvers) == (None, 30, 1)


def test_a_terminal_that_is_closed_ends_the_questions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_in(monkeypatch)
    assert main(["onboard", "umoja"]) == EXIT_MISTAKE
    assert "say --name" in capsys.readouterr().err
