"""How a session with a database is set up, where it decides what an outage does."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from alama.storage import database as databases
from alama.storage import migrate, schema
from alama.storage.database import ABANDONED_MS, Database
from alama.storage.registry import SqlRegistry
from tests.databases import Postgres, sqlite_url, through
from tests.proxy import Proxy

pytestmark = pytest.mark.xdist_group("outages")


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.fresh() as url:
        yield url


def opened(url: str) -> Iterator[Database]:
    database = databases.connect(url)
    migrate.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Database]:
    yield from opened(sqlite_url(tmp_path))


@pytest.fixture
def remote(url: str) -> Iterator[Database]:
    yield from opened(url)


def test_sqlite_waits_for_the_disk_before_it_acknowledges(embedded: Database) -> None:
    # NORMAL (1) is what WAL files are often run with, and loses commits in a power cut.
    with embedded.writing() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("synchronous", "journal_mode", "foreign_keys")
        }
    assert settings == {"synchronous": 2, "journal_mode": "wal", "foreign_keys": 1}


def test_postgresql_waits_for_the_disk_before_it_acknowledges(remote: Database) -> None:
    with remote.writing() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


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
    postgres: Postgres, remote: Database, url: str
) -> None:
    row = {"name": "wanted by both", "value": ""}
    with Proxy(postgres.host, postgres.port) as proxy:
        vanishing = databases.connect(through(url, proxy.port))
        in_the_middle = threading.Event()
        let_go = threading.Event()

        def vanish() -> None:
            with (
                pytest.raises(databases.StoreUnavailable),
                vanishing.writing() as connection,
            ):
                connection.execute(insert(schema.facts), row)
                in_the_middle.set()
                let_go.wait()

        other = threading.Thread(target=vanish)
        other.start()
        in_the_middle.wait()
        proxy.stall()
        started = time.monotonic()
        assert SqlRegistry(remote).settle_fact("wanted by both", "mine") == "mine"
        assert time.monotonic() - started < ABANDONED_MS / 1000 + 2
        proxy.mend()
        let_go.set()
        other.join()
        vanishing.close()
