"""The installation that the environment names, opened for one command."""

from __future__ import annotations

import os
from contextlib import contextmanager
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
    with _told_to_an_operator():
        opened = _open(wiring.open_installation)
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
