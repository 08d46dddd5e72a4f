"""A database that answers but has lost its tables is not well: nothing can be scored."""

from __future__ import annotations

from contextlib import closing

import pytest

from alama.lenders.store import Registry
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import StoreUnavailable


def test_a_database_without_its_tables_is_not_healthy(database_url: str) -> None:
    with closing(databases.connect(database_url)) as database:
        registry = Registry(database)
        with pytest.raises(StoreUnavailable):
            registry.ping()
        migrate.upgrade(database)
        registry.ping()
