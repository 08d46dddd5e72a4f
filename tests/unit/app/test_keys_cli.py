from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import update

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation, keys
from alama.lenders.records import Key
from alama.onboarding.terms import Agreement, Terms
from alama.platform import book, clock, settings
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from tests.lending import open_live

PAGE = Path(__file__).parents[3] / "docs" / "keys.md"
PLACEHOLDER = "key_0123456789abcdef"
KEY = re.compile(r"alama_(test|live)_[0-9A-Za-z]{36}\n")
ISSUE = ["keys", "issue", "--lender", "demo", "--mode", "test"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    return tmp_path


def kept(home: Path) -> list[Key]:
    opened = installation.open_installation(settings.Settings(home=str(home)))
    try:
        return list(opened.registry.keys())
    finally:
        opened.close()


def issued(home: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Key:
    assert main([*ISSUE, *options]) == 0
    capsys.readouterr()
    return kept(home)[-1]


def agree_terms(home: Path) -> None:
    """Take the first step of an onboarding."""
    opened = installation.open_installation(settings.Settings(home=str(home)))
    terms = Terms(days_past_due=30)
    Agreement.at(opened).set("demo", terms, "W. Mutua")
    opened.close()


def grow_older(home: Path, key: Key, days: int) -> None:
    """Move the end of a key so many days towards the past."""
    opened = installation.open_installation(settings.Settings(home=str(home)))
    assert key.expires_us is not None
    earlier_us = key.expires_us - days * keys.US_PER_DAY
    ending = update(tables.keys).where(tables.keys.c.id == key.id)
    with opened.database.writing() as connection:
        connection.execute(ending.values(expires_us=earlier_us))
    opened.close()


def test_the_key_is_alone_on_stdout_so_that_a_shell_can_take_it(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alama", *ISSUE],
        capture_output=True,
        text=True,
        check=True,
        env={"ALAMA_HOME": str(home)},
    )
    assert KEY.fullmatch(done.stdout)
    key = kept(home)[-1]
    opened = installation.open_installation(settings.Settings(home=str(home)))
    assert key.digest == keys.digest(opened.pepper, done.stdout.strip())
    opened.close()


def test_the_words_about_a_key_go_to_stderr_and_never_hold_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ISSUE, "--scope", "scores:read", "--days", "90"]) == 0
    out, err = capsys.readouterr()
    key = kept(home)[-1]
    assert f"{key.id}: demo, test mode, scores:read, expires 20" in err
    assert "shown this once" in err
    assert out.strip() not in err
    assert key.expires_us == key.created_us + 90 * keys.US_PER_DAY


LIVE = ["keys", "issue", "--lender", "demo", "--mode", "live"]


def test_a_live_key_before_approval_is_refused_with_the_missing_step(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--shadow"]):
        assert main([*LIVE, *more]) == EXIT_MISTAKE
        out, err = capsys.readouterr()
        assert out == ""
        assert "the step lender is missing: its terms are not set" in " ".join(err.split())
        assert "hint: alama onboard terms demo" in err
    assert kept(home) == []


def test_a_shadow_key_says_that_every_decision_is_left_to_a_person(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agree_terms(home)
    assert main([*LIVE, "--shadow", "--by", "W. Mutua"]) == 0
    out, err = capsys.readouterr()
    assert KEY.fullmatch(out)
    assert "every decision is REVIEW, by the rule `shadow`" in " ".join(err.split())
    assert main(LIVE) == EXIT_MISTAKE
    assert "the step history is missing" in " ".join(capsys.readouterr().err.split())


def test_a_test_key_has_no_shadow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ISSUE, "--shadow"]) == EXIT_MISTAKE
    assert "a test key needs no shadow" in capsys.readouterr().err


def test_a_live_key_of_a_lender_with_a_live_model_needs_no_shadow(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = installation.open_installation(settings.Settings(home=str(home)))
    open_live(opened.registry, Book("demo", Mode.LIVE))
    opened.close()
    assert main(LIVE) == 0
    assert "shadow" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["--scope", "scores:all"], "there is no such scope", "scores:write, scores:read"),
        (["--days", "0"], "a key lives for 1 to 3650 days", "never expires"),
        (["--days", "9999999999"], "a key lives for 1 to 3650 days", "never expires"),
        (
            ["--lender", "nobody"],
            "there is no lender nobody",
            "alama lenders add nobody --name NAME --currency KES",
        ),
    ],
)
def test_a_key_that_cannot_be_is_refused_with_the_way_out(
    options: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ISSUE, *options]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert f"error: {message}\n  hint: " in err
    assert hint in err


