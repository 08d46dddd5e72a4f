"""However often the worker is killed, each score's event reaches each receiver that takes it.

`make reliability` does it with ten thousand scores, twenty receivers and twenty kills.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple, Self

import pytest
from sqlalchemy import func, select
from standardwebhooks import Webhook

from alama.platform.database import database as databases
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.event_bundles import COLUMNS, Bundle, unfolded
from alama.webhooks import schema
from alama.webhooks.records import ENDPOINTS_MAX
from tests.ports import HOST, free_port
from tests.receivers import Receivers
from tests.reliability.client import Client, application
from tests.server import Server

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("kills")]

EVENTS = int(os.environ.get("RELIABILITY_EVENTS", "80"))
FULL = EVENTS >= 1_000
KILLS = EVENTS // 500 if FULL else 2
GOOD = ("/ok", "/slow", "/flaky") if FULL else ("/ok", "/slow")
BAD = (
    ("/fail/1", "/fail/2", "/stall/1", "/stall/2", "/reset", "/crawl", "/refuse")
    if FULL
    else ("/fail", "/stall", "/reset", "/refuse")
)
REFUSES = "/refuse"
"""Not one of the receivers: there nobody listens."""

LEASE_S = 10.0 if FULL else 4.0
TIMEOUT_S = 0.4 * LEASE_S
"""For an attempt, as in earnest less than half a lease; `/crawl` answers just within the longer."""

ARRIVED_S_MAX = 1_800.0 if FULL else 300.0
NOTED_S_MAX = 120.0
VERIFIED_EVERY_S = 10.0
"""The official verifier takes nothing that is older than five minutes."""

CONNECTIONS = 4
REPEATED_MAX = 0.01
"""Of what was wanted, in the full run: of a few events each kill repeats a large part."""

# As `alama worker`, but what a killed worker held comes due sooner than in a minute.
PROGRAM = """
import asyncio, os, signal, sys
from alama.app.delivering import deliver
from alama.app.watching import watching_deliveries
from alama.lenders.installation import open_installation
from alama.lenders import installation
from alama.platform import settings
from alama.webhooks.worker import Pace

def begun(stop):
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)

chosen = settings.read(os.environ)
installed = open_installation(chosen)
watch = watching_deliveries("json", 0)
pace = Pace(lease_s=float(sys.argv[1]), send_timeout_s=float(sys.argv[2]), drain_s=0.3)
asyncio.run(deliver(chosen, installed, watch, begun, pace))
installed.close()
"""

log = logging.getLogger(__name__)


def test_no_kill_of_the_worker_loses_an_event(database_url: str, tmp_path: Path) -> None:
    kind = database_url.partition(":")[0]
    if kind != "sqlite" and not FULL:
        pytest.skip("on PostgreSQL by `make reliability`: it takes as long again")
    unstarted = Server(database_url, tmp_path, ALAMA_DEVELOPMENT="yes", ALAMA_RATE_LIMIT="1000000")
    with (
        Receivers() as receivers,
        unstarted as server,
        closing(databases.connect(database_url)) as database,
    ):
        key = server.key()
        with Client(server.url, key) as client:
            proof = Proof(receivers, add_endpoints(client, receivers.url))
        lender = Lender(server, key)
        killed: set[str] = set()

        with WorkerProcess(server.environment, tmp_path / "worker.log") as worker:
            worker.start()
            lender.score_until_events_are_left(database)
            for number in range(1, KILLS + 1):
                enough = receivers.arrived + len(proof.healthy) * EVENTS // KILLS // 3
                with lender.scoring(EVENTS // KILLS):
                    proof.wait_for(enough, worker)
                    worker.kill()  # in the middle of things, and things go on happening
                    killed |= holders(database)
                    worker.start()
                log.info(
                    "%s: killed the worker, %d of %d; %d scores, %d deliveries so far",
                    *(kind, number, KILLS, len(lender.scores), receivers.arrived),
                )
            proof.wait_for(len(lender.scores) * len(proof.healthy), worker)
            proof.wait_until_all_is_noted(database)
            assert worker.stop() == 0

        assert holders(database) <= killed  # the last, which was asked to stop, has let go of all
        proof.assert_each_came(payloads(database), lender.scores)
        assert_nothing_is_lost(database, len(lender.scores) * (len(proof.healthy) + len(BAD)))
        assert all(receivers.seen[path] for path in BAD if path != REFUSES)
        for said in (worker.output(), server.output()):
            assert "Traceback" not in said
            assert '"event":"defect"' not in said


# ------------------------------------------------------------------------------- who takes part


class WorkerProcess:
    """A worker that can be killed and started again; what it says goes into a file."""

    def __init__(self, environment: dict[str, str], output: Path) -> None:
        self._environment = environment
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()

    def start(self) -> None:
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(LEASE_S), str(TIMEOUT_S)],
                env=self._environment,
                stderr=output,
            )

    def kill(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, self.output()
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """Ask it to end, and give its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(120)

    def output(self) -> str:
        return self._output.read_text("utf-8")


class Endpoint(NamedTuple):
    """An endpoint, and what signs for it."""

    id: str
    secret: str


def add_endpoints(client: Client, url: str) -> dict[str, Endpoint]:
    """Add an endpoint for each path."""
    count = ENDPOINTS_MAX - len(BAD) if FULL else len(GOOD)
    good = [f"{begin}/{number}" for number, begin in enumerate(islice(cycle(GOOD), count))]
    nobody = f"http://{HOST}:{free_port()}"
    added = {}
    for path in (*good, *BAD):
        wanted = {"url": (nobody if path == REFUSES else url) + path, "kinds": ["score.created"]}
        reply = client.post("/v1/webhook_endpoints", json.dumps(wanted).encode())
        added[path] = Endpoint(reply.json["id"], reply.json["secret"])
    return added


