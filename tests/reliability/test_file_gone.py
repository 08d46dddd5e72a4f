"""The SQLite file is taken away under a running service, which has it open and could go on writing.

Nothing is acknowledged from then on. A file that is put back is used again by itself. One that was
removed for good or replaced needs a restart: the service cannot know whether it is meant.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.databases import sqlite_url
from tests.reliability.client import Client, application
from tests.reliability.load import OK, UNAVAILABLE, Load
from tests.reliability.outages import (
    wait_until_all_are_refused,
    wait_until_healthy,
    wait_until_unhealthy,
)
from tests.reliability.verdict import assert_kept, assert_told_to_come_back, stored
from tests.server import Server

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("outages")]

NOTICED_S_MAX = 60.0
BACK_S_MAX = 60.0
"""Both take about a second; a busy machine may need more."""


def test_scores_are_refused_while_the_file_is_away_and_given_when_it_is_back(
    tmp_path: Path,
) -> None:
    url, file, aside = sqlite_url(tmp_path), tmp_path / "alama.db", tmp_path / "aside.db"
    with Server(url, tmp_path, 2, ALAMA_RATE_LIMIT="1000000") as server:
        key = server.key()
        load = Load(server.url, key, connections=4)
        with load.running(), Client(server.url, key) as client:
            for _ in range(2):
                load.wait_for_answers(50, BACK_S_MAX)
                file.rename(aside)
                wait_until_all_are_refused(load, NOTICED_S_MAX)
                wait_until_unhealthy(client, NOTICED_S_MAX)
                assert not file.exists()
                aside.rename(file)
                wait_until_healthy(client, BACK_S_MAX)
                load.wait_for_answers(50, BACK_S_MAX)
        assert_kept(load, url)
        assert "Traceback" not in server.output()


def remove(file: Path, _backup: Path) -> None:
    for part in file.parent.glob(f"{file.name}*"):
        part.unlink()


def replace(file: Path, backup: Path) -> None:
    backup.replace(file)


@pytest.mark.parametrize("happens", [remove, replace])
def test_nothing_is_acknowledged_after_the_file_was_removed_or_replaced_until_a_restart(
    tmp_path: Path, happens: Callable[[Path, Path], None]
) -> None:
    url, file, backup = sqlite_url(tmp_path), tmp_path / "alama.db", tmp_path / "backup.db"
    with Server(url, tmp_path) as server:
        key = server.key()
        with Client(server.url, key) as client:
            assert client.score(application("before-1")).status == OK
            with closing(sqlite3.connect(file)) as database:
                database.execute("VACUUM INTO ?", [str(backup)])
            assert client.score(application("before-2")).status == OK
            happens(file, backup)
            for number in range(20):
                reply = client.score(application(f"after-{number}"))
                assert reply.status == UNAVAILABLE
                assert_told_to_come_back(reply)
            wait_until_unhealthy(client, NOTICED_S_MAX)
        server.stop()
        for companion in tmp_path.glob("alama.db-*"):
            companion.unlink()  # of the old file: whoever restores a backup has to remove them
        server.start()
        with Client(server.url, server.key()) as client:
            assert client.score(application("restarted")).status == OK
    # What is in the file now is what was put there, or nothing, and the score since the restart.
    assert len(stored(url)) == (1 if happens is remove else 2)
