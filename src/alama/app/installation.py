"""What commands and the service share: the database as it is found, its secrets, its stores."""

from __future__ import annotations

import getpass
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from alama.lenders import keys as lenders
from alama.lenders import secrets
from alama.lenders.store import Registry
from alama.platform.acts import ActLog
from alama.platform.clock import AnchoredClock, Clock, _stopwatch_ns, wall_us
from alama.platform.clock_store import SqlSeen
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import InvalidName, MasterKeyMissing, StoreUnfit
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault

if TYPE_CHECKING:
    from alama.platform.database.database import Database
    from alama.platform.settings import Settings


class Installation(NamedTuple):
    """What commands and the service share: a database that is fit to be used, and its secrets."""

    database: Database
    clock: AnchoredClock
    registry: Registry
    pepper: bytes
    vault: Vault
    log: ActLog

    def __repr__(self) -> str:
        """Leave the secret out: a repr ends up in logs."""
        return f"Installation({self.database!r})"

    def close(self) -> None:
        """Let the database go."""
        self.database.close()


def open_installation(settings: Settings) -> Installation:
    """Open the database with its keys, or raise `StoreUnfit` with what to do.

    An embedded one is brought up to date first, and a new one gets the lender `demo`, so that the
    first score takes no administration.
    """
    opened = open_as_it_is(settings)
    try:
        opened.vault.signer()
    except BaseException:
        opened.close()
        raise
    return opened


def open_as_it_is(settings: Settings) -> Installation:
    """Do the same though the master key is missing: then what needs a key raises that.

    Lists can be read without one. What is done is noted in the signed audit, and needs it.
    """
    database = databases.connect(settings.database_address)
    try:
        database.restore()
        if database.embedded:
            migrate.upgrade(database)
        else:
            migrate.require_fit(database)
        clock = _clock(database)
        facts = Registry(database)
        secret = secrets.settled_pepper(settings, facts)
        vault = _vault(settings, database, facts, clock)
        log = ActLog(database, vault.signer, clock, operator())
        registry = Registry(database, log)
        if database.embedded:
            _add_demo_lender(registry, clock)
    except BaseException:
        database.close()
        raise
    return Installation(database, clock, registry, secret, vault, log)


def _clock(database: Database) -> AnchoredClock:
    """Give the time of a database: its own, or of this machine where it is a file."""
    stored = SqlSeen(database)
    source = wall_us if database.embedded else stored.server_us
    return AnchoredClock(source, _stopwatch_ns, stored)


def _vault(settings: Settings, database: Database, facts: Registry, clock: Clock) -> Vault:
    keys = SqlVaultKeys(database)
    try:
        vault = Vault(keys, secrets.master_keys(settings, facts), clock)
    except MasterKeyMissing as missing:
        return Vault(keys, missing, clock)
    with suppress(StoreUnfit):  # a damaged one is told by whoever signs, or verifies
        vault.signer()  # before any transaction that needs it
    return vault


def operator() -> str:
    """Give the login name of whoever runs this: what it does is theirs unless said otherwise.

    Behind sudo that is who called it, and not the user whose rights they took.
    """
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        return f"user {os.getuid()}"


def _add_demo_lender(registry: Registry, clock: Clock) -> None:
    if not registry.lenders():
        with suppress(InvalidName):  # another process has just done it
            lenders.add_lender(registry, clock, lenders.DEMO, "Demo lender", "KES")
