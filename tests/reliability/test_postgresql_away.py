"""PostgreSQL goes away and comes back; callers are told, and nothing acknowledged is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.databases import Postgres, through
from tests.proxy import Proxy
from tests.reliability import processes
from tests.reliability.client import Client
from tests.reliability.load import Load
from tests.reliability.outages import (
    wait_until_all_are_refused,
    wait_until_healthy,
    wait_until_unhealthy,
)
from tests.reliability.verdict import assert_kept
from tests.server import Server, ServerFailed

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("outages")]

CUT_S_MAX = 7.5  # before anybody who waits for the database is told that it takes too long
STALL_S_MAX = 25.0  # before a caller gives up; it takes eight
BACK_S_MAX = 60.0
WORKERS = 2


class Story:
    """A service that reaches its database through a proxy, and a load on it.

    One for all tests here: a service has to live through more than one outage.
    """

    def __init__(self, server: Server, proxy: Proxy, key: str) -> None:
        self.server = server
        self.proxy = proxy
        self.load = Load(server.url, key, connections=6)
        self.key = key


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.fresh() as url:
        yield url


@pytest.fixture(scope="module")
def story(
    postgres: Postgres, url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    home = tmp_path_factory.mktemp("home")
    with (
        Proxy(postgres.host, postgres.port) as proxy,
        Server(through(url, proxy.port), home, WORKERS, ALAMA_RATE_LIMIT="1000000") as server,
    ):
        yield Story(server, proxy, server.key())
        assert "Traceback" not in server.output()


@pytest.fixture
def client(story: Story) -> Iterator[Client]:
    with Client(story.server.url, story.key) as client:
        yield client


def test_a_cut_is_told_at_once_and_is_over_when_it_is_mended(
    story: Story, client: Client, url: str
) -> None:
    load, proxy = story.load, story.proxy
    with load.running():
        for _ in range(2):
            load.wait_for_answers(50, BACK_S_MAX)
            proxy.cut()
            wait_until_all_are_refused(load, CUT_S_MAX)
            wait_until_unhealthy(client, BACK_S_MAX)
            proxy.mend()
            wait_until_healthy(client, BACK_S_MAX)
            load.wait_for_answers(50, BACK_S_MAX)
    assert_kept(load, url)


def test_a_database_that_hangs_is_told_in_time_and_forgiven(
    story: Story, client: Client, url: str
) -> None:
    load, proxy = story.load, story.proxy
    with load.running():
        load.wait_for_answers(50, BACK_S_MAX)
        proxy.stall()
        wait_until_all_are_refused(load, STALL_S_MAX, in_a_row=load.connections)
        wait_until_unhealthy(client, STALL_S_MAX)
        proxy.mend()
        wait_until_healthy(client, BACK_S_MAX)
        load.wait_for_answers(50, BACK_S_MAX)
    assert load.slowest_s < STALL_S_MAX
    assert_kept(load, url)


def test_a_hang_that_ends_in_a_cut_is_forgiven_too(story: Story, client: Client, url: str) -> None:
    load, proxy = story.load, story.proxy
    with load.running():
        load.wait_for_answers(50, BACK_S_MAX)
        proxy.stall()
        wait_until_all_are_refused(load, STALL_S_MAX, in_a_row=load.connections)
        proxy.cut()
        wait_until_unhealthy(client, BACK_S_MAX)
        proxy.mend()
        wait_until_healthy(client, BACK_S_MAX)
        load.wait_for_answers(50, BACK_S_MAX)
    assert_kept(load, url)


def test_a_worker_that_dies_while_the_database_is_away_is_replaced_when_it_is_back(
    story: Story, url: str
) -> None:
    load, proxy, server = story.load, story.proxy, story.server
    with load.running():
        load.wait_for_answers(50, BACK_S_MAX)
        proxy.cut()
        wait_until_all_are_refused(load, CUT_S_MAX)
        for worker in processes.workers(server.pid):
            processes.kill(worker)
        processes.wait_until(
            lambda: server.output().count("worker_failed") == WORKERS,
            BACK_S_MAX,
            "seen that it is away",
        )
        waiting = processes.workers(server.pid)
        assert server.exit_code is None
        proxy.mend()
        load.wait_for_answers(50, 2 * BACK_S_MAX)
        processes.wait_until(
            lambda: len(processes.workers(server.pid)) == WORKERS, BACK_S_MAX, "complete"
        )
    assert processes.workers(server.pid) == waiting, "they wait, and none dies to be replaced"
    assert_kept(load, url)


def test_a_crash_of_postgresql_loses_nothing_that_was_acknowledged(story: Story, url: str) -> None:
    load = story.load
    with load.running():
        for _ in range(2):
            load.wait_for_answers(50, BACK_S_MAX)
            # A session that dies takes the whole server down: it ends them all and recovers.
            processes.kill(a_session(url))
            load.wait_for_answers(50, 2 * BACK_S_MAX)
    assert_kept(load, url)


@pytest.mark.parametrize("fail", [Proxy.cut, Proxy.stall])
def test_the_service_does_not_start_without_its_database_and_says_why(
    fail: Callable[[Proxy], None], postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.url("postgres")
    with Proxy(postgres.host, postgres.port) as proxy, ExitStack() as at_the_end:
        fail(proxy)
        server = Server(through(url, proxy.port), tmp_path)
        at_the_end.push(server)
        with pytest.raises(ServerFailed, match="exited with 2:") as failed:
            server.start()
    said = str(failed.value).splitlines()
    assert said[-2].startswith("error: the database ")
    assert said[-1].startswith("  hint: ")
    assert "Traceback" not in str(failed.value)
    assert url.partition("@")[0] not in str(failed.value), "the password is shown"


def a_session(url: str) -> int:
    """The process in PostgreSQL that serves one connection of the service."""
    with psycopg.connect(url) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'alama %' LIMIT 1"
        found = connection.execute(query).fetchone()
    assert found is not None
    return int(found[0])
