"""Bring a database to the schema of this version, step by step, while others serve.

Alembic is imported only when there is something to do: every start asks, hardly any has to act.

On a PostgreSQL one process migrates at a time. It holds a lock of its session from the first step
to the last, so that a step may be several transactions, or none. Those who want it as well ask
again and again instead of waiting in the database: an index that is built beside the service waits
for every statement that began before it, and theirs would be one.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import column as named_column
from sqlalchemy import exc, inspect, select, table, text

from alama.platform.database import tables
from alama.platform.database.database import Database, Outdated, outdated
from alama.platform.database.statements import insert_into
from alama.platform.errors import StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alembic.config import Config
    from sqlalchemy import Connection


SERVES_FACT: Final = "schema_serves"
"""Where a database says which code it serves: a version reads it that is older than the schema."""

_VERSIONS: Final = table("alembic_version", named_column("version_num"))


@dataclass(frozen=True, slots=True)
class Step:
    """One migration that has not been done yet."""

    id: str
    about: str
    serves: str
    """The oldest schema whose code may go on serving after this step and all those before it."""

    outside: bool
    """Whether it runs outside a transaction, as what builds an index beside the service must."""


def found_in(connection: Connection) -> str | None:
    """Give the migration that a database stands at; None for one that is empty."""
    if not inspect(connection).has_table(_VERSIONS.name):
        return None
    found: str | None = connection.execute(select(_VERSIONS.c.version_num)).scalar()
    return found


def served_by(connection: Connection) -> str | None:
    """Give the oldest schema whose code a database serves; None where no step has said so yet."""
    facts = tables.facts
    query = select(facts.c.value).where(facts.c.name == SERVES_FACT)
    found: str | None = connection.execute(query).scalar()
    return found


def note_served(connection: Connection, serves: str) -> None:
    """Write down, in the transaction of the step, which code the database serves from now on."""
    insert = insert_into(connection, tables.facts)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=["name"], set_={"value": insert.excluded.value}
        ),
        {"name": SERVES_FACT, "value": serves},
    )


def steps_of(connection: Connection, config: Config) -> Sequence[Step]:
    """Give what is to be done, in its order."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415  only when there is something to do

    found = found_in(connection)
    # A database that no step has spoken for serves the code that was written for it.
    serves = "" if found is None else served_by(connection) or found
    scripts = ScriptDirectory.from_config(config).iterate_revisions("head", found or "base")
    steps = []
    for script in reversed(list(scripts)):
        serves = max(serves, getattr(script.module, "serves", script.revision))
        outside = getattr(script.module, "outside_transaction", False)
        steps.append(Step(script.revision, script.doc, serves, outside))
    return steps


@contextmanager
def configured() -> Iterator[Config]:
    """Give Alembic's configuration with the migrations of this package."""
    from alembic.config import Config  # noqa: PLC0415  see above

    with resources.as_file(
        resources.files("alama.platform.database").joinpath("migrations")
    ) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        yield config


LOCK: Final = 0x414C414D41
"""Any number that nobody else locks: "ALAMA"."""

LOCK_TIMEOUT_MS: Final = 3_000
"""How long a step waits for a table: whoever comes after it waits behind it.

Longer than PostgreSQL's `deadlock_timeout` of a second, after which a vacuum makes way.
"""

