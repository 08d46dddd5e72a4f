"""Attacked before any key: the real service, with few descriptors and nothing in front of it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.databases import sqlite_url
from tests.e2e.service import COMPACT
from tests.ports import HOST
from tests.server import ALAMA, Server

FEW = ("/bin/sh", "-c", 'ulimit -n 256 && exec "$@"', "sh", *ALAMA)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(sqlite_url(tmp_path), tmp_path, ALAMA_LOG="json")
    server.command = FEW
    with server:
        yield server


@pytest.mark.long
def test_six_hundred_unfinished_heads_starve_neither_health_nor_scores(server: Server) -> None:
    credentials = {"Authorization": f"Bearer {server.key()}"}
    with (
        httpx.Client(base_url=server.url, trust_env=False, timeout=60) as kept,
        ExitStack() as held,
    ):
        assert kept.post("/v1/score", json=COMPACT, headers=credentials).status_code == 200
        for number in range(600):
            slow = held.enter_context(socket.create_connection((HOST, server.port), timeout=60))
            slow.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\nA:")
            if number % 60:
                continue
            for path in ("/livez", "/readyz", "/v1/health"):
                assert httpx.get(server.url + path, trust_env=False, timeout=60).status_code == 200
            for client in (kept, httpx):
                url = f"{server.url}/v1/score"
                assert client.post(url, json=COMPACT, headers=credentials).status_code == 200
    told = [line for line in server.output().splitlines() if "connections_used_up" in line]
    assert len(told) == 1  # once a minute, not once a connection
    assert '"level":"warning"' in told[0]
    assert '"reason":"address"' in told[0]
    assert '"limit":160' in told[0]
    assert server.stop() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.long
def test_a_process_that_dies_leaves_no_memory_behind(server: Server) -> None:
    limits = Path(f"/proc/{server.pid}/limits").read_text("utf-8").splitlines()
    (core,) = [line.split() for line in limits if line.startswith("Max core file size")]
    assert core[4:6] == ["0", "0"]


@pytest.mark.long
def test_the_doctor_looks_where_the_service_listens(server: Server) -> None:
    said = server.typed("doctor", "--json")[1]
    assert f"it runs on {HOST}, port {server.port}, and is ready to score" in said
