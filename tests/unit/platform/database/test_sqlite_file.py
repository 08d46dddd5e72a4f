"""A file that is no longer in its place is not written to, though it is still open."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from alama.lenders.store import Registry
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnavailable
from alama.scoring import schema
from tests.databases import sqlite_url
from tests.entries import an_entry
from tests.stores import lenders_in, scores_in

FACT = {"name": "a", "value": "b"}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    lenders_in(database, "demo")
    scores_in(database).commit([an_entry()])  # so that both its pools hold a connection
    yield database
    database.close()


def test_whoever_takes_the_place_of_another_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="the file of the database is gone"):
        databases.require_file(sqlite_url(tmp_path))
    assert not list(tmp_path.iterdir())
    databases.connect(sqlite_url(tmp_path)).close()
    databases.require_file(sqlite_url(tmp_path))


def remove(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    copy.replace(path)


def all_uses(database: Database) -> list[Callable[[], AbstractContextManager[object]]]:
    return [database.reading, database.writing, database.driving]


@pytest.mark.parametrize("happens", [remove, replace])
def test_a_file_that_was_removed_or_replaced_takes_and_gives_nothing(
    database: Database, tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    happens(tmp_path / "alama.db")
    for use in all_uses(database):
        with pytest.raises(StoreUnavailable, match="file"), use():
            pytest.fail("was let in")
    with pytest.raises(StoreUnavailable):
        Registry(database).ping()
    with pytest.raises(StoreUnavailable):
        scores_in(database).commit([an_entry()])


def test_a_file_that_is_gone_is_not_made_anew(database: Database, tmp_path: Path) -> None:
    (tmp_path / "alama.db").unlink()
    database.close()  # what comes now needs a new connection
    for use in all_uses(database):
        with pytest.raises(StoreUnavailable), use():
            pytest.fail("was let in")
    assert not (tmp_path / "alama.db").exists()


@pytest.mark.parametrize("happens", [remove, replace])
def test_what_was_committed_into_a_file_that_has_gone_meanwhile_is_not_acknowledged(
    database: Database, tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    def drive() -> None:
        with database.driving() as cursor:
            cursor.execute("INSERT INTO facts VALUES ('a', 'b')")
            happens(tmp_path / "alama.db")

    with pytest.raises(StoreUnavailable):
        drive()


def test_what_is_written_into_a_file_that_has_gone_meanwhile_is_not_acknowledged(
    database: Database, tmp_path: Path
) -> None:
    def write() -> None:
        with database.writing() as connection:
            connection.execute(insert(tables.facts), FACT)
            (tmp_path / "alama.db").unlink()

    with pytest.raises(StoreUnavailable):
        write()


def test_a_file_that_is_put_back_serves_again(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "alama.db"
    path.rename(tmp_path / "aside.db")
    with pytest.raises(StoreUnavailable):
        Registry(database).ping()
    (tmp_path / "aside.db").rename(path)
    Registry(database).ping()
    assert scores_in(database).commit([an_entry()]) == [None]
    with database.reading() as connection:
        assert len(connection.execute(select(schema.scores)).all()) == 2


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_a_folder_that_cannot_be_synced_is_used_and_one_whose_disk_fails_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fsync(_: int) -> None:
        raise OSError(number, os.strerror(number))

    databases.connect(sqlite_url(tmp_path)).close()
    monkeypatch.setattr(os, "fsync", fsync)
    with closing(databases.connect(sqlite_url(tmp_path))) as database:
        refused = pytest.raises(StoreUnavailable, match="cannot be synced")
        with refused if number == errno.EIO else nullcontext():
            migrate.upgrade(database)
