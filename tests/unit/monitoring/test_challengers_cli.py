"""`alama models challenge` and `alama models compare`."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.model import Money, encode, seal
from alama.lenders import installation
from alama.lenders.installation import Installation
from alama.monitoring import comparing
from alama.monitoring.challengers import Challengers
from alama.monitoring.shadowing import SETTLED_US, Shadowing
from alama.onboarding.store import Stores
from alama.platform import clock as wiring
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.platform.database import database
from alama.platform.files.packaged import builtin
from alama.platform.terminal import terminal
from tests.factories import a_model, write_model
from tests.lending import open_live
from tests.onboarded import FAILED, a_candidate, a_history, a_pilot
from tests.stored import give_score

MODEL = a_model(name="challenger")
TEST, LIVE = Book("demo", Mode.TEST), Book("demo", Mode.LIVE)
WHO = ("--by", "W. Mutua", "--reason", "retrained")

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    # Whatever SQLite there is on this machine: no worker runs here.
    monkeypatch.setattr(database, "SQLITE_SAFE_FOR_MANY", (3, 0, 0))
    installation.open_installation(settings.read(os.environ)).close()
    return tmp_path


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "model.json"
    write_model(MODEL, path)
    return str(path)


@contextmanager
def opened() -> Iterator[Installation]:
    installed = installation.open_installation(settings.read(os.environ))
    yield installed
    installed.close()


def ask() -> None:
    """Do as a worker does, a minute later."""
    with opened() as installed:
        challengers = Challengers(installed.database, installed.log)
        clock = lambda: wiring.wall_us() + 2 * SETTLED_US  # noqa: E731
        asking = Shadowing(challengers, installed.registry, installed.vault, clock)
        for challenger in asking.running():
            asking.round(challenger)


def challenge(*arguments: str) -> int:
    return main(["models", "challenge", "demo", *arguments, *WHO])


def test_a_model_file_challenges_and_is_compared(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert challenge("--mode", "test", "--model", file) == 0
    out, err = capsys.readouterr()
    assert out == f"{MODEL.id} scores what demo is sent in test mode.\n"
    assert err == "What it says: alama models compare demo --mode test\n"
    give_score()
    ask()
    assert main(["models", "compare", "demo", "--mode", "test"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Which of the two is better, nobody can tell yet: no loan of theirs")
    assert re.search(rf"champion +{builtin().name}, {builtin().id[:19]} *\n", out)
    assert re.search(rf"challenger +{MODEL.name}, {MODEL.id[:19]} *\n", out)
    assert re.search(rf"on scores from +{terminal.day(wiring.wall_us())} *\n", out)
    assert re.search(r"scores of both +1 *\n", out)
    assert "Decisions, champion (rows) and challenger (columns)" in out


def test_a_challenger_that_has_answered_nothing_is_shown_as_it_stands(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert challenge("--mode", "test", "--model", file) == 0
    capsys.readouterr()
    assert main(["models", "compare", "demo", "--mode", "test"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Nothing to compare yet")
    assert re.search(r"champion +none yet *\n", out)


def test_while_a_worker_has_some_to_read_it_is_told_of_how_many(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    assert challenge("--mode", "test", "--model", file, "--from", "2026-01-01") == 0
    monkeypatch.setattr(comparing, "SETTLED_US", -SETTLED_US)
    assert main(["models", "compare", "demo", "--mode", "test"]) == 0
    assert re.search(r"scores of both +0 of 1, still reading *\n", capsys.readouterr().out)
    monkeypatch.setattr(comparing, "WAITING_MAX", 1)
    assert main(["models", "compare", "demo", "--mode", "test"]) == 0
    assert "0 of more than 1, still reading" in capsys.readouterr().out


def test_the_comparison_is_written_for_programs(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert challenge("--mode", "test", "--model", file) == 0
    give_score()
    ask()
    capsys.readouterr()
    compare = ["models", "compare", "demo", "--mode", "test", "--json"]
    assert main([*compare, "-"]) == 0
    printed = capsys.readouterr().out
    assert main([*compare, str(tmp_path / "compared.json")]) == 0
    assert (tmp_path / "compared.json").read_text() == printed
    found = json.loads(printed)
    assert (found["champion"], found["challenger"]) == (builtin().id, MODEL.id)
    assert (found["count"], found["realised"]) == (1, None)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", found["begun_at"])
    assert found["begun_at"].startswith(found["scores_from"])
    assert not [name for name in found if name.endswith("_us")]


def test_what_was_stored_before_is_asked_about_from_a_day_on(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    assert challenge("--mode", "test", "--model", file, "--from", "2026-01-01") == 0
    ask()
    assert main(["models", "compare", "demo", "--mode", "test"]) == 0
    assert re.search(r"scores of both +1 *\n", capsys.readouterr().out)


def test_a_challenge_is_ended_once(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert challenge("--mode", "test", "--model", file) == 0
    capsys.readouterr()
    assert challenge("--mode", "test", "--end") == 0
    assert capsys.readouterr().out == f"{MODEL.id} is asked no more; it has answered 0 times.\n"
    assert challenge("--mode", "test", "--end") == EXIT_MISTAKE
    err = " ".join(capsys.readouterr().err.split())
    assert "no model challenges that of demo in test mode" in err
    assert "none to end here; that of the other book is named by --mode live" in err
    assert "begin" not in err


def test_a_candidate_may_challenge_though_its_gates_have_failed() -> None:
    with opened() as installed:
        open_live(installed.registry, LIVE)
        history = a_history()
        Stores.at(installed).histories.keep(history, b"{}", [b"rows"])
        candidate = a_candidate(history, model_id=MODEL.id, gates=FAILED)
        Stores.at(installed).candidates.add(candidate, encode(MODEL), b"{}")
    assert challenge("--candidate", candidate.id) == 0
    with opened() as installed:
        (running,) = Challengers(installed.database, installed.log).running()
        assert (running.book, running.model_id) == (LIVE, MODEL.id)
        assert installed.registry.model(MODEL.id) == encode(MODEL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--candidate", "can_0"), "this id\n  hint: `alama onboard status demo` lists them"),
        (("--model", "builtin.json"), "decides for demo in test mode itself"),
        (("--model", "model.json", "--from", "2999-01-01"), "yet to come"),
        (("--model", "nowhere.json"), "cannot read the model"),
        (("--model", "elsewhere.json"), "cannot answer together"),
    ],
)
def test_what_cannot_challenge_is_refused_and_changes_nothing(
    arguments: tuple[str, ...],
    message: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(home)
    write_model(MODEL, Path("model.json"))
    write_model(builtin(), Path("builtin.json"))
    no_shillings = Money("UGX", "2026-01", {"UGX": 1.0})
    write_model(seal(msgspec.structs.replace(MODEL, money=no_shillings)), Path("elsewhere.json"))
    assert challenge("--mode", "test", *arguments) == EXIT_MISTAKE
    assert message in capsys.readouterr().err
    with opened() as installed:
        assert Challengers(installed.database, installed.log).of(TEST) == []


def test_what_is_no_day_is_refused(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        challenge("--mode", "test", "--model", file, "--from", "May")
    assert "'May' is not a date such as 2026-11-30" in capsys.readouterr().err


def test_a_second_challenger_is_refused(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert challenge("--mode", "test", "--model", file) == 0
    assert challenge("--mode", "test", "--model", file) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "challenges the model of demo in test mode already" in err
    ending = err.partition("end that first: alama ")[2]
    assert main(shlex.split(ending)) == 0
    assert "is asked no more" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mode", "typed"),
    [("live", "demo --candidate ID"), ("test", "demo --mode test --model FILE")],
)
def test_without_a_challenger_it_is_told_how_to_begin(
    mode: str, typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "compare", "demo", "--mode", mode]) == EXIT_MISTAKE
    whole = f'begin with one: alama models challenge {typed} --by NAME --reason "..."'
    assert whole in capsys.readouterr().err


def test_where_nothing_would_ask_it_a_challenger_is_refused(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(database, "SQLITE_SAFE_FOR_MANY", (99, 0, 0))
    assert challenge("--mode", "test", "--model", file) == EXIT_MISTAKE
    assert "not safe for a second process" in capsys.readouterr().err


def test_a_book_without_a_challenger_has_nothing_to_compare(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["models", "compare", "demo"]) == EXIT_MISTAKE
    assert "no model challenges that of demo in live mode" in capsys.readouterr().err


def test_a_day_before_1970_is_refused(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        challenge("--mode", "test", "--model", file, "--from", "1960-01-01")
    assert "'1960-01-01' is before 1970" in capsys.readouterr().err


def test_in_a_shadow_the_built_in_model_cannot_challenge_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened() as installed:
        Stores.at(installed).pilots.set(a_pilot())
        Stores.at(installed).pilots.begin_shadow("demo", wiring.wall_us(), "W. Mutua")
    write_model(builtin(), tmp_path / "builtin.json")
    assert challenge("--model", str(tmp_path / "builtin.json")) == EXIT_MISTAKE
    assert "decides for demo in live mode itself" in capsys.readouterr().err
