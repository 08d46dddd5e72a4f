"""A power cut takes along what was not yet on the disk; nothing of that was acknowledged.

SIGKILL does not show it: what a killed process has written stays in the memory of the system.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from alama.storage.sqlite_driver import pysqlite3
from tests.databases import sqlite_url
from tests.reliability.load import Load
from tests.reliability.verdict import assert_kept
from tests.server import Server

COMPILER = shutil.which("cc")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="preloads into programs of Linux"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
    pytest.mark.xdist_group("outages"),
]

ROWS_ACKNOWLEDGED = """
import os, sys
from alama.storage.sqlite_driver import pysqlite3
connection = pysqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("PRAGMA synchronous=" + sys.argv[2])
connection.execute("CREATE TABLE IF NOT EXISTS scores (id INTEGER)")
for number in range(10):
    connection.execute("INSERT INTO scores VALUES (?)", (number,))
os._exit(0)
"""


@pytest.fixture
def simulation(tmp_path: Path) -> dict[str, str]:
    """The environment of a process whose power will be cut; the disk is below `disk`."""
    library = tmp_path / "power_cut.so"
    source = Path(__file__).with_name("power_cut.c")
    assert COMPILER is not None
    subprocess.run(
        [COMPILER, "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True
    )
    for name in ("running", "disk"):
        (tmp_path / name).mkdir()
    return {
        "LD_PRELOAD": str(library),
        "POWER_CUT_WATCHED": str(tmp_path / "running"),
        "POWER_CUT_KEPT": str(tmp_path / "disk"),
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_acknowledged_is_on_the_disk(
    simulation: dict[str, str], tmp_path: Path, workers: int
) -> None:
    url = sqlite_url(tmp_path / "running")
    with Server(url, tmp_path, workers, ALAMA_RATE_LIMIT="1000000", **simulation) as server:
        load = Load(server.url, server.key())
        with load.running():
            load.wait_for_answers(300, 30.0)
        server.kill()
    assert_kept(load, sqlite_url(tmp_path / "disk"))


@pytest.mark.parametrize(("synchronous", "on_the_disk"), [("FULL", 10), ("NORMAL", 0)])
def test_the_simulation_loses_what_was_not_waited_for(
    simulation: dict[str, str], tmp_path: Path, synchronous: str, on_the_disk: int
) -> None:
    database = tmp_path / "running" / "plain.db"
    subprocess.run(
        [sys.executable, "-c", ROWS_ACKNOWLEDGED, database, synchronous],
        env=os.environ | simulation,
        check=True,
    )
    connection = pysqlite3.connect(tmp_path / "disk" / "plain.db")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    kept = connection.execute("SELECT count(*) FROM scores").fetchone()[0] if tables else 0
    connection.close()
    assert kept == on_the_disk
