"""The installation that is looked at, as far as it can be opened without changing anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy.exc import DBAPIError

from alama.core.errors import AlamaError
from alama.operations import diagnosis
from alama.operations.findings import Finding, broken, ok, unchecked
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import StoreUnavailable, StoreUnfit
from alama.platform.extras import how_to_install
from alama.platform.files import secret_file
from alama.policies.commands import hint_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import URL

    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.platform.settings import Settings


_REACHABLE: Final = "database.reachable"
_UNOPENED: Final = "the file was not opened: that would switch its journal"


class Patient(NamedTuple):
    """What is looked at. `database` is None where it was not opened; `reachable` says why.

    `fit` is the same database where its schema is one that this version can read.
    """

    environment: Mapping[str, str]
    settings: Settings
    clock: Clock
    url: URL | None
    database: Database | None
    fit: Database | None
    reachable: Finding
    has_other_journal: bool = False

    @property
    def file(self) -> Path | None:
        return file_of(self.url)


def admit(environment: Mapping[str, str], settings: Settings, clock: Clock) -> Patient:
    """Open what can be opened without changing it; a SQLite file that is not there is not made."""
    url, database = None, None
    try:
        if _address_is_open(settings):
            seen = "everyone may read the file of its address: see the files of secrets"
            return _unopened(environment, settings, clock, None, seen)
        url = databases.parse_address(settings.database_address)
        file = file_of(url)
        if file is not None:
            _require_content(file, settings)
            if diagnosis.has_other_journal(file):
                patient = _unopened(environment, settings, clock, url, f"{_UNOPENED} (see durable)")
                return patient._replace(has_other_journal=True)
        database = databases.connect(settings.database_address)
        with database.reading():
            pass
        reachable = ok(_REACHABLE, _described(url, database))
    except (AlamaError, OSError, ModuleNotFoundError) as error:
        if database is not None:
            database.close()
        database = None
        reachable = broken(_REACHABLE, said(error), _todo(error, settings))
    fit = database if database is not None and _is_fit(database) else None
    return Patient(environment, settings, clock, url, database, fit, reachable)


def _unopened(
    environment: Mapping[str, str], settings: Settings, clock: Clock, url: URL | None, why: str
) -> Patient:
    return Patient(environment, settings, clock, url, None, None, unchecked(_REACHABLE, why))


def _address_is_open(settings: Settings) -> bool:
    file = Path(settings.database_file) if settings.database_file is not None else None
    return file is not None and file.exists() and secret_file.is_open(file)


def _is_fit(database: Database) -> bool:
    try:
        migrate.require_fit(database)
    except AlamaError:  # whoever looks at the database tells
        return False
    return True


def said(error: Exception) -> str:
    """Give what an error says, with the driver's own first line: it holds no applicant's data.

    Of an error that nobody foresaw, no more than its kind: its words may repeat what it met.
    """
    if isinstance(error, OSError):
        why = error.strerror or type(error).__name__
        return f"{error.filename}: {why}" if error.filename is not None else why
    if not isinstance(error, (AlamaError, ModuleNotFoundError)):
        return f"it cannot be told ({type(error).__name__})"
    cause = error.__cause__ if isinstance(error, StoreUnavailable) else None
    own = str(cause.orig if isinstance(cause, DBAPIError) else cause or "").strip()
    return f"{error}: {own.splitlines()[0]}" if own else str(error)


def hint(error: Exception, otherwise: str) -> str:
    """Give what an error says to do about it."""
    if isinstance(error, PermissionError):
        return "run this as the user who runs the service, and let that user read it"
    return (hint_of(error) if isinstance(error, AlamaError) else None) or otherwise


def file_of(url: URL | None) -> Path | None:
    if url is None or url.drivername != "sqlite" or url.database in {None, "", ":memory:"}:
        return None
    return Path(str(url.database)).absolute()


def _require_content(file: Path, settings: Settings) -> None:
    """Raise `StoreUnfit` where there is nothing to open: to connect would write into the file."""
    is_there = file.exists()
    if not is_there or not file.stat().st_size:
        raise StoreUnfit(
            f"{file} is empty" if is_there else f"there is no database at {file} yet",
            hint="`alama serve` makes one; if yours is elsewhere, "
            f"{settings.how_to_name_another_database}",
        )


def _described(url: URL, database: Database) -> str:
    if database.embedded:
        return f"SQLite {diagnosis.sqlite_version()}, {file_of(url)}"
    host = url.host or url.normalized_query.get("host", ("this machine",))[0]
    return f"PostgreSQL {diagnosis.server(database).version.partition(' ')[0]} at {host}"


def _todo(error: Exception, settings: Settings) -> str:
    variable = settings.database_variable
    if isinstance(error, ModuleNotFoundError):
        return how_to_install("postgres")
    if isinstance(error, OSError):
        return f"let the user who runs Alama read and write it; {variable} says where it is"
    return hint(error, f"does it run, and is {variable} right? `alama settings` shows it")
