"""What was deleted from a SQLite file is left neither in it nor in its journal."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from alama.platform.database import checkpoints, migrate, tables
from alama.platform.database import database as databases
from alama.platform.database.database import Database
from alama.platform.database.sqlite import BUSY_TIMEOUT_S
from tests.databases import Postgres, sqlite_url

SECRET = "Zq7marked-secret" * 4


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    yield database
    database.close()


def overwrite_a_secret(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(insert(tables.facts), {"name": "a", "value": SECRET})
    with database.writing() as connection:
        connection.execute(update(tables.facts).values(value=""))


def in_files(folder: Path) -> bool:
    return any(SECRET.encode() in file.read_bytes() for file in folder.iterdir())


def test_nothing_is_left_once_the_journal_is_emptied(database: Database, tmp_path: Path) -> None:
    overwrite_a_secret(database)
    assert in_files(tmp_path)
    assert database.empty_journal()
    assert not in_files(tmp_path)


def test_somebody_who_reads_what_was_is_not_waited_for_long(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EMPTY_ATTEMPTS", 2)
    monkeypatch.setattr(checkpoints, "EMPTY_PAUSE_S", 0.01)
    with database.reading() as connection:
        connection.execute(select(tables.facts)).all()
        overwrite_a_secret(database)
        assert not database.empty_journal()
        assert in_files(tmp_path)
    assert database.empty_journal()
    assert not in_files(tmp_path)


def test_the_connection_waits_for_others_as_long_as_before(database: Database) -> None:
    database.empty_journal()
    with database.reading() as connection:
        waits_ms = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    assert waits_ms == BUSY_TIMEOUT_S * 1000


def test_postgresql_looks_after_its_journal_itself(postgres: Postgres) -> None:
    with postgres.fresh() as url:
        database = databases.connect(url)
        assert database.empty_journal()
        database.close()
