"""A copy of a SQLite file is one state of it, and is done however much is written meanwhile."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from sqlalchemy import text

from alama.operations import sqlite_backup
from alama.platform.database import database as databases
from tests.databases import sqlite_url

PIECES = 48  # of 256 KiB: several steps of 512 pages
PIECE = 1 << 18


def test_what_is_written_between_two_steps_neither_restarts_the_copy_nor_gets_into_it(
    tmp_path: Path,
) -> None:
    database = databases.connect(sqlite_url(tmp_path))
    elsewhere = databases.connect(sqlite_url(tmp_path))
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE noise (piece BLOB)"))
        for _ in range(PIECES):
            connection.execute(text("INSERT INTO noise VALUES (zeroblob(:size))"), {"size": PIECE})
    told: list[int] = []

    def write_meanwhile(done: int, _: int | None) -> None:
        told.append(done)
        with elsewhere.writing() as connection:
            connection.execute(text("INSERT INTO noise VALUES (x'00')"))

    copy = tmp_path / "copy"
    sqlite_backup.back_up(database, copy, write_meanwhile)
    assert len(told) > 2
    assert told == sorted(told)
    with closing(sqlite_backup.untouched(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM noise").fetchone() == (PIECES,)
    with database.reading() as reading:
        assert reading.execute(text("SELECT count(*) FROM noise")).scalar_one() > PIECES
    database.close()
    elsewhere.close()
