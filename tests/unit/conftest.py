"""What tests of several rooms share: an installation, a lender who calls it, hands on the clock."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.lenders.store import Registry
from alama.platform import settings
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.terminal import terminal
from tests.callers import Lender
from tests.clocks import HandClock
from tests.databases import Postgres, sqlite_url
from tests.entries import NOON_US
from tests.stores import registry_in


@pytest.fixture(autouse=True)
def new_terminal() -> None:
    """Start with no console, as a process does: one keeps the width that it was made with."""
    terminal.stdout.cache_clear()
    terminal.stderr.cache_clear()


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


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The URL of a new PostgreSQL database, without tables."""
    with postgres.fresh() as url:
        yield url


@pytest.fixture
def installed_at_home() -> None:
    """An installation where the environment says, with the lender demo and nothing else."""
    installation.open_installation(settings.read(os.environ)).close()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp("home")
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(home)}))
    yield installed
    installed.close()


@pytest.fixture
def lender(installed: Installation) -> Lender:
    return Lender(installed)
