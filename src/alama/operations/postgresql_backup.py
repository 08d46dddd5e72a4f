"""Backups of a PostgreSQL database by its own `pg_dump`, and back by its own `pg_restore`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import text

from alama.core.errors import AlamaError, FileProblem
from alama.operations.backup_file import Contents, appearing, contents
from alama.platform.database.database import Database, without_timeout
from alama.platform.errors import StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import URL, Connection


_FOLDERS: Final = (("/usr/lib/postgresql", "*/bin"), ("/usr", "pgsql-*/bin"))
"""Where Debian's and Red Hat's packages put them, several versions beside each other.

What Debian has on the PATH in front of them chooses one itself, by the server that it finds.
"""

RESTORES_FROM: Final = 17
"""From this version on, `pg_restore` restores only into servers from this version on.

It sets `transaction_timeout`, which those before do not have.
"""

_LOOK_S: Final = 0.1
_END_S_MAX: Final = 10.0

# Asks Linux to end this process when its parent is gone, then becomes the program. Where Linux does
# not let us ask, the program runs all the same.
_TIED: Final = """\
import os, signal, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
except (ImportError, OSError, AttributeError, MemoryError):
    pass
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""

_NAMING: Final = frozenset(
    {"at", "column", "constraint", "database", "extension", "file", "function", "index"}
    | {"parameter", "relation", "role", "schema", "sequence", "table", "type", "user"}
)
"""Words of PostgreSQL's before the name of something, in quotes; all else may be a value."""

_OF_THE_FOLDER: Final = "could not change directory"
"""What they say first where they were started in a folder that is closed to them, and go on."""

_NOT_NEEDED: Final = frozenset(
    {"fallback_application_name", "keepalives", "keepalives_count", "keepalives_idle"}
    | {"keepalives_interval", "tcp_user_timeout"}
)
"""What a program connects without as well."""


class ProgramProblem(AlamaError):
    """A program of PostgreSQL's is missing, does not fit the server, or has failed."""


class Program(NamedTuple):
    """A program, and the major version of it."""

    path: Path
    major: int


def find(name: str, major: int, instead: str) -> Program:
    """Find a program for a server of a major version; `instead`: what to run where it is.

    The one of that version, or else the next newer one that fits.
    """
    found = [Program(path, _major_version(path)) for path in _places(name)]
    newer = [program for program in found if program.major >= major]
    fit = [program for program in newer if name != "pg_restore" or restores(program, major)]
    if fit:
        return min(fit, key=lambda program: program.major)
    if newer:
        trouble = (
            f"{name} here is of PostgreSQL {newer[0].major}, and from {RESTORES_FROM} on it does "
            f"not restore into a server before: this one is a {major}"
        )
    elif found:
        newest = max(program.major for program in found)
        trouble = f"{name} here is of PostgreSQL {newest}, and the server is a {major}"
    else:
        trouble = f"{name}, a program of PostgreSQL's own, is not installed here"
    raise ProgramProblem(
        trouble,
        hint=f"install it (Debian: postgresql-client-{major}; Red Hat: postgresql{major}), or run "
        f"where it is: {instead}",
    )


def restores(program: Program, major: int) -> bool:
    """Say whether what a program of this version makes or reads gets into a server of another."""
    return program.major < RESTORES_FROM or major >= RESTORES_FROM


def beside(program: Program, name: str) -> Program:
    """Give another program of the same installation, or of the same major version."""
    sibling = program.path.with_name(name)
    return Program(sibling, program.major) if sibling.exists() else find(name, program.major, name)


def _places(name: str) -> Iterator[Path]:
    """Give the programs themselves, then what is first on the PATH: it may be what chooses one."""
    for folder, pattern in _FOLDERS:
        for place in sorted(Path(folder).glob(f"{pattern}/{name}")):
            if os.access(place, os.X_OK):
                yield place
    on_path = shutil.which(name)
    if on_path is not None:
        yield Path(on_path)


def _major_version(path: Path) -> int:
    """Ask for its version: `pg_dump (PostgreSQL) 15.19 (Debian 15.19-0+deb12u1)`."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603  found above
    number = re.search(r"\(PostgreSQL\) (\d+)", done.stdout)
    return int(number[1]) if number else 0


def environment(url: URL) -> dict[str, str]:
    """Give what a program of PostgreSQL's connects by, as libpq itself names it.

    None of our own settings: their values are secrets, and of no use to it. `ProgramProblem` where
    the address has something that libpq takes from no variable, and may not connect without.
    """
    from psycopg import pq  # noqa: PLC0415  an extra, and not for SQLite

    (_, wanted) = url.get_dialect()().create_connect_args(url)
    ours = unconnected()
    unsaid = []
    for option in pq.Conninfo.get_defaults():
        name = option.keyword.decode()
        value = wanted.get(name)
        if value is None:
            continue
        if option.envvar is not None:
            ours[option.envvar.decode()] = str(value)
        elif name not in _NOT_NEEDED:
            unsaid.append(name)
    if unsaid:
        raise ProgramProblem(
            f"ALAMA_DATABASE has {', '.join(unsaid)}, which programs of PostgreSQL's take from "
            "nothing that only they can read",
            hint="for this command name the database without it: a key that needs no password, or "
            "one that PostgreSQL's own ways keep, such as a service file",
        )
    return ours | {"PGAPPNAME": "alama db"}


def unconnected() -> dict[str, str]:
    """Give the environment of a program that connects to nothing; its words are to be English."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("ALAMA_")}
    return ours | {"LC_ALL": "C"}


