"""A backup of a service at work holds all that was acknowledged before it began."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from alama.platform.database import database as databases
from alama.platform.database import migrate
from tests.databases import Postgres, sqlite_url
from tests.native import path_with_programs
from tests.reliability.load import Load
from tests.reliability.processes import wait_until
from tests.reliability.test_full_disk import small_disk
from tests.reliability.verdict import assert_acknowledged_are_among, stored
from tests.server import ALAMA, Server

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is Linux's own"),
    pytest.mark.xdist_group("backups"),
]

WORKERS = 2
ANSWERS_BEFORE = 100
WITHIN_S = 120.0
PARTS_S_MAX = 120.0
BALLAST_BYTES = 24 << 20

log = logging.getLogger(__name__)


@pytest.fixture
def empty_url(database_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of another database of the same kind, with nothing in it."""
    if database_url.startswith("sqlite"):
        yield sqlite_url(tmp_path / "restored")
        return
    server: Postgres = request.getfixturevalue("postgres")
    with server.fresh() as url:
        yield url


def alama(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ALAMA, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_a_backup_under_load_restores_to_all_that_was_acknowledged_before_it_began(
    database_url: str, empty_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    settings = {"ALAMA_RATE_LIMIT": "1000000", "PATH": path_with_programs()}
    with Server(database_url, tmp_path, WORKERS, **settings) as server:
        load = Load(server.url, server.key(), connections=6)
        with load.running():
            load.wait_for_answers(ANSWERS_BEFORE, WITHIN_S)
            before = [
                replace(sent, replies=list(sent.replies))
                for sent in list(load.sent.values())
                if sent.replies
            ]
            made = alama(server.environment, "db", "backup", str(file))
            assert made.returncode == 0, made.stderr
            meanwhile = load.answered - sum(len(sent.replies) for sent in before)
            load.wait_for_answers(WORKERS, WITHIN_S)
        assert load.refused == []
        # The service goes on beside it.
        there = server.environment | {"ALAMA_DATABASE": empty_url}
        restored = alama(there, "db", "restore", str(file))
        assert restored.returncode == 0, restored.stderr
        checked = alama(there, "db", "check")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "Traceback" not in server.output()
    kept = {one.row.request_id: one for one in stored(empty_url)}
    assert len(before) >= ANSWERS_BEFORE // 2
    assert meanwhile > 0, "nothing was written while it was backed up"
    assert_acknowledged_are_among(before, kept)
    assert f"{len(kept):,}, the newest of" in made.stdout
    assert f"{len(kept):,}, the newest of" in restored.stdout
    log.info("%d acknowledged before, %d in the backup", len(before), len(kept))


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGKILL], ids=["asked", "killed"])
def test_a_backup_that_is_ended_leaves_nothing_under_its_name_and_no_program_behind(
    database_url: str, tmp_path: Path, asked: signal.Signals
) -> None:
    file = tmp_path / "backup"
    environment = installed(database_url, tmp_path)
    add_ballast(database_url)
    process = begun(environment, "db", "backup", str(file))
    program = "" if database_url.startswith("sqlite") else "--snapshot="

    def is_under_way() -> bool:
        assert process.poll() is None, "it was over before it could be ended"
        parts = list(tmp_path.glob(".backup.*.part"))
        return bool(parts and (not program or of_parent(process.pid, program)))

    deadline = time.monotonic() + PARTS_S_MAX
    while not is_under_way():
        assert time.monotonic() < deadline
        time.sleep(0.002)
    programs = of_parent(process.pid, program) if program else []
    process.send_signal(asked)
    was_killed = asked is signal.SIGKILL
    assert process.wait() == (-asked if was_killed else 128 + asked)
    wait_until(lambda: not any(map(is_alive, programs)), PARTS_S_MAX, "gone")
    assert not file.exists()
    assert bool(list(tmp_path.glob(".backup.*.part"))) is was_killed
    other = tmp_path / "another"
    again = alama(environment, "db", "backup", str(other))
    assert again.returncode == 0, again.stderr
    assert ("is left of a backup that was ended" in again.stderr) is was_killed
    assert other.stat().st_size > 0


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGKILL], ids=["asked", "killed"])
def test_a_restore_that_is_ended_restores_nothing_and_leaves_no_program_behind(
    postgres: Postgres, tmp_path: Path, asked: signal.Signals
) -> None:
    file = tmp_path / "backup"
    with postgres.fresh() as source, postgres.fresh() as empty:
        environment = installed(source, tmp_path)
        made = alama(environment, "db", "backup", str(file))
        assert made.returncode == 0, made.stderr
        with psycopg.connect(empty) as other:
            other.execute("CREATE TABLE scores ()")  # not committed: who makes another one waits
            process = begun(environment | {"ALAMA_DATABASE": empty}, "db", "restore", str(file))

            def waits() -> bool:
                assert process.poll() is None, "it was over before it could be ended"
                return waiting_for_a_lock(postgres, empty) > 0

            wait_until(waits, PARTS_S_MAX, "under way")
            programs = of_parent(process.pid, "--single-transaction")
            assert len(programs) == 1
            process.send_signal(asked)
            assert process.wait() == (-asked if asked is signal.SIGKILL else 128 + asked)
            wait_until(lambda: not any(map(is_alive, programs)), PARTS_S_MAX, "gone")
            other.rollback()
            wait_until(lambda: sessions(postgres, empty) == 1, PARTS_S_MAX, "disconnected")
            found = other.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
            assert found.fetchone() == (0,)


