"""A database that answers but has lost its tables is not well: nothing can be scored."""

from __future__ import annotations

from contextlib import closing

import pytest

from alama.service.errors import StoreUnavailable
from alama.storage import database as databases
from alama.storage.registry import SqlRegistry
from alama.storage.upgrading import migrate


def test_a_database_without_its_tables_is_not_healthy(database_url: str) -> None:
    with closing(databases.connect(database_url)) as database:
        registry = SqlRegistry(database)
        with pytest.raises(StoreUnavailable):
            registry.ping()
        migrate.upgrade(database)
        registry.ping()