def run(
    program: Program,
    arguments: Sequence[str | Path],
    surroundings: dict[str, str],
    watch: Callable[[], None] = lambda: None,
) -> str:
    """Run a program to its end and give what it printed, or raise `ProgramProblem` with its words.

    `watch` is called again and again meanwhile. Whatever ends us by an exception ends it too, and
    on Linux so does what kills us.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(  # noqa: S603  found, not given
            [*_tied(), program.path.absolute(), *map(_from_anywhere, arguments)],
            env=surroundings,
            cwd=_folder(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        try:
            while process.poll() is None:
                watch()
                time.sleep(_LOOK_S)
        finally:
            _end(process)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise ProgramProblem(_words(program, err.read().decode("utf-8", "replace")))
        return out.read().decode("utf-8", "replace")


def _from_anywhere(argument: str | Path) -> str | Path:
    return argument.absolute() if isinstance(argument, Path) else argument


def _folder() -> str:
    """Give where to run a program: here, unless its user may not enter, as after `su` from root's.

    Here where that can be: an address may name its certificates from here.
    """
    try:
        here = os.getcwd()  # noqa: PTH109  a Path says the same
    except OSError:  # it was removed
        return "/"
    return here if os.access(here, os.X_OK) else "/"


def _tied() -> list[str]:
    """Give what stands before a program that is not to outlive us.

    Not a function that is called in a forked process: a progress bar has a thread here.
    """
    if sys.platform != "linux" or not sys.executable:
        return []
    return [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid())]


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_END_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _words(program: Program, said: str) -> str:
    """Give the line that says what is wrong, without values; those after it may quote rows."""
    lines = [line for line in said.splitlines() if line and not line.startswith(_OF_THE_FOLDER)]
    if not lines:
        return f"{program.path.name} was ended before it was done"
    line = next((line for line in lines if "error:" in line), lines[0])
    words = line.partition("error: ")[2] or line
    return f"{program.path.name} has failed: {_without_values(words)}"


def _without_values(words: str) -> str:
    """Cut words off where they begin to quote what is not a name."""
    for quoted in re.finditer(r'(\S*) ?"[^"]*"?', words):
        if quoted[1] not in _NAMING:
            return words[: quoted.end(1)].rstrip(" :")
    return words


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
        dump = find("pg_dump", major, native_dump(url, path))
        with appearing(path) as part:
            run(
                dump,
                [*_DUMP, _NEVER_ASK, f"--snapshot={snapshot}", f"--file={part}"],
                environment(url),
                lambda: watch(part.stat().st_size),
            )
            watch(part.stat().st_size)
            _require_whole(beside(dump, "pg_restore"), part)
            return Dumped(contents(connection), _caution(dump, major))


def _caution(dump: Program, major: int) -> str | None:
    if restores(dump, major):
        return None
    return (
        f"pg_dump here is of PostgreSQL {dump.major}: what it writes can be restored into a server "
        f"from {RESTORES_FROM} on, and not into one like this, a {major}. Install the "
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
    without_timeout(connection)
    name: str = connection.execute(text("SELECT pg_export_snapshot()")).scalar_one()
    return name


def _major(connection: Connection) -> int:
    return int(connection.execute(text("SHOW server_version_num")).scalar_one()) // 10_000


def _require_whole(restore: Program, part: Path) -> None:
    """Have all of a dump read, as if it were restored."""
    run(restore, ["--file=/dev/null", part], unconnected())


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
    return find("pg_restore", major, native_restore(url, path))


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
        return run(restore, arguments, unconnected())
    except ProgramProblem as error:
        raise FileProblem(
            f"{arguments[-1]} cannot be read: {error}",
            hint="it may be damaged, or of a newer pg_dump than the pg_restore that is here",
        ) from error


def put_back(restore: Program, url: URL, path: Path, watch: Callable[[], None]) -> None:
    """Restore a dump in one transaction: all of it, or nothing. `watch` is called meanwhile."""
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415  as above

    name = make_conninfo(dbname=url.database)
    arguments: list[str | Path] = [*_RESTORE, _NEVER_ASK, f"--dbname={name}", path]
    run(restore, arguments, environment(url), watch)


def learn(database: Database) -> None:
    """Have the server learn how its tables are filled: a dump does not say, and plans need it."""
    with database.writing() as connection:
        without_timeout(connection)
        connection.execute(text("ANALYZE"))