def begun(environment: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*ALAMA, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def of_parent(parent: int, argument: str) -> list[int]:
    """The programs that a process has started with such an argument."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            (status,) = re.findall(r"^PPid:\t(\d+)$", (folder / "status").read_text(), re.MULTILINE)
            started = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
            if int(status) == parent and argument in started and not started.startswith(ALAMA[0]):
                found.append(int(folder.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def waiting_for_a_lock(server: Postgres, address: str) -> int:
    return counted(server, address, "wait_event_type = 'Lock'")


def sessions(server: Postgres, address: str) -> int:
    return counted(server, address, "true")


def counted(server: Postgres, address: str, condition: str) -> int:
    """How many sessions of a database fulfil a condition."""
    query = f"SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND {condition}"  # noqa: S608
    with psycopg.connect(server.url("postgres")) as connection:
        row = connection.execute(query.encode(), [address.rpartition("/")[2]]).fetchone()
    assert row is not None
    return int(row[0])


def test_a_full_disk_is_told_and_leaves_nothing_behind(database_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    environment = installed(database_url, tmp_path)
    with small_disk(folder):
        fill(folder)
        there = set(folder.iterdir())
        done = alama(environment, "db", "backup", str(folder / "backup"))
        assert done.returncode == 2, done.stderr
        assert "error: " in done.stderr
        assert "full" in done.stderr or "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert set(folder.iterdir()) == there


def fill(folder: Path) -> None:
    """Use up what is left of a disk."""
    with suppress(OSError), (folder / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def installed(database_url: str, home: Path) -> dict[str, str]:
    """The settings of an installation without scores."""
    foreign = {k: v for k, v in os.environ.items() if not k.startswith("ALAMA_")}
    environment = foreign | {
        "ALAMA_HOME": str(home),
        "ALAMA_DATABASE": database_url,
        "PATH": path_with_programs(),
    }
    database = databases.connect(database_url)
    migrate.upgrade(database)
    database.close()
    return environment


def add_ballast(database_url: str) -> None:
    """Add a table of noise, none of ours, so that it takes a moment to copy all of it."""
    database = databases.connect(database_url)
    noise = "BLOB" if database.embedded else "BYTEA"
    mark = database.parameter_mark
    with database.writing() as connection:
        connection.exec_driver_sql(f"CREATE TABLE ballast (noise {noise})")
        for _ in range(BALLAST_BYTES >> 20):
            row = (os.urandom(1 << 20),)
            connection.exec_driver_sql(f"INSERT INTO ballast VALUES ({mark})", row)  # noqa: S608
    database.close()