class Lender:
    """Whoever asks for scores; remembers those that were given."""

    def __init__(self, server: Server, key: str) -> None:
        self._server = server
        self._key = key
        self.scores: set[str] = set()
        """The ids of those that leave an event."""

    def score_until_events_are_left(self, database: Database) -> None:
        """Score until the service knows of the endpoints: that takes it a second."""
        with Client(self._server.url, self._key) as client:
            while not payloads(database):
                self.scores = {_score(client)}
                time.sleep(0.02)

    @contextmanager
    def scoring(self, count: int) -> Iterator[None]:
        """Ask for so many scores during the block, on a few connections."""
        shares = [len(range(number, count, CONNECTIONS)) for number in range(CONNECTIONS)]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            given = pool.map(self._scored, shares)
            yield
            for scores in given:
                self.scores |= scores

    def _scored(self, count: int) -> set[str]:
        with Client(self._server.url, self._key) as client:
            return {_score(client) for _ in range(count)}


def _score(client: Client) -> str:
    reply = client.score(application("anybody"))
    assert reply.status == 200, reply
    request_id: str = reply.json["request_id"]
    return request_id


# ------------------------------------------------------------------------------- what is proven


class Proof:
    """What came to receivers, each delivery checked as a receiver does it."""

    def __init__(self, receivers: Receivers, endpoints: dict[str, Endpoint]) -> None:
        self.healthy = {path: one for path, one in endpoints.items() if path not in BAD}
        self._receivers = receivers
        self._verified = dict.fromkeys(self.healthy, 0)

    def wait_for(self, arrived: int, worker: WorkerProcess) -> None:
        """Wait until so much has arrived; none of it is forged."""
        deadline_s = time.monotonic() + ARRIVED_S_MAX
        while not self._receivers.wait_for(self._have(arrived), VERIFIED_EVERY_S):
            self._verify()
            have = self._receivers.arrived
            assert time.monotonic() < deadline_s, f"{have} of {arrived}\n{worker.output()[-9_000:]}"
        self._verify()

    def wait_until_all_is_noted(self, database: Database) -> None:
        """Wait until what killed workers held has come once more, where it has to."""
        table, deadline_s = schema.deliveries, time.monotonic() + LEASE_S + NOTED_S_MAX
        ids = [endpoint.id for endpoint in self.healthy.values()]
        query = select(table.c.event_id).where(
            table.c.endpoint_id.in_(ids), table.c.next_us.is_not(None)
        )
        is_some_left = True
        while is_some_left:
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
            with database.reading() as connection:
                is_some_left = connection.execute(query.limit(1)).first() is not None
        self._verify()

    def assert_each_came(self, payloads: dict[str, bytes], scores: set[str]) -> None:
        """Every event came to every healthy receiver as it was written, and seldom twice."""
        assert {json.loads(one)["data"]["request_id"] for one in payloads.values()} == scores
        wanted, came = len(payloads) * len(self.healthy), 0
        for path in self.healthy:
            taken = self._receivers.taken[path]
            assert self._verified[path] == len(taken)
            assert {one.event_id for one in taken} == payloads.keys()
            assert all(one.body == payloads[one.event_id] for one in taken)
            came += len(taken)
        share = (came - wanted) / wanted
        log.info("%d deliveries verified, %d wanted: %.2f %% repeated", came, wanted, 100 * share)
        assert share < REPEATED_MAX or not FULL

    def _have(self, arrived: int) -> Callable[[], bool]:
        return lambda: self._receivers.arrived >= arrived

    def _verify(self) -> None:
        """Check the signatures of what has come since the last time."""
        for path, endpoint in self.healthy.items():
            webhook = Webhook(endpoint.secret)
            for one in self._receivers.taken[path][self._verified[path] :]:
                webhook.verify(one.body, one.headers)
                self._verified[path] += 1


def payloads(database: Database) -> dict[str, bytes]:
    """The payload of each event, by its id, dispatched or not."""
    with database.reading() as connection:
        bundles = [Bundle._make(row) for row in connection.execute(select(*COLUMNS))]
        rows = connection.execute(select(tables.events.c.id, tables.events.c.payload))
        dispatched = {row.id: row.payload for row in rows}
    coming = (event for bundle in bundles for event in unfolded(bundle))
    return dispatched | {event.id: event.payload for event in coming}


def holders(database: Database) -> set[str]:
    """The names of the workers by whom deliveries are claimed, be it that their time is over."""
    table = schema.deliveries
    query = select(table.c.claimed_by).where(table.c.claimed_by.is_not(None)).distinct()
    with database.reading() as connection:
        return set(connection.execute(query).scalars())


def assert_nothing_is_lost(database: Database, wanted: int) -> None:
    """Each delivery has arrived, or is due once more: soon, where a worker was killed with it."""
    table = schema.deliveries
    over = table.c.delivered_us.is_not(None)
    lease_ends_us = time.time_ns() // 1_000 + int(LEASE_S * 1_000_000)
    kept_back = table.c.claimed_by.is_not(None) & (table.c.next_us > lease_ends_us)
    with database.reading() as connection:
        total = connection.scalar(select(func.count()).select_from(table))
        stuck = connection.scalar(
            select(func.count()).where(table.c.next_us.is_(None), ~over).select_from(table)
        )
        held = connection.scalar(select(func.count()).where(kept_back).select_from(table))
        waiting = connection.scalar(select(func.count()).select_from(tables.bundles))
    assert (total, stuck, held, waiting) == (wanted, 0, 0, 0)
