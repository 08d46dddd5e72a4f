"""What a schema lacks is named, be it a key that no column tells of."""

from __future__ import annotations

from contextlib import closing

import pytest
from sqlalchemy import text

from alama.operations import soundness
from alama.platform.database import database as databases
from alama.platform.database import migrate


@pytest.fixture
def missing(database_url: str) -> list[str]:
    """What two tables lack that were put back by hand: all their columns, and nothing else."""
    with closing(databases.connect(database_url)) as database:
        migrate.upgrade(database)
        assert soundness.other_tables(database) == []
        with database.writing() as connection:
            for table in ("pauses", "keys"):
                connection.execute(text(f"ALTER TABLE {table} RENAME TO away"))
                connection.execute(text(f"CREATE TABLE {table} AS SELECT * FROM away"))  # noqa: S608  ours
                connection.execute(text("DROP TABLE away"))
        return list(soundness.other_tables(database))


def test_keys_and_constraints_that_are_gone_are_named_and_primary_keys_first(
    missing: list[str],
) -> None:
    assert missing[:2] == ["keys: no primary key of id", "pauses: no primary key of lender, mode"]
    assert "keys: no constraint uq_keys_digest" in missing
    assert "pauses: no fk fk_pauses_lender" in missing
