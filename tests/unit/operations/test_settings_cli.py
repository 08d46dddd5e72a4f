from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation
from alama.platform import settings
from alama.platform.settings import described


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("ALAMA_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def line_of(variable: str, text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"{variable} "))


def test_every_setting_is_listed_with_its_default_and_its_meaning(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    words = " ".join(out.split())
    for setting in described():
        assert line_of(setting.variable, out).rstrip().endswith(f"  {setting.default}")
        assert setting.meaning in words
    assert list(home.iterdir()) == []


def test_what_comes_from_the_environment_is_marked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_HOME", "/srv/alama")
    monkeypatch.setenv("ALAMA_PORT", "9000")
    monkeypatch.setenv("ALAMA_HOST", "")
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    assert "    sqlite:////srv/alama/alama.db " in line_of("ALAMA_DATABASE", out)
    assert re.match(r"ALAMA_PORT +\* 9000 +8000", line_of("ALAMA_PORT", out))
    assert re.match(r"ALAMA_WORKERS +1 +1", line_of("ALAMA_WORKERS", out))
    assert re.match(r"ALAMA_HOST +127.0.0.1 +127.0.0.1", line_of("ALAMA_HOST", out))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:s3cret@db/alama", "postgresql://me:***@db/alama"),
        ("postgresql://me:s3cret/x@db:5/alama", "postgresql://me:***@db:5/alama"),
        ("postgresql://db/alama?user=me&password=s3cret", "postgresql://db/alama"),
        ("postgresql://me@db/alama", "postgresql://me@db/alama"),
        ("postgresql://me:@db/alama", "postgresql://me@db/alama"),
        ("postgresql:///alama?host=/run/pg&password=s3cret", "postgresql:///alama?host=/run/pg"),
        ("postgresql://me:pass@s3cret@db/alama", "not valid"),
        ("s3cret", "not valid"),
    ],
)
def test_no_secret_is_shown(
    address: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", address)
    monkeypatch.setenv("ALAMA_PEPPER", "s3cret" * 6)
    assert main(["settings"]) == 0
    out, err = capsys.readouterr()
    assert "s3cret" not in out + err
    assert f"* {shown} " in line_of("ALAMA_DATABASE", out)
    assert re.match(r"ALAMA_PEPPER +\* set ", line_of("ALAMA_PEPPER", out))


def test_the_pepper_is_in_its_file_once_there_is_an_installation(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"ALAMA_PEPPER +not made yet ", line_of("ALAMA_PEPPER", out))
    assert list(home.iterdir()) == []
    installation.open_installation(settings.Settings()).close()
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"ALAMA_PEPPER +in its file ", line_of("ALAMA_PEPPER", out))


def test_the_master_key_is_in_its_file_or_set_and_never_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"ALAMA_MASTER_KEY +not made yet ", line_of("ALAMA_MASTER_KEY", out))
    assert " alama-data/master-key " in line_of("ALAMA_MASTER_KEY_FILE", out)
    assert re.match(r"ALAMA_MASTER_KEY_OLD +none +none", line_of("ALAMA_MASTER_KEY_OLD", out))
    (home / "key").write_text("07" * 32)
    monkeypatch.setenv("ALAMA_MASTER_KEY_FILE", "key")
    monkeypatch.setenv("ALAMA_MASTER_KEY_OLD", "08" * 32)
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"ALAMA_MASTER_KEY +in its file ", line_of("ALAMA_MASTER_KEY", out))
    assert "* key " in line_of("ALAMA_MASTER_KEY_FILE", out)
    assert re.match(r"ALAMA_MASTER_KEY_OLD +\* set ", line_of("ALAMA_MASTER_KEY_OLD", out))
    assert "0808" not in out


def test_a_home_that_cannot_be_looked_into_spoils_no_listing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_HOME", "x" * 300)  # no file system has such a name
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"ALAMA_PEPPER +cannot be seen ", line_of("ALAMA_PEPPER", out))


def test_a_wrong_setting_is_marked_in_the_table_and_told_below_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_PORT", "eighty")
    assert main(["settings"]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert "* not valid " in line_of("ALAMA_PORT", out)
    assert err == ("error: ALAMA_PORT is not valid\n  hint: Port to listen on. From 0 to 65535.\n")
    assert "eighty" not in out


def test_a_misspelled_setting_is_told_below_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_PROT", "80")
    assert main(["settings"]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert "ALAMA_METRICS_PORT" in out
    assert err == "error: there is no setting ALAMA_PROT\n  hint: did you mean ALAMA_PORT?\n"
