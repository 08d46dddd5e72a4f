from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from alama.cli.main import EXIT_MISTAKE, main
from alama.storage import migrate, schema
from alama.storage.database import connect


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def address(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    return database_url


def stand_at(address: str, version: str) -> None:
    database = connect(address)
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": version})
    database.close()


def test_an_empty_database_is_prepared_and_the_next_step_named(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["db", "upgrade"]) == 0
    out, err = capsys.readouterr()
    assert out == f"The database was empty; now it stands at schema {schema.HEAD}.\n"
    assert err == "Next: alama lenders add ID --name NAME --currency CODE\n"
    database = connect(address)
    assert migrate.current(database) == schema.HEAD
    database.close()


@pytest.mark.usefixtures("address")
def test_a_second_upgrade_has_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    main(["db", "upgrade"])
    capsys.readouterr()
    assert main(["db", "upgrade"]) == 0
    out, err = capsys.readouterr()
    assert out == f"The database stands at schema {schema.HEAD} already: nothing to do.\n"
    assert err == ""


def test_a_database_of_a_newer_version_is_left_alone(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["db", "upgrade"])
    stand_at(address, "9999")
    assert main(["db", "upgrade"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"stands at schema 9999, this version of Alama knows {schema.HEAD}" in err
    assert "hint: run the version of Alama that upgraded it, or a newer one" in err


def test_an_address_that_is_none_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", "mysql://me:s3cret@host/alama")
    assert main(["db", "upgrade"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "ALAMA_DATABASE is not an address" in err
    assert "s3cret" not in err
