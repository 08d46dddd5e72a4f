"""Backups of a PostgreSQL database by its own `pg_dump`, and back by its own `pg_restore`."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from psycopg.conninfo import make_conninfo
from sqlalchemy import text

from alama.core.errors import FileProblem
from alama.service.errors import StoreUnfit
from alama.storage.database import patiently
from alama.storage.keeping import native_programs as programs
from alama.storage.keeping.contents import Contents, contents
from alama.storage.keeping.new_file import appearing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import URL, Connection

    from alama.storage.database import Database
    from alama.storage.keeping.native_programs import Program

MAGIC: Final = b"PGDMP"

_DUMP: Final = (
    "--format=custom",
    # Most of it is sealed, and looks like chance: to try harder takes three times as long for 3 %.
    "--compress=1",
    "--no-owner",
    "--no-privileges",
    # How often each key has asked of late: stale by the time that it would be put back.
    "--no-unlogged-table-data",
)
_RESTORE: Final = ("--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges")
_NEVER_ASK: Final = "--no-password"

_OURS: Final = frozenset({"alembic_version", "lenders", "scores"})
_TABLE_IN_LIST: Final = re.compile(r"^\d+; \d+ \d+ TABLE \S+ (\S+) ", re.MULTILINE)
_VERSION_ROW: Final = re.compile(r"^COPY \S+ \(version_num\) FROM stdin;\n(\d+)$", re.MULTILINE)

_TAKEN: Final = """\
SELECT count(*) FROM pg_class AS it JOIN pg_namespace AS place ON place.oid = it.relnamespace
WHERE it.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
AND place.nspname <> 'information_schema' AND place.nspname NOT LIKE 'pg\\_%'
AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = it.oid AND deptype = 'e')"""
"""Tables and the like of which no extension is the owner."""


class Dumped(NamedTuple):
    """What is in a dump, and what is to be known of whoever wants to restore it."""

    contents: Contents
    caution: str | None


def back_up(database: Database, url: URL, path: Path, watch: Callable[[int], None]) -> Dumped:
    """Write a dump of the database as it is when this begins.

    `watch` is told how many bytes were written so far.
    """
    with database.reading() as connection:
        snapshot = _one_state(connection)
        major = _major(connection)
        dump = programs.find("pg_dump", major, native_dump(url, path))
        with appearing(path) as part:
            programs.run(
                dump,
                [*_DUMP, _NEVER_ASK, f"--snapshot={snapshot}", f"--file={part}"],
                programs.environment(url),
                lambda: watch(part.stat().st_size),
            )
            watch(part.stat().st_size)
            _require_whole(programs.beside(dump, "pg_restore"), part)
            return Dumped(contents(connection), _caution(dump, major))


def _caution(dump: Program, major: int) -> str | None:
    if programs.restores(dump, major):
        return None
    return (
        f"pg_dump here is of PostgreSQL {dump.major}: what it writes can be restored into a server "
        f"from {programs.RESTORES_FROM} on, and not into one like this, a {major}. Install the "
        f"programs of {major} (Debian: postgresql-client-{major}) and back up again."
    )


def native_dump(url: URL, path: Path) -> str:
    """Give the command that does the same, with no password in it."""
    return shlex.join(["pg_dump", *_DUMP, *_place(url), f"--file={path}"])


def native_restore(url: URL, path: Path) -> str:
    """Give the command that `restore` runs, with no password in it."""
    return shlex.join(["pg_restore", *_RESTORE, *_place(url), str(path)])


def _place(url: URL) -> list[str]:
    parts = {"host": url.host, "port": url.port, "username": url.username, "dbname": url.database}
    return [f"--{name}={value}" for name, value in parts.items() if value is not None]


def _one_state(connection: Connection) -> str:
    """Have a transaction see one state, for as long as it takes, and give the name of that state.

    So what is counted here is what is in the dump, whatever is written meanwhile.
    """
    connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
    patiently(connection)
    name: str = connection.execute(text("SELECT pg_export_snapshot()")).scalar_one()
    return name


def _major(connection: Connection) -> int:
    return int(connection.execute(text("SHOW server_version_num")).scalar_one()) // 10_000


def _require_whole(restore: Program, part: Path) -> None:
    """Have all of a dump read, as if it were restored."""
    programs.run(restore, ["--file=/dev/null", part], programs.unconnected())


# ------------------------------------------------------------------------------------ and back


def restorer(database: Database, url: URL, path: Path) -> Program:
    """Give what restores into a database that has nothing in it, or raise `StoreUnfit`."""
    with database.reading() as connection:
        major, taken = _major(connection), connection.execute(text(_TAKEN)).scalar_one()
    if taken:
        raise StoreUnfit(
            "the database is not empty, and nothing in it is overwritten",
            hint="make a new one (`createdb`), and have ALAMA_DATABASE name that",
        )
    return programs.find("pg_restore", major, native_restore(url, path))


def version_in(restore: Program, path: Path) -> str | None:
    """Give the schema that a dump stands at; None where it is no database of Alama's."""
    listed = _asked(restore, ["--list", path])
    if not set(_TABLE_IN_LIST.findall(listed)) >= _OURS:
        return None
    rows = _asked(restore, ["--data-only", "--table=alembic_version", "--file=-", path])
    found = _VERSION_ROW.search(rows)
    return found[1] if found else None


def _asked(restore: Program, arguments: list[str | Path]) -> str:
    try:
        return programs.run(restore, arguments, programs.unconnected())
    except programs.ProgramProblem as error:
        raise FileProblem(
            f"{arguments[-1]} cannot be read: {error}",
            hint="it may be damaged, or of a newer pg_dump than the pg_restore that is here",
        ) from error


def put_back(restore: Program, url: URL, path: Path, watch: Callable[[], None]) -> None:
    """Restore a dump in one transaction: all of it, or nothing. `watch` is called meanwhile."""
    name = make_conninfo(dbname=url.database)
    arguments: list[str | Path] = [*_RESTORE, _NEVER_ASK, f"--dbname={name}", path]
    programs.run(restore, arguments, programs.environment(url), watch)


def learn(database: Database) -> None:
    """Have the server learn how its tables are filled: a dump does not say, and plans need it."""
    with database.writing() as connection:
        patiently(connection)
        connection.execute(text("ANALYZE"))
