"""`alama db backup` and `alama db restore`: there and back, on both databases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation, keys
from alama.lenders.store import Registry
from alama.operations import postgresql_backup
from alama.platform import clock, settings
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.errors import StoreUnavailable
from tests.databases import Postgres
from tests.later_versions import Next, become_later, numbered
from tests.native import path_with_programs
from tests.vaults import MASTER_KEY

EXIT_WRONG = 1


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("ALAMA_MASTER_KEY", MASTER_KEY)
    monkeypatch.setenv("PATH", path_with_programs())


@pytest.fixture
def source(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An installation with the lenders demo and umoja."""
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    database = databases.connect(database_url)
    migrate.upgrade(database)
    database.close()
    installed = installation.open_installation(settings.read(os.environ))
    registry = installed.registry
    for lender in {"demo", "umoja"} - {one.id for one in registry.lenders()}:
        keys.add_lender(registry, clock.wall_us, lender, lender, "KES")
    installed.close()
    return database_url


Elsewhere = Callable[[], str]


@pytest.fixture
def elsewhere(
    source: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Elsewhere]:
    """Have the environment name another database of the same kind, with nothing in it."""
    if source.startswith("sqlite"):
        address = f"sqlite:///{tmp_path / 'elsewhere' / 'alama.db'}"
        yield lambda: _named(address, monkeypatch)
        return
    server: Postgres = request.getfixturevalue("postgres")
    with server.fresh() as address:
        yield lambda: _named(address, monkeypatch)


