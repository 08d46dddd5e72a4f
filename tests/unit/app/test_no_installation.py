"""Commands that need what was kept before make no installation where there is none."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders.installation import bare_database
from alama.platform.database import checkpoints
from alama.platform.database.sqlite import DISK_FAILED, DISK_FAILED_HINT

KEY_ID = "key_" + "0" * 16
REQUEST_ID = "req_" + "0" * 28


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where nobody has installed anything."""
    monkeypatch.delenv("ALAMA_HOME", raising=False)
    monkeypatch.delenv("ALAMA_DATABASE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["keys", "list"],
        ["keys", "rotate", KEY_ID],
        ["keys", "revoke", KEY_ID],
        ["lenders", "list"],
        ["scores", "list"],
        ["scores", "show", REQUEST_ID],
        ["scores", "replay", REQUEST_ID],
    ],
)
def test_a_command_in_the_wrong_folder_makes_nothing_and_says_where_it_looked(
    command: list[str], elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"error: there is no installation at {elsewhere / 'alama-data'} yet\n"
        "  hint: `alama serve` makes one; if yours is elsewhere, set ALAMA_HOME to its place\n"
    )
    assert list(elsewhere.iterdir()) == []


def test_a_database_file_that_is_not_there_is_named(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", "sqlite:///scores/mine.db")
    assert main(["keys", "list"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"error: there is no installation at {elsewhere / 'scores' / 'mine.db'} yet\n" in err
    assert "set ALAMA_DATABASE to its place\n" in err
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("sqlite://", "a database in memory would lose every score"),
        ("s3cret", "ALAMA_DATABASE is not an address of a database that Alama knows"),
    ],
)
def test_an_address_that_cannot_be_is_told_as_everywhere(
    address: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", address)
    assert main(["keys", "list"]) == EXIT_MISTAKE
    assert f"error: {message}\n" in capsys.readouterr().err


@pytest.mark.usefixtures("elsewhere", "installed_at_home")
def test_an_installation_without_keys_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "list"]) == 0
    assert capsys.readouterr() == ("", "There are no keys yet; `alama keys issue` makes one.\n")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EIO, f"error: {DISK_FAILED} (OSError)\n  hint: {DISK_FAILED_HINT}\n"),
        (errno.EMFILE, "warning: the journal of the database cannot be copied into the file now"),
    ],
)
def test_a_command_says_what_keeps_it_from_copying_the_journal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, told: str
) -> None:
    def measure(_: str) -> checkpoints.Journal:
        raise OSError(number, "a message that nobody should read")

    monkeypatch.setattr(checkpoints, "measure", measure)
    with bare_database():
        pass
    err = capsys.readouterr().err
    assert err.startswith(told)
    assert "nobody should read" not in err
