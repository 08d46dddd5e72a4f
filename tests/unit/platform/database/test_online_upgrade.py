"""A PostgreSQL is upgraded while others serve from it: none is frozen, none is left behind."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text

from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.database import Database, session_name
from alama.platform.database.migrate import served_by
from alama.platform.errors import StoreUnavailable, StoreUnfit
from tests.databases import Postgres
from tests.later_versions import Next, become_later, make_version, numbered
from tests.reliability.processes import wait_until

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("online upgrades")]

THIS = tables.HEAD
NEXT = numbered(1)
AFTER_NEXT = numbered(2)
OLD_SESSION = session_name()

EXPAND = Next(NEXT, THIS, 'op.add_column("facts", sa.Column("note", sa.Text()))')
CONTRACT = Next(AFTER_NEXT, NEXT, 'op.drop_column("facts", "note")')
FAILING = Next(AFTER_NEXT, THIS, 'op.drop_table("no_such_table")')
INDEX = Next(NEXT, THIS, 'beside.create_index("ix_facts_value", "facts", ["value"])', outside=True)

UPGRADE = """
import sys
from alama.platform.database import database, migrate
migrate.upgrade(database.connect(sys.argv[1]))
"""

Later = Callable[..., Database]


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """A database of this version, which nobody has open."""
    with postgres.fresh() as url:
        with closing(databases.connect(url)) as database:
            migrate.upgrade(database)
        yield url


@pytest.fixture
def later(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Later]:
    """The same, opened by a version that has more migrations."""
    with ExitStack() as at_the_end:

        def opened(*steps: Next) -> Database:
            become_later(monkeypatch, tmp_path, *steps)
            return at_the_end.enter_context(closing(databases.connect(url)))

        yield opened


@pytest.fixture
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT_MS", 100)
    monkeypatch.setattr(migrate, "PAUSES_S", (0.1,))


def session(url: str, name: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(url, application_name=name, autocommit=True)


def state(database: Database) -> tuple[str | None, str | None]:
    """Where a database stands, and the oldest code that it serves."""
    with database.reading() as connection:
        return migrate.current(database), served_by(connection)


# ----------------------------------------------------------------------- steps


def test_a_step_that_fails_leaves_those_before_it_and_the_next_upgrade_goes_on(
    later: Later,
) -> None:
    with pytest.raises(StoreUnavailable):
        migrate.upgrade(later(EXPAND, FAILING))
    database = later(EXPAND, CONTRACT)
    assert state(database) == (NEXT, THIS)
    assert migrate.upgrade(database)
    assert state(database) == (AFTER_NEXT, NEXT)


def test_each_step_is_told_when_it_begins(later: Later) -> None:
    told: list[str] = []
    migrate.upgrade(later(EXPAND), told.append)
    assert told == [f"{NEXT}: {EXPAND.about}"]


def test_an_upgrade_leaves_no_session_with_its_settings_behind(later: Later) -> None:
    database = later(EXPAND)
    migrate.upgrade(database)
    with database.reading() as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar() == "10s"
    wait_until(lambda: advisory_locks(database) == 0, within_s=60, what="unlocked")


def advisory_locks(database: Database) -> int:
    held = text(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
        " WHERE locktype = 'advisory' AND datname = current_database()"
    )
    with database.reading() as connection:
        return int(connection.execute(held).scalar_one())


def test_an_upgrade_that_is_killed_lets_go_of_all_it_held_and_the_next_one_finishes(
    url: str, later: Later, tmp_path: Path
) -> None:
    slow = Next(NEXT, THIS, f"{EXPAND.body}; op.execute('SELECT pg_sleep(600)')")
    version = make_version(tmp_path / "slow", "98.0", slow)
    killed = subprocess.Popen(
        [sys.executable, "-c", UPGRADE, url], env=os.environ | {"PYTHONPATH": str(version)}
    )
    database = later(EXPAND)
    try:
        wait_until(lambda: is_asleep(database), within_s=180, what="in the middle of its step")
    finally:
        killed.kill()
        killed.wait()
    started_s = time.monotonic()
    assert migrate.upgrade(database)
    assert time.monotonic() - started_s < 300, "the database went on with it for nobody"
    assert state(database) == (NEXT, THIS)


def is_asleep(database: Database) -> bool:
    sleeping = text("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'")
    with database.reading() as connection:
        return bool(connection.execute(sleeping).scalar_one())


# ----------------------------------------------------------------------- tables in use


@pytest.mark.usefixtures("in_a_hurry")
def test_a_step_makes_way_while_a_table_is_in_use_and_comes_back(url: str, later: Later) -> None:
    database = later(EXPAND)
    told: list[str] = []
    with session(url, "a long report") as other:
        other.autocommit = False
        other.execute("SELECT count(*) FROM facts")

        def tell(words: str) -> None:
            told.append(words)
            if len(told) == 3:  # the step, and that it has to wait, twice
                other.rollback()

        assert migrate.upgrade(database, tell)
    assert all("a table is in use" in words for words in told[1:3])
    assert migrate.current(database) == NEXT


@pytest.mark.usefixtures("in_a_hurry")
def test_a_table_that_stays_in_use_ends_the_upgrade_and_says_by_whom(
    url: str, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "TABLE_TIMEOUT_S", 1.5)
    database = later(EXPAND)
    _, before = state(database)
    with session(url, "a long report") as other:
        other.autocommit = False
        other.execute("SELECT count(*) FROM facts")
        with pytest.raises(StoreUnfit, match=r"in use .* by a long report, process") as caught:
            migrate.upgrade(database)
    assert "upgrade again" in str(caught.value.hint)
    assert state(database) == (THIS, before)


@pytest.mark.usefixtures("in_a_hurry")
def test_who_waits_behind_a_step_waits_no_longer_than_the_step(url: str, later: Later) -> None:
    """A step in the queue for a table keeps out all who come after it."""
    database = later(EXPAND)
    with session(url, "a long report") as other, session(url, "the service") as service:
        other.autocommit = False
        other.execute("SELECT count(*) FROM facts")
        service.execute("SET statement_timeout = '60s'")
        with ThreadPoolExecutor(1) as beside:
            upgraded = beside.submit(migrate.upgrade, database)
            for _ in range(20):
                service.execute("SELECT count(*) FROM facts")
                service.execute("SELECT pg_sleep(0.02)")
            assert not upgraded.done()
            other.rollback()
            assert upgraded.result()


# ----------------------------------------------------------------------- older versions


def test_a_step_that_takes_something_away_is_refused_while_older_code_is_connected(
    url: str, later: Later
) -> None:
    database = later(EXPAND, CONTRACT)
    with session(url, OLD_SESSION), session(url, OLD_SESSION):
        with pytest.raises(StoreUnfit, match=f"step {AFTER_NEXT} takes away") as caught:
            migrate.upgrade(database)
        assert f"with schema {THIS} from 127.0.0.1 (2 sessions)" in str(caught.value)
        assert f"schema {NEXT} or newer" in str(caught.value.hint)
        assert migrate.current(database) == THIS, "the step before it was done"
        assert [one.sessions for one in migrate.plan(database).outdated] == [2]
    assert migrate.upgrade(database)


def test_code_that_a_step_serves_may_stay_connected(url: str, later: Later) -> None:
    migrate.upgrade(later(EXPAND))
    named = session_name()
    with session(url, named), session(url, "psql"), session(url, "alamanac"):
        assert migrate.upgrade(later(EXPAND, CONTRACT))


def test_code_that_starts_while_the_step_runs_is_not_left_behind(
    url: str, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = later(EXPAND, CONTRACT)
    upgrade = command.upgrade

    with ExitStack() as at_the_end:

        def slow(config: Config, revision: str) -> None:
            upgrade(config, revision)
            if revision == AFTER_NEXT:
                at_the_end.enter_context(session(url, OLD_SESSION))

        monkeypatch.setattr(command, "upgrade", slow)
        with pytest.raises(StoreUnfit, match="takes away"):
            migrate.upgrade(database)
    assert state(database) == (NEXT, THIS)


def test_older_code_of_another_role_is_found_where_its_address_is_not_shown(
    url: str, later: Later
) -> None:
    database = later(EXPAND, CONTRACT)
    with session(url, "an administrator") as administrator, session(url, OLD_SESSION):
        administrator.execute("CREATE ROLE migrator LOGIN PASSWORD 'm'")
        try:
            with session(url, "asks") as asks:
                asks.execute("SET ROLE migrator")
                seen = asks.execute(
                    "SELECT application_name, client_addr FROM pg_stat_activity"
                    " WHERE application_name = %s AND datname = current_database()",
                    [OLD_SESSION],
                ).fetchall()
            assert seen == [(OLD_SESSION, None)]
            with database.session() as connection:
                connection.execute(text("SET ROLE migrator"))
                with pytest.raises(StoreUnfit, match="from a place this role may not see"):
                    migrate.require_nobody_outdated(connection, migrate.plan(database).steps)
        finally:
            administrator.execute("DROP ROLE migrator")


def test_a_session_says_its_version_and_schema_and_nothing_is_cut_off(url: str) -> None:
    with (
        closing(databases.connect(url)) as database,
        database.reading() as connection,
    ):
        assert connection.execute(text("SHOW application_name")).scalar() == OLD_SESSION
    assert len(OLD_SESSION) < 64


# ----------------------------------------------------------------------- indexes


def is_valid(url: str, name: str = "ix_facts_value") -> bool | None:
    query = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
    with session(url, "asks") as connection:
        found = connection.execute(query, [name]).fetchone()
    return None if found is None else bool(found[0])


def test_an_index_is_built_while_a_writer_has_the_table(url: str, later: Later) -> None:
    database = later(INDEX)
    with session(url, "the service") as writer, ThreadPoolExecutor(1) as beside:
        writer.autocommit = False
        writer.execute("INSERT INTO facts VALUES ('before', 'x')")
        upgraded = beside.submit(migrate.upgrade, database)
        with session(url, "another writer") as another:
            for number in range(20):
                another.execute("INSERT INTO facts VALUES (%s, 'x')", [f"during {number}"])
                another.execute("SELECT pg_sleep(0.02)")
        assert not upgraded.done()
        writer.commit()
        assert upgraded.result()
    assert is_valid(url) is True
    assert state(database) == (NEXT, THIS)


def test_an_index_that_a_kill_left_unfinished_is_built_anew(url: str, later: Later) -> None:
    with session(url, "killed") as killed:
        killed.execute("INSERT INTO facts VALUES ('one', 'x'), ('two', 'x')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            killed.execute("CREATE UNIQUE INDEX CONCURRENTLY ix_facts_value ON facts (value)")
    assert is_valid(url) is False
    assert migrate.upgrade(later(INDEX))
    assert is_valid(url) is True


def test_an_index_that_was_finished_and_not_noted_is_left_as_it_is(url: str, later: Later) -> None:
    with session(url, "killed") as killed:
        killed.execute("CREATE INDEX CONCURRENTLY ix_facts_value ON facts (value)")
    database = later(INDEX)
    assert migrate.upgrade(database)
    assert migrate.current(database) == NEXT


def test_a_step_outside_a_transaction_that_is_killed_at_its_end_has_said_whom_it_serves(
    later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = later(INDEX._replace(serves=NEXT))
    upgrade = command.upgrade

    def killed(config: Config, revision: str) -> None:
        upgrade(config, revision)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "upgrade", killed)
    with pytest.raises(KeyboardInterrupt):
        migrate.upgrade(database)
    assert state(database) == (NEXT, NEXT)


def test_a_step_outside_a_transaction_looks_for_older_code_before_it_begins(
    url: str, later: Later
) -> None:
    """Once more: one may have started since the first look, while the steps before it were done."""
    database = later(EXPAND, INDEX._replace(id=AFTER_NEXT, serves=NEXT))
    with ExitStack() as at_the_end:

        def tell(words: str) -> None:
            if words.startswith(AFTER_NEXT):
                at_the_end.enter_context(session(url, OLD_SESSION))

        with pytest.raises(StoreUnfit, match=f"step {AFTER_NEXT} takes away"):
            migrate.upgrade(database, tell)
    assert is_valid(url) is None
    assert state(database) == (NEXT, THIS)


def test_a_new_database_gets_its_indexes_in_the_one_transaction(
    postgres: Postgres, later: Later
) -> None:
    later(INDEX)
    with postgres.fresh() as empty, closing(databases.connect(empty)) as database:
        assert migrate.upgrade(database)
        assert is_valid(empty) is True
        assert state(database) == (NEXT, THIS)


def test_several_that_want_to_build_an_index_do_not_wait_for_each_other_for_ever(
    url: str, later: Later
) -> None:
    opened = [later(INDEX) for _ in range(4)]
    with ThreadPoolExecutor(len(opened)) as pool:
        done = list(pool.map(migrate.upgrade, opened))
    assert sorted(done) == [False, False, False, True]
    assert is_valid(url) is True