def _named(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ALAMA_DATABASE", address)
    return address


def lenders_in(address: str) -> set[str]:
    database = databases.connect(address)
    try:
        return {lender.id for lender in Registry(database).lenders()}
    finally:
        database.close()


def test_what_was_backed_up_is_there_when_it_was_restored_elsewhere(
    source: str, elsewhere: Elsewhere, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "today.backup"
    assert main(["db", "backup", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"Backed up to {file}.\n")
    assert f"schema  {tables.HEAD}" in out
    assert "The pepper and the master key are not in it." in err
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.glob(".*")] == []
    there = elsewhere()
    assert main(["db", "restore", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"Restored {file}.\n")
    assert "✓  pepper" in out
    assert "✓  vault keys" in out
    assert "Applicants who were erased after this backup was made are there again" in err
    assert err.endswith("Next: alama db check\n")
    assert lenders_in(there) == lenders_in(source) == {"demo", "umoja"}
    assert main(["db", "check"]) == 0


@pytest.mark.alike
def test_a_backup_takes_the_place_of_no_file(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "today.backup"
    file.write_text(source[:6])
    assert main(["db", "backup", str(file)]) == EXIT_MISTAKE
    assert "is there already, and is not overwritten" in capsys.readouterr().err
    assert file.read_text() == source[:6]


@pytest.mark.usefixtures("source")
@pytest.mark.alike
def test_a_backup_into_a_folder_that_is_not_there_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["db", "backup", str(tmp_path / "nowhere" / "file")]) == EXIT_MISTAKE
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.usefixtures("source")
@pytest.mark.alike
def test_what_a_killed_backup_has_left_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / ".yester[day].backup.0a0a0a0a.part"
    left.touch()
    assert main(["db", "backup", str(tmp_path / "today.backup")]) == 0
    assert f"warning: {left} is left of a backup that was ended" in capsys.readouterr().err


def test_what_a_killed_restore_has_left_beside_the_database_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / ".alama.db.0a0a0a0a.part"
    left.touch()
    monkeypatch.setenv("ALAMA_DATABASE", f"sqlite:///{tmp_path / 'alama.db'}")
    assert main(["db", "restore", str(tmp_path / "none")]) == EXIT_MISTAKE
    assert f"warning: {left} is left of a restore that was ended" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_file_whose_journal_has_the_rest_of_it_is_not_restored_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    copied = tmp_path / "copied.db"
    database = databases.connect(f"sqlite:///{copied}")
    migrate.upgrade(database)
    database.close()
    journal = tmp_path / f"copied.db{ending}"
    journal.write_bytes(b"the newest scores")
    monkeypatch.setenv("ALAMA_DATABASE", f"sqlite:///{tmp_path / 'new.db'}")
    assert main(["db", "restore", str(copied)]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"is not all of a database: {journal.name} beside it has the rest" in err
    assert "alama db backup" in err
    assert not (tmp_path / "new.db").exists()
    journal.write_bytes(b"")
    assert main(["db", "restore", str(copied)]) == 0


def test_a_server_that_cannot_count_its_tables_after_a_restore_is_a_warning(
    elsewhere: Elsewhere,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_: databases.Database) -> None:
        raise StoreUnavailable("the database does not answer as it should")

    monkeypatch.setattr(postgresql_backup, "learn", fail)
    file = tmp_path / "today.backup"
    assert main(["db", "backup", str(file)]) == 0
    is_file = elsewhere().startswith("sqlite")
    assert main(["db", "restore", str(file)]) == 0
    assert ("have it run ANALYZE" in capsys.readouterr().err) is not is_file


def test_nothing_is_restored_over_a_database(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "today.backup"
    main(["db", "backup", str(file)])
    capsys.readouterr()
    assert main(["db", "restore", str(file)]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "and it is not overwritten" in err or "the database is not empty" in err
    assert lenders_in(source) == {"demo", "umoja"}


@pytest.mark.alike
def test_a_restore_with_another_pepper_says_so_and_exits_with_1(
    source: str,
    elsewhere: Elsewhere,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "today.backup"
    main(["db", "backup", str(file)])
    capsys.readouterr()
    there = elsewhere()
    monkeypatch.setenv("ALAMA_PEPPER", "another pepper than that of before")
    monkeypatch.setenv("ALAMA_MASTER_KEY", "08" * 32)
    assert main(["db", "restore", str(file)]) == EXIT_WRONG
    out = capsys.readouterr().out
    assert "✗  pepper      the keys of this database were hashed with another" in out
    assert "✗  master key" in out
    assert "–  vault keys" in out  # noqa: RUF001  a dash
    assert lenders_in(there) == lenders_in(source)


@pytest.mark.usefixtures("source")
def test_a_backup_of_an_older_schema_is_restored_and_the_upgrade_named(
    elsewhere: Elsewhere,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    older = tables.HEAD
    become_later(monkeypatch, tmp_path, Next(numbered(1), older, "pass"))
    file = tmp_path / "today.backup"
    assert main(["db", "backup", str(file)]) == 0
    there = elsewhere()
    assert main(["db", "restore", str(file)]) == 0
    assert f"Next: alama db upgrade, to schema {tables.HEAD}" in capsys.readouterr().err
    database = databases.connect(there)
    assert migrate.current(database) == older
    database.close()


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("9999", f"stands at schema 9999, and this version of Alama knows {tables.HEAD}"),
        ("0007", "stands at schema 0007, which was never released"),
    ],
)
@pytest.mark.alike
def test_a_backup_of_a_schema_that_is_not_known_is_refused_and_nothing_appears(
    elsewhere: Elsewhere,
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    version: str,
    said: str,
) -> None:
    stand_at(source, version)
    file = tmp_path / "today.backup"
    assert main(["db", "backup", str(file)]) == 0
    there = elsewhere()
    assert main(["db", "restore", str(file)]) == EXIT_MISTAKE
    assert said in capsys.readouterr().err
    if there.startswith("sqlite"):
        assert not (tmp_path / "elsewhere").exists()


def test_a_file_that_is_no_backup_is_refused(
    elsewhere: Elsewhere, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere()
    file = tmp_path / "letter.txt"
    file.write_text("Dear applicant")
    assert main(["db", "restore", str(file)]) == EXIT_MISTAKE
    assert "is no backup: neither a SQLite file nor" in capsys.readouterr().err
    assert main(["db", "restore", str(tmp_path / "nothing")]) == EXIT_MISTAKE
    assert "cannot read" in capsys.readouterr().err


@pytest.mark.alike
def test_a_damaged_backup_is_refused_and_nothing_appears(
    elsewhere: Elsewhere, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "today.backup"
    assert main(["db", "backup", str(file)]) == 0
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    there = elsewhere()
    assert main(["db", "restore", str(file)]) != 0
    assert "error: " in capsys.readouterr().err
    if there.startswith("sqlite"):
        assert not (tmp_path / "elsewhere").exists()
    else:
        database = databases.connect(there)
        assert migrate.current(database) is None
        database.close()


@pytest.mark.alike
def test_a_backup_of_the_other_kind_is_refused(
    source: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "today.backup"
    main(["db", "backup", str(file)])
    capsys.readouterr()
    is_file = source.startswith("sqlite")
    other = "postgresql://nobody@127.0.0.1:1/none" if is_file else f"sqlite:///{tmp_path / 'new'}"
    monkeypatch.setenv("ALAMA_DATABASE", other)
    assert main(["db", "restore", str(file)]) == EXIT_MISTAKE
    kinds = ("SQLite", "PostgreSQL") if is_file else ("PostgreSQL", "SQLite")
    said = "is a backup of {}, and ALAMA_DATABASE names a {}".format(*kinds)
    assert said in capsys.readouterr().err


def stand_at(address: str, version: str) -> None:
    database = databases.connect(address)
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": version})
    database.close()
