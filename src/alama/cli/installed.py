"""The installation that the environment names, opened for one command."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import DBAPIError

from alama import settings, wiring
from alama.service.errors import StoreUnavailable, StoreUnfit
from alama.storage import database as databases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.settings import Settings
    from alama.storage.database import Database
    from alama.wiring import Installation

Opened = TypeVar("Opened")


@contextmanager
def installation() -> Iterator[Installation]:
    """Give a database that is fit to be used; commands and the service see the same."""
    with _opened(wiring.open_installation) as opened:
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
    if chosen.database is None and file is not None and not file.exists():
        yield None
        return
    with existing_installation() as opened:
        yield opened


@contextmanager
def _opened(opening: Callable[[Settings], Installation]) -> Iterator[Installation]:
    with _told_to_an_operator():
        opened = _open(opening)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def bare_database() -> Iterator[Database]:
    """Give the database as it stands, be it empty or old."""
    with _told_to_an_operator():
        database = _open(lambda chosen: databases.connect(chosen.database_address))
        try:
            yield database
        finally:
            database.close()


def _open_existing(chosen: Settings) -> Installation:
    file = _embedded_file(chosen.database_address)
    if file is not None and not file.exists():
        place = chosen.home_folder.absolute() if chosen.database is None else file
        variable = "ALAMA_HOME" if chosen.database is None else "ALAMA_DATABASE"
        raise StoreUnfit(
            f"there is no installation at {place} yet",
            hint=f"`alama serve` makes one; if yours is elsewhere, set {variable} to its place",
        )
    return wiring.open_as_it_is(chosen)


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
def _told_to_an_operator() -> Iterator[None]:
    """Add where to look, which the service has no reason to tell its callers."""
    try:
        yield
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"{error}{_said_by_the_driver(error)}",
            hint="does it run, and is ALAMA_DATABASE right? `alama settings` shows it",
        ) from error


def _said_by_the_driver(error: StoreUnavailable) -> str:
    """Give the driver's own words, such as `connection refused`: they hold no applicant's data."""
    cause = error.__cause__
    said = str(cause.orig if isinstance(cause, DBAPIError) else cause or "").strip()
    return f": {said.splitlines()[0]}" if said else ""
