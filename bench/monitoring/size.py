"""How long `alama monitor` takes over a million scores and two hundred thousand outcomes.

The book is filled with some thousand scores by the code that answers requests, and with outcomes
as they are recorded. To give a million as much would take an hour, so their rows are multiplied:
each with an id and a time of its own, the counts of the days with them. The report cannot tell the
difference, for it reads no record and sums what stands in columns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import func, insert, select, update

from alama.core import tally
from alama.core.tally import Tally
from alama.lenders import installation
from alama.monitoring import schema as monitoring_schema
from alama.monitoring.synthetic_book import Asked, fill
from alama.platform import ids, settings
from alama.scoring import schema
from bench.environment import SCRATCH
from bench.serve import postgres

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Table

    from alama.platform.database.database import Database


Figures = dict[str, Any]
Progress = Callable[[float, str], None]

LENDER: Final = "demo"
PROMISED_S: Final = 10.0
PROMISED_MB: Final = 500.0
MONTHS: Final = 12
ROUNDS: Final = 3

_SEED: Final = 9
_STEP_US: Final = 977
"""Between the times of two copies: few enough that a copy stays on the day of its original."""


class Size(NamedTuple):
    """How many rows there are to be, and how many of the scores are made by honest means."""

    scores: int
    outcomes: int
    made: int


class _Places(NamedTuple):
    """Where a row says what it is known by, and when it was."""

    request_id: str
    times: tuple[str, ...]


def measure(size: Size, databases: Sequence[str], progress: Progress) -> Figures:
    """Fill each of the databases, "sqlite" and "postgresql", and time the report of it."""
    found = {}
    for place, name in enumerate(databases):
        progress(place / len(databases), f"filling {name}")
        with _environment(name) as environment:
            rows = _filled(environment, size)
            progress((place + 0.8) / len(databases), f"reporting on {name}")
            found[name] = rows | _timed(environment)
    progress(1.0, "reported")
    return found


@contextmanager
def _environment(name: str) -> Iterator[dict[str, str]]:
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="monitoring-", dir=SCRATCH) as folder:
        environment = {"ALAMA_HOME": folder}
        if name == "sqlite":
            yield environment
            return
        with postgres.database(Path(folder), None) as address:
            environment["ALAMA_DATABASE"] = address
            _run([*_ALAMA, "db", "upgrade"], environment)
            _run(
                [*_ALAMA, "lenders", "add", LENDER, "--name", "Demo", "--currency", "KES"],
                environment,
            )
            yield environment


# ------------------------------------------------------------------------------------ the rows


def _filled(environment: Mapping[str, str], size: Size) -> Figures:
    opened = installation.open_installation(settings.read(environment))
    try:
        fill(opened, Asked(LENDER, size.made, MONTHS, _SEED))
        database = opened.database
        scores = _multiply(
            database, schema.scores, _Places("request_id", ("created_us",)), size.scores
        )
        outcomes = _multiply(
            database,
            monitoring_schema.outcomes,
            _Places("request_id", ("score_us",)),
            size.outcomes,
        )
        _multiply_counts(database, size.scores // size.made)
    finally:
        opened.close()
    return {"scores": scores, "outcomes": outcomes, "made": size.made}


def _multiply(database: Database, table: Table, places: _Places, wanted: int) -> int:
    """Add copies of all rows until there are so many; each with an id and a time of its own.

    The copies of a score and of its outcome go together: the same step on, the same chance.
    """
    with database.reading() as connection:
        rows = [dict(row) for row in connection.execute(select(table)).mappings()]
    total = len(rows)
    for copy in range(1, -(-wanted // len(rows))):
        some = rows[: wanted - total]
        with database.writing() as connection:
            connection.execute(insert(table), [_copied(row, places, copy) for row in some])
        total += len(some)
    _settle(database, table)
    with database.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _copied(row: Mapping[str, Any], places: _Places, copy: int) -> dict[str, Any]:
    at_us = ids.time_us(row[places.request_id]) + copy * _STEP_US
    chance = bytes.fromhex(row[places.request_id][-2 * ids.RANDOM_BYTES :])
    moved: dict[str, Any] = {name: row[name] + copy * _STEP_US for name in places.times}
    return {**row, **moved, places.request_id: ids.request_id(at_us, chance)}


def _multiply_counts(database: Database, times: int) -> None:
    table = schema.daily_counts
    with database.writing() as connection:
        for row in connection.execute(select(table)).all():
            _rewrite(connection, row.writer, row.day, row.counts, times)


def _rewrite(connection: Connection, writer: str, day: int, counts: bytes, times: int) -> None:
    table, total = schema.daily_counts, Tally()
    for _ in range(times):
        total.merge(tally.decode(counts))
    connection.execute(
        update(table)
        .where(table.c.writer == writer, table.c.day == day)
        .values(counts=tally.encode(total))
    )


def _settle(database: Database, table: Table) -> None:
    """Let PostgreSQL know what it has, as its own housekeeping would within minutes."""
    if not database.embedded:
        with database.writing() as connection:
            connection.exec_driver_sql(f"ANALYZE {table.name}")


# ------------------------------------------------------------------------------------ the clock

_ALAMA: Final = (sys.executable, "-m", "alama")


def _timed(environment: Mapping[str, str]) -> Figures:
    """Report some times in processes of their own; give the slowest, and the most memory."""
    command = [*_ALAMA, "monitor", LENDER, "--mode", "test", "--days", "365"]
    taken = [_run(command, environment) for _ in range(ROUNDS)]
    return {
        "seconds": round(max(seconds for seconds, _ in taken), 2),
        "peak_mb": round(max(peak_mb for _, peak_mb in taken)),
    }


def _run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Run a command to its end; give its seconds and the most memory that it held, in MB."""
    foreign = {k: v for k, v in os.environ.items() if not k.startswith("ALAMA_")}
    began_s = time.perf_counter()
    started = subprocess.Popen(
        command,
        env={**foreign, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert started.stdout is not None
    said = started.stdout.read()
    _, status, used = os.wait4(started.pid, 0)
    started.stdout.close()
    started.returncode = os.waitstatus_to_exitcode(status)
    elapsed_s = time.perf_counter() - began_s
    if started.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed: {said.decode()}")
    return elapsed_s, used.ru_maxrss / 1024.0