def test_the_list_says_what_has_become_of_each_key(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    endless = issued(home, capsys)
    long = issued(home, capsys, "--days", "90")
    short = issued(home, capsys, "--days", "2")
    over = issued(home, capsys, "--days", "2")
    grow_older(home, over, 3)
    revoked = issued(home, capsys)
    main(["keys", "revoke", revoked.id])
    capsys.readouterr()

    assert main(["keys", "list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["key"].split() == (
        ["key", "ends", "lender", "mode", "scopes", "created", "last", "used", "state"]
    )
    assert re.search(
        r" demo +test +usual .* never +active *$",
        lines[endless.id],
    )
    assert re.search(r" active to 20\d\d-\d\d-\d\d *$", lines[long.id])
    assert re.search(r" expires in 1 d *$", lines[short.id])
    assert re.search(r" expired 20\d\d-\d\d-\d\d *$", lines[over.id])
    assert re.search(r" revoked 20\d\d-\d\d-\d\d *$", lines[revoked.id])
    assert f" {endless.hint} " in lines[endless.id]


def test_the_list_tells_when_a_key_was_last_used(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = issued(home, capsys)
    opened = installation.open_installation(settings.Settings(home=str(home)))
    opened.registry.note_key_use({key.id: clock.wall_us() - 3 * keys.US_PER_HOUR})
    opened.close()
    assert main(["keys", "list"]) == 0
    assert " 3 h ago " in capsys.readouterr().out


def test_eighty_columns_hold_the_whole_list_two_lines_a_key(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NARROW],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )
    key = kept(home)[-1]
    lines = done.stdout.splitlines()[1:]
    assert max(map(len, lines)) <= 80
    assert key.id in lines[-2]
    assert re.match(rf"{key.hint} +test +never +20\d\d-\d\d-\d\d *$", lines[-1])


NARROW = f"""
from alama.app.cli import main
main({[*ISSUE, "--days", "90"]!r})
main(["keys", "list"])
"""


def test_the_help_of_issue_names_every_scope(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit):
        main(["keys", "issue", "--help"])
    told = capsys.readouterr().out
    assert [scope for scope in book.Scope if scope not in told] == []
    assert (
        "(default: all but pilot:write, pilot:read, applicants:write, applicants:read, "
        "lists:write, lists:read, keys:rotate)" in told
    )


@pytest.mark.parametrize("command", [["keys"], ["keys", "issue"]])
def test_the_help_says_what_each_scope_opens(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    told = {line[0]: line[1] for line in lines if len(line) > 1 and line[0] in set(book.Scope)}
    assert list(told) == list(book.Scope)


def test_the_list_names_the_scopes_of_a_key_that_has_others_than_usual(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    few = issued(home, capsys, "--scope", "scores:read", "--scope", "scores:write")
    more = issued(home, capsys, *(f"--scope={scope}" for scope in book.Scope))
    assert main(["keys", "list"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert " test  scores:read,write " in lines[few.id]
    assert (
        " test  usual applicants:read,write keys:rotate lists:read,write pilot:read,write "
        in lines[more.id]
    )


def test_the_list_can_be_of_one_lender(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = issued(home, capsys)
    main(["lenders", "add", "umoja", "--name", "Umoja", "--currency", "KES"])
    capsys.readouterr()
    assert main(["keys", "list", "--lender", "demo"]) == 0
    assert key.id in capsys.readouterr().out
    assert main(["keys", "list", "--lender", "umoja"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "no keys yet" in err
    assert main(["keys", "list", "--lender", "nobody"]) == EXIT_MISTAKE


def test_a_rotated_key_is_like_the_old_one_which_ends_after_the_overlap(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = issued(home, capsys, "--scope", "scores:read")
    assert main(["keys", "rotate", old.id, "--overlap-hours", "2"]) == 0
    out, err = capsys.readouterr()
    ending, new = kept(home)
    assert KEY.fullmatch(out)
    assert (new.book, new.scopes, new.expires_us) == (old.book, old.scopes, None)
    assert ending.expires_us is not None
    assert ending.expires_us - new.created_us == pytest.approx(2 * keys.US_PER_HOUR, abs=1e7)
    assert f"It replaces {old.id}, which works until " in err


def test_a_rotated_key_lives_as_long_as_the_old_one_was_given(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = issued(home, capsys, "--days", "30")
    assert main(["keys", "rotate", old.id]) == 0
    ending, new = kept(home)
    assert new.expires_us == new.created_us + 30 * keys.US_PER_DAY
    assert ending.expires_us is not None
    assert old.expires_us is not None
    assert ending.expires_us < old.expires_us
    assert main(["keys", "rotate", new.id, "--days", "60"]) == 0
    last = kept(home)[-1]
    assert last.expires_us == last.created_us + 60 * keys.US_PER_DAY


def test_an_overlap_never_makes_a_key_live_longer(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = issued(home, capsys, "--days", "1")
    assert main(["keys", "rotate", old.id, "--overlap-hours", "100"]) == 0
    assert kept(home)[0].expires_us == old.expires_us


def test_a_key_that_is_over_cannot_be_rotated(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    revoked = issued(home, capsys)
    main(["keys", "revoke", revoked.id])
    over = issued(home, capsys, "--days", "1")
    grow_older(home, over, 2)
    for key, what in ((revoked, "was revoked"), (over, "has expired")):
        assert main(["keys", "rotate", key.id]) == EXIT_MISTAKE
        assert f"{key.id} {what}, so it cannot be rotated" in capsys.readouterr().err
    assert len(kept(home)) == 2


@pytest.mark.parametrize("hours", ["-1", "2161"])
def test_an_overlap_has_its_bounds(
    home: Path, hours: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = issued(home, capsys)
    assert main(["keys", "rotate", key.id, f"--overlap-hours={hours}"]) == EXIT_MISTAKE
    assert "goes on for 0 to 2160 hours" in capsys.readouterr().err
    assert kept(home) == [key]


def test_revoking_twice_says_so_and_the_first_time_stands(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = issued(home, capsys)
    assert main(["keys", "revoke", key.id]) == 0
    assert f"{key.id} is revoked" in capsys.readouterr().out
    first = kept(home)[0].revoked_us
    assert first is not None
    assert main(["keys", "revoke", key.id]) == 0
    assert f"{key.id} was revoked at 20" in capsys.readouterr().out
    assert kept(home)[0].revoked_us == first


@pytest.mark.parametrize("action", ["revoke", "rotate"])
def test_a_key_given_in_place_of_its_id_is_not_repeated(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(ISSUE)
    secret = capsys.readouterr().out.strip()
    assert main(["keys", action, secret]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "this is not the id of a key\n  hint: an id starts with key_" in err
    assert secret not in err
    assert main(["keys", action, "key_" + "0" * 16]) == EXIT_MISTAKE
    assert "there is no key key_0000000000000000" in capsys.readouterr().err


def test_keys_work_on_both_databases_alike(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    assert main(["db", "upgrade"]) == 0
    assert main(["lenders", "add", "umoja", "--name", "Umoja", "--currency", "KES"]) == 0
    capsys.readouterr()
    assert main(["keys", "issue", "--lender", "umoja", "--mode", "test"]) == 0
    out, err = capsys.readouterr()
    assert KEY.fullmatch(out)
    key_id = err.partition(":")[0]
    assert main(["keys", "rotate", key_id]) == 0
    assert main(["keys", "revoke", key_id]) == 0
    capsys.readouterr()
    assert main(["keys", "list"]) == 0
    assert re.search(rf"{key_id}.* revoked ", capsys.readouterr().out)


@pytest.mark.parametrize("noun", ["keys", "lenders", "scores"])
def test_an_unprepared_postgresql_is_refused_with_the_way_out(
    noun: str, home: Path, postgres_url: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alama", noun, "list"],
        capture_output=True,
        text=True,
        check=False,
        env={"ALAMA_HOME": str(home), "ALAMA_DATABASE": postgres_url},
    )
    assert done.returncode == EXIT_MISTAKE
    assert done.stdout == ""
    assert done.stderr == "error: the database is empty\n  hint: `alama db upgrade` prepares it\n"


def test_an_unreachable_database_is_told_without_its_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", "postgresql://me:s3cret@127.0.0.1:1/alama")
    assert main(["keys", "list"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "error: the database does not answer" in err
    assert "is ALAMA_DATABASE right? `alama settings` shows it" in err
    assert "s3cret" not in err


def test_a_home_that_cannot_be_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "file"
    file.touch()
    monkeypatch.setenv("ALAMA_HOME", str(file / "below"))
    assert main(ISSUE) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"error: cannot use {file / 'below'}: Not a directory\n" in err
    assert "hint: set ALAMA_HOME to a folder that can be written\n" in err


def test_the_commands_of_the_page_of_keys_work_in_their_order(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = re.findall(r"^    (?:KEY=\$\()?(alama .*?)\)?$", PAGE.read_text("utf-8"), re.MULTILINE)
    actions = []
    agree_terms(home)
    for line in lines:
        _, *arguments = shlex.split(line)
        last = kept(home)[-1:]
        known = [last[0].id if part == PLACEHOLDER else part for part in arguments]
        assert main(known) == 0, f"{line}: {capsys.readouterr().err}"
        actions.append(arguments[1])
    assert actions == [*["issue"] * 4, "list", "issue", "rotate", "issue", "revoke"]


def test_the_key_on_the_page_is_as_long_as_a_real_one() -> None:
    shown = re.findall(r"^    (alama_test_\w+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [len(key) for key in shown] == [len("alama_test_") + 36]
