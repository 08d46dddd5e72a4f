"""An open database with every table and no row, once of each kind.

Making one takes PostgreSQL half a second, so all these tests share it and leave it empty.
"""

from collections.abc import Iterator

import pytest

from alama.lenders import keys
from alama.operations.soundness import TABLES
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.database.database import Database
from tests.databases import sqlite_url
from tests.entries import DEMO, NOON_US, UMOJA
from tests.stores import registry_in
from tests.webhooked import Hooks


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("sqlite", marks=pytest.mark.xdist_group("contract-sqlite")),
        pytest.param("postgresql", marks=pytest.mark.xdist_group("contract-postgresql")),
    ],
)
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "sqlite":
        yield sqlite_url(tmp_path_factory.mktemp("contract"))
    else:
        with request.getfixturevalue("postgres").fresh() as url:
            yield url


@pytest.fixture(scope="session")
def migrated(address: str) -> Iterator[Database]:
    database = databases.connect(address)
    migrate.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def database(migrated: Database) -> Iterator[Database]:
    yield migrated
    with migrated.writing() as connection:
        for table in reversed(TABLES):
            connection.execute(table.delete())


@pytest.fixture
def elsewhere(address: str) -> Iterator[Database]:
    """The same database, as another process sees it."""
    other = databases.connect(address)
    yield other
    other.close()


@pytest.fixture
def hooks(database: Database) -> Hooks:
    """Webhooks of two lenders, demo and umoja."""
    registry = registry_in(database)
    for lender in (DEMO.lender, UMOJA.lender):
        keys.add_lender(registry, lambda: NOON_US, lender, lender, "KES")
    return Hooks(database)
