"""The journal of a SQLite file is copied by us alone, and a disk that failed is written no more."""

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from alama.operations import sqlite_backup
from alama.platform.database import checkpoints as journal
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.checkpoints import Checkpoints
from alama.platform.database.database import Database
from alama.platform.database.sqlite import DISK_FAILED, FAILED
from alama.platform.errors import StoreUnavailable, StoreUnfit
from tests.databases import sqlite_url

ROWS = 40


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(databases.connect(sqlite_url(tmp_path))) as database:
        migrate.upgrade(database)
        yield database


def checkpoints_of(database: Database) -> Checkpoints:
    assert database.checkpoints is not None
    return database.checkpoints


def write(database: Database, name: str) -> None:
    with database.writing() as connection:
        connection.execute(insert(tables.facts), {"name": name, "value": "x" * 1_000})


def write_plainly(database: Database) -> None:
    """Into a file that has no schema yet."""
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE plain (one INTEGER)")


def names(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(select(tables.facts.c.name)).scalars())


def heard(database: Database) -> tuple[Checkpoints, list[str]]:
    """What copies the journal, and what it tells."""
    checkpoints, told = checkpoints_of(database), []

    def tell(event: str, error: Exception | None = None, **_: object) -> None:
        told.append(f"{event} {type(error).__name__}")

    checkpoints.tell = tell
    return checkpoints, told


