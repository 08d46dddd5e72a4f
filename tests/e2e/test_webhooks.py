"""Webhooks as a receiver meets them, and the worker beside the service as an operator does."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from standardwebhooks import Webhook

from alama.platform.addresses import DEVELOPMENT
from alama.platform.book import Book, Mode
from alama.platform.events import EventKind
from alama.webhooks.endpoints import Endpoints, NewEndpoint
from alama.webhooks.worker import Pace
from tests.databases import sqlite_url
from tests.e2e.service import Service
from tests.ports import HOST, free_port
from tests.receivers import Received, Receivers
from tests.server import Server

pytestmark = [
    pytest.mark.xdist_group("webhooks"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at other processes"),
]

WITHIN_S = 60.0
STARTED_S_MAX = 120.0
PATH = "/ok/scores"


def workers(server: Server) -> list[int]:
    """The process ids of the workers that have begun to deliver so far."""
    lines = [line for line in server.output().splitlines() if "deliveries_started" in line]
    return [json.loads(line)["pid"] for line in lines]


def wait_for_worker(server: Server, number: int) -> None:
    deadline_s = time.monotonic() + STARTED_S_MAX
    while len(workers(server)) < number:
        assert time.monotonic() < deadline_s, server.output()
        time.sleep(0.05)


class Running(NamedTuple):
    """A service that tells one receiver of every score, by a worker beside it."""

    service: Service
    receivers: Receivers
    secret: str
    metrics: str

    def came(self, request_id: str) -> Received | None:
        """What came of a score within the time."""

        def found() -> Received | None:
            taken = self.receivers.taken[PATH]
            return next((one for one in taken if request_id.encode() in one.body), None)

        self.receivers.wait_for(lambda: found() is not None, WITHIN_S)
        return found()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("webhooks")
    port = free_port()
    more = {
        "ALAMA_DELIVERY": "inside",
        "ALAMA_DEVELOPMENT": "yes",
        "ALAMA_METRICS_PORT": str(port),
    }
    unstarted = Service(sqlite_url(home), home, 1, None, **more)
    with Receivers() as receivers, unstarted.running() as service:
        new = NewEndpoint(f"{receivers.url}{PATH}", (EventKind.SCORE_CREATED,))
        endpoints = Endpoints.at(service.installed, DEVELOPMENT)
        secret, _ = endpoints.add(Book("demo", Mode.TEST), new)
        wait_for_worker(service.server, 1)
        yield Running(service, receivers, secret, f"http://{HOST}:{port}/metrics")
        last = workers(service.server)[-1]
        assert service.server.stop() == 0
        assert not Path(f"/proc/{last}").exists()
        assert '"event":"deliveries_stopped"' in service.server.output()
        assert "Traceback" not in service.server.output()


def test_a_score_reaches_its_receiver_signed_and_nobody_rests_for_long_meanwhile(
    running: Running,
) -> None:
    pace = Pace()
    assert pace.idle_s + pace.dispatch_s + pace.gather_s < 1.0  # the rest is up to the machine
    scored = running.service.score().json()
    came = running.came(scored["request_id"])
    assert came is not None, running.service.server.output()
    payload = Webhook(running.secret).verify(came.body, came.headers)
    assert payload["type"] == "score.created"
    assert payload["data"]["score"] == scored["score"]
    assert came.headers["content-type"] == "application/json"


def test_the_worker_stands_behind_scoring(running: Running) -> None:
    server = running.service.server
    mine = os.getpriority(os.PRIO_PROCESS, server.pid)
    assert os.getpriority(os.PRIO_PROCESS, workers(server)[-1]) == min(mine + 19, 19)


def test_the_metrics_of_the_worker_stand_beside_those_of_the_service(running: Running) -> None:
    scored = running.service.score().json()
    assert running.came(scored["request_id"]) is not None
    delivered, lines = '\nalama_webhook_attempts_total{outcome="delivered"} ', ""
    deadline_s = time.monotonic() + WITHIN_S
    while delivered not in lines:  # it counts what it has sent after the receiver knows
        assert time.monotonic() < deadline_s, lines
        lines = httpx.get(running.metrics, trust_env=False, timeout=WITHIN_S).text
    assert '\nalama_webhook_backlog{of="events"} ' in lines
    assert 'route="/v1/score",status="200"} ' in lines


def test_a_killed_worker_is_replaced_and_delivers_what_happened_meanwhile(
    running: Running,
) -> None:
    server = running.service.server
    began = len(workers(server))
    os.kill(workers(server)[-1], signal.SIGKILL)
    scored = running.service.score().json()
    wait_for_worker(server, began + 1)
    assert running.came(scored["request_id"]) is not None, server.output()
    assert '"event":"delivery_worker_died"' in server.output()
