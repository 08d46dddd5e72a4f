"""A disk that fails once loses nothing that was acknowledged, wherever and whenever it fails."""

from __future__ import annotations

import logging
import os
import random
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from alama.platform.database.sqlite_driver import pysqlite3
from tests.databases import sqlite_url
from tests.reliability import faults_and_cuts
from tests.reliability.client import Client
from tests.reliability.disks import COMPILER, Recorded
from tests.reliability.faults_and_cuts import FAULTS, FILE, Tally
from tests.reliability.load import UNAVAILABLE, Load
from tests.reliability.outages import wait_until_all_are_refused, wait_until_unhealthy
from tests.reliability.verdict import assert_kept, assert_readable
from tests.server import Server

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="preloads into programs of Linux"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
    pytest.mark.xdist_group("outages"),
]

LOG = logging.getLogger(__name__)
FAULTS_OF_A_KIND = int(os.environ.get("RELIABILITY_FAULTS", "1"))
CUTS_AFTER_EACH = int(os.environ.get("RELIABILITY_CUTS", "6"))
COMMITS = 40
LATEST_FAULTS = {"write": 120, "sync": 30}
"""Of a journal: it is written some times in every commit, and synced once."""

ONLY_ONCE = {"create", "truncate", "unlink"}

IN_PASSING = """
import os, sys
from alama.platform.database.sqlite_driver import pysqlite3
from tests.reliability.disks import acknowledge
def opened():
    connection = pysqlite3.connect(sys.argv[1], isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=8"):
        connection.execute("PRAGMA " + pragma)
    return connection
writer, reader = opened(), opened()
writer.execute("CREATE TABLE IF NOT EXISTS scores (id TEXT, filler TEXT)")
for number in range(60):
    if number % 6 == 0:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM scores").fetchall()
    if number % 6 == 3:
        reader.execute("COMMIT")
    try:
        writer.execute("INSERT INTO scores VALUES (?, ?)", (str(number), "f" * 2000))
    except pysqlite3.OperationalError:
        continue
    acknowledge([str(number)])
os._exit(0)
"""


def lost_in_passing(place: Path, fault: str) -> int:
    """How much is lost of what was acknowledged where SQLite copies its journal by itself."""
    recorded = Recorded(place, fault)
    command = [sys.executable, "-c", IN_PASSING, str(recorded.folder / "plain.db")]
    subprocess.run(command, env=os.environ | recorded.environment, check=True)
    found = place / "found"
    found.mkdir()
    disk = recorded.last_cut(found)
    with closing(pysqlite3.connect(found / "plain.db")) as connection:
        try:
            kept = {one for (one,) in connection.execute("SELECT id FROM scores")}
        except pysqlite3.DatabaseError:
            kept = set()
    return len(set(disk.acknowledged) - kept)


def test_the_simulation_finds_what_sqlite_loses_when_it_copies_its_journal_in_passing(
    tmp_path: Path,
) -> None:
    lost = [lost_in_passing(tmp_path / str(at), f"sync plain.db {at}") for at in (3, 4, 5)]
    assert sum(lost) > 0


@pytest.mark.parametrize(("what", "name"), FAULTS)
def test_nothing_that_was_acknowledged_is_missing_after_a_fault(
    tmp_path: Path, what: str, name: str
) -> None:
    start = faults_and_cuts.prepare(tmp_path / "start")
    chance, tally = random.Random(f"{what} {name}"), Tally()  # noqa: S311  no secret
    for number in range(FAULTS_OF_A_KIND):
        latest = LATEST_FAULTS.get(what, 1) if name.endswith("-wal") else 4 + number
        at = 1 if what in ONLY_ONCE else chance.randint(1, latest)
        place = tmp_path / str(number)
        recorded = faults_and_cuts.run(start, place, f"{what} {name} {at}", COMMITS, number)
        tally.faults += recorded.has_failed
        faults_and_cuts.cut(recorded, place, CUTS_AFTER_EACH, number, tally)
        shutil.rmtree(place)
    LOG.info("%s of %s: %s", what, name, tally)
    assert tally.faults > 0
    assert tally.cuts > 0
    assert (tally.missing, tally.malformed) == (0, 0), tally


def test_a_service_whose_disk_fails_stops_writing_and_is_whole_after_a_restart(
    tmp_path: Path,
) -> None:
    place = tmp_path / "recorded"
    (place / "running").mkdir(parents=True)
    url = sqlite_url(place / "running")
    with Server(url, tmp_path) as server:
        key = server.key()
        server.stop()
    recorded = Recorded(place, f"sync {FILE} 3")
    environment = {"ALAMA_RATE_LIMIT": "1000000", **recorded.environment}
    with Server(url, tmp_path, 2, **environment) as server:
        load = Load(server.url, key, connections=4)
        with load.running():
            wait_until_all_are_refused(load, 120.0)
            with Client(server.url, key) as client:
                wait_until_unhealthy(client, 10.0)
                assert client.get("/readyz").status == UNAVAILABLE
                assert_readable(load, client, newest=3)
            assert recorded.has_failed
            assert '"event":"checkpoint_failed"' in server.output()
            server.kill()
            server.start()  # waits until it is healthy
            assert '"event":"disk_checked"' in server.output()
            load.wait_for_answers(50, 30.0)
        assert server.stop() == 0
        assert "Traceback" not in server.output()
    assert_kept(load, url)
    found = tmp_path / "found"
    found.mkdir()
    recorded.last_cut(found)
    assert_kept(load, sqlite_url(found))
