"""One host of two whose clock is wrong: nothing is erased, nothing is doubled, and it is told.

Its chores come every third of a second, so that each of them has looked at the wrong time often.
The lender lends by the law of Kenya, where scores go after seven years.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import func, select

from alama.core.lending.draft import draft, draft_text
from alama.lenders import installation
from alama.lenders.records import Signed
from alama.platform import settings
from alama.platform.database import database as databases
from alama.platform.database import tables
from alama.platform.files.packaged import builtin, jurisdiction
from alama.policies.policies import activate
from tests.databases import Postgres, sqlite_url
from tests.reliability import processes
from tests.reliability.client import Client, application
from tests.reliability.two_hosts import LoadOnTwo
from tests.reliability.verdict import assert_acknowledged_are_among, assert_audited, stored
from tests.server import DEMO, Server

COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="preloads into programs of Linux"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
    pytest.mark.xdist_group("outages"),
]

DAY_S = 86_400
JUMPS_S = [4 * DAY_S, -4 * DAY_S, 8 * 365 * DAY_S, -8 * 365 * DAY_S]
TOLD_S_MAX = 60.0
CHORES_S = 1.5
"""Several times as long as any chore waits before it looks again."""

KEYS = 20
HURRIEDLY = str(Path(__file__).parents[1] / "hurriedly")
TELLS = ("clock_leapt", "clock_differs")
AT_EASE = ("clock_trusted", "clock_agrees")


class WrongClock:
    """The environment of a host, and its clock."""

    def __init__(self, folder: Path) -> None:
        assert COMPILER is not None
        library, source = folder / "clock_offset.so", Path(__file__).with_name("clock_offset.c")
        subprocess.run(
            [COMPILER, "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True
        )
        self._file = folder / "offset"
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self._file)}

    def set(self, offset_s: int) -> None:
        """Set it, in one step: no process reads half of it."""
        half = self._file.with_suffix(".half")
        half.write_text(str(offset_s), "ascii")
        half.rename(self._file)


@pytest.fixture
def wrong(tmp_path: Path) -> WrongClock:
    return WrongClock(tmp_path)


@pytest.mark.parametrize("jump_s", [0, *JUMPS_S])
def test_the_simulation_shifts_the_time_of_day_alone(wrong: WrongClock, jump_s: int) -> None:
    program = "import time; print(time.time_ns(), time.time(), time.monotonic_ns())"
    wrong.set(jump_s)
    began_ns, began_s = time.monotonic_ns(), time.time()
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | wrong.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    now_ns, now_s, monotonic_ns = done.stdout.split()
    assert began_s <= int(now_ns) / 1e9 - jump_s <= time.time()
    assert began_s <= float(now_s) - jump_s <= time.time()
    assert began_ns <= int(monotonic_ns) <= time.monotonic_ns()


class Hosts:
    """Two of them, the clock of the second, and what they keep."""

    def __init__(self, url: str, servers: list[Server], wrong: WrongClock) -> None:
        self.url, self.servers, self.wrong = url, servers, wrong
        self.key = servers[0].key()
        with closing(
            installation.open_installation(settings.read(servers[0].environment))
        ) as opened:
            place = jurisdiction("KE")
            text = draft_text(draft("KES", place, "ours"), place).encode()
            activate(opened.registry, DEMO, text, Signed(opened.clock()), builtin)

    def count(self, table: str) -> int:
        query = select(func.count()).select_from(tables.METADATA.tables[table])
        with closing(databases.connect(self.url)) as database, database.reading() as connection:
            return connection.execute(query).scalar_one()

    def lines(self, *events: str) -> int:
        """How often the host with the wrong clock has told of one of these."""
        told = 0
        for line in self.servers[1].output().splitlines():
            told += line.startswith("{") and json.loads(line).get("event") in events
        return told

    def wait_until_told(self, before: int, *events: str) -> None:
        processes.wait_until(
            lambda: self.lines(*events) > before, within_s=TOLD_S_MAX, what=str(events)
        )


@pytest.fixture(params=["sqlite", "postgresql"])
def hosts(request: pytest.FixtureRequest, tmp_path: Path, wrong: WrongClock) -> Iterator[Hosts]:
    environment = {"PYTHONPATH": HURRIEDLY, "ALAMA_LOG": "json", "ALAMA_RATE_LIMIT": "1000000"}
    with ExitStack() as held:
        url = sqlite_url(tmp_path)
        if request.param == "postgresql":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = held.enter_context(postgres.fresh())
        servers = [
            held.enter_context(Server(url, tmp_path, 1, **environment, **clock))
            for clock in ({}, wrong.environment)
        ]
        yield Hosts(url, servers, wrong)


class Retries:
    """Requests with idempotency keys, sent before, and sent again to both hosts."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._first = dict(zip(map(str, range(KEYS)), self._send(0), strict=True))

    def _send(self, host: int) -> list[bytes]:
        replies = []
        with Client(self._hosts.servers[host].url, self._hosts.key) as client:
            for number in range(KEYS):
                body = application(f"R-{number}")
                replies.append(client.score(body, idempotency_key=f"retry-{number}").body)
        return replies

    def assert_nothing_doubled(self) -> None:
        for host in (0, 1):
            assert self._send(host) == list(self._first.values())


def test_jumps_under_load_erase_nothing_and_double_nothing(hosts: Hosts) -> None:
    load = LoadOnTwo([server.url for server in hosts.servers], hosts.key, connections=4)
    retries = Retries(hosts)
    with load.running():
        load.wait_for_answers(20, 30.0)
        for jump_s in JUMPS_S:
            told, at_ease = hosts.lines(*TELLS), hosts.lines(*AT_EASE)
            before = hosts.count("scores"), hosts.count("applicant_keys")
            hosts.wrong.set(jump_s)
            hosts.wait_until_told(told, *TELLS)
            time.sleep(CHORES_S)
            assert hosts.count("scores") > before[0]
            assert hosts.count("applicant_keys") > before[1]
            retries.assert_nothing_doubled()
            hosts.wrong.set(0)
            hosts.wait_until_told(at_ease, *AT_EASE)
    kept = stored(hosts.url)
    assert [ref for ref, times in Counter(one.ref for one in kept).items() if times > 1] == []
    assert_acknowledged_are_among(load.sent.values(), {one.row.request_id: one for one in kept})
    assert_audited(hosts.url)


@pytest.mark.parametrize("jump_s", JUMPS_S)
def test_a_start_by_a_wrong_clock_erases_nothing_and_doubles_nothing(
    hosts: Hosts, jump_s: int
) -> None:
    retries = Retries(hosts)
    hosts.servers[1].stop()
    hosts.wrong.set(jump_s)
    told = hosts.lines(*TELLS)
    hosts.servers[1].start()
    hosts.wait_until_told(told, *TELLS)
    time.sleep(CHORES_S)
    assert hosts.count("scores") == KEYS
    retries.assert_nothing_doubled()
    assert hosts.count("scores") == KEYS
