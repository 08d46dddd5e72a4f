"""Bring a database to the schema of this version, or say that it is not there.

Alembic is imported only when there is something to do: every start asks, hardly any has to act.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from sqlalchemy import column as named_column
from sqlalchemy import inspect, select, table

from alama.service.errors import StoreUnfit
from alama.storage import schema

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from alama.storage.database import Database


def current(database: Database) -> str | None:
    """Give the migration that a database stands at; None for one that is empty."""
    versions = table("alembic_version", named_column("version_num"))
    with database.reading() as connection:
        if not inspect(connection).has_table(versions.name):
            return None
        version: str | None = connection.execute(select(versions.c.version_num)).scalar()
        return version


def require_current(database: Database) -> None:
    """Raise `StoreUnfit`, with the way out, unless the schema is the one this code expects."""
    found = current(database)
    if found == schema.HEAD:
        return
    if found is None:
        raise StoreUnfit("the database is empty", hint="`alama db upgrade` prepares it")
    if found > schema.HEAD:
        raise _too_new(found)
    if found < schema.OLDEST:
        raise _too_old(found)
    raise StoreUnfit(
        f"the database stands at schema {found}, this version of Alama needs {schema.HEAD}",
        hint="`alama db upgrade` brings it up to date",
    )


def upgrade(database: Database) -> bool:
    """Migrate to the newest schema in one transaction; say whether there was anything to do."""
    found = current(database)
    if found == schema.HEAD:
        return False
    if found is not None and found > schema.HEAD:
        raise _too_new(found)
    if found is not None and found < schema.OLDEST:
        raise _too_old(found)
    from alembic import command  # noqa: PLC0415  see above
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    with (
        resources.as_file(resources.files("alama.storage").joinpath("migrations")) as folder,
        database.writing() as connection,
    ):
        _wait_for_others(connection)
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return True


def _too_new(found: str) -> StoreUnfit:
    return StoreUnfit(
        f"the database stands at schema {found}, this version of Alama knows {schema.HEAD}",
        hint="run the version of Alama that upgraded it, or a newer one",
    )


def _too_old(found: str) -> StoreUnfit:
    return StoreUnfit(
        f"the database stands at schema {found}, of before the first release: its scores cannot "
        "be read any more",
        hint="move it away, or set ALAMA_DATABASE or ALAMA_HOME to another place",
    )


def _wait_for_others(connection: Connection) -> None:
    """Let one process migrate at a time. SQLite's BEGIN IMMEDIATE has done so already."""
    if connection.dialect.name == "postgresql":
        # A large table takes longer to change than a request may wait.
        for timeout in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {timeout} = 0")
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


_LOCK = 0x414C414D41
"""Any number that nobody else locks: "ALAMA"."""
