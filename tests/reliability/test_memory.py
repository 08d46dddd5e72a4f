"""A worker does not grow with the number of requests it has answered.

`bench/serve` measures the same over 100,000.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
from pathlib import Path

import pytest

from alama.scoring.scoring import BORROWERS_MAX
from tests.ports import HOST
from tests.reliability import processes
from tests.reliability.client import application
from tests.server import Server

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.xdist_group("memory"),
]

MB = 1_000_000
CONNECTIONS = 40
TOGETHER = 25
"""Requests sent in one piece, so that the client costs little beside the service."""

STATUS_LINE = b"HTTP/1.1 "
LENGTH = re.compile(rb"content-length: (\d+)")

WARM = BORROWERS_MAX + 2_000
ALL = WARM + 6_000
GROWTH_BYTES_MAX = 500
"""A request, once as many borrowers are at hand as ever are.

What is measured is below 100: memory comes from the system in pieces.
"""


def test_a_worker_stays_small_and_flat(database_url: str, tmp_path: Path) -> None:
    with Server(database_url, tmp_path, ALAMA_RATE_LIMIT="1000000") as server:
        key = server.key()
        score(server, key, WARM)
        warm = processes.resident_bytes(server.pid)
        score(server, key, ALL - WARM)
        grown = processes.resident_bytes(server.pid)
    assert grown < 150 * MB
    assert (grown - warm) / (ALL - WARM) < GROWTH_BYTES_MAX


def score(server: Server, key: str, times: int) -> None:
    """Have so many applications scored, half of them under an idempotency key."""
    answered = 0
    lock = threading.Lock()

    def work(connection: int) -> None:
        nonlocal answered
        with socket.create_connection((HOST, server.port), timeout=30) as line:
            for start in range(0, times // CONNECTIONS, TOGETHER):
                names = [f"applicant-{times}-{connection}-{start + i}" for i in range(TOGETHER)]
                line.sendall(b"".join(request(key, name) for name in names))
                received = receive(line, TOGETHER)
                with lock:
                    answered += received.count(STATUS_LINE + b"200 ")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answered == times


def request(key: str, name: str) -> bytes:
    body = application(name)
    once = f"Idempotency-Key: {name}\r\n" if name.endswith(tuple("02468")) else ""
    head = (
        f"POST /v1/score HTTP/1.1\r\nHost: alama\r\nAuthorization: Bearer {key}\r\n{once}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def receive(line: socket.socket, replies: int) -> bytes:
    """Read so many whole replies."""
    received = b""
    while received.count(STATUS_LINE) < replies or not ends_whole(received):
        part = line.recv(1 << 16)
        assert part, "the connection was closed"
        received += part
    return received


def ends_whole(received: bytes) -> bool:
    head, end, body = received.rpartition(STATUS_LINE)[2].partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    return bool(end) and length is not None and len(body) == int(length[1])
