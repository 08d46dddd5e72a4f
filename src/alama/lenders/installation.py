"""An installation as it is found: its database, clock and secrets; opened for one command."""

from __future__ import annotations

import getpass
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from sqlalchemy.exc import DBAPIError

from alama.lenders import keys as lenders
from alama.lenders.secrets import master_keys, settled_pepper
from alama.lenders.store import Registry
from alama.platform import settings
from alama.platform.acts import ActLog
from alama.platform.clock import AnchoredClock, Clock, stopwatch_ns, wall_us
from alama.platform.clock_store import SqlSeen
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.database.sqlite import DISK_FAILED, DISK_FAILED_HINT
from alama.platform.errors import InvalidName, MasterKeyMissing, StoreUnavailable, StoreUnfit
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        secret = settled_pepper(settings, facts)
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
    return AnchoredClock(source, stopwatch_ns, stored)


def _vault(settings: Settings, database: Database, facts: Registry, clock: Clock) -> Vault:
    keys = SqlVaultKeys(database)
    try:
        vault = Vault(keys, master_keys(settings, facts), clock)
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


Opened = TypeVar("Opened")

_NO_RIGHT: Final = "42501"
_NOT_ALLOWED: Final = (
    "an upgrade has to run as the role that owns the tables; that of the service needs rights on "
    "them: docs/operating/upgrading.md has the GRANT"
)


@contextmanager
def installation() -> Iterator[Installation]:
    """Give a database that is fit to be used; commands and the service see the same."""
    with _opened(open_installation) as opened:
        yield opened


@contextmanager
def existing_installation() -> Iterator[Installation]:
    """Give the same to a command that needs what was kept before, and make nothing.

    Run in another folder it would find a new, empty database, and say that there are no keys. Where
    the master key is missing, a command can do what takes no key.
    """
    with _opened(_open_existing) as opened:
        yield opened


@contextmanager
def installation_at_hand() -> Iterator[Installation | None]:
    """Give the same to a command that can do without, and None where nothing was ever installed.

    Where the environment names a database, that one is meant, and it must be there.
    """
    chosen = settings.read(os.environ)
    file = _embedded_file(chosen.database_address)
    if not chosen.names_database and file is not None and not file.exists():
        yield None
        return
    with existing_installation() as opened:
        yield opened


@contextmanager
def _opened(opening: Callable[[Settings], Installation]) -> Iterator[Installation]:
    with operators_view():
        opened = _open(opening)
        _tell_on_stderr(opened.database)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def bare_database() -> Iterator[Database]:
    """Give the database as it stands, be it empty or old."""
    with _opened_database(lambda chosen: databases.connect(chosen.database_address)) as database:
        yield database


@contextmanager
def existing_database() -> Iterator[Database]:
    """Give the database as it stands to a command that needs one, and make none."""
    with _opened_database(_connect_existing) as database:
        yield database


@contextmanager
def _opened_database(opening: Callable[[Settings], Database]) -> Iterator[Database]:
    with operators_view():
        database = _open(opening)
        _tell_on_stderr(database)
        try:
            yield database
        finally:
            database.close()


def _tell_on_stderr(database: Database) -> None:
    """Have a command say what happens to the journal of its file; a service has a log for it."""
    if database.checkpoints is not None:
        database.checkpoints.tell = _tell


def _tell(event: str, error: Exception | None = None, **fields: object) -> None:
    from alama.platform.terminal import terminal  # noqa: PLC0415  hardly ever needed

    kind = "" if error is None else f" ({type(error).__name__})"
    if event == "checkpoint_failed":
        terminal.error(f"{fields['message']}{kind}", str(fields["hint"]))
    elif event == "journal_held":
        terminal.warn("the journal of the database grows: somebody has been reading for long")
    else:
        terminal.warn(
            f"the journal of the database cannot be copied into the file now{kind}; nothing is "
            "lost, and it is tried again"
        )


def _connect_existing(chosen: Settings) -> Database:
    _require_there(chosen)
    return databases.connect(chosen.database_address)


def _open_existing(chosen: Settings) -> Installation:
    _require_there(chosen)
    return open_as_it_is(chosen)


def _require_there(chosen: Settings) -> None:
    file = _embedded_file(chosen.database_address)
    if file is not None and not file.exists():
        place = file if chosen.names_database else chosen.home_folder.absolute()
        raise StoreUnfit(
            f"there is no installation at {place} yet",
            hint="`alama serve` makes one; if yours is elsewhere, "
            f"{chosen.how_to_name_another_database}",
        )


def _embedded_file(address: str) -> Path | None:
    """Give the file of an embedded database; where none is named, opening it tells."""
    url = databases.parse_address(address)
    if url.get_backend_name() != "sqlite" or url.database in {None, "", ":memory:"}:
        return None
    return Path(str(url.database)).absolute()


def _open(opening: Callable[[Settings], Opened]) -> Opened:
    try:
        return opening(settings.read(os.environ))
    except OSError as error:
        raise StoreUnfit(
            f"cannot use {error.filename}: {error.strerror}",
            hint="set ALAMA_HOME to a folder that can be written",
        ) from error


@contextmanager
def operators_view() -> Iterator[None]:
    """Add where to look, which the service has no reason to tell its callers."""
    try:
        yield
    except StoreUnavailable as error:
        state = getattr(getattr(error.__cause__, "orig", None), "sqlstate", None)
        variable = settings.read(os.environ).database_variable
        away = f"does it run, and is {variable} right? `alama settings` shows it"
        hint = _NOT_ALLOWED if state == _NO_RIGHT else away
        raise StoreUnavailable(
            f"{error}{_said_by_the_driver(error)}",
            hint=DISK_FAILED_HINT if str(error) == DISK_FAILED else hint,
        ) from error


def _said_by_the_driver(error: StoreUnavailable) -> str:
    """Give the driver's own words, such as `connection refused`: they hold no applicant's data."""
    cause = error.__cause__
    said = str(cause.orig if isinstance(cause, DBAPIError) else cause or "").strip()
    return f": {said.splitlines()[0]}" if said else ""
