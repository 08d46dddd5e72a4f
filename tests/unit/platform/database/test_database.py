"""A database is opened by its address, durably, and what its driver says is put into our words."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert, select, text

from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.database import Clash, Database
from alama.platform.errors import StoreUnavailable, StoreUnfit
from tests.databases import Postgres, sqlite_url

FACT = {"name": "a", "value": "b"}
KEPT = select(tables.facts).where(tables.facts.c.name == FACT["name"])


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


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://alama:se@cret@127.0.0.1:1/alama",
        "postgresql://alama:se@c:ret@127.0.0.1/alama",
        "postgresql+psycopg://alama:se@c/ret@127.0.0.1/alama",
        "postgres://alama:se@c?ret@127.0.0.1/alama",
    ],
)
def test_an_at_sign_in_a_password_is_told_and_no_part_of_it_repeated(address: str) -> None:
    with pytest.raises(StoreUnfit, match="more than one @") as caught:
        databases.connect(address)
    assert "%40" in str(caught.value.hint)
    assert "ret" not in str(caught.value) + str(caught.value.hint)


def test_an_at_sign_that_is_written_as_it_should_be_is_part_of_the_password() -> None:
    url = databases.parse_address("postgresql://alama:se%40cret@127.0.0.1/alama")
    assert (url.password, url.host) == ("se@cret", "127.0.0.1")


def test_the_path_of_a_file_means_what_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "a@b@c #1 100% sure"
    database = databases.connect(sqlite_url(folder))
    migrate.upgrade(database)
    database.close()
    assert (folder / "alama.db").stat().st_size > 0


def test_a_port_that_is_no_number_is_refused_and_not_repeated() -> None:
    with pytest.raises(StoreUnfit) as caught:
        databases.connect("postgresql://alama:secret@host:s3cret/alama")
    assert "s3cret" not in str(caught.value) + str(caught.value.hint)
    assert caught.value.__cause__ is None


def test_parameters_of_a_file_are_refused_not_ignored(tmp_path: Path) -> None:
    with pytest.raises(StoreUnfit, match="no parameters"):
        databases.connect(sqlite_url(tmp_path) + "?timeout=1")


def test_a_new_file_is_for_its_owner_alone_wherever_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert modes == {"alama.db": 0o600, "alama.db-wal": 0o600, "alama.db-shm": 0o600}
    database.close()


def test_a_file_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "alama.db").touch(0o640)
    databases.connect(sqlite_url(tmp_path)).close()
    assert (tmp_path / "alama.db").stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_made_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "alama.db").symlink_to(tmp_path / "disk" / "real.db")
    databases.connect(sqlite_url(tmp_path)).close()
    assert (tmp_path / "disk" / "real.db").exists()


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


@pytest.mark.parametrize(("set_to", "in_force"), [("off", "on"), ("remote_apply", "remote_apply")])
def test_a_server_that_is_set_to_lose_commits_is_overruled_and_one_that_waits_longer_is_not(
    postgres: Postgres, set_to: str, in_force: str
) -> None:
    with postgres.fresh() as url:
        name = url.rpartition("/")[2]
        with psycopg.connect(url, autocommit=True) as operator:
            operator.execute(f"ALTER DATABASE {name} SET synchronous_commit = {set_to}".encode())
        database = databases.connect(url)
        ask = "SHOW synchronous_commit"
        for _ in range(2):  # a connection that comes back from the pool too
            with database.writing() as connection:
                assert connection.execute(text(ask)).scalar() == in_force
            with database.driving() as cursor:
                cursor.execute(ask)
                assert cursor.fetchone() == (in_force,)
        database.close()


def test_readers_cannot_starve_the_one_who_writes_scores(database: Database) -> None:
    with ExitStack() as readers:
        for _ in range(databases.CONNECTIONS + databases.CONNECTIONS_MORE):
            readers.enter_context(database.reading())
        with database.driving() as cursor:
            cursor.execute("SELECT 1")


def test_what_is_written_is_there_or_not_at_all(database: Database) -> None:
    def write_and_break() -> None:
        with database.writing() as connection:
            connection.execute(insert(tables.facts), FACT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_break()
    with database.reading() as connection:
        assert connection.execute(KEPT).all() == []


def test_a_reader_of_a_file_sees_one_state_while_others_write(tmp_path: Path) -> None:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    with database.reading() as reader:
        assert reader.execute(KEPT).all() == []
        with database.writing() as writer:
            writer.execute(insert(tables.facts), FACT)
        assert reader.execute(KEPT).all() == []
    database.close()


def test_a_taken_key_is_a_clash(database: Database) -> None:
    def write() -> None:
        with database.writing() as connection:
            connection.execute(insert(tables.facts), FACT)

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
    monkeypatch.setattr(
        "alama.platform.database.database.pysqlite3.sqlite_version_info", (3, 45, 0)
    )
    databases.check_processes(database, 1)
    with pytest.raises(StoreUnfit, match="not safe for several processes"):
        databases.check_processes(database, 2)
    database.close()


def test_what_a_driver_refuses_is_not_repeated_with_the_values_it_was_given(
    database: Database,
) -> None:
    rows = [{"name": "a", "value": "what somebody sent"}] * 2
    with pytest.raises(Clash) as caught, database.writing() as connection:
        connection.execute(insert(tables.facts), rows)
    assert "facts" in str(caught.value.__cause__)
    assert "what somebody sent" not in str(caught.value.__cause__)
