"""`alama serve` from its start to its end, as an operator sees it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from alama.platform.database import database as databases
from alama.platform.files.packaged import sample_application
from tests.databases import sqlite_url
from tests.ports import HOST, free_port
from tests.server import Server

TIMEOUT_S = 60.0
SENT = "Zq7caller"
"""Marks everything that the test sends where a value could be logged."""


def eventually(condition: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.05)
    return True


def client(server: Server) -> httpx.Client:
    headers = {"Authorization": f"Bearer {server.key()}", "Content-Type": "application/json"}
    return httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=TIMEOUT_S)


def log_of(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.output().splitlines() if line.startswith("{")]


def events(server: Server, name: str) -> list[dict[str, Any]]:
    return [line for line in log_of(server) if line["event"] == name]


def worker_pids(server: Server) -> set[int]:
    """Those that serve now: started, and not told to have died."""
    started = {line["pid"] for line in events(server, "worker_started")}
    return started - {line["pid"] for line in events(server, "worker_died")}


def is_running(pid: int) -> bool:
    try:
        # A dead process whose parent has not looked yet still has a number, but no command line.
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def scores_in(url: str) -> int:
    with closing(databases.connect(url)) as database, database.reading() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM scores").scalar_one())


def metrics_at(port: int) -> list[str]:
    with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=TIMEOUT_S) as reply:
        return reply.read().decode().splitlines()  # type: ignore[no-any-return]


class Load:
    """Threads that ask for scores until nobody answers any more."""

    def __init__(self, server: Server, threads: int) -> None:
        self.answered = 0
        self.refused: list[int] = []
        self._lock = threading.Lock()
        self._client = client(server)
        self._threads = [threading.Thread(target=self._ask) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        for thread in self._threads:
            thread.join(TIMEOUT_S)
        self._client.close()

    def _ask(self) -> None:
        while True:
            try:
                reply = self._client.post("/v1/score", content=sample_application())
            except httpx.TransportError:
                return
            with self._lock:
                if reply.status_code == httpx.codes.OK:
                    self.answered += 1
                else:
                    self.refused.append(reply.status_code)


@pytest.fixture(
    params=[
        pytest.param(1, id="one worker", marks=pytest.mark.long),
        pytest.param(2, id="two workers"),
    ]
)
def workers(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def server(tmp_path: Path, workers: int) -> Iterator[Server]:
    with Server(sqlite_url(tmp_path), tmp_path, workers) as server:
        assert eventually(lambda: len(events(server, "worker_started")) == workers)
        yield server


def test_a_stop_under_load_answers_everything_that_was_accepted(
    server: Server, tmp_path: Path
) -> None:
    load = Load(server, threads=8)
    assert eventually(lambda: load.answered > 100)
    assert server.stop() == 0
    load.finish()
    assert load.refused == []
    # Nothing is kept but what its caller knows of.
    assert scores_in(sqlite_url(tmp_path)) == load.answered
    assert [line["event"] for line in log_of(server)][-1] == "stopped"
    assert not events(server, "stop_timed_out")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((HOST, server.port), timeout=1)


class Asked:
    """A service that was asked for many things, each reply kept, and then stopped."""

    def __init__(self, server: Server) -> None:
        self.server = server
        with client(server) as caller:
            self.key = caller.headers["Authorization"].removeprefix("Bearer ")
            self.marked = self._with_marks(caller)
            self.bad = caller.post("/v1/score", content=b"{}")
            self.stranger = caller.post("/v1/score", headers={"Authorization": "Bearer nobody"})
            self.good = [caller.post("/v1/score", content=sample_application()) for _ in range(50)]
            record = caller.get(f"/v1/scores/{self.good[0].json()['request_id']}")
            self.key_id: str = record.json()["key_id"]
        server.stop()

    def line_of(self, reply: httpx.Response) -> dict[str, Any]:
        lines = {line["request_id"]: line for line in events(self.server, "request")}
        return lines[reply.headers["request-id"]]

    def _with_marks(self, caller: httpx.Client) -> list[httpx.Response]:
        body = json.dumps({"mm_months": SENT, SENT: 1, "region": SENT}).encode()
        headers = {"User-Agent": SENT, "Idempotency-Key": SENT}
        unknown = {"Authorization": f"Bearer {SENT}"}
        return [
            caller.post(f"/v1/score?expand={SENT}", content=sample_application(), headers=headers),
            caller.post("/v1/score", content=body, headers=headers),
            caller.post("/v1/score", content=SENT.encode(), headers=headers),
            caller.get(f"/{SENT}", headers=headers),
            caller.get(f"/v1/scores/{SENT}", headers=headers),
            caller.get("/v1/scores", headers=headers | unknown),
        ]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            1, marks=[pytest.mark.xdist_group("serving-one"), pytest.mark.long], id="one worker"
        ),
        pytest.param(2, marks=pytest.mark.xdist_group("serving-two"), id="two workers"),
    ],
)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    home = tmp_path_factory.mktemp("asked")
    with Server(sqlite_url(home), home, request.param) as server:
        assert eventually(lambda: len(events(server, "worker_started")) == request.param)
        yield Asked(server)


def test_every_request_is_in_the_log_after_a_stop(asked: Asked) -> None:
    ids = {reply.headers["request-id"] for reply in asked.good}
    assert len(ids) == 50
    assert ids <= {line["request_id"] for line in events(asked.server, "request")}


def test_a_line_of_the_log_says_whose_request_it_was_and_what_was_wrong(asked: Asked) -> None:
    whose = {"lender": "demo", "key_id": asked.key_id}
    good = asked.line_of(asked.good[0])
    assert good.items() >= whose.items()
    assert "code" not in good
    told = asked.line_of(asked.bad)
    assert told.items() >= (whose | {"status": 422, "code": "invalid_application"}).items()
    unknown = asked.line_of(asked.stranger)
    assert unknown["code"] == "key_refused"
    assert not unknown.keys() & whose.keys()


def test_nothing_that_a_caller_sends_is_in_the_log(asked: Asked) -> None:
    assert all(400 <= reply.status_code < 500 for reply in asked.marked)
    routes = {line["route"] for line in events(asked.server, "request")}
    assert {"/v1/score", "/v1/scores", "/v1/scores/{request_id}", "unknown"} <= routes
    assert SENT not in asked.server.output()
    assert asked.key not in asked.server.output()


@pytest.mark.long
def test_a_request_that_never_ends_does_not_stop_the_stop(tmp_path: Path, workers: int) -> None:
    with (
        Server(sqlite_url(tmp_path), tmp_path, workers, ALAMA_STOP_TIMEOUT="2") as server,
        socket.create_connection((HOST, server.port)) as halting,
    ):
        head = (
            f"POST /v1/score HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {server.key()}\r\n"
        )
        halting.sendall(f"{head}Content-Length: 500\r\n\r\n{{".encode())
        time.sleep(0.3)
        started_s = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started_s < 20


@pytest.mark.long
def test_ctrl_c_is_a_stop_like_any_other(server: Server) -> None:
    os.killpg(server.pid, signal.SIGINT)  # as a terminal does: to all of them
    assert eventually(lambda: bool(events(server, "stopped")))
    assert eventually(lambda: not is_running(server.pid))
    assert "Traceback" not in server.output()


@pytest.mark.long
def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with Server(sqlite_url(tmp_path), tmp_path, workers=2) as server:
        assert eventually(lambda: len(worker_pids(server)) == 2)
        victim = min(worker_pids(server))
        os.kill(victim, signal.SIGKILL)
        assert eventually(lambda: victim not in worker_pids(server))
        assert eventually(lambda: len(worker_pids(server)) == 2)
        (death,) = events(server, "worker_died")
        assert (death["level"], death["exit_code"]) == ("error", -signal.SIGKILL)
        with client(server) as caller:
            assert caller.post("/v1/score", content=sample_application()).status_code == 200
        assert server.stop() == 0


@pytest.mark.long
def test_workers_do_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    with Server(sqlite_url(tmp_path), tmp_path, workers=2) as server:
        assert eventually(lambda: len(worker_pids(server)) == 2)
        orphans = worker_pids(server)
        os.kill(server.pid, signal.SIGKILL)
        assert eventually(lambda: not any(map(is_running, orphans)))
        server.kill()
        server.start()  # the port is free again


@pytest.mark.long
def test_metrics_are_those_of_the_whole_service(tmp_path: Path, workers: int) -> None:
    port = free_port()
    with Server(sqlite_url(tmp_path), tmp_path, workers, ALAMA_METRICS_PORT=str(port)) as server:
        assert eventually(lambda: len(events(server, "worker_started")) == workers)
        # A connection for each request, so that any worker may be the one who answers.
        with client(server) as caller:
            once = {"Connection": "close"}
            sent = [caller.post("/v1/score", content=b"", headers=once) for _ in range(20)]
            assert {reply.status_code for reply in sent} == {400}
            once_only = {"Idempotency-Key": "a request and its retries"}
            for _ in range(3):
                kept = caller.post("/v1/score", content=sample_application(), headers=once_only)
                assert kept.status_code == 200
        lines = metrics_at(port)
        assert eventually(lambda: len(events(server, "started")) == 1)
        (started,) = events(server, "started")
        assert started["metrics"] == f"http://{HOST}:{port}/metrics"
        assert server.stop() == 0
    assert 'alama_requests_total{method="POST",route="/v1/score",status="400"} 20.0' in lines
    assert 'alama_request_seconds_count{route="/v1/score"} 23.0' in lines
    assert "alama_commit_entries_sum 1.0" in lines
    assert "alama_commit_replays_total 2.0" in lines
    assert "alama_commit_waiting 0.0" in lines


def test_a_port_for_metrics_that_is_taken_stops_the_start(tmp_path: Path) -> None:
    port = str(free_port())
    environment = os.environ | {"ALAMA_HOME": str(tmp_path), "ALAMA_METRICS_PORT": port}
    command = [sys.executable, "-m", "alama", "serve", "--port", port]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ALAMA_METRICS_PORT" in done.stderr


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_printed_curl_works_as_it_is(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "alama", "serve", "--port", "0", "--try"]
    environment = os.environ | {"ALAMA_HOME": str(tmp_path), "ALAMA_DELIVERY": "alone"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as service:
        try:
            assert service.stdout is not None
            printed = "".join(
                iter(service.stdout.readline, "  Ctrl-C stops it. Every score is kept.\n")
            )
            curl = re.search(r"^curl .*json\.tool$", printed, re.DOTALL | re.MULTILINE)
            assert curl is not None, printed
            reply = json.loads(subprocess.check_output(["/bin/sh", "-c", curl.group()]))
        finally:
            service.terminate()
        assert service.wait(TIMEOUT_S) == 0
    assert 300 <= reply["score"] <= 850
    assert len(reply["shap_values"]) == 4
