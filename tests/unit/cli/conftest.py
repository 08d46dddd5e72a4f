"""What tests of several commands share."""

import os
from collections.abc import Iterator

import pytest

from alama.lenders import installation
from alama.platform import settings
from alama.platform.terminal import terminal
from tests.databases import Postgres


@pytest.fixture(autouse=True)
def new_terminal() -> None:
    """Start with no console, as a process does: one keeps the width that it was made with."""
    terminal.stdout.cache_clear()
    terminal.stderr.cache_clear()


@pytest.fixture
def installed() -> None:
    """An installation where the environment says, with the lender demo and nothing else."""
    installation.open_installation(settings.read(os.environ)).close()


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The URL of a new PostgreSQL database, without tables."""
    with postgres.fresh() as url:
        yield url
