"""Backups of whichever database it is: one file, known by what is in it."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from alama.core.errors import FileProblem
from alama.operations import postgresql_backup, sqlite_backup
from alama.operations.backup_file import Contents, contents, leftovers
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.errors import StoreUnavailable, StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import URL

    from alama.operations.sqlite_backup import Watch
    from alama.platform.database.database import Database


class Kind(StrEnum):
    """What a backup is of."""

    SQLITE = "SQLite"
    POSTGRESQL = "PostgreSQL"


class Kept(NamedTuple):
    """What a backup holds, how many bytes it takes, and what stands in the way of a restore."""

    contents: Contents
    size_bytes: int
    caution: str | None


class Restored(NamedTuple):
    """What was restored, and whether the server has learnt how its tables are filled."""

    contents: Contents
    is_learnt: bool


def back_up(database: Database, address: str, path: Path, watch: Watch) -> Kept:
    """Write all of a database to a new file, while others write into the database.

    What was committed before this began is in it. `FileProblem` where it cannot be written.
    """
    url = databases.parse_address(address)
    if migrate.current(database) is None:
        raise StoreUnfit(
            "the database is empty: there is nothing to back up",
            hint="is it the one that is meant? `alama settings` shows where it is",
        )
    if database.embedded:
        held = sqlite_backup.back_up(database, path, watch)
        return Kept(held, path.stat().st_size, None)
    held, caution = postgresql_backup.back_up(database, url, path, lambda done: watch(done, None))
    return Kept(held, path.stat().st_size, caution)


def restore(address: str, path: Path, watch: Watch) -> Restored:
    """Put a backup where there is no database yet, and give what it holds.

    All of it, or nothing: `StoreUnfit` where something stands there, `FileProblem` where the file
    is damaged, or is no backup of such a database, or is of a version that this one cannot read.
    """
    url = databases.parse_address(address)
    kind = kind_of(path)
    wanted = Kind.SQLITE if url.drivername == "sqlite" else Kind.POSTGRESQL
    if kind is not wanted:
        raise FileProblem(
            f"{path} is a backup of {kind}, and ALAMA_DATABASE names a {wanted}",
            hint="have ALAMA_DATABASE name one of its kind, with nothing in it",
        )
    if kind is Kind.SQLITE:
        _restore_sqlite(url, path, watch)
    else:
        _restore_postgresql(address, url, path, watch)
    database = databases.connect(address)
    try:
        is_learnt = database.embedded or _learn(database)
        with database.reading() as connection:
            return Restored(contents(connection), is_learnt)
    finally:
        database.close()


def _learn(database: Database) -> bool:
    try:
        postgresql_backup.learn(database)
    except StoreUnavailable:
        return False  # all is there; only questions take longer until the server does it by itself
    return True


def _restore_sqlite(url: URL, path: Path, watch: Watch) -> None:
    target = databases.file_of(url)
    if os.path.lexists(target):
        raise StoreUnfit(
            f"there is a database at {target}, and it is not overwritten",
            hint=f"stop the service and move it away, with {target.name}-wal and "
            f"{target.name}-shm if they are there; or set ALAMA_DATABASE to another place",
        )
    sqlite_backup.require_copy(path)
    sqlite_backup.require_whole(path, path)
    _require_known(path, sqlite_backup.version_in(path))
    sqlite_backup.put_back(path, target, watch)


def _restore_postgresql(address: str, url: URL, path: Path, watch: Watch) -> None:
    database = databases.connect(address)
    try:
        program = postgresql_backup.restorer(database, url, path)
    finally:
        database.close()
    _require_known(path, postgresql_backup.version_in(program, path))
    postgresql_backup.put_back(program, url, path, lambda: watch(0, None))
    watch(path.stat().st_size, None)


def kind_of(path: Path) -> Kind:
    """Recognise a backup by its first bytes, or raise `FileProblem`."""
    try:
        with path.open("rb") as file:
            head = file.read(len(sqlite_backup.MAGIC))
    except OSError as error:
        raise FileProblem(
            f"cannot read {path}: {error.strerror}", hint="give the file of a backup"
        ) from error
    if head == sqlite_backup.MAGIC:
        return Kind.SQLITE
    if head.startswith(postgresql_backup.MAGIC):
        return Kind.POSTGRESQL
    raise FileProblem(
        f"{path} is no backup: neither a SQLite file nor what `pg_dump --format=custom` writes",
        hint="`alama db backup FILE` makes one",
    )


def _require_known(path: Path, version: str | None) -> None:
    if version is None:
        raise FileProblem(
            f"{path} is a backup of something else than Alama", hint="give the file of another"
        )
    if version < tables.OLDEST:
        raise FileProblem(
            f"{path} stands at schema {version}, which was never released and cannot be upgraded",
            hint="give the file of another",
        )
    if version > tables.HEAD:
        raise FileProblem(
            f"{path} stands at schema {version}, and this version of Alama knows {tables.HEAD}",
            hint="restore it with the version of Alama that made it, or a newer one",
        )


def left_behind(path: Path) -> Sequence[Path]:
    """Give what was left where a backup is to be, by others that were killed."""
    return leftovers(path.absolute().parent)


def left_beside(address: str) -> Sequence[Path]:
    """Give what was left beside a database, by restores that were killed."""
    url = databases.parse_address(address)
    return leftovers(databases.file_of(url).parent) if url.drivername == "sqlite" else []