TABLE_TIMEOUT_S: Final = 300.0
PAUSES_S: Final = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Between two attempts at a table that somebody holds; the last one again and again."""

ABANDONED_MS: Final = 30_000
"""When PostgreSQL ends the transaction of an upgrade that has gone silent: it may lock tables."""

_ASK_AGAIN_S: Final = 0.2
_LOCKED: Final = frozenset({"55P03", "40P01"})  # no lock in time; a deadlock, and we were chosen

_SETTINGS: Final = {
    # A large table takes longer to change than a request may wait.
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": str(ABANDONED_MS),
    # The lock of a machine that vanished is free after 15 s, not after two hours.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "2",
    # Nor does what a killed process was waiting for go on, with its tables locked, for nobody.
    "client_connection_check_interval": "2s",
}

_SET: Final = text("SELECT set_config(:name, :value, false)")

_IN_THE_WAY: Final = text(
    "SELECT application_name, pid, extract(epoch FROM now() - xact_start)::int"
    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND xact_start < now() - interval '1 second' ORDER BY xact_start LIMIT 1"
)


def take_turn(session: Connection, tell: Callable[[str], None]) -> None:
    """Wait until no other process upgrades this database; the turn ends with the session."""
    session.execution_options(isolation_level="AUTOCOMMIT")
    for name, value in _SETTINGS.items():
        with suppress(exc.DBAPIError):  # the last one is not known everywhere
            session.execute(_SET, {"name": name, "value": value})
    told = False
    while not session.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}).scalar():
        if not told:
            tell("Another process is upgrading this database: waiting for it.")
            told = True
        time.sleep(_ASK_AGAIN_S)
    session.commit()


def run(session: Connection, config: Config, tell: Callable[[str], None]) -> None:
    """Do what is to be done, in a session that has its turn. An empty database: all or nothing.

    On any other each step stands once it is done. Where it fails, or is killed, the database is at
    the schema of the last whole step, is served from as before, and the next upgrade goes on there.
    """
    with session.begin():
        found = found_in(session)
        steps = steps_of(session, config)
        if found is not None:
            require_nobody_outdated(session, steps)
    if found is None:
        _attempt(session, config, steps[-1], [])
        return
    for step in steps:
        tell(f"{step.id}: {step.about}")
        if step.outside:
            _outside(session, config, step)
        else:
            _until_done(session, config, step, tell)


def require_nobody_outdated(session: Connection, steps: Sequence[Step]) -> None:
    """Raise `StoreUnfit` where code is connected that a step would take something away from."""
    for step in steps:
        left_behind = outdated(session, step.serves)
        if left_behind:
            raise StoreUnfit(
                f"step {step.id} takes away what older versions use, and some are connected: "
                + "; ".join(str(one) for one in left_behind),
                hint=f"stop them, or replace them by a version of schema {step.serves} or newer, "
                "then upgrade again; the step was not done",
            )


def _until_done(
    session: Connection, config: Config, step: Step, tell: Callable[[str], None]
) -> None:
    """Do a step, again and again while somebody holds what it has to lock."""
    gives_up = time.monotonic() + TABLE_TIMEOUT_S
    pauses = iter(PAUSES_S)
    while True:
        try:
            _attempt(session, config, step, [step])
        except exc.DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _LOCKED:
                raise
            who = _who_holds_it(session)
            pause_s = next(pauses, PAUSES_S[-1])
            if time.monotonic() + pause_s > gives_up:
                raise _held_too_long(step, who) from error
            tell(f"{step.id}: a table is in use{who}; trying again in {pause_s:g} s.")
            time.sleep(pause_s)
        else:
            return


def _attempt(session: Connection, config: Config, step: Step, watched: Sequence[Step]) -> None:
    """Do everything up to a step in one transaction, unless that would leave others behind."""
    # Both are set back at the end, whatever it is.
    session.execution_options(isolation_level="READ COMMITTED")
    try:
        with session.begin():
            session.execute(text(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}"))
            _migrate(session, config, step.id)
            note_served(session, step.serves)
            # Once more: one may have started since, and after the commit it is too late.
            require_nobody_outdated(session, watched)
    finally:
        if not session.invalidated:
            session.execution_options(isolation_level="AUTOCOMMIT")


def _outside(session: Connection, config: Config, step: Step) -> None:
    """Do a step that must not be in a transaction; done twice, it must come to the same."""
    with session.begin():  # of SQLAlchemy alone: the database sees none
        # Before the step, for after it nothing would be there to note it if we were killed between.
        require_nobody_outdated(session, [step])
        note_served(session, step.serves)
        _migrate(session, config, step.id)


def _migrate(session: Connection, config: Config, target: str) -> None:
    from alembic import command  # noqa: PLC0415  only when there is something to do

    config.attributes["connection"] = session
    command.upgrade(config, target)


def _who_holds_it(session: Connection) -> str:
    """Name the oldest transaction, which is likely to be the one, if this role may see it."""
    with session.begin():
        found = session.execute(_IN_THE_WAY).first()
    if found is None:
        return ""
    name, pid, age_s = found
    return f" (perhaps by {name or 'a session without a name'}, process {pid}, for {age_s} s)"


def _held_too_long(step: Step, who: str) -> StoreUnfit:
    return StoreUnfit(
        f"step {step.id} needs a table that was in use for {TABLE_TIMEOUT_S:g} s{who}",
        hint="let a backup or a long report come to its end, then upgrade again; the service goes "
        "on meanwhile, and the step was not done",
    )


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
        return found_in(connection)


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
            f"the database stands at schema {found}, this version of Alama needs {tables.HEAD}",
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
    with database.session() as session, configured() as config:
        take_turn(session, tell)
        if _is_there(database, current(database)):
            return False
        run(session, config, tell)
    return True


def plan(database: Database) -> Plan:
    """Say what `upgrade` would do now, and change nothing."""
    found = current(database)
    if _is_there(database, found):
        return Plan(found, [], [])
    with database.reading() as connection, configured() as config:
        steps = steps_of(connection, config)
        if database.embedded or found is None:
            return Plan(found, steps, [])
        return Plan(found, steps, outdated(connection, steps[-1].serves))


def _is_there(database: Database, found: str | None) -> bool:
    """Say whether there is nothing to do; raise where nothing can be done."""
    if found is None or found == tables.HEAD:
        return found is not None
    if found < tables.OLDEST:
        raise _too_old(found)
    if found < tables.HEAD:
        return False
    with database.reading() as connection:
        serves = served_by(connection)
    if serves is None or serves > tables.HEAD:
        raise _too_new(found)
    return True


def _upgrade_file(database: Database) -> None:
    from alembic import command  # noqa: PLC0415  see above

    with configured() as config, database.writing() as connection:
        steps = steps_of(connection, config)
        if steps:  # another process may have been quicker
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            note_served(connection, steps[-1].serves)


def _too_new(found: str) -> StoreUnfit:
    return StoreUnfit(
        f"the database stands at schema {found}, this version of Alama knows {tables.HEAD}",
        hint="run the version of Alama that upgraded it, or a newer one",
    )


def _too_old(found: str) -> StoreUnfit:
    return StoreUnfit(
        f"the database stands at schema {found}, which was never released and cannot be upgraded",
        hint="start anew: move it away, or set ALAMA_DATABASE or ALAMA_HOME to another place",
    )
