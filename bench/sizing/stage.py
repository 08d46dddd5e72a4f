"""The two databases with an Alama on each, and what can be asked of either."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.lenders import installation as wiring
from alama.lenders import keys
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from bench.serve.server import family, started
from bench.serve.subjects import (
    POSTGRES,
    alama,
    alama_on_postgres,
    home,
    postgres_address,
    serve_command,
)
from bench.webhooks.subjects import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.lenders.installation import Installation
    from alama.platform.database.database import Database
    from bench.serve.ground import Ground
    from bench.serve.server import Server

SQLITE: Final = "SQLite"
POSTGRESQL: Final = "PostgreSQL"
DATABASES: Final = (SQLITE, POSTGRESQL)
NO_LIMIT: Final = "1000000"

_POSTGRES_BYTES: Final = """
SELECT coalesce(sum(pg_relation_size(relid)), 0), coalesce(sum(pg_indexes_size(relid)), 0),
       coalesce(sum(pg_total_relation_size(relid)), 0)
FROM pg_stat_user_tables
"""
_PROPORTIONAL: Final = "Pss:"


class Stage(NamedTuple):
    """One service on one database; `variables` are those that a command needs to open it."""

    here: Ground
    database: str
    server: Server
    worker: Worker
    variables: dict[str, str]


class Weight(NamedTuple):
    """Bytes of everything that is kept; `journal` is all that was ever written to PostgreSQL's."""

    rows: int
    indexes: int
    aside: int
    journal: int

    @property
    def total(self) -> int:
        """Give what the disk holds, without the journal."""
        return self.rows + self.indexes + self.aside

    def since(self, before: Weight) -> Weight:
        """Give what has been added."""
        return Weight(*(now - then for now, then in zip(self, before, strict=True)))


@contextmanager
def opened(here: Ground, database: str, name: str) -> Iterator[Stage]:
    """Start one process on a new database; its worker is yet to start."""
    ours = {"ALAMA_DEVELOPMENT": "yes", "ALAMA_DELIVERY": "alone"}
    alone = replace(here, variables={**here.variables, **ours})
    if database == SQLITE:
        place, subject = {"ALAMA_HOME": str(home(here, name))}, alama(alone, name)
    else:
        place, subject = {"ALAMA_HOME": str(home(here, POSTGRES))}, alama_on_postgres(alone)
    with subject as server:
        if database == POSTGRESQL:
            place["ALAMA_DATABASE"] = postgres_address(here)
        variables = {**alone.variables, **place}
        worker = Worker(replace(alone, variables=variables), Path(place["ALAMA_HOME"]))
        try:
            yield Stage(here, database, server, worker, {**ours, **place})
        finally:
            worker.kill()


@contextmanager
def doubled(stage: Stage) -> Iterator[Server]:
    """Start two more processes on the same database, with their worker, on any core."""
    name = f"{stage.database}, 2 processes"
    ours = {"ALAMA_RATE_LIMIT": NO_LIMIT, "ALAMA_DELIVERY": "inside"}
    variables = {**stage.here.variables, **stage.variables, **ours}
    log = stage.here.folder / f"{name}.log"
    command = serve_command(stage.here, 2)
    key, bodies = stage.server.key, stage.server.bodies
    with started(name, command, variables, bodies=bodies, log=log, key=key) as server:
        yield server


@contextmanager
def installed(stage: Stage) -> Iterator[Installation]:
    """Open the database as a command does."""
    with closing(wiring.open_installation(settings.read(stage.variables))) as installation:
        yield installation


def lender(stage: Stage, installation: Installation, name: str) -> Server:
    """Add a lender; give the service with a test key of theirs."""
    book = Book(name, Mode.TEST)
    keys.add_lender(installation.registry, clock.wall_us, name, name, "KES")
    key, _ = keys.issue(installation.registry, installation.clock, installation.pepper, book)
    return replace(stage.server, key=key)


def weighed(database: Database) -> Weight:
    """Weigh all that is kept: of SQLite only whole pages in use can be told."""
    with database.reading() as connection:
        ask = connection.exec_driver_sql
        if database.embedded:
            told = (
                ask(f"PRAGMA {name}").scalar_one()
                for name in ("page_count", "freelist_count", "page_size")
            )
            pages, unused, page_bytes = (int(one) for one in told)
            return Weight((pages - unused) * page_bytes, 0, 0, 0)
        rows, indexes, total = (int(one) for one in ask(_POSTGRES_BYTES).one())
        written = ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')").scalar_one()
        return Weight(rows, indexes, total - rows - indexes, int(written))


def scores(database: Database) -> int:
    """Count what is stored: a load generator drops the last answers unread."""
    with database.reading() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM scores").scalar_one())


def sessions(database: Database) -> int:
    """Count the sessions that PostgreSQL has with Alama, but for this one."""
    with database.reading() as connection:
        count = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).scalar_one()
    return int(count)


def memory_mb(server: Server) -> list[float]:
    """Give the memory of each process of a service, with its part of what is shared, largest first.

    Empty where the system does not tell.
    """
    found = []
    for pid in family(server.pid):
        path = Path(f"/proc/{pid}/smaps_rollup")
        lines = path.read_text("ascii").splitlines() if path.exists() else []
        found += [int(line.split()[1]) / 1024 for line in lines if line.startswith(_PROPORTIONAL)]
    return sorted((round(size, 1) for size in found), reverse=True)
