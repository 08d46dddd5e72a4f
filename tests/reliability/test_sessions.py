"""How sessions with PostgreSQL are set up, where it decides what an outage does."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from sqlalchemy import exc, insert

from alama.lenders.store import Registry
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.database import Database
from tests.databases import Postgres, through
from tests.proxy import Proxy

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("outages")]


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.fresh() as url:
        yield url


@pytest.fixture
def remote(url: str) -> Iterator[Database]:
    with closing(databases.connect(url)) as database:
        migrate.upgrade(database)
        yield database


def test_a_silent_postgresql_is_found_out_within_seconds(remote: Database) -> None:
    with remote.reading() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        with socket.socket(fileno=os.dup(driver.fileno())) as line:
            first_s = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
            next_s = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)
            times = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT)
            assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert first_s + times * next_s <= 15


def test_a_client_that_vanished_in_the_middle_of_a_commit_does_not_keep_its_locks(
    postgres: Postgres, remote: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = "wanted by both"
    monkeypatch.setattr(databases, "ABANDONED_MS", 1_000)
    with (
        Proxy(postgres.host, postgres.port) as proxy,
        closing(databases.connect(through(url, proxy.port))) as vanishing,
        vanishing.engine.connect() as connection,
    ):
        connection.execute(insert(tables.facts), {"name": fact, "value": "theirs"})
        proxy.stall()
        started = time.monotonic()
        try:
            assert Registry(remote).settle_fact(fact, "ours") == "ours"
        finally:
            proxy.mend()
        assert time.monotonic() - started < databases.ABANDONED_MS / 1000 + 30
        with pytest.raises(exc.DBAPIError):
            connection.commit()


def test_a_migration_may_take_longer_than_a_request(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "STATEMENT_TIMEOUT_MS", 100)
    with (
        closing(databases.connect(url)) as database,
        psycopg.connect(url) as other,
        ThreadPoolExecutor(1) as beside,
    ):
        other.execute("SELECT pg_advisory_xact_lock(%s)", (migrate.LOCK,))
        upgraded = beside.submit(migrate.upgrade, database)
        time.sleep(0.5)
        other.rollback()
        assert upgraded.result()