def refuse(patched: pytest.MonkeyPatch, number: int) -> None:
    """Let the journal be opened for nobody, or its lock be taken by nobody."""

    def opened(path: Any, *others: Any, **named: Any) -> int:
        if str(path).endswith("-wal"):
            raise OSError(number, os.strerror(number))
        return system(path, *others, **named)

    def locked(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    system = os.open
    if number == errno.ENOLCK:
        patched.setattr("fcntl.flock", locked)
    else:
        patched.setattr(os, "open", opened)


def until(holds: Callable[[], bool]) -> None:
    for _ in range(6_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError


def mark_of(folder: Path) -> Path:
    return folder / f"alama.db{FAILED}"


def test_no_connection_copies_the_journal_in_passing(database: Database, tmp_path: Path) -> None:
    before = (tmp_path / "alama.db").read_bytes()
    for number in range(ROWS):
        write(database, str(number))
    with database.reading() as connection:
        pragma = connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar_one()
    database.engine.dispose()
    database._hot.dispose()  # the last to have the file
    assert pragma == 0
    assert (tmp_path / "alama.db").read_bytes() == before
    assert checkpoints_of(database).size_bytes > 0


def test_whoever_closes_last_leaves_the_file_alone(database: Database, tmp_path: Path) -> None:
    write(database, "a")
    with closing(databases.connect(sqlite_url(tmp_path))) as other:
        assert "a" in names(other)
        other.close()
        assert checkpoints_of(database).size_bytes > 0
    database.close()
    assert [one.name for one in tmp_path.iterdir()] == ["alama.db"]
    assert "a" in names(database)


def test_a_large_journal_is_copied_and_begins_anew(database: Database) -> None:
    checkpoints = checkpoints_of(database)
    checkpoints.large_bytes = 100_000
    assert checkpoints.size_bytes > 300_000
    checkpoints.look()
    sizes = []
    for number in range(ROWS):
        write(database, str(number))
        sizes.append(checkpoints.size_bytes)
        checkpoints.look()
    assert 100_000 <= max(sizes) < 300_000


def test_a_commit_that_leaves_the_journal_large_copies_it_in_passing(database: Database) -> None:
    checkpoints = checkpoints_of(database)
    checkpoints.large_bytes = 100_000
    sizes = []
    for number in range(ROWS):
        write(database, str(number))
        sizes.append(checkpoints.size_bytes)
    assert max(sizes[1:]) < 300_000  # the first holds what made the tables
    assert checkpoints._thread is None


def test_what_a_reader_keeps_from_being_copied_is_left_to_the_thread(database: Database) -> None:
    checkpoints = checkpoints_of(database)
    checkpoints.large_bytes = 1
    with database.reading() as connection:
        connection.execute(select(tables.facts)).all()
        write(database, "a")
    assert checkpoints._thread is not None


def test_a_commit_is_kept_whatever_becomes_of_the_copy(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, told = heard(database)
    checkpoints.large_bytes = 1

    def measure(_path: str) -> journal.Journal:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(journal, "measure", measure)
        write(database, "a")
        write(database, "b")
    assert names(database) >= {"a", "b"}
    assert told == ["checkpoint_put_off MemoryError"]


def test_a_reader_who_keeps_the_journal_from_beginning_anew_is_told_once(
    database: Database,
) -> None:
    checkpoints, told = heard(database)
    checkpoints.large_bytes = 20_000
    with database.reading() as connection:
        connection.execute(select(tables.facts)).all()
        for number in range(ROWS):
            write(database, str(number))
            checkpoints.look()
        assert checkpoints.size_bytes > checkpoints.held_bytes
    assert told == ["journal_held NoneType"]


def test_a_journal_begins_anew_beside_somebody_who_writes_without_a_pause(
    database: Database,
) -> None:
    checkpoints, told = heard(database)
    checkpoints.large_bytes = 50_000
    salts = set()

    def write_on() -> None:
        for number in range(25 * ROWS):
            write(database, str(number))
            salts.add(journal.measure(checkpoints._file.journal).salt)

    writer = threading.Thread(target=write_on)
    writer.start()
    while writer.is_alive():
        checkpoints.look()
    writer.join()
    assert len(salts) > 3
    assert told == []


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOLCK])
def test_an_error_of_the_system_puts_a_copy_off_and_is_told_once(
    database: Database, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    checkpoints, told = heard(database)
    checkpoints.large_bytes = 1
    with monkeypatch.context() as patched:
        refuse(patched, number)
        for _ in range(3):
            checkpoints.look()
        with pytest.raises(StoreUnavailable):
            checkpoints.empty()
    assert told == ["checkpoint_put_off OSError"]
    assert not checkpoints.has_failed
    assert checkpoints.empty()


def test_a_journal_that_the_disk_does_not_give_back_stops_all_writing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, told = heard(database)
    checkpoints.large_bytes = 1
    with monkeypatch.context() as patched:
        refuse(patched, errno.EIO)
        checkpoints.look()
        checkpoints.look()
    assert told == ["checkpoint_failed OSError"]
    with pytest.raises(StoreUnavailable, match=DISK_FAILED):
        write(database, "a")


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "too many"), MemoryError()])
def test_nothing_but_the_end_ends_the_thread_that_copies(
    database: Database, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    checkpoints, told = heard(database)
    checkpoints.large_bytes = 1
    looked = threading.Semaphore(0)

    def measure(_path: str) -> journal.Journal:
        looked.release()
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(journal, "measure", measure)
        checkpoints._start()
        for _ in range(3):
            assert looked.acquire(timeout=60.0)
    assert checkpoints._thread is not None
    assert checkpoints._thread.is_alive()
    database.close()
    assert not checkpoints._thread.is_alive()
    assert told == [f"checkpoint_put_off {type(error).__name__}"]


def test_an_end_survives_what_cannot_be_removed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, told = heard(database)
    write(database, "a")

    def unlink(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "not now")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", unlink)
        database.close()
    assert told == ["checkpoint_put_off PermissionError"]
    assert not checkpoints.has_failed


def test_a_process_that_copies_keeps_others_from_it(database: Database, tmp_path: Path) -> None:
    with closing(databases.connect(sqlite_url(tmp_path))) as other:
        write(other, "a")
        before = (tmp_path / "alama.db").read_bytes()
        with checkpoints_of(database)._turn() as is_ours:
            checkpoints_of(other).large_bytes = 1
            checkpoints_of(other).look()
            assert is_ours
            assert (tmp_path / "alama.db").read_bytes() == before


def test_after_a_failure_no_process_writes_or_copies_and_all_may_read(
    database: Database, tmp_path: Path
) -> None:
    write(database, "a")
    with closing(databases.connect(sqlite_url(tmp_path))) as other:
        database._file.mark_failed()  # type: ignore[union-attr]
        for one in (database, other):
            with pytest.raises(StoreUnavailable, match=DISK_FAILED):
                write(one, "b")
            with pytest.raises(StoreUnavailable, match=DISK_FAILED), one.driving():
                pass
            with pytest.raises(StoreUnavailable, match=DISK_FAILED):
                one.empty_journal()
            assert names(one) >= {"a"}
        with pytest.raises(StoreUnavailable, match=DISK_FAILED):
            sqlite_backup.back_up(database, tmp_path / "copy", lambda *_: None)
        mark_of(tmp_path).unlink()  # by somebody who should not
        for one in (database, other):
            with pytest.raises(StoreUnavailable, match=DISK_FAILED):
                write(one, "b")
        size_bytes = checkpoints_of(database).size_bytes
    database.close()
    assert size_bytes == journal.measure(str(tmp_path / "alama.db-wal")).size_bytes > 0


def test_a_start_that_others_are_in_the_way_of_lets_nobody_write(
    database: Database, tmp_path: Path
) -> None:
    write(database, "a")
    mark_of(tmp_path).touch()
    with closing(databases.connect(sqlite_url(tmp_path))) as replaced:
        replaced.restore()
        assert names(replaced) >= {"a"}
        with pytest.raises(StoreUnavailable, match=DISK_FAILED):
            write(replaced, "b")
        with pytest.raises(StoreUnavailable, match=DISK_FAILED), replaced.session():
            pass


def test_a_start_beside_others_brings_no_schema_up_to_date_after_a_failure(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path)
    with closing(databases.connect(url)) as other, closing(databases.connect(url)) as started:
        write_plainly(other)
        mark_of(tmp_path).touch()
        started.restore()
        with pytest.raises(StoreUnavailable, match=DISK_FAILED):
            migrate.upgrade(started)
        assert migrate.current(started) is None


def test_a_start_that_is_alone_restores_the_file_and_writes_again(
    database: Database, tmp_path: Path
) -> None:
    write(database, "a")
    mark_of(tmp_path).touch()
    database.close()
    with closing(databases.connect(sqlite_url(tmp_path))) as started:
        started.restore()
        write(started, "b")
        assert names(started) >= {"a", "b"}
    assert not mark_of(tmp_path).exists()


def test_a_file_that_is_damaged_after_a_failure_is_not_served(
    database: Database, tmp_path: Path
) -> None:
    for number in range(ROWS):
        write(database, str(number))
    database.close()
    file = tmp_path / "alama.db"
    content = bytearray(file.read_bytes())
    content[3 * 8_192 : 12 * 8_192] = bytes(9 * 8_192)
    file.write_bytes(content)
    mark_of(tmp_path).touch()
    with (
        closing(databases.connect(sqlite_url(tmp_path))) as started,
        pytest.raises(StoreUnfit, match="is damaged"),
    ):
        started.restore()
    assert mark_of(tmp_path).exists()


def test_a_mark_that_cannot_be_made_keeps_everybody_from_writing(
    database: Database, tmp_path: Path
) -> None:
    checkpoints = checkpoints_of(database)
    write(database, "a")
    checkpoints.large_bytes = 1
    checkpoints.look()
    mark_of(tmp_path).symlink_to(tmp_path / "nowhere" / "at all")
    with checkpoints._turn():
        checkpoints._file._mark = str(tmp_path / "no" / "folder")
        checkpoints._stop_all(OSError("it fails"))
    with closing(databases.connect(sqlite_url(tmp_path))) as other:
        checkpoints_of(other).large_bytes = 1
        assert not checkpoints_of(other)._file.has_failed
        with checkpoints_of(other)._turn() as is_ours:
            assert not is_ours
        with suppress(StoreUnavailable):
            checkpoints_of(other).look()
    with pytest.raises(StoreUnavailable, match=DISK_FAILED):
        write(database, "b")


def test_a_mark_is_made_as_soon_as_it_can_be(database: Database, tmp_path: Path) -> None:
    checkpoints = checkpoints_of(database)
    write(database, "a")
    assert checkpoints._thread is None
    place = checkpoints._file._mark
    with checkpoints._turn():
        checkpoints._file._mark = str(tmp_path / "no" / "folder")
        checkpoints._stop_all(OSError("it fails"))
    assert not mark_of(tmp_path).exists()
    checkpoints._file._mark = place
    with closing(databases.connect(sqlite_url(tmp_path))) as other:
        until(lambda: checkpoints_of(other).has_failed)
        with pytest.raises(StoreUnavailable, match=DISK_FAILED):
            write(other, "b")


def test_commits_copy_in_passing_again_once_a_reader_has_left(database: Database) -> None:
    checkpoints = checkpoints_of(database)
    database.empty_journal()
    checkpoints.large_bytes = 100_000
    with database.reading() as connection:
        connection.execute(select(tables.facts)).all()
        for number in range(ROWS):
            write(database, f"held {number}")
    until(lambda: checkpoints._tried_bytes == 0)
    sizes = []
    for number in range(ROWS):
        write(database, str(number))
        sizes.append(checkpoints.size_bytes)
    assert max(sizes[1:]) < 300_000
