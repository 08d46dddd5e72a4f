"""Whatever is killed, what was acknowledged is there, once, and the service comes back.

`make reliability` does the same many more times.
"""

from __future__ import annotations

import logging
import os
import sys
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.reliability import processes
from tests.reliability.client import Client
from tests.reliability.load import Load
from tests.reliability.verdict import assert_kept, assert_readable
from tests.server import Server

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
    pytest.mark.xdist_group("kills"),
]

ROUNDS = int(os.environ.get("RELIABILITY_ROUNDS", "3"))
WORKERS = 2
VICTIMS = ("worker", "supervisor", "service")

ANSWERS_BEFORE = 60
ANSWERS_AFTER = 30
BACK_S_MAX = 120.0
GONE_S_MAX = 60.0

log = logging.getLogger(__name__)


def test_no_kill_loses_what_was_acknowledged_or_scores_it_twice(
    database_url: str, tmp_path: Path
) -> None:
    kind = database_url.partition(":")[0]
    with Server(database_url, tmp_path, WORKERS, ALAMA_RATE_LIMIT="1000000") as server:
        key = server.key()
        load = Load(server.url, key)
        for number, victim in enumerate(islice(cycle(VICTIMS), ROUNDS), start=1):
            with load.running():
                load.wait_for_answers(ANSWERS_BEFORE, BACK_S_MAX)
                KILLS[victim](server)
                load.wait_for_answers(ANSWERS_AFTER, BACK_S_MAX)
            assert_kept(load, database_url)
            with Client(server.url, key) as client:
                assert_readable(load, client)
            log.info(
                "%s: round %d of %d, killed the %s; %d scores so far, all there, %d requests lost",
                *(kind, number, ROUNDS, victim, load.answered, load.lost),
            )
        assert load.lost > 0, "nothing was under way when something was killed"
        assert "Traceback" not in server.output()


def kill_worker(server: Server) -> None:
    """One of the workers dies; the supervisor replaces it, and goes on itself."""
    # Not by the log: the other worker may itself have only just begun, and say so now.
    victim = processes.workers(server.pid)[0]
    processes.kill(victim)

    def is_replaced() -> bool:
        workers = processes.workers(server.pid)
        return len(workers) == WORKERS and victim not in workers

    processes.wait_until(is_replaced, BACK_S_MAX, "replaced")
    assert server.exit_code is None


def kill_supervisor(server: Server) -> None:
    """The supervisor dies; its workers follow by themselves, and the port is free again."""
    processes.kill(server.pid)
    processes.wait_until(lambda: not processes.group(server.pid), GONE_S_MAX, "gone")
    start_again(server)


def kill_service(server: Server) -> None:
    """Everything dies at once, as it does with its machine or container."""
    start_again(server)


def start_again(server: Server) -> None:
    server.kill()
    server.start()


KILLS = {"worker": kill_worker, "supervisor": kill_supervisor, "service": kill_service}
