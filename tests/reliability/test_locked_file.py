"""Another program holds the SQLite file for longer than a request can wait."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from alama.platform.database import database
from tests.databases import sqlite_url
from tests.reliability.client import Client
from tests.reliability.load import Load
from tests.reliability.outages import (
    wait_until_all_are_refused,
    wait_until_healthy,
    wait_until_unhealthy,
)
from tests.reliability.verdict import assert_kept
from tests.server import Server

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("outages")]

TOLD_S_MAX = 25.0  # before a caller gives up; it takes eight
BACK_S_MAX = 60.0


def test_scores_are_refused_while_the_file_is_locked_and_given_when_it_is_free(
    tmp_path: Path,
) -> None:
    url = sqlite_url(tmp_path)
    with Server(url, tmp_path, 2, ALAMA_RATE_LIMIT="1000000") as server:
        key = server.key()
        load = Load(server.url, key, connections=4)
        with (
            load.running(),
            Client(server.url, key) as client,
            closing(database.connect(url)) as other,
        ):
            load.wait_for_answers(50, BACK_S_MAX)
            with other.writing():
                wait_until_all_are_refused(load, TOLD_S_MAX, in_a_row=1)
                wait_until_unhealthy(client, TOLD_S_MAX)
            wait_until_healthy(client, BACK_S_MAX)
            load.wait_for_answers(50, BACK_S_MAX)
        assert load.slowest_s < TOLD_S_MAX
        assert_kept(load, url)
        assert "Traceback" not in server.output()
