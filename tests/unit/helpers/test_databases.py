"""The databases that other tests stand on are real, apart from each other, and durable."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, inspect, text

from tests.databases import STOP_S_MAX, Postgres, sqlite_url, through

ROOT = Path(__file__).parents[3]

KILLED_WHILE_SERVING = """
import os, signal
from tests.databases import Postgres
with Postgres() as server:
    print(server._folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_two_fresh_databases_do_not_see_each_other(postgres: Postgres) -> None:
    with postgres.fresh() as one, postgres.fresh() as other:
        with psycopg.connect(one) as connection:
            connection.execute("CREATE TABLE scores (id int)")
        with psycopg.connect(other) as connection:
            found = connection.execute("SELECT to_regclass('scores')").fetchone()
    assert found == (None,)


def test_a_fresh_database_is_gone_afterwards_even_with_a_session_still_open(
    postgres: Postgres,
) -> None:
    with postgres.fresh() as url:
        left_open = psycopg.connect(url)
    with pytest.raises(psycopg.OperationalError, match="terminating connection"):
        left_open.execute("SELECT 1")
    left_open.close()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_a_stranger_of_the_machine_is_not_let_in(postgres: Postgres) -> None:
    url = f"postgresql://postgres:guess@{postgres.host}:{postgres.port}/postgres"
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(url)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
def test_postgresql_keeps_what_it_has_acknowledged(postgres: Postgres, setting: str) -> None:
    with postgres.fresh() as url, psycopg.connect(url) as connection:
        assert connection.execute(f"SHOW {setting}").fetchone() == ("on",)


def test_the_server_ends_itself_when_the_tests_are_killed() -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_SERVING],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    folder = Path(killed.stdout.strip())
    deadline = time.monotonic() + STOP_S_MAX
    while "database system is shut down" not in (folder / "log").read_text("utf-8"):
        assert time.monotonic() < deadline, "PostgreSQL still runs"
        time.sleep(0.02)
    shutil.rmtree(folder)


def test_every_test_gets_an_empty_database_that_sqlalchemy_can_write(database_url: str) -> None:
    engine = create_engine(database_url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.begin() as connection:
            assert inspect(connection).get_table_names() == []
            connection.execute(text("CREATE TABLE scores (id integer)"))
            connection.execute(text("INSERT INTO scores VALUES (1)"))
        with engine.connect() as connection:
            assert connection.execute(text("SELECT id FROM scores")).scalars().all() == [1]
    finally:
        engine.dispose()


def test_a_database_can_be_reached_by_another_port(tmp_path: Path) -> None:
    url = "postgresql://me:p@ss@127.0.0.1:5432/alama?connect_timeout=2"
    assert through(url, 99) == "postgresql://me:p@ss@127.0.0.1:99/alama?connect_timeout=2"
    assert sqlite_url(tmp_path) == f"sqlite:///{tmp_path}/alama.db"
