"""Steps on a PostgreSQL that others are serving from at the same time.

One process migrates at a time. It holds a lock of its session from the first step to the last, so
that a step may be several transactions, or none. Those who want it as well ask again and again
instead of waiting in the database: an index that is built beside the service waits for every
statement that began before it, and theirs would be one.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from sqlalchemy import exc, text

from alama.service.errors import StoreUnfit
from alama.storage.upgrading.other_versions import outdated
from alama.storage.upgrading.plan import found_in, note_served, steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alembic.config import Config
    from sqlalchemy import Connection

    from alama.storage.upgrading.plan import Step

LOCK: Final = 0x414C414D41
"""Any number that nobody else locks: "ALAMA"."""

LOCK_TIMEOUT_MS: Final = 3_000
"""How long a step waits for a table: whoever comes after it waits behind it.

Longer than PostgreSQL's `deadlock_timeout` of a second, after which a vacuum makes way.
"""

PATIENCE_S: Final = 300.0
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
    gives_up = time.monotonic() + PATIENCE_S
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
        f"step {step.id} needs a table that was in use for {PATIENCE_S:g} s{who}",
        hint="let a backup or a long report come to its end, then upgrade again; the service goes "
        "on meanwhile, and the step was not done",
    )
