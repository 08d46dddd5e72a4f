"""Bring a database to the schema of this version, or say that it is not there.

Alembic is imported only when there is something to do: every start asks, hardly any has to act.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from alama.service.errors import StoreUnfit
from alama.storage import schema
from alama.storage.upgrading import online as online_upgrade
from alama.storage.upgrading import plan as migration_plan
from alama.storage.upgrading.other_versions import outdated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.storage.database import Database
    from alama.storage.upgrading.other_versions import Outdated
    from alama.storage.upgrading.plan import Step


class Plan(NamedTuple):
    """What an upgrade would do."""

    found: str | None
    """Where the database stands; None: it is empty."""

    steps: Sequence[Step]
    outdated: Sequence[Outdated]
    """Sessions of versions that have to stop first. On SQLite nobody can tell."""


def current(database: Database) -> str | None:
    """Give the migration that a database stands at; None for one that is empty."""
    with database.reading() as connection:
        return migration_plan.found_in(connection)


def require_fit(database: Database) -> None:
    """Raise `StoreUnfit`, with the way out, unless this code may serve from the database.

    The schema is the one that the code was written for, or a newer one that still serves it: a
    process of this version may start again while the next one takes over.
    """
    found = current(database)
    if found is None:
        raise StoreUnfit("the database is empty", hint="`alama db upgrade` prepares it")
    if not _is_there(database, found):
        raise StoreUnfit(
            f"the database stands at schema {found}, this version of Alama needs {schema.HEAD}",
            hint="`alama db upgrade` brings it up to date",
        )


def upgrade(database: Database, tell: Callable[[str], None] = lambda _: None) -> bool:
    """Migrate to the newest schema, once; say whether there was anything to do.

    SQLite does all of it in one transaction. On PostgreSQL others serve meanwhile: each step is one
    of its own, and `tell` is told of it, and of every wait. `StoreUnfit` where a step would
    take something away from versions that are connected.
    """
    if _is_there(database, current(database)):
        return False
    if database.embedded:
        _upgrade_file(database)
        return True
    with database.session() as session, migration_plan.configured() as config:
        online_upgrade.take_turn(session, tell)
        if _is_there(database, current(database)):
            return False
        online_upgrade.run(session, config, tell)
    return True


def plan(database: Database) -> Plan:
    """Say what `upgrade` would do now, and change nothing."""
    found = current(database)
    if _is_there(database, found):
        return Plan(found, [], [])
    with database.reading() as connection, migration_plan.configured() as config:
        steps = migration_plan.steps_of(connection, config)
        if database.embedded or found is None:
            return Plan(found, steps, [])
        return Plan(found, steps, outdated(connection, steps[-1].serves))


def _is_there(database: Database, found: str | None) -> bool:
    """Say whether there is nothing to do; raise where nothing can be done."""
    if found is None or found == schema.HEAD:
        return found is not None
    if found < schema.OLDEST:
        raise _too_old(found)
    if found < schema.HEAD:
        return False
    with database.reading() as connection:
        serves = migration_plan.served_by(connection)
    if serves is None or serves > schema.HEAD:
        raise _too_new(found)
    return True


def _upgrade_file(database: Database) -> None:
    from alembic import command  # noqa: PLC0415  see above

    with migration_plan.configured() as config, database.writing() as connection:
        steps = migration_plan.steps_of(connection, config)
        if steps:  # another process may have been quicker
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            migration_plan.note_served(connection, steps[-1].serves)


def _too_new(found: str) -> StoreUnfit:
    return StoreUnfit(
        f"the database stands at schema {found}, this version of Alama knows {schema.HEAD}",
        hint="run the version of Alama that upgraded it, or a newer one",
    )


def _too_old(found: str) -> StoreUnfit:
    return StoreUnfit(
        f"the database stands at schema {found}, which was never released and cannot be upgraded",
        hint="start anew: move it away, or set ALAMA_DATABASE or ALAMA_HOME to another place",
    )
