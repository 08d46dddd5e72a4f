"""Migrations make the schema that queries expect, once, whoever comes first."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import inspect, text

from alama.operations import soundness
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.database import Database
from alama.platform.database.migrate import SERVES_FACT, note_served, served_by
from alama.platform.errors import StoreUnfit
from tests.entries import an_entry
from tests.migrated import Repeated
from tests.stores import insert_scores

MIGRATIONS = Path(tables.__file__).parent / "migrations"

UPGRADE = """
import sys
from alama.platform.database import database, migrate
opened = database.connect(sys.argv[1])
sys.stdin.readline()
migrate.upgrade(opened)
migrate.require_fit(opened)
"""


@pytest.fixture(autouse=True)
def nothing_is_repeated(migrations: Repeated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the migrations themselves run."""
    monkeypatch.setattr(command, "upgrade", migrations.upgrade)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database without tables."""
    database = databases.connect(database_url)
    yield database
    database.close()


def set_version(database: Database, version: str, serves: str | None = None) -> None:
    """Have a database stand at a schema, and serve the code of that one and newer, or this one."""
    migrate.upgrade(database)
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": version})
        note_served(connection, serves or version)


def test_the_schema_that_queries_see_is_the_one_that_migrations_make(database: Database) -> None:
    migrate.upgrade(database)
    with database.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, tables.METADATA) == []


def test_the_keys_that_queries_see_are_those_that_migrations_make(database: Database) -> None:
    """Which the comparison above leaves out."""
    migrate.upgrade(database)
    expected = {table.name: table.primary_key.columns.keys() for table in soundness.TABLES}
    with database.reading() as connection:
        seen = inspect(connection)
        found = {name: seen.get_pk_constraint(name)["constrained_columns"] for name in expected}
    assert found == expected


def test_the_code_expects_the_newest_migration() -> None:
    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == tables.HEAD


def test_an_upgrade_says_whether_there_was_anything_to_do(database: Database) -> None:
    assert migrate.current(database) is None
    assert migrate.upgrade(database) is True
    assert migrate.current(database) == tables.HEAD
    assert migrate.upgrade(database) is False
    migrate.require_fit(database)


@pytest.mark.parametrize(
    ("found", "problem", "remedy"),
    [
        (None, "empty", "alama db upgrade"),
        ("0007", "stands at schema 0007, which was never released", "move it away"),
        ("9999", "stands at schema 9999, this version of Alama knows", "a newer one"),
    ],
    ids=["empty", "too old", "new"],
)
def test_a_schema_that_does_not_fit_is_told_with_the_way_out(
    database: Database, found: str | None, problem: str, remedy: str
) -> None:
    if found is not None:
        set_version(database, found)
    with pytest.raises(StoreUnfit, match=problem) as caught:
        migrate.require_fit(database)
    assert remedy in str(caught.value.hint)


def test_a_schema_of_an_older_release_asks_for_an_upgrade(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate.upgrade(database)
    monkeypatch.setattr(tables, "HEAD", "9999")
    with pytest.raises(StoreUnfit, match="this version of Alama needs 9999") as caught:
        migrate.require_fit(database)
    assert "alama db upgrade" in str(caught.value.hint)


def test_a_newer_schema_that_still_serves_this_version_is_fit_and_left_alone(
    database: Database,
) -> None:
    """A process of this version may start again while the next one takes over."""
    set_version(database, "9999", serves=tables.HEAD)
    migrate.require_fit(database)
    assert migrate.upgrade(database) is False
    assert migrate.plan(database) == ("9999", [], [])
    assert migrate.current(database) == "9999"


def test_a_newer_schema_that_says_nothing_of_whom_it_serves_is_refused(database: Database) -> None:
    set_version(database, "9999")
    with database.writing() as connection:
        connection.execute(tables.facts.delete().where(tables.facts.c.name == SERVES_FACT))
    with pytest.raises(StoreUnfit, match="stands at schema 9999"):
        migrate.require_fit(database)


def test_a_database_says_from_its_first_step_on_which_code_it_serves(database: Database) -> None:
    migrate.upgrade(database)
    with database.reading() as connection:
        assert served_by(connection) == max(
            getattr(step.module, "serves", step.revision) for step in steps()
        )


def test_every_step_after_the_first_release_says_which_code_may_go_on_serving() -> None:
    ids = {step.revision for step in steps()}
    for step in steps():
        if step.revision > tables.OLDEST:
            assert step.module.serves in ids, f"{step.revision} names no schema"
            assert step.module.serves <= step.revision, f"{step.revision} serves nobody"


def test_a_step_outside_a_transaction_takes_nothing_away() -> None:
    """It could not be taken back where older code turns out to be connected."""
    serves = ""
    for step in steps():
        before, serves = serves, max(serves, getattr(step.module, "serves", step.revision))
        assert serves in {before, step.down_revision} or not hasattr(
            step.module, "outside_transaction"
        )


def steps() -> list[Script]:
    """Every migration, the oldest first."""
    return list(reversed(list(ScriptDirectory(str(MIGRATIONS)).walk_revisions())))


def stand_at(database: Database, revision: str) -> None:
    """Make a database as the version of that schema did."""
    with migrate.configured() as config, database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        note_served(connection, revision)


@pytest.mark.parametrize("before", ["nothing", "a kill"])
def test_lists_of_scores_get_their_indexes_beside_the_scores_there_are(
    database: Database, before: str
) -> None:
    stand_at(database, "0008")
    insert_scores(database, an_entry().score)
    if before == "a kill" and not database.embedded:  # on SQLite a step stands whole or not at all
        with database.writing() as connection:
            connection.execute(
                text(
                    "CREATE INDEX ix_scores_applicant_key_id_request_id ON scores"
                    " (applicant_key_id, request_id) WHERE applicant_key_id IS NOT NULL"
                )
            )
    assert migrate.plan(database).steps[0].id == "0009"
    assert migrate.upgrade(database) is True
    with database.reading() as connection:
        found = MigrationContext.configure(connection)
        assert compare_metadata(found, tables.METADATA) == []
        assert connection.execute(text("SELECT count(*) FROM scores")).scalar() == 1
        assert served_by(connection) == "0008"


def test_a_schema_that_was_never_released_is_not_touched(database: Database) -> None:
    set_version(database, "0007")
    with pytest.raises(StoreUnfit, match="never released"):
        migrate.upgrade(database)
    assert migrate.current(database) == "0007"


def test_a_schema_of_a_newer_version_is_not_touched(database: Database) -> None:
    set_version(database, "9999")
    with pytest.raises(StoreUnfit, match="stands at schema 9999"):
        migrate.upgrade(database)
    assert migrate.current(database) == "9999"


def test_a_failing_step_leaves_nothing_behind(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE scores (id integer)"))
    with pytest.raises(Exception, match=r"exists|does not answer"):
        migrate.upgrade(database)
    with database.reading() as connection:
        assert inspect(connection).get_table_names() == ["scores"]


def test_threads_that_upgrade_a_new_database_at_once_all_succeed(database_url: str) -> None:
    opened = [databases.connect(database_url) for _ in range(4)]
    with ThreadPoolExecutor(len(opened)) as pool:
        list(pool.map(migrate.upgrade, opened))
    for database in opened:
        migrate.require_fit(database)
        database.close()


@pytest.mark.long
def test_processes_that_upgrade_a_new_database_at_once_all_succeed(database_url: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", UPGRADE, database_url],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=180)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
