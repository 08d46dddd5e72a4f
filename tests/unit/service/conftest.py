"""A real registry in a SQLite file, and a clock that goes when it is told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.lenders import keys
from alama.lenders.store import Registry
from alama.platform.database import database as databases
from alama.platform.database import migrate
from tests.clocks import HandClock
from tests.databases import sqlite_url
from tests.entries import NOON_US
from tests.stores import registry_in


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOON_US)


@pytest.fixture
def stopwatch() -> HandClock:
    """Reads differently from the clock, so that no test mistakes one for the other."""
    return HandClock(77)


@pytest.fixture
def registry(tmp_path: Path, clock: HandClock) -> Iterator[Registry]:
    """A registry with the lender `demo`."""
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    registry = registry_in(database)
    keys.add_lender(registry, clock, "demo", "Demo lender", "KES")
    yield registry
    database.close()
