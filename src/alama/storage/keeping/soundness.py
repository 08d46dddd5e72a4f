"""Whether a database is sound by its own means: its tables, its pages, its constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import inspect, text

from alama.storage import schema
from alama.storage.database import patiently
from alama.storage.sqlite_driver import pysqlite3

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from alama.storage.database import Database

SHOWN_MAX: Final = 10
"""Findings of one kind: of a damaged file there may be as many as pages."""

DAMAGED: Final = ("malformed", "not a database")
"""In the words of SQLite where a page of its file is not what it should be."""

_UNPROVED: Final = """\
SELECT conrelid::regclass || ': constraint ' || conname || ' was never validated'
FROM pg_constraint JOIN pg_namespace AS place ON place.oid = connamespace
WHERE NOT convalidated AND place.nspname = current_schema()"""

_INVALID: Final = """\
SELECT indrelid::regclass || ': index ' || indexrelid::regclass || ' is not valid: REINDEX it'
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
JOIN pg_namespace AS place ON place.oid = relnamespace
WHERE NOT (indisvalid AND indisready) AND place.nspname = current_schema()"""

_FAILED: Final = """\
SELECT checksum_failures || ' pages were read whose checksum is wrong'
FROM pg_stat_database WHERE datname = current_database() AND checksum_failures > 0"""


def other_tables(database: Database) -> Sequence[str]:
    """Give what of the schema is missing or is another than this version's, in words."""
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415  seldom asked, slow to load
    from alembic.migration import MigrationContext  # noqa: PLC0415

    with database.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        differences = _differences(compare_metadata(context, schema.METADATA))
        return [*_without_primary_key(connection), *sorted(set(differences))]


def _differences(found: Sequence[Any]) -> Iterator[str]:
    for one in found:
        if isinstance(one, list):  # what is wrong with one column, together
            yield from _differences(one)
        elif one[0].endswith("_comment"):
            continue  # nothing relies on it
        elif one[0] == "add_column":
            yield f"{one[2]}: no column {one[3].name}"
        elif one[0].startswith("modify_"):
            yield f"{one[2]}: column {one[3]} is another ({one[0].removeprefix('modify_')})"
        elif one[0] == "add_table":
            yield f"no table {one[1].name}"
        elif one[0].startswith("add_"):
            yield f"{one[1].table.name}: no {one[0].removeprefix('add_')} {one[1].name}"


def _without_primary_key(connection: Connection) -> Iterator[str]:
    """Give the tables whose primary key is another: Alembic compares all but that."""
    seen = inspect(connection).get_multi_pk_constraint()
    found = {name: key["constrained_columns"] for (_, name), key in seen.items()}
    for table in schema.METADATA.sorted_tables:
        wanted = [column.name for column in table.primary_key.columns]
        if table.name in found and list(found[table.name]) != wanted:
            yield f"{table.name}: no primary key of {', '.join(wanted)}"


def damages(database: Database) -> Sequence[str]:
    """Give what the database itself finds wrong with its files, in words.

    SQLite reads every page of its file; PostgreSQL tells what it knows.
    """
    with database.reading() as connection:
        if database.embedded:
            return list(_of_file(connection))
        patiently(connection)
        queries = (_UNPROVED, _INVALID, _FAILED)
        return [words for query in queries for words in connection.execute(text(query)).scalars()]


def _of_file(connection: Connection) -> Iterator[str]:
    driver: Any = connection.connection.driver_connection
    try:
        for (line,) in driver.execute(f"PRAGMA integrity_check({SHOWN_MAX})"):
            if line != "ok":
                yield line
    except pysqlite3.DatabaseError as error:  # it ends in its midst where a page is no page at all
        if not any(words in str(error) for words in DAMAGED):
            raise
        yield str(error)
        return
    orphans = connection.execute(text("PRAGMA foreign_key_check")).all()
    for table, row, target, _ in orphans[:SHOWN_MAX]:
        yield f"{table}: row {row} names a row of {target} that is not there"
