"""A database is opened by its address, durably, and what its driver says is put into our words."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text

from alama.service.errors import StoreUnavailable, StoreUnfit
from alama.storage import database as databases
from alama.storage import migrate, schema
from alama.storage.database import Clash, Database
from tests.databases import sqlite_url

FACT = {"name": "a", "value": "b"}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = databases.connect(database_url)
    migrate.upgrade(database)
    yield database
    database.close()


@pytest.mark.parametrize(
    "address",
    ["", "no address", "mysql://me:s3cret@host/alama", "sqlite://", "sqlite:///:memory:"],
)
def test_an_address_that_cannot_be_served_from_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(StoreUnfit) as caught:
        databases.connect(address)
    assert caught.value.hint
    assert "s3cret" not in str(caught.value) + caught.value.hint


def test_a_folder_that_is_not_there_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    databases.connect(sqlite_url(tmp_path / "new")).close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_an_acknowledged_commit_survives_a_power_cut(database: Database) -> None:
    with database.reading() as connection:
        if database.embedded:
            assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
            assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
            assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
        else:
            assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"


def test_what_is_written_is_there_or_not_at_all(database: Database) -> None:
    def write_and_break() -> None:
        with database.writing() as connection:
            connection.execute(insert(schema.facts), FACT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_break()
    with database.reading() as connection:
        assert connection.execute(select(schema.facts)).all() == []


def test_a_reader_of_a_file_sees_one_state_while_others_write(tmp_path: Path) -> None:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    with database.reading() as reader:
        assert reader.execute(select(schema.facts)).all() == []
        with database.writing() as writer:
            writer.execute(insert(schema.facts), FACT)
        assert reader.execute(select(schema.facts)).all() == []
    database.close()


def test_a_taken_key_is_a_clash(database: Database) -> None:
    def write() -> None:
        with database.writing() as connection:
            connection.execute(insert(schema.facts), FACT)

    write()
    with pytest.raises(Clash):
        write()


def test_what_the_driver_says_becomes_unavailable(database: Database) -> None:
    def ask() -> None:
        with database.reading() as connection:
            connection.execute(text("SELECT * FROM no_such_table"))

    with pytest.raises(StoreUnavailable):
        ask()


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "alama.db").write_bytes(b"no database at all" * 100)
    database = databases.connect(sqlite_url(tmp_path))
    with pytest.raises(StoreUnavailable):
        migrate.current(database)
    database.close()


def test_a_new_file_that_another_process_is_writing_is_waited_for(tmp_path: Path) -> None:
    database = databases.connect(sqlite_url(tmp_path))
    driver = database.engine.dialect.loaded_dbapi
    other = driver.connect(tmp_path / "alama.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    letting_go = threading.Timer(0.2, other.execute, ["COMMIT"])
    letting_go.start()
    with database.reading() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    database.close()
    letting_go.join()
    other.close()


def test_several_processes_need_a_sqlite_that_is_safe_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = databases.connect(sqlite_url(tmp_path))
    databases.check_processes(database, 1)
    monkeypatch.setattr("alama.storage.database.pysqlite3.sqlite_version_info", (3, 45, 0))
    databases.check_processes(database, 1)
    with pytest.raises(StoreUnfit, match="not safe for several processes"):
        databases.check_processes(database, 2)
    database.close()
