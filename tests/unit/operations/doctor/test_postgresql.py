"""The doctor on a real PostgreSQL server: what it says of itself, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from alama.operations import diagnosis
from alama.operations.doctor import check_database, examine
from alama.operations.findings import Finding
from alama.platform import clock as wiring
from alama.platform.database import database as databases
from alama.platform.database import migrate
from tests.databases import Postgres, through
from tests.ports import free_port
from tests.unit.operations.patients import BROKEN, LOOK, OK, UNCHECKED, by_check, install, looked_at

REMOTE = make_url("postgresql+psycopg://alama:s3cret@db.internal/alama")
WELL = diagnosis.Server(
    version="16.4",
    fsync=True,
    full_page_writes=True,
    is_standby=False,
    tls="TLSv1.3",
    connections_max=97,
    connections_now=3,
    size_bytes=10**9,
)


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.fresh() as url:
        with closing(databases.connect(url)) as database:
            migrate.upgrade(database)
        yield url


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def judged(server: diagnosis.Server, url: str = "", workers: int = 1) -> dict[str, Finding]:
    named = make_url(url) if url else REMOTE
    return by_check(check_database.judged_server(server, named, workers))


def test_a_server_that_is_well_is_well(url: str, tmp_path: Path) -> None:
    install(tmp_path, ALAMA_DATABASE=url)
    found = looked_at(tmp_path, ALAMA_DATABASE=url)
    assert {one.check: one for one in found.values() if one.mark is BROKEN} == {}
    for check in ("reachable", "schema", "writable", "durable", "tls", "transactions"):
        assert found[f"database.{check}"].mark is OK, found[f"database.{check}"]
    reachable = found["database.reachable"].seen
    assert re.fullmatch(r"PostgreSQL \d+\.\d+ at 127\.0\.0\.1", reachable)
    assert found["clock.database"].mark is OK
    assert "its server knows" in found["disk.database"].seen
    assert found["secrets.environment"].mark is LOOK  # the password is in the address
    told = " ".join(f"{one.seen} {one.todo}" for one in found.values())
    assert str(make_url(url).password) not in told


def test_a_server_that_is_away_is_told_without_its_password(url: str, tmp_path: Path) -> None:
    gone = through(url, free_port())
    found = looked_at(tmp_path, ALAMA_DATABASE=gone)
    one = found["database.reachable"]
    assert one.mark is BROKEN
    assert "connection" in one.seen
    assert str(make_url(url).password) not in f"{one.seen} {one.todo}"
    assert found["database.writable"].mark is UNCHECKED
    assert found["model.builtin"].mark is OK


def test_an_empty_database_is_to_be_upgraded(postgres: Postgres, tmp_path: Path) -> None:
    with postgres.fresh() as url:
        found = looked_at(tmp_path, ALAMA_DATABASE=url)
    assert found["database.schema"].mark is BROKEN
    assert "alama db upgrade" in str(found["database.schema"].todo)
    assert found["database.writable"].mark is UNCHECKED


def test_a_database_that_may_only_be_read_is_broken(url: str, tmp_path: Path) -> None:
    name = make_url(url).database
    try:
        execute(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        one = looked_at(tmp_path, ALAMA_DATABASE=url)["database.writable"]
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    assert one.mark is BROKEN
    assert "read-only" in one.seen


def test_a_server_that_does_not_wait_for_its_disk_is_broken(url: str, tmp_path: Path) -> None:
    try:
        execute(url, "ALTER SYSTEM SET full_page_writes = off")
        execute(url, "SELECT pg_reload_conf()")
        one = looked_at(tmp_path, ALAMA_DATABASE=url)["database.durable"]
    finally:
        execute(url, "ALTER SYSTEM RESET full_page_writes")
        execute(url, "SELECT pg_reload_conf()")
    assert one.mark is BROKEN
    assert "full_page_writes off" in one.seen


def test_a_clock_that_is_a_minute_off_is_broken(url: str, tmp_path: Path) -> None:
    environment = {"ALAMA_HOME": str(tmp_path), "ALAMA_DATABASE": url}
    for behind_s, mark in ((5, LOOK), (60, BROKEN)):

        def clock(behind_us: int = behind_s * 1_000_000) -> int:
            return wiring.wall_us() - behind_us

        assert by_check(examine.examine(environment, clock, None))["clock.database"].mark is mark


def test_a_transaction_that_was_left_open_is_seen(url: str) -> None:
    with closing(databases.connect(url)) as database, psycopg.connect(url) as left:
        assert diagnosis.stuck(database, 0).transactions == 0
        left.execute("SELECT 1")
        found = diagnosis.stuck(database, 0)
        assert found.transactions == 1
        assert check_database.judged_transactions(found).mark is LOOK
        assert diagnosis.stuck(database).transactions == 0


@pytest.mark.parametrize(
    ("check", "server", "mark"),
    [
        ("database.durable", WELL._replace(fsync=False), BROKEN),
        ("database.place", WELL._replace(is_standby=True), BROKEN),
        ("database.tls", WELL._replace(tls=None), BROKEN),
        ("database.tls", WELL, LOOK),
        ("database.connections", WELL._replace(connections_max=30), LOOK),
    ],
)
def test_what_a_server_should_not_be_is_told(
    check: str, server: diagnosis.Server, mark: str
) -> None:
    one = judged(server)[check]
    assert one.mark == mark
    assert one.todo


def test_a_certificate_of_the_server_is_to_be_verified() -> None:
    verified = "postgresql+psycopg://alama@db.internal/alama?sslmode=verify-full"
    assert judged(WELL, verified)["database.tls"].mark is OK
    for near in ("postgresql+psycopg:///alama?host=/run/pg", "postgresql+psycopg://localhost/a"):
        for tls in (None, "TLSv1.3"):  # nobody stands between
            assert judged(WELL._replace(tls=tls), near)["database.tls"].mark is OK


def test_more_workers_need_more_connections() -> None:
    assert judged(WELL, workers=4)["database.connections"].mark is OK
    assert judged(WELL, workers=5)["database.connections"].mark is LOOK


def test_a_database_that_is_far_away_is_told() -> None:
    assert check_database.judged_latency([100, 200, 300]).mark is OK
    assert check_database.judged_latency([100, 6_000, 7_000]).mark is LOOK
