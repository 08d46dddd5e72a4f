"""A power cut takes along what was not yet on the disk; nothing of that was acknowledged.

SIGKILL does not show it: what a killed process has written stays in the memory of the system.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from alama.platform.database.sqlite_driver import pysqlite3
from tests.databases import sqlite_url
from tests.reliability.disks import COMPILER, Recorded
from tests.reliability.load import Load
from tests.reliability.verdict import assert_kept
from tests.server import Server

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="preloads into programs of Linux"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
    pytest.mark.xdist_group("outages"),
]

ROWS_ACKNOWLEDGED = """
import os, sys
from alama.platform.database.sqlite_driver import pysqlite3
connection = pysqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("PRAGMA synchronous=" + sys.argv[2])
connection.execute("CREATE TABLE IF NOT EXISTS scores (id INTEGER)")
for number in range(10):
    connection.execute("INSERT INTO scores VALUES (?)", (number,))
os._exit(0)
"""


@pytest.fixture
def found(tmp_path: Path) -> Path:
    """Where to put what a cut has left."""
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_acknowledged_is_on_the_disk(tmp_path: Path, found: Path, workers: int) -> None:
    (tmp_path / "recorded" / "running").mkdir(parents=True)
    url = sqlite_url(tmp_path / "recorded" / "running")
    with Server(url, tmp_path) as server:
        key = server.key()  # by this process, which is not recorded
        server.stop()
    recorded = Recorded(tmp_path / "recorded")
    environment = recorded.environment
    with Server(url, tmp_path, workers, ALAMA_RATE_LIMIT="1000000", **environment) as server:
        load = Load(server.url, key)
        with load.running():
            load.wait_for_answers(300, 30.0)
        server.kill()
    recorded.last_cut(found)
    assert_kept(load, sqlite_url(found))


@pytest.mark.parametrize(("synchronous", "on_the_disk"), [("FULL", 10), ("NORMAL", 0)])
def test_the_simulation_loses_what_was_not_waited_for(
    tmp_path: Path, found: Path, synchronous: str, on_the_disk: int
) -> None:
    recorded = Recorded(tmp_path / "recorded")
    subprocess.run(
        [sys.executable, "-c", ROWS_ACKNOWLEDGED, recorded.folder / "plain.db", synchronous],
        env=os.environ | recorded.environment,
        check=True,
    )
    recorded.last_cut(found)
    connection = pysqlite3.connect(found / "plain.db")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    kept = connection.execute("SELECT count(*) FROM scores").fetchone()[0] if tables else 0
    connection.close()
    assert kept == on_the_disk
