"""Secrets in files, where platforms put them, are read as they are mounted there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation, secrets
from alama.platform.errors import StoreUnfit
from alama.platform.settings import InvalidSetting, Settings, read

PEPPER = "pepper-of-a-test-" * 2
ADDRESS = "postgresql://alama:s3cret@db/alama"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ALAMA_")]:
        monkeypatch.delenv(name)


def secret(path: Path, text: str, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_the_address_of_the_database_may_be_in_a_file(tmp_path: Path, ending: str) -> None:
    file = secret(tmp_path / "address", ADDRESS + ending)
    settings = read({"ALAMA_DATABASE_FILE": file})
    assert settings.database_address == ADDRESS
    assert settings.names_database
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{ADDRESS}\n{ADDRESS}\n", "more than one line"),
        (f"{ADDRESS}\r\n# s3cret", "more than one line"),
        ("mysql://s3cret@db/alama", "ALAMA_DATABASE_FILE"),
        ("postgresql://alama:s3c@ret@db/alama", "ALAMA_DATABASE_FILE"),
    ],
)
def test_a_file_that_holds_no_address_is_refused_by_the_name_of_its_variable(
    tmp_path: Path, text: str, said: str
) -> None:
    settings = read({"ALAMA_DATABASE_FILE": secret(tmp_path / "address", text)})
    with pytest.raises(InvalidSetting) as refused:
        _ = settings.database_address
    assert said in str(refused.value)
    assert "s3c" not in f"{refused.value} {refused.value.hint}"


def test_a_database_that_a_file_names_is_the_one_that_is_opened(tmp_path: Path) -> None:
    place = tmp_path / "kept" / "elsewhere.db"
    file = secret(tmp_path / "address", f"sqlite:///{place}\n")
    installation.open_installation(
        Settings(home=str(tmp_path / "home"), database_file=file)
    ).close()
    assert place.exists()
    assert not (tmp_path / "home" / "alama.db").exists()


def test_commands_say_that_the_database_of_a_file_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "elsewhere.db"
    file = secret(tmp_path / "address", f"sqlite:///{place}\n")
    monkeypatch.setenv("ALAMA_DATABASE_FILE", file)
    assert main(["keys", "list"]) == EXIT_MISTAKE
    assert f"no installation at {place}" in " ".join(capsys.readouterr().err.split())


def test_the_pepper_may_be_in_a_file_and_none_is_made(tmp_path: Path) -> None:
    file = secret(tmp_path / "pepper-elsewhere", f"{PEPPER}\n")
    settings = read({"ALAMA_HOME": str(tmp_path / "home"), "ALAMA_PEPPER_FILE": file})
    assert secrets.pepper(settings) == PEPPER.encode()
    Path(file).unlink()
    with pytest.raises(InvalidSetting, match="No such file") as refused:
        secrets.pepper(settings)
    assert "ALAMA_PEPPER_FILE" in str(refused.value.hint)
    assert not Path(file).exists()
    assert not (tmp_path / "home").exists()


def test_a_secret_of_kubernetes_is_read_through_its_links_and_for_its_group(tmp_path: Path) -> None:
    version = tmp_path / "..2026_11_16"
    version.mkdir()
    secret(version / "database", ADDRESS, mode=0o440)
    (tmp_path / "..data").symlink_to(version.name)
    (tmp_path / "database").symlink_to("..data/database")
    assert read({"ALAMA_DATABASE_FILE": str(tmp_path / "database")}).database_address == ADDRESS


def test_a_file_that_everyone_can_read_is_refused_with_what_to_do(tmp_path: Path) -> None:
    settings = read({"ALAMA_DATABASE_FILE": secret(tmp_path / "address", ADDRESS, mode=0o644)})
    with pytest.raises(StoreUnfit, match="everyone") as refused:
        _ = settings.database_address
    assert refused.value.hint == f"`chmod 600 {tmp_path / 'address'}`"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_a_platform_has_mounted_open_is_to_be_closed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "ismount", tmp_path.__eq__)
    file = secret(tmp_path / "address", ADDRESS, mode=0o444)
    os.chown(file, 4_000, 4_000)
    with pytest.raises(StoreUnfit) as refused:
        _ = read({"ALAMA_DATABASE_FILE": file}).database_address
    assert "defaultMode: 0440" in str(refused.value.hint)


@pytest.mark.parametrize("content", ["", "\n"])
def test_an_empty_file_is_told_from_a_wrong_address(tmp_path: Path, content: str) -> None:
    settings = read({"ALAMA_DATABASE_FILE": secret(tmp_path / "address", content)})
    with pytest.raises(InvalidSetting, match="is empty"):
        _ = settings.database_address


def test_a_file_that_is_not_there_is_told_with_the_setting_that_names_it(tmp_path: Path) -> None:
    settings = read({"ALAMA_DATABASE_FILE": str(tmp_path / "nothing")})
    with pytest.raises(InvalidSetting, match="No such file") as refused:
        _ = settings.database_address
    assert "ALAMA_DATABASE_FILE" in str(refused.value.hint)


@pytest.mark.parametrize("name", ["DATABASE", "PEPPER", "MASTER_KEY", "MASTER_KEY_OLD"])
def test_a_secret_that_is_given_both_ways_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        read({f"ALAMA_{name}": "s3cret", f"ALAMA_{name}_FILE": "/run/secrets/it"})
    assert str(refused.value) == f"ALAMA_{name} and ALAMA_{name}_FILE are both set"
    assert "s3cret" not in str(refused.value.hint)


def test_settings_shows_where_the_files_are_and_never_what_is_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    secret(tmp_path / "address", ADDRESS)
    secret(tmp_path / "seasoning", f"s3cret{PEPPER}")
    monkeypatch.setenv("ALAMA_DATABASE_FILE", "address")
    monkeypatch.setenv("ALAMA_PEPPER_FILE", "seasoning")
    assert main(["settings"]) == 0
    out = capsys.readouterr().out
    shown = {line.split()[0]: line for line in out.splitlines() if line.startswith("ALAMA_")}
    assert "  in its file" in shown["ALAMA_DATABASE"]
    assert "* address " in shown["ALAMA_DATABASE_FILE"]
    assert "  in its file" in shown["ALAMA_PEPPER"]
    assert "* seasoning " in shown["ALAMA_PEPPER_FILE"]
    assert "s3cret" not in out
